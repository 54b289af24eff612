"""Versions of one statement among the best few results: the newest takes the place of an older one.

What a later memory states anew takes the place of what an earlier one states, unless the question
asks about the past or about a day, or calls what it asks about by a number, a code or a word that
only the earlier one has. Versions change places with each other and with nothing else. What an
assistant or a tool stated and no user confirmed stands behind all else, whatever is asked.

What the question calls by its code or its own words stands before what it does not, and what it
calls otherwise is no answer; `recall/text_pairs.py` compares the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.decoders import decoded
from vestig.language.words import (
    asks_for_all,
    asks_openly,
    content_terms,
    ended_clause,
    ending_terms,
    is_read_as_question,
    says_additional,
    says_ended,
    speaks_of_future,
    speaks_of_past,
    speaks_of_present,
    states,
    states_anew,
    terms_among,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import ScanRow
from vestig.recall.judgement import Judgement
from vestig.recall.text_pairs import (
    DENIALS,
    WORD,
    Aligned,
    Parts,
    codes,
    forms,
    holds_code,
    is_about_another,
    numbered,
    ordinals,
    telling_words,
)
from vestig.session.session import Session
from vestig.store.projection.scan_objects import VERSION_SIGNALS
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.records.memory_queries import OfKey, SaidAgain, unconfirmed
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import RecalledMemory

FIT: Final = Path(__file__).resolve().parent.parent / "data" / "versions.json"
# Among how many of the best results versions are looked for.
ROWS_MOVED: Final = 10
# Pairs that are read at most, and how well the later one has to read as an answer: a sentence about
# a change ("Amara took over as manager") reads as a change of much else ("who is the intern?").
PAIRS_MAX: Final = 4
ANSWERS_MIN: Final = -2.0
# How much more it takes where several memories may answer together: there the later of two facts
# that hold mostly reads as a change.
_MORE_OF_OPEN: Final = 2.0
# The logit of what says itself that it takes the place.
_RESTATED: Final = 6.0
# The logit from which on an older statement is told to be older; and where it states another value
# of the same in the same words. Less puts the newer one first, which says nothing untrue.
_MARKED_MIN, _MARKED_ALIKE_MIN = 2.0, 0.0
# Logits from which one text takes the place of another with which it has no content term in common,
# nor with the question. Below, one of thirteen such pairs in labelled worlds is of one thing.
_APART_MIN: Final = 2.0
# The same of one that ranks behind the newer one.
_MARKED_BEHIND_MIN: Final = 1.0
# Content terms of two statements about the same.
_SHARED_MIN: Final = 2


_NUMBER: Final = lazy_pattern(r"\d")
# Shorter numbers count versions of a thing rather than things.
_LONG_NUMBER: Final = lazy_pattern(r"\d{3}")
# What a question calls behind one of these is not what it asks about.
_BESIDE: Final = lazy_pattern(
    r"(?i)\b(?:after|before|besides|between|beyond|except|not|past|since|than|till|until|without)\b"
)


# Id, L, logit of the judge, a model stated it, when it was said again.
Placed = tuple[bytes, float, float | None, bool, SaidAgain | None]


class VersionFit(msgspec.Struct, frozen=True, kw_only=True):
    """When the later of two memories that the version reader read takes the place of the earlier
    one; `benches/learn_versions.py` writes the file.

    `weights`: of each of `VERSION_SIGNALS`; `least`: the least sum of the weighted signals.
    `data`: name of a labelled folder → SHA-256 of it; `figures`: by set, before and after.
    """

    weights: dict[str, float]
    least: float
    data: dict[str, str] = {}
    figures: dict[str, dict[str, dict[str, float]]] = {}

    def in_order(self, openly: bool) -> tuple[list[float], float]:
        """The weights as the core takes them, and the least sum.

        Args:
            openly: of a question that several memories may answer together (`asks_openly`), and
                that has no word of the present.
        """
        least = self.least + (_MORE_OF_OPEN if openly else 0.0)
        return [self.weights[name] for name in VERSION_SIGNALS], least


@cache
def fit() -> VersionFit:
    """The file's content."""
    return decoded(FIT.read_bytes(), VersionFit)


