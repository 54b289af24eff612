"""The confidence below which recall brings nothing, from how often it may be wrong; and which share
of the best score a memory needs.

Split-conformal prediction (Vovk and others, 2005): of questions that nothing stored answers, and
that the fits have not seen, it is known how sure the store was. Below the confidence that a given
share of them reaches, recall is silent; a further question of their kind reaches it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vestig.answers import CLOSE_MIN
from vestig.language.words import content_terms, is_question, said_about
from vestig.ports import Scan, ScanRow
from vestig.recall.confidence import fit, holds_a_word, holds_its_words
from vestig.recall.judged import asks_for_a_day, may_read
from vestig.recall.judgement import LISTS, QUESTIONS, KindFit, kind_fit, kind_of, least_of_few

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.ranking import Ranking
    from vestig.recall.request import Request
    from vestig.store.records.reads import LedgerView

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
    it: the judge may read the query, did not fail, met no memory in another language among the
    best, and the query does not ask for what a day holds."""
    known = bound.query.judgements
    reads = known is not None and known.degraded is None and not known.meets_language
    return reads and may_read(bound, by) and not asks_for_a_day(bound, scan)


def least_of_call(
    bound: BoundQuery,
    request: Request,
    by: Ranking,
    scan: Scan,
    judged: KindFit | None,
) -> float:
    """The confidence below which a call brings nothing. Where it says nothing of silence and is not
    judged, nothing is brought if nothing is close and none holds a word of the query; of a
    question beside a day that memories meet ("the weather today?"), if hardly anything is.

    Args:
        judged: the fit of the confidence where a judge read the best; else None.
    """
    if request.says_nothing:
        return 1.0
    whole = request.all and not request.tells_least
    if whole or (request.silence is None and asks_what_was_said(bound, scan)):
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
    known = bound.query.judgements
    foreign = known is not None and known.meets_language
    if foreign or not (scan.rows and may_read(bound, by)):
        return 0.0
    if holds_a_word(bound.confidence_input(scan)):
        return 0.0
    if not scan.dates_met:
        return CLOSE_MIN
    asks_about_more = is_question(request.query) and bound.content_terms(scan)
    return _CLOSE_ON_A_DAY_MIN if asks_about_more else 0.0
