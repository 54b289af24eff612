"""The confidence below which recall brings nothing, from how often it may be wrong; and which share
of the best score a memory needs.

Split-conformal prediction (Vovk and others, 2005): of questions that nothing stored answers, and
that the fits have not seen, it is known how sure the store was. Below the confidence that a given
share of them reaches, recall is silent; a further question of their kind reaches it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from vestig.answers import CLOSE_MIN, LIKELY_MIN
from vestig.language.languages import ENGLISH, differ, language_of, touched_languages
from vestig.language.text_forms import plain_characters, plain_figures
from vestig.language.words import asks_for_all, content_terms, is_question, said_about
from vestig.ports import Scan, ScanRow
from vestig.recall.confidence import confidence_of, fit, held_terms, holds_a_word, holds_its_words
from vestig.recall.judged import (
    answers_without,
    asks_for_a_day,
    holds_any,
    is_on,
    may_read,
    with_all_of_name,
    words_across,
)
from vestig.recall.judgement import (
    LISTS,
    QUESTIONS,
    KindFit,
    confidence_with,
    kind_fit,
    kind_of,
    least_of_few,
)
from vestig.recall.text_pairs import Aligned, Parts
from vestig.recall.versions import ROWS_MOVED, called_otherwise, with_later, with_stated

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.ranking import Ranking
    from vestig.recall.request import Request
    from vestig.store.records.reads import LedgerView
    from vestig.store.records.rows import RecalledMemory

# Without a word of the caller's, where a judge read the memories. Who asks for several things
# misses all of them by silence.
SILENCE, _SILENCE_OF_SEVERAL = 0.2, 0.3
# Shares of the best score. What scores less is no part of an answer that the best one is part of;
# several memories may help with a task or be asked for, and any may be wanted that is about a
# topic.
SHARE_MIN: Final = 0.2
_SHARE_OF_SEVERAL_MIN, _SHARE_OF_TOPIC_MIN = 0.1, 0.05
# Content words from which on a text of the same ones says the same.
_SAME_MIN: Final = 2
# A memory of the day that is asked about may answer in other words, however little it reads so.
_CLOSE_ON_A_DAY_MIN: Final = 0.05


def share_min(query: str, judged: KindFit | None) -> float:
    """The share of the best score for a query, by what the judge read it as; None = a topic, which
    it did not read."""
    if judged is None:
        return _SHARE_OF_TOPIC_MIN
    return SHARE_MIN if kind_of(query) == QUESTIONS else _SHARE_OF_SEVERAL_MIN


def says_the_same(view: LedgerView, request: Request, rows: Sequence[ScanRow]) -> bool:
    """Return whether one of the rows is a note with the content words of a query that asks nothing,
    all of them and no other: it is looked up by its own words. A turn of a session may have ordered
    the same before, which says nothing."""
    if is_question(request.query):
        return False
    wanted = {one.term for one in content_terms(request.query, ())}
    if len(wanted) < _SAME_MIN:
        return False
    found = view.recalled(request.namespace, [row.id for row in rows])
    return any(
        {one.term for one in content_terms(memory.content, ())} == wanted
        and memory.make().session_id is None
        for memory in found.values()
    )


def is_certain(
    bound: BoundQuery, request: Request, rows: Sequence[ScanRow], holding: Collection[bytes]
) -> bool:
    """Return whether a memory answers whatever it reads as: what was answered when somebody asked
    the same, what held in the time asked about, which is of another day than that, or a note that
    is looked up by its own words.

    Args:
        holding: those of which the time that is asked about says that they answer.
    """
    if rows and (rows[0].answers is not None or rows[0].id in holding):
        return True
    return says_the_same(bound.view, request, rows)


def least_confidence(silence: float, unanswered: Sequence[float]) -> float:
    """The confidence below which at least 1 − `silence` of the questions without an answer lie.

    Args:
        silence: how often such a question may bring something, 0 to 1.
        unanswered: confidences of those of the calibration, in rising order.

    Example:
        >>> known = [0.1, 0.2, 0.3, 0.4]
        >>> least_confidence(1.0, known), least_confidence(0.6, known) > 0.2
        (0.0, True)
        >>> least_confidence(0.1, known)
        inf
    """
    rank = math.ceil((len(unanswered) + 1) * (1 - silence))
    if rank == 0:
        return 0.0
    if rank > len(unanswered):
        return math.inf
    return math.nextafter(unanswered[rank - 1], math.inf)


def asks_what_was_said(bound: BoundQuery, scan: Scan) -> bool:
    """Return whether a query asks what the user or the assistant said about something that
    memories hold: each of them may be meant, whatever it reads like."""
    begin = said_about(bound.request.query)
    return begin is not None and holds_its_words(bound.confidence_input(scan), begin)


def cuts_unasked(bound: BoundQuery, by: Ranking, scan: Scan) -> bool:
    """Return whether a call leaves out what scores far below the best though it says nothing of
    it: the judge may read the query, did not fail, and the query does not ask for what a day
    holds."""
    known = bound.query.judgements
    reads = known is not None and known.degraded is None
    return reads and may_read(bound, by) and not asks_for_a_day(bound, scan)


class Sureness(NamedTuple):
    """How sure the store is, and what follows.

    Args:
        confidence: with the judge, where it read; None where meaning was not compared.
        judged: the fit that it is of; None without the judge.
        needed: the confidence below which the call brings nothing.
        silent: it brings nothing.
        unread: it brings these alone, for the rest does not answer (`may_answer_unread`).
    """

    confidence: float | None
    judged: KindFit | None
    needed: float
    silent: bool
    unread: frozenset[bytes] = frozenset()


def how_sure(
    bound: BoundQuery,
    request: Request,
    by: Ranking,
    scan: Scan,
    rows: Sequence[ScanRow],
    holding: Collection[bytes],
    *,
    others: Collection[bytes],
    plain: float | None,
    answers: float | None,
) -> Sureness:
    """Return how sure the store is that the best rows answer, and whether it is silent.

    Args:
        rows: the best, without those of `meant_otherwise`.
        holding: those of which the time that is asked about says that they answer.
        others: those of `meant_otherwise`, which make it no surer.
        plain: the confidence without the judge.
        answers: the greatest *answers* of the judge, where it reads the rows.
    """
    if others and answers is not None:
        answers = answers_without(bound.query.judgements, others)
    elif others:
        without = b"".join((*bound.stored_questions(request, by).ids, *others))
        plain = bound.confidence(bound.scan(request=request, ranking=by, without=without), by)
    confidence, judged = plain, None
    if plain is not None and answers is not None:
        judged = kind_fit(request.query)
        read = confidence_with(plain, answers, judged)
        if read >= plain or not is_certain(bound, request, rows, holding):
            confidence = read
    needed = silence_threshold(bound, request, by, scan, judged)
    if confidence is not None and scan.rows and not rows:
        return Sureness(0.0, judged, max(needed, CLOSE_MIN), silent=not request.all)
    if request.silence is None and rows and rows[0].id in holding:
        needed = min(needed, LIKELY_MIN)
        if confidence is not None and _holds_all_but_time(bound, request, rows[0]):
            confidence = max(confidence, needed)
    if request.all or confidence is None or plain is None or confidence >= needed:
        return Sureness(confidence, judged, needed, silent=False)
    unread, own = may_answer_unread(bound, request, scan, rows)
    if unread and not request.says_nothing:
        return Sureness(min(plain, own), judged, 0.0, silent=False, unread=unread)
    return Sureness(confidence, judged, needed, silent=True)


def _holds_all_but_time(bound: BoundQuery, request: Request, row: ScanRow) -> bool:
    """Return whether a memory has every content word of a query that is no part of its time: the
    words of the time are answered by when it holds, and lower what it reads as."""
    wanted = {one.term for one in bound.content if not one.in_time}
    memory = bound.view.recalled(request.namespace, [row.id])[row.id]
    return bool(wanted) and wanted <= {one.term for one in content_terms(memory.content, ())}


def may_answer_unread(
    bound: BoundQuery, request: Request, scan: Scan, rows: Sequence[ScanRow]
) -> tuple[frozenset[bytes], float]:
    """Return which of the rows may answer though what the judge read does not, and how sure of them
    the store is without it: it left them unread for their language, and they hold a word of the
    query that is the same in another language, or the query has a function word of theirs and they
    are close; where the call sets a silence, as close as that takes."""
    others = _in_other_language(bound)
    unread = [row for row in rows if row.id in others]
    languages = touched_languages(request.query) if unread else frozenset[str]()
    texts = bound.recalled([row.id for row in unread]) if languages else {}
    with_word = frozenset(row.id for row in unread if others[row.id])
    found = with_word | {id for id, one in texts.items() if language_of(one.content) in languages}

    def sure_of(ids: frozenset[bytes]) -> float:
        own = [row for row in scan.rows if row.id in ids]
        return confidence_of(scan, own, bound.confidence_input(scan))

    sure, silence = sure_of(found), request.silence
    if silence is not None:
        least = least_confidence(silence, fit(scan).unanswered)
        return (found if sure >= least else frozenset()), sure
    return (found, sure) if sure >= CLOSE_MIN else (with_word, sure_of(with_word))


def meant_otherwise(
    bound: BoundQuery, request: Request, by: Ranking, rows: Sequence[ScanRow]
) -> frozenset[bytes]:
    """Return which of the rows a call that may be silent leaves out, for they are called otherwise
    than what is asked about, or speak another language."""
    if request.takes_all:
        return frozenset()

    def in_plain_figures(ids: Sequence[bytes]) -> Mapping[bytes, RecalledMemory]:
        return {
            id: msgspec.structs.replace(one, content=plain_figures(plain_characters(one.content)))
            for id, one in bound.recalled(ids).items()
        }

    # without words in the ranking, what is called may lie behind the rows
    query = plain_figures(request.query)
    called = called_otherwise(rows, query, in_plain_figures) if by.counts_words else frozenset()
    return called | in_strange_language(bound, by, rows)


def in_strange_language(
    bound: BoundQuery, by: Ranking, rows: Sequence[ScanRow]
) -> frozenset[bytes]:
    """Return which of the rows are certainly in another language than a query in one that neither
    the judge nor the embedder has learnt, and hold no word of it that is the same in theirs: that
    they are near it says nothing."""
    own = language_of(bound.request.query)
    if own in (None, ENGLISH) or not is_on(bound, by):
        return frozenset()
    texts = bound.recalled([row.id for row in rows])
    foreign = {
        id: one.content for id, one in texts.items() if differ(language_of(one.content), own)
    }
    across = words_across(bound) if foreign else frozenset()
    return frozenset(id for id, text in foreign.items() if not holds_any(text, across))


def _in_other_language(bound: BoundQuery) -> Mapping[bytes, bool]:
    """Memories that the judge left unread for their language, each with whether it holds a word of
    `words_across`."""
    known = bound.query.judgements
    return {} if known is None else known.in_other_language


def with_what_may_answer(
    bound: BoundQuery,
    scan: Scan,
    namespace: str,
    results: Sequence[ScanRow],
    kept: Sequence[ScanRow],
) -> Sequence[ScanRow]:
    """Return the kept rows, with those of the results that may answer however far they score below
    the best: what states the query's words, what later says that it ended or the same of what is
    called by less, what has a word of the name or a code that is asked about as a whole, what is
    of one set with the best where all are asked for, and what the judge does not read for its
    language and holds a word of the query."""
    terms = frozenset(bound.content_terms(scan))
    kept = with_stated(bound.view, namespace, results, kept, terms)
    kept = with_all_of_name(bound, scan, namespace, results, kept)
    kept = with_later(bound.view, namespace, results, kept)
    if asks_for_all(bound.request.query):
        kept = _with_members(bound, results, kept)
    others, chosen = _in_other_language(bound), {row.id for row in kept}
    return [row for row in results if row.id in chosen or others.get(row.id, False)]


def _with_members(
    bound: BoundQuery, results: Sequence[ScanRow], kept: Sequence[ScanRow]
) -> Sequence[ScanRow]:
    """Return the kept rows with those of the best results that are of one set with the best kept
    one, which the question does not tell apart from them."""
    best = results[:ROWS_MOVED]
    if not kept or len(kept) == len(results):
        return kept
    texts = bound.recalled([row.id for row in best])
    if kept[0].id not in texts:
        return kept
    chosen, query = {row.id for row in kept}, bound.request.query
    first = Parts(texts[kept[0].id].content)
    for id, found in texts.items():
        pair = Aligned(first, found.content)
        if pair.are_of_one_set() and not pair.are_of_two() and not pair.calls_first(query):
            chosen.add(id)
    return [row for row in results if row.id in chosen]


def silence_threshold(
    bound: BoundQuery,
    request: Request,
    by: Ranking,
    scan: Scan,
    judged: KindFit | None,
) -> float:
    """Return the confidence below which a call brings nothing.

    The first that holds decides:

    - It says nothing: 1. It takes all, or names no share of silence and asks what was said: 0.
    - It names a share, or was judged and asks for no day: what so many unanswered questions reach.
    - Nothing was compared: 0.
    - The judge does not read its language: close, or 0 where a memory holds a word of its own.
    - A memory holds a word of it: 0. No memory meets a day that it names: close.
    - It is a question beside a day ("the weather today?"): hardly above 0. Else 0.

    Args:
        judged: the fit of the confidence where a judge read the best; else None.
    """
    if request.says_nothing:
        return 1.0
    if request.takes_all or (request.silence is None and asks_what_was_said(bound, scan)):
        return 0.0
    silence = request.silence
    if silence is None and judged is not None and not asks_for_a_day(bound, scan):
        several = kind_of(request.query) == LISTS
        silence = _SILENCE_OF_SEVERAL if several else SILENCE
    if silence is not None:
        if judged is not None:
            least = least_confidence(silence, judged.unanswered)
            return least_of_few(least, scan.eligible, judged.few)
        least = least_confidence(silence, fit(scan).unanswered)
        if not (may_read(bound, by) and holds_a_word(bound.confidence_input(scan))):
            return least
        # a topic in a word, which the judge left alone
        return least_of_few(least, scan.eligible, kind_fit(request.query).few)
    if not (scan.rows and is_on(bound, by) and request.query.strip()):
        return 0.0
    if not may_read(bound, by):
        held = held_terms(bound.confidence_input(scan))
        return CLOSE_MIN if held.isdisjoint(words_across(bound, own=True)) else 0.0
    if holds_a_word(bound.confidence_input(scan)):
        return 0.0
    if not scan.dates_met:
        return CLOSE_MIN
    asks_about_more = is_question(request.query) and bound.content_terms(scan)
    return _CLOSE_ON_A_DAY_MIN if asks_about_more else 0.0