def asks_about_now(query: str, dated: bool) -> bool:
    """Return whether the newest version answers a question: it has a word of the present, or none
    of the past and no date.

    Example:
        >>> [asks_about_now(one, False) for one in ("Where does he live?", "Where did he live?")]
        [True, False]
    """
    return speaks_of_present(query) or not (dated or speaks_of_past(query))


def newest_first(
    session: Session,
    seq: int,
    filter: dict[str, Any],
    rows: Sequence[ScanRow],
    levels: Sequence[float],
    judged: Mapping[bytes, Judgement],
    *,
    query: str,
    content: Sequence[str],
    of_now: bool,
    at_us: int,
    unconfirmed: Callable[[Sequence[bytes]], Collection[bytes]],
    said_again: Callable[[Sequence[bytes]], Mapping[bytes, SaidAgain]],
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
    keyed: Callable[[Sequence[bytes]], Mapping[bytes, OfKey]],
    compared: Callable[[Sequence[tuple[ScanRow, ScanRow]]], Sequence[float | None]],
) -> Sequence[ScanRow]:
    """Return the rows with the newest of several versions first among their places; where the
    question asks for no newest, only with what a model stated behind the others. Each place keeps
    its final score; each names the next one that it was put before (`newer_than`), and what a newer
    one surely takes the place of names that (`older_than`).

    Args:
        filter: keyword arguments of the core's filter that the rows passed.
        rows: best first, each text once.
        levels: L of each, with what a judge adds.
        judged: what a judge says of each that it read.
        content: content terms of the query.
        of_now: the newest version answers the query.
        at_us: when what is asked for holds: what does not hold yet stands behind what does.
        unconfirmed: which of these ids are of statements of models that nobody confirmed.
        said_again: when those of these ids that were said again were said last.
        recalled: reads the memories with these ids.
        keyed: reads those of the ids that have a key.
        compared: reads pairs of an earlier and a later row: the logit that the later one takes the
            place of the earlier one, or None.
    """
    best = rows[:ROWS_MOVED]
    if len(best) < 2:
        return rows
    of_models = unconfirmed([row.id for row in best])
    if not (of_now or of_models):
        return rows
    placed = _placed(best, levels, judged, of_models, said_again([row.id for row in best]))
    # any of several things may be wanted: only what says that it takes the place of another does
    of_several = asks_for_all(query)
    reads = of_now and bool(judged)
    later = session.keeper.core.version_pairs(seq, placed, at_us) if reads else []
    turned = placed[::-1] if reads and not of_several else []
    ahead = session.keeper.core.version_pairs(seq, turned, at_us)
    restated = _restated(query, later, best, recalled)
    unread = [] if of_several else [pair for pair in later if pair not in restated]
    pairs = pairs_to_read(unread, placed, judged)
    sure, behind = _older_behind(query, ahead, best, recalled)
    behind = behind[: PAIRS_MAX - len(pairs)]
    read = _read(query, [*pairs, *behind], best, compared, recalled)
    read |= dict.fromkeys([*restated, *sure], _RESTATED)
    behind = sorted([*sure, *behind], key=sum)
    pairs_read = [(*pair, logit) for pair, logit in read.items() if pair not in behind]
    of_time = speaks_of_present(query), not speaks_of_future(query), at_us
    least = fit().in_order(asks_openly(query) and not speaks_of_present(query))
    groups = session.keeper.core.versions(
        seq, CoreFilter(**filter), placed, content, *of_time, pairs_read, *least
    )
    in_order = of_now and not (of_several and of_models)
    groups = _only(restated, groups) if in_order and of_several else groups
    known = recalled([row.id for row in best]) if groups or behind else {}
    groups = _of_one_key(_of_one_thing(groups, best, query, known), best, keyed, at_us)
    announced = {id for id, one in known.items() if one.t_valid_us > at_us}
    moved = list(best)
    for group in groups:
        if in_order:
            versions = _versions_in(group, best, placed, announced)
            _put_newest_first(moved, best, group, versions, known, read)
        else:
            _put_last(moved, group, lambda at: placed[at][3])
    _mark(moved, best, [*restated, *behind], read, keyed)
    return [*moved, *rows[ROWS_MOVED:]]


def _read(
    query: str,
    pairs: Sequence[tuple[int, int]],
    best: Sequence[ScanRow],
    compared: Callable[[Sequence[tuple[ScanRow, ScanRow]]], Sequence[float | None]],
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> dict[tuple[int, int], float]:
    """Return those of the pairs that a model read, each with its logit; without those whose later
    text has no content term of the question or of the earlier one, and of which it is not sure: a
    turn reads as an answer by the turn before it, which may be the earlier text itself."""
    logits = compared([(best[older], best[newer]) for older, newer in pairs])
    read = {pair: logit for pair, logit in zip(pairs, logits, strict=True) if logit is not None}
    unsure = [pair for pair, logit in read.items() if 0 <= logit < _APART_MIN]
    known = recalled([best[at].id for pair in unsure for at in pair]) if unsure else {}
    for pair in unsure:
        older, newer = (known[best[at].id].content for at in pair)
        if _terms(newer).isdisjoint(_terms(older) | _terms(query)):
            del read[pair]
    return read


def _terms(text: str) -> set[str]:
    """The content terms of a text."""
    return {one.term for one in content_terms(text, ())}


def _placed(
    best: Sequence[ScanRow],
    levels: Sequence[float],
    judged: Mapping[bytes, Judgement],
    of_models: Collection[bytes],
    again: Mapping[bytes, SaidAgain],
) -> list[Placed]:
    answers = {row.id: judged[row.id].answers for row in best if row.id in judged}
    return [
        (row.id, level, answers.get(row.id), row.id in of_models, again.get(row.id))
        for row, level in zip(best, levels, strict=False)
    ]


def _versions_in(
    group: Sequence[int],
    best: Sequence[ScanRow],
    placed: Sequence[Placed],
    announced: Collection[bytes],
) -> list[int]:
    """The places of a group that are versions of its first: what a model stated behind what a user
    stated may be the later of both, and what does not hold yet is no older version."""
    by_others = {at for at in group if placed[at][3] != placed[group[0]][3]}
    others = by_others | {at for at in group[1:] if best[at].id in announced}
    return [at for at in group if at not in others]


def _put_newest_first(
    rows: list[ScanRow],
    best: Sequence[ScanRow],
    group: Sequence[int],
    versions: Sequence[int],
    known: Mapping[bytes, RecalledMemory],
    read: Mapping[tuple[int, int], float],
) -> None:
    """Puts the rows of a group into their places, the first of it into the best one, and tells
    which are older.

    Args:
        group: places of the rows, the newest first.
        versions: those of them that are versions of the first.
        read: places of an earlier and a later row → logit that the later one takes the place.
    """
    told = _told_older(versions, best, known, read)
    next_of = dict(pairwise(versions))
    for place, at in zip(sorted(group), group, strict=True):
        rows[place] = best[at].moved(
            best[place].final_score,
            newer_than=best[next_of[at]].id if at in next_of else None,
            older_than=best[told[at]].id if at in told else None,
        )


def _told_older(
    versions: Sequence[int],
    best: Sequence[ScanRow],
    known: Mapping[bytes, RecalledMemory],
    read: Mapping[tuple[int, int], float],
) -> dict[int, int]:
    """Return which of the versions are told to be older than another one, and than which, the
    newest of those: it states another value of the same in the same words, or a model read both
    and is sure that it takes their place.

    Args:
        versions: places, the newest first.
        read: places of an earlier and a later row → logit that the later one takes the place.
    """

    def is_sure(older: int, newer: int) -> bool:
        logit = read.get((older, newer))
        if logit is not None and logit < _MARKED_ALIKE_MIN:
            return False
        pair = Aligned(known[best[older].id].content, known[best[newer].id].content)
        if pair.states_another_of_several():
            return False
        return pair.state_another() or (logit is not None and logit >= _MARKED_MIN)

    told = dict[int, int]()
    for behind, older in enumerate(versions):
        newer = next((one for one in versions[:behind] if is_sure(older, one)), None)
        if newer is not None:
            told[older] = newer
    return told


def _older_behind(
    query: str,
    turned: Sequence[tuple[int, int]],
    best: Sequence[ScanRow],
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of an earlier row and a later one before it that nothing tells apart, those
    that state another value of what is asked for and those that differ in numbers alone: they keep
    their places, and the earlier one is told to be so, of the second if a model reads it.

    Args:
        turned: places of an earlier and a later row, counted from the last.
    """
    last = len(best) - 1
    known = recalled([row.id for row in best]) if turned else {}
    parts = [Parts(known[row.id].content) for row in best] if known else []
    pairs = [(last - older, last - newer) for older, newer in turned]
    alike = [pair for pair in pairs if parts[pair[0]].may_align(parts[pair[1]])]
    sure, of_numbers = list[tuple[int, int]](), list[tuple[int, int]]()
    for older, newer in sorted(alike, key=sum):
        pair = Aligned(parts[older], parts[newer])
        if pair.tells_apart(query) or pair.states_another_of_several():
            continue
        if pair.state_anew(query):
            sure.append((older, newer))
        elif pair.differ_in_numbers():
            of_numbers.append((older, newer))
    return sure, of_numbers


def _mark(
    rows: list[ScanRow],
    best: Sequence[ScanRow],
    pairs: Sequence[tuple[int, int]],
    read: Mapping[tuple[int, int], float],
    keyed: Callable[[Sequence[bytes]], Mapping[bytes, OfKey]],
) -> None:
    """Names the newer of two rows on the older one behind it, and that on it, where neither has one
    named and none of them alone is the value of a key.

    Args:
        pairs: places of an earlier and a later row among `best`, which say most in the same words;
            `read`: of each, the logit that the later one takes the place of the earlier one.
    """
    sure = [
        (best[older].id, best[newer].id)
        for older, newer in pairs
        if read.get((older, newer), 0.0) >= _MARKED_BEHIND_MIN
    ]
    slots = keyed([id for pair in sure for id in pair]) if sure else {}
    for older, newer in sure:
        places = {row.id: place for place, row in enumerate(rows)}
        if places[newer] > places[older]:
            continue
        first, other = rows[places[newer]], rows[places[older]]
        named = (first.older_than, other.older_than, other.newer_than)
        own, replaced = slots.get(newer), slots.get(older)
        of_one_key = (own and own.slot) == (replaced and replaced.slot)
        if of_one_key and named == (None, None, None):
            newest = first.newer_than or older
            rows[places[newer]] = first.moved(first.final_score, newer_than=newest, older_than=None)
            rows[places[older]] = other.moved(other.final_score, newer_than=None, older_than=newer)


def pairs_to_read(
    pairs: Sequence[tuple[int, int]], placed: Sequence[Placed], judged: Mapping[bytes, Judgement]
) -> list[tuple[int, int]]:
    """Return the pairs of rows that the version reader reads: those next to the top, of which most
    hangs, whose later one reads as an answer at least a little.

    Args:
        pairs: places of an earlier and a later row, those next to the top first.
        placed: best first.
        judged: what the judge says of each that it read.
    """
    reading = [pair for pair in pairs if judged[placed[pair[1]][0]].answers >= ANSWERS_MIN]
    return reading[:PAIRS_MAX]


def _restated(
    query: str,
    pairs: Sequence[tuple[int, int]],
    best: Sequence[ScanRow],
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> list[tuple[int, int]]:
    """Return the pairs whose later text says that something holds since a change, in most of the
    words in which the earlier one says it without; or that something ended, of which the earlier
    one tells all that is said to have ended; and the rest tells them not apart for the question,
    nor do they state two of several things that may hold together."""
    known = recalled([row.id for row in best]) if pairs else {}

    def restates(older: Parts, newer: Parts) -> bool:
        first, second = older.written_text, newer.written_text
        if says_ended(second) and not says_ended(first):
            about, told = _terms_beside_an_end(ended_clause(second)), _terms_beside_an_end(first)
            if len(about) >= _SHARED_MIN and about <= told and _terms(query) & told <= about:
                return not is_about_another(query, first, second)
        # most texts have too little in common to be compared word by word
        if not older.may_align(newer) or _adds(first, second):
            return False
        pair = Aligned(older, newer)
        if not pair.is_alike or pair.states_another_of_several() or pair.tells_apart(query):
            return False
        return pair.state_anew(query) or (states_anew(second) and not states_anew(first))

    parts = [Parts(known[row.id].content) for row in best] if known else []
    return [pair for pair in pairs if restates(parts[pair[0]], parts[pair[1]])]


def _only(pairs: Sequence[tuple[int, int]], groups: list[list[int]]) -> list[list[int]]:
    """The groups without what is of none of the pairs of an earlier and a later row."""
    of_pairs = {at for pair in pairs for at in pair}
    found = ([at for at in group if at in of_pairs] for group in groups)
    return [group for group in found if len(group) > 1]


def _of_one_thing(
    groups: list[list[int]],
    best: Sequence[ScanRow],
    query: str,
    known: Mapping[bytes, RecalledMemory],
) -> list[list[int]]:
    """The groups without those that lack a number or a code by which the question calls what the
    first of them is about, without those that say the same of something else or beside it, and
    without those that state anew what another row tells (`_is_of_other`)."""
    named, called = numbered(query), codes(query)

    def of_one(first: str, other: str) -> bool:
        one, two = (WORD.findall(text.casefold()) for text in (first, other))
        lacks = any(holds_code(one, code) and not holds_code(two, code) for code in called)
        return (
            named & numbered(first) <= numbered(other)
            and not lacks
            and not _adds(first, other)
            and not is_about_another(query, first, other)
            and not _is_of_other(query, first, other, others)
        )

    others = [one.content for one in known.values()] if groups else []
    texts = {at: known[best[at].id].content for group in groups for at in group}
    return [[at for at in group if of_one(texts[min(group)], texts[at])] for group in groups]


def _adds(older: str, newer: str) -> bool:
    """Return whether the newer text says in most of the words of the older one that something holds
    beside that."""
    if says_additional(older) or not says_additional(newer):
        return False
    return Aligned(older, newer).is_alike


def _is_of_other(query: str, older: str, newer: str, others: Sequence[str]) -> bool:
    """Return whether the newer text has more content terms in common with one that the question
    tells apart from the older one (`is_about_another`) than with the older one, without those that
    both have: then it states that anew."""
    stated, own = _terms(newer), _terms(older)

    def is_closer(text: str) -> bool:
        terms = _terms(text)
        return len(stated & terms - own) > len(stated & own - terms)

    return any(
        text not in (older, newer) and is_closer(text) and is_about_another(query, older, text)
        for text in others
    )


def _of_one_key(
    groups: list[list[int]],
    best: Sequence[ScanRow],
    keyed: Callable[[Sequence[bytes]], Mapping[bytes, OfKey]],
    at_us: int,
) -> list[list[int]]:
    """The groups in which nothing takes the place of what holds under a key but another value of
    that key."""
    slots = keyed([best[at].id for group in groups for at in group]) if groups else {}

    def of_key(group: list[int]) -> list[int]:
        own = slots.get(best[min(group)].id)
        if own is None or not own.holds(at_us):
            return group
        others = ((at, slots.get(best[at].id)) for at in group)
        return [at for at, one in others if one and one.slot == own.slot]

    return [of_key(group) for group in groups]


def announced_last(
    rows: Sequence[ScanRow],
    keyed: Callable[[Sequence[bytes]], Mapping[bytes, OfKey]],
    at_us: int,
) -> Sequence[ScanRow]:
    """Return the rows with the values of a key that do not hold yet behind those of the same key
    that do, among their places; each place keeps its final score.

    Args:
        rows: best first, each text once.
        keyed: reads those of the ids that have a key.
        at_us: when it is asked.
    """
    best = rows[:ROWS_MOVED]
    known = keyed([row.id for row in best]) if len(best) > 1 else {}
    if all(one.begins_us <= at_us for one in known.values()):
        return rows
    slots: dict[tuple[str | None, str], list[int]] = {}
    for place, row in enumerate(best):
        if row.id in known:
            slots.setdefault(known[row.id].slot, []).append(place)
    moved = list(best)
    for places in slots.values():
        _put_last(moved, places, lambda at: known[best[at].id].begins_us > at_us)
    return [*moved, *rows[ROWS_MOVED:]]


def called_first(
    rows: Sequence[ScanRow],
    query: str,
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> Sequence[ScanRow]:
    """Return the rows with those that hold a code of the query before those that hold only others
    of its form ("WAY-1041" for "WAY-1042"), among their places; each place keeps its final score.

    Args:
        rows: best first, each text once.
        recalled: reads the memories with these ids.
    """
    called = {code for code in codes(query) if any(_LONG_NUMBER.search(part) for part in code)}
    best = rows[:ROWS_MOVED]
    if not called or len(best) < 2:
        return rows
    known = recalled([row.id for row in best])
    right, others, called_forms = set[int](), set[int](), _forms(called)
    for at, row in enumerate(best):
        text = known[row.id].content
        if any(holds_code(WORD.findall(text.casefold()), code) for code in called):
            right.add(at)
        elif not called_forms.isdisjoint(_forms(codes(text))):
            others.add(at)
    if not right or not others:
        return rows
    moved = [*best]
    _put_last(moved, right | others, others.__contains__)
    return [*moved, *rows[ROWS_MOVED:]]


def _forms(called: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The forms of codes."""
    return {form for code in called for form in forms(code)}


def told_first(
    rows: Sequence[ScanRow],
    query: str,
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> Sequence[ScanRow]:
    """Return the rows with those that the query calls by a word before those that have others in
    its place and else say most in the same words (`Aligned`), among their places; each place keeps
    its final score.

    Args:
        rows: best first, each text once.
        recalled: reads the memories with these ids.
    """
    best = rows[:ROWS_MOVED]
    if len(best) < 2:
        return rows
    known = recalled([row.id for row in best])
    parts = [Parts(known[row.id].content) for row in best]
    telling = telling_words(query)
    told = [{word for word in (*own.written, *own.folded) if word in telling} for own in parts]
    denies = [not DENIALS.isdisjoint(own.set) for own in parts]

    def is_told(at: int, before: int) -> bool:
        # of most pairs nothing that one has alone is asked about, or they share too little
        return (
            not (told[at] <= told[before] and denies[at] == denies[before])
            and parts[at].may_align(parts[before])
            and states(known[best[at].id].content)
            and Aligned(parts[at], parts[before]).means_first(query)
        )

    order: list[int] = []
    for at in range(len(best)):
        ahead = next((place for place, other in enumerate(order) if is_told(at, other)), at)
        order.insert(ahead, at)
    if order == [*range(len(best))]:
        return rows
    moved = [
        best[at].moved(
            best[place].final_score,
            newer_than=best[at].newer_than,
            older_than=best[at].older_than,
        )
        for place, at in enumerate(order)
    ]
    return [*moved, *rows[ROWS_MOVED:]]


def called_otherwise(
    rows: Sequence[ScanRow],
    query: str,
    recalled: Callable[[Sequence[bytes]], Mapping[bytes, RecalledMemory]],
) -> frozenset[bytes]:
    """Return the rows that are about another thing than the one that a question calls by a code or
    by a number behind a word ("WAY-1042", "ward 5"): they hold a code of its form, or another
    number behind that word, and nothing that it calls; and no row holds that with another content
    word of the question.

    Args:
        rows: best first.
        recalled: reads the memories with these ids.
    """
    if not is_read_as_question(query):
        return frozenset()
    content = [
        (one.term, query[one.start : one.end].casefold()) for one in content_terms(query, ())
    ]
    beside = _BESIDE.search(query)
    head = query if beside is None else query[: beside.start()]
    called, counted = codes(head), {word for _, word in content}
    numbers = {pair: behind for pair, behind in ordinals(head).items() if pair[0] in counted}
    if not (called or numbers):
        return frozenset()
    known = recalled([row.id for row in rows])
    texts = {row.id: known[row.id].content for row in rows}
    words = {id: WORD.findall(text.casefold()) for id, text in texts.items()}
    named = {*codes(query), *ordinals(query)}
    holding = {id: {one for one in named if holds_code(of, one)} for id, of in words.items()}
    parts = {part for one in named for part in one}
    asked = {term for term, word in content if parts.isdisjoint(WORD.findall(word))}
    answered = {
        one
        for id, held in holding.items()
        if held and (not asked or terms_among(asked, [texts[id]]))
        for one in held
    }
    forms_absent, numbers_absent = _forms(called - answered), numbers.keys() - answered

    def is_of_another(id: bytes, text: str) -> bool:
        if holding[id]:
            return False
        if not forms_absent.isdisjoint(_forms(codes(text))):
            return True
        others = ordinals(text)
        # what holds the number alone may mean it; with the same word behind both, the numbers count
        # that
        return any(
            pair[0] == other[0]
            and pair[1] not in words[id]
            and not (numbers[pair] and numbers[pair] == others[other])
            for pair in numbers_absent
            for other in others
        )

    return frozenset(id for id, text in texts.items() if is_of_another(id, text))


def held_first(rows: Sequence[ScanRow], held: Mapping[bytes, bytes]) -> Sequence[ScanRow]:
    """Return the rows with each memory that held in the time asked about before its successor,
    which did not yet, in their two places; each place keeps its final score.

    Args:
        held: memory → successor.
    """
    if not held:
        return rows
    moved = [*rows]
    for id, successor in held.items():
        places = {row.id: place for place, row in enumerate(moved)}
        if id in places and successor in places:
            later = places[successor]
            _put_last(moved, (places[id], later), later.__eq__)
    return moved


def with_stated(
    view: LedgerView,
    namespace: str,
    results: Sequence[ScanRow],
    kept: Sequence[ScanRow],
    asked: Collection[str],
) -> Sequence[ScanRow]:
    """Return the kept rows with what a user or a document states about the same, where all that is
    kept is of models and nobody confirmed it: that of the results which has the most content terms
    in common with the best, two at least, of which the question has one.

    Args:
        results: the rows of which these are kept, best first.
        asked: content terms of the question.
    """
    best = results[:ROWS_MOVED]
    of_models = unconfirmed(view, namespace, [row.id for row in best])
    if not kept or not all(row.id in of_models for row in kept):
        return kept
    texts = view.recalled(namespace, [row.id for row in best])
    terms = {id: _terms(found.content) for id, found in texts.items()}
    guessed = terms.get(kept[0].id, set())
    shared = {
        row.id: len(terms[row.id] & guessed)
        for row in best
        if row.id in terms and row.id not in of_models and terms[row.id] & guessed & set(asked)
    }
    stated = max(shared, key=lambda id: shared[id], default=b"")
    if shared.get(stated, 0) < _SHARED_MIN:
        return kept
    chosen = {stated, *(row.id for row in kept)}
    return [row for row in results if row.id in chosen]


def with_later(
    view: LedgerView,
    namespace: str,
    results: Sequence[ScanRow],
    kept: Sequence[ScanRow],
) -> Sequence[ScanRow]:
    """Return the kept rows, with those of the best results that say later what may change the best
    kept one: that something ended or was moved (`says_ended`) which has content terms in common
    with it, two or all that it is about; or the same of what is called by less (`Aligned.extends`).
    Who is shown what was planned is shown that it was called off."""
    best = results[:ROWS_MOVED]
    if not kept or len(kept) == len(results):
        return kept
    texts = view.recalled(namespace, [row.id for row in best])
    stated = texts.get(kept[0].id)
    if stated is None:
        return kept
    about = _terms_beside_an_end(stated.content)

    def may_change(found: RecalledMemory) -> bool:
        if (found.t_valid_us, found.row) <= (stated.t_valid_us, stated.row):
            return False
        if not says_ended(found.content):
            return Aligned(stated.content, found.content).extends()
        ended = _terms_beside_an_end(found.content)
        return len(ended & about) >= min(_SHARED_MIN, max(len(ended), 1))

    chosen = {row.id for row in kept} | {id for id, found in texts.items() if may_change(found)}
    return [row for row in results if row.id in chosen]


def _terms_beside_an_end(text: str) -> set[str]:
    """The content terms of a text without numbers and the words that tell of an end."""
    terms = _terms(text) - ending_terms()
    return {term for term in terms if not _NUMBER.match(term)}


def _put_last(rows: list[ScanRow], places: Collection[int], last: Callable[[int], bool]) -> None:
    """Puts those of the rows at some places that are the last behind the others of them; each place
    keeps its final score, each row what it is a version of."""
    places = sorted(places)
    found = [rows[at] for at in sorted(places, key=last)]
    scores = [rows[place].final_score for place in places]
    for place, row, score in zip(places, found, scores, strict=True):
        rows[place] = row.moved(score, newer_than=row.newer_than, older_than=row.older_than)
