"""The best memories, read by the judge: their order, and whether one of them answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from vestig.answers import Judged
from vestig.config.recall_sections import JudgeSettings
from vestig.embedders.builtin import MODEL
from vestig.errors import ConfigError, ProviderError
from vestig.ids import id_bytes, id_text
from vestig.language.languages import (
    ENGLISH,
    is_foreign_function_word,
    is_function_word,
    is_latin,
    language_of,
)
from vestig.language.names import name_pattern
from vestig.language.text_forms import plain_figures
from vestig.language.time.expressions import DAY_NAMES, MONTH_NAMES
from vestig.language.words import (
    ContentTerm,
    asks_for_all,
    content_terms,
    is_joined,
    is_question,
    is_read_as_question,
    states,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import Scan, ScanRow, within
from vestig.recall.confidence import held_terms, holds_a_word, log_odds
from vestig.recall.judgement import LISTS, PROMPTS, QUESTIONS, Judgement, kind_fit, kind_of
from vestig.recall.text_pairs import WORD, codes, holds_code
from vestig.recall.unread import UnreadError
from vestig.store.projection.scan_objects import logistic
from vestig.telemetry import error_type, span
from vestig.times import zone_named
from vestig.types import Degradation, Memory

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.ranking import Ranking
    from vestig.rerankers.judge import Judge, MemoryText
    from vestig.rerankers.version_reader import VersionReader
    from vestig.session.session import Session

_K = TypeVar("_K")
_V = TypeVar("_V")

# The *answers* of what answers nothing.
_NO_ANSWER: Final = -10.0
# Words of the turn before that are read.
_BEFORE_WORDS: Final = 20
# Memories that are read before the time that is left is looked at again.
_AT_ONCE: Final = 4
# Pairs of memories that are read before it is looked at again.
_PAIRS_AT_ONCE: Final = 2
# Content terms of a query, from which on it is read whatever it is.
_CONTENT_MIN: Final = 2
# Letters of a word from which on two languages seldom share it by chance, as they do articles.
_ACROSS_MIN: Final = 4
# Beside a date that a memory meets, from which on a query that is no question wants something else
# than what the day holds.
_PROMPT_BESIDE_DATE_MIN: Final = 3


@cache
def _judge(kind: str) -> Judge:
    """The judge of this process for a kind of queries, made at its first use."""
    # imported here: most stores are opened to be written
    from vestig.rerankers import judge

    of = {QUESTIONS: judge.QUESTIONS, LISTS: judge.LISTS, PROMPTS: judge.PROMPTS}
    return judge.Judge(adapter=of[kind])


@cache
def _version_reader() -> VersionReader:
    """The version reader of this process, made at its first use."""
    from vestig.rerankers.version_reader import VersionReader

    return VersionReader()


class ToJudge(NamedTuple):
    """Memories that the judge has to read for a question."""

    question: str
    ids: list[bytes]
    texts: list[MemoryText]
    known: Judgements
    budget_ms: float

    def ask(self, session: Session) -> None:
        """Lets the judge read them; where it fails or takes too long, the call goes on without."""
        with span("judge", memories=len(self.ids)):
            self.known.ask(session, self)


class ToCompare(NamedTuple):
    """Pairs of an older and a newer memory that the version reader has to read for a question."""

    question: str
    ids: list[tuple[bytes, bytes]]
    texts: list[tuple[MemoryText, MemoryText]]
    known: Judgements
    budget_ms: float

    def ask(self, session: Session) -> None:
        """Lets it read them; where it fails or takes too long, the call goes on without."""
        with span("judge", memories=len({id for pair in self.ids for id in pair})):
            self.known.compare(session, self)


class Judgements:
    """The judgements of one call, by memory: each is read once, however often it is ranked."""

    def __init__(self) -> None:
        self.known: dict[bytes, Judgement] = {}
        # of an older and a newer memory, the logit that the newer one takes the place of the older
        self.compared: dict[tuple[bytes, bytes], float] = {}
        # those that ask or state nothing, or speak another language: they are not read
        self.silent: set[bytes] = set()
        # those of them in another language → whether it holds a word of `words_across`
        self.in_other_language: dict[bytes, bool] = {}
        # successor → the memory that it replaced, in whose place it is found
        self.replaced: Mapping[bytes, bytes] = {}
        self.degraded: Degradation | None = None
        self.spent_ms = 0.0
        self._others: dict[str, Judgements] = {}

    def of_text(self, text: str) -> Judgements:
        """Those of another question that is compared with the call's own; kept, so that a read that
        begins again finds what was read before."""
        return self._others.setdefault(text, Judgements())

    def for_reasons(self, question: str) -> dict[bytes, Judged]:
        """Return what reasons hold of them."""
        by = kind_fit(question)
        return {id: one.for_reason(by) for id, one in self.known.items()}

    def ask(self, session: Session, wanted: ToJudge) -> None:
        """Adds the judgements of these memories, the best first; `degraded` says why some have
        none."""
        judge = _judge(kind_of(wanted.question))

        def read(part: slice) -> Mapping[bytes, Judgement]:
            found = judge.read(wanted.question, wanted.texts[part])
            return dict(zip(wanted.ids[part], [Judgement(*one) for one in found], strict=True))

        parts = _parts(len(wanted.ids), _AT_ONCE)
        self._read(session, judge.load, self.known, read, parts, wanted.budget_ms)

    def compare(self, session: Session, wanted: ToCompare) -> None:
        """Adds what the version reader says of these pairs, in order; `degraded` says why some have
        not been read."""
        reader = _version_reader()

        def read(part: slice) -> Mapping[tuple[bytes, bytes], float]:
            found = reader.read(wanted.question, wanted.texts[part])
            return dict(zip(wanted.ids[part], found, strict=True))

        parts = _parts(len(wanted.ids), _PAIRS_AT_ONCE)
        self._read(session, reader.load, self.compared, read, parts, wanted.budget_ms)

    def _read(
        self,
        session: Session,
        load: Callable[[], None],
        known: dict[_K, _V],
        read: Callable[[slice], Mapping[_K, _V]],
        parts: Sequence[slice],
        budget_ms: float,
    ) -> None:
        """Adds to `known` what is read of each part, as long as there is time."""
        started = time.perf_counter()
        try:
            # the weights are read once, and no recall is told that the first one waited for them
            load()
            started = time.perf_counter()
            for part in parts:
                left_s = budget_ms / 1e3 - (time.perf_counter() - started)
                known.update(within(left_s, partial(read, part)))
        except TimeoutError:
            self._fail(session, "timeout", f"no answer within {budget_ms:g} ms")
        except (ConfigError, ProviderError) as error:
            self._fail(session, error_type(error), str(error))
        self.spent_ms += 1e3 * (time.perf_counter() - started)

    def _fail(self, session: Session, kind: str, why: str) -> None:
        session.metrics.add("vestig_errors_total", operation="judge", error_type=kind)
        read = f"the best {len(self.known)} were read" if self.known else "ranked without it"
        if self.compared:
            read += f", {len(self.compared)} pairs of them compared"
        detail = f"judge: {why}: {read} (judge.budget_ms, judge.pool)"
        self.degraded = Degradation(code="partial_backend", detail=detail)


def _parts(count: int, at_once: int) -> list[slice]:
    return [slice(at, at + at_once) for at in range(0, count, at_once)]


class ReadRows(NamedTuple):
    """Rows in the order that the judge gives them.

    Args:
        rows: each place keeps its final score.
        levels: L of each row with what the judge adds; of those that it did not read, with the
            least that it added to another.
        read: what it says of each that it read.
        best: the greatest *answers*.
    """

    rows: Sequence[ScanRow]
    levels: Sequence[float]
    read: Mapping[bytes, Judgement]
    best: float


def is_on(bound: BoundQuery, ranking: Ranking) -> bool:
    """Return whether the judge is switched on, or nothing is said and the embedder is the built-in
    one, whose word vectors it shares; and the ranking sums terms, words among them, and no other
    cross-encoder reads."""
    settings = bound.query.config.settings.judge
    builtin = bound.session.embedder.model == MODEL
    if bound.query.judgements is None or not (
        builtin if settings.enabled is None else settings.enabled
    ):
        return False
    return ranking.counts_words and ranking.core_for_reranking is None


def may_read(bound: BoundQuery, ranking: Ranking) -> bool:
    """Return whether the judge is on, and the query is not certainly in another language than
    English, which it has learnt."""
    text = bound.request.query
    return is_on(bound, ranking) and bool(text.strip()) and language_of(text) in (None, ENGLISH)


def words_across(bound: BoundQuery, *, own: bool = False) -> frozenset[str]:
    """Content terms of the query by which a memory in another language may be found: names that
    are known, what has a figure or letters of another script, and words of four letters or more; no
    function words, which languages share or write alike.

    Args:
        own: also the function words that only the language of the query has.
    """
    query = bound.request.query
    names = [one.name for one in bound.entities if one.score == 1]
    known = {of.term for name in names for of in content_terms(name, ())}
    language = language_of(query) if own else None

    def is_one(one: ContentTerm) -> bool:
        written = query[one.start : one.end]
        if one.term in known or not (written.isalpha() and is_latin(written)):
            return True
        if is_foreign_function_word(written):
            return is_function_word(written, language)
        # "SLA": in capitals, a short word is a name
        is_name = len(written) > 1 and written.isupper() and not query.isupper()
        return is_name or len(written) >= _ACROSS_MIN

    return frozenset(one.term for one in bound.content if is_one(one))


def holds_any(text: str, wanted: Collection[str]) -> bool:
    """Return whether a text has one of some content terms."""
    return any(of.term in wanted for of in content_terms(text, ()))


def asks_for_a_day(bound: BoundQuery, scan: Scan) -> bool:
    """Return whether a query asks for what a day holds, whatever it reads like: a memory of the
    scan meets a date of it, and there are few content words beside it ("my diary of last week")."""
    if not scan.dates_met:
        return False
    least = _CONTENT_MIN if is_question(bound.request.query) else _PROMPT_BESIDE_DATE_MIN
    return len(_terms(bound, in_time=False)) < least


def _terms(bound: BoundQuery, *, in_time: bool) -> set[str]:
    return {one.term for one in bound.content if in_time or not one.in_time}


def is_ordered_by_judge(bound: BoundQuery) -> bool:
    """Return whether the judge orders the memories of a query that it may read: it asks, or has two
    content words and is no order for all about a topic ("all about Ada")."""
    content = len(_terms(bound, in_time=True))
    if is_read_as_question(bound.request.query):
        return content > 0
    return content >= _CONTENT_MIN and not asks_for_all(bound.request.query)


def asks_the_judge(bound: BoundQuery, scan: Scan) -> bool:
    """Return whether the judge may say that nothing answers a query whose memories it orders: it
    has two content words that are not one name or stored code, or one that no memory of the scan
    holds. Else a question names a topic ("Who is Ada?"), of which any memory about it may be
    wanted."""
    if not is_ordered_by_judge(bound) or codes_asked_about(bound, scan):
        return False
    if len(_terms(bound, in_time=True)) >= _CONTENT_MIN and name_asked_about(bound) is None:
        return True
    return not holds_a_word(bound.confidence_input(scan))


_ASKS_ONE_THING: Final = lazy_pattern(
    r"(?i)^\W*(?:where|when|why|how|whose|is|are|was|were|does|did|do|has|have|had|can)\b"
)


def name_asked_about(bound: BoundQuery) -> str | None:
    """Return the name that a query asks about as a whole ("everything about Ada Byron", "who is Ada
    Byron?"): that of an entity which is known by it and has all content words of the query. Who
    asks where, when, why, how or if wants one thing of it."""
    if _ASKS_ONE_THING.search(bound.request.query):
        return None
    asked = _terms(bound, in_time=True)
    return next(
        (
            one.name
            for one in bound.entities
            if one.score == 1 and asked and asked <= {of.term for of in content_terms(one.name, ())}
        ),
        None,
    )


def codes_asked_about(bound: BoundQuery, scan: Scan) -> frozenset[tuple[str, ...]]:
    """Return the codes that a query consists of ("NV-20105", "what is WI-25?") and that memories of
    the scan hold as they are written; none where it has another content word or wants one thing of
    them, as `name_asked_about`."""
    query = bound.request.query
    if _ASKS_ONE_THING.search(query):
        return frozenset()
    # an identifier gives its whole first, then its parts, which lie inside it
    whole, end = list[ContentTerm](), 0
    for one in bound.content:
        if one.start >= end:
            whole.append(one)
            end = one.end
    found = dict[str, tuple[str, ...]]()
    for one in whole:
        written = query[one.start : one.end]
        words = (*WORD.findall(written.casefold()),)
        if words not in codes(written) and not is_joined(written):
            return frozenset()
        found[one.term] = words
    held = held_terms(bound.confidence_input(scan))
    return frozenset(words for term, words in found.items() if term in held)


def with_all_of_name(
    bound: BoundQuery,
    scan: Scan,
    namespace: str,
    results: Sequence[ScanRow],
    kept: Sequence[ScanRow],
) -> Sequence[ScanRow]:
    """Return the kept rows; where the query asks about a name as a whole, with those of the results
    that have a word of it, or about codes, with those that hold one: any may be wanted, however
    little it reads like the query."""
    name, called = name_asked_about(bound), codes_asked_about(bound, scan)
    if name is None and not called:
        return kept
    pattern = None if name is None else name_pattern([name])

    def is_meant(text: str) -> bool:
        if pattern is not None and pattern.search(text):
            return True
        words = WORD.findall(text.casefold())
        return any(holds_code(words, code) for code in called)

    texts = bound.view.recalled(namespace, [row.id for row in results])
    chosen = {row.id for row in kept}
    chosen |= {id for id, found in texts.items() if is_meant(found.content)}
    return [row for row in results if row.id in chosen]


def judged(
    bound: BoundQuery, settings: JudgeSettings, question: str, rows: Sequence[ScanRow]
) -> ReadRows | None:
    """The rows with the best few in the order of L and judgement; None where there is nothing to
    read, or the judge failed.

    Args:
        rows: best first, each text once.

    Raises:
        UnreadError: it has to read some of them first.
    """
    known = bound.query.judgements
    best = rows[: settings.pool]
    if known is None or not (best and question.strip()):
        return None
    unread = [row for row in best if row.id not in known.known and row.id not in known.silent]
    if unread and known.degraded is None:
        texts, others = _texts(bound, unread)
        known.in_other_language |= others
        known.silent.update(row.id for row in unread if row.id not in texts)
        if texts:
            wanted = ToJudge(question, [*texts], [*texts.values()], known, settings.budget_ms)
            raise UnreadError([wanted])
    # where it failed, what it has read before
    places = [place for place, row in enumerate(best) if row.id in known.known]
    if not places:
        return None
    found = {place: known.known[best[place].id] for place in places}
    by = kind_fit(question)
    least = min(one.level(by) for one in found.values())
    levels = [row.start_score + least for row in rows]
    for place, one in found.items():
        levels[place] = best[place].start_score + one.level(by)
    order = sorted(places, key=lambda place: -levels[place])
    moved, placed = [*rows], [*levels]
    finals = _finals(rows, places, [levels[at] for at in order])
    for place, at, final in zip(places, order, finals, strict=True):
        moved[place] = best[at] if final == best[at].final_score else best[at].moved(final)
        placed[place] = levels[at]
    return ReadRows(
        moved,
        placed,
        {best[at].id: one for at, one in found.items()},
        max(one.answers for one in found.values()),
    )


def answers_without(known: Judgements | None, others: Collection[bytes]) -> float:
    """The greatest *answers* without those of some memories; far below all where none is left."""
    read = {} if known is None else known.known
    return max((one.answers for id, one in read.items() if id not in others), default=_NO_ANSWER)


def _finals(rows: Sequence[ScanRow], places: Sequence[int], levels: Sequence[float]) -> list[float]:
    """The final scores at the places of rows that were read: the first keeps its own, and what
    follows lies as far behind it by its log odds as by its level, yet not below a row behind that
    was not read.

    Args:
        levels: of the rows that come to these places, falling.
    """
    first = rows[places[0]].final_score
    if not first > 0:
        return [rows[place].final_score for place in places]
    read, behind, found = set(places), 0.0, list[float]()
    for place in range(len(rows) - 1, -1, -1):
        if place not in read:
            behind = max(behind, rows[place].final_score)
            continue
        level = levels[len(places) - 1 - len(found)]
        own = logistic(log_odds(first) + level - levels[0])
        found.append(first if level == levels[0] else max(own, behind))
    return found[::-1]


def compared(
    bound: BoundQuery,
    settings: JudgeSettings,
    question: str,
    pairs: Sequence[tuple[ScanRow, ScanRow]],
) -> list[float | None]:
    """The logit of each pair of an older and a newer row, both read by the judge, that the newer
    one takes the place of the older one; None where it was not read.

    Raises:
        UnreadError: some have to be read first.
    """
    known = bound.query.judgements
    if known is None:
        return [None] * len(pairs)
    unread = [pair for pair in pairs if (pair[0].id, pair[1].id) not in known.compared]
    if unread and known.degraded is None:
        rows = {row.id: row for pair in unread for row in pair}
        texts, _ = _texts(bound, [*rows.values()])
        # one that was changed since the judge read it may state nothing any more
        ids = [
            (older.id, newer.id)
            for older, newer in unread
            if older.id in texts and newer.id in texts
        ]
        if ids:
            read = [(texts[older], texts[newer]) for older, newer in ids]
            raise UnreadError([ToCompare(question, ids, read, known, settings.budget_ms)])
    return [known.compared.get((older.id, newer.id)) for older, newer in pairs]


def _texts(
    bound: BoundQuery, rows: Sequence[ScanRow]
) -> tuple[dict[bytes, MemoryText], dict[bytes, bool]]:
    """Return what is read of these memories, without those that ask or state nothing; those in
    another language, each with whether it holds a word of `words_across`; of the turns before
    them, those that the filters of the
    call let through, and in their place the stored question that a turn answers, or the memory
    that a successor replaced."""
    # imported here: most reads end with what is known
    from vestig.recall.context.entries import sessions_of, turns_around
    from vestig.rerankers.judge import MemoryText

    namespace = bound.request.namespace
    known = bound.query.judgements
    replaced = {} if known is None else known.replaced
    led = {row.memory_id: row.answers or replaced.get(row.id) for row in rows}
    leads = {id: id_text("mem", by) for id, by in led.items() if by}
    stored = bound.view.memories(namespace, [*(row.memory_id for row in rows), *leads.values()])
    found = {one.id: one for one in stored}
    memories = [found[row.memory_id] for row in rows]
    memories = [one for one in memories if states(one.content)]
    across = words_across(bound)
    others = {
        id_bytes(one.id): holds_any(one.content, across)
        for one in memories
        if language_of(one.content) not in (None, ENGLISH)
    }
    memories = [one for one in memories if id_bytes(one.id) not in others]
    sessions = sessions_of(bound, memories)
    turns = turns_around(bound, sessions, memories)
    zone = zone_named(bound.query.config.settings.time.zone)
    of_question = is_read_as_question(bound.request.query)

    def lead_of(memory: Memory) -> str | None:
        # an earlier order of a user helps with no later one; what answers does so whoever says it
        role = (
            None
            if of_question or memory.role is None
            else "user"
            if memory.confirmed
            else memory.role
        )
        return memory.author or memory.title or role

    def before(memory: Memory) -> str:
        if memory.id in leads:
            texts = [found[leads[memory.id]].content]
        else:
            texts = [turns[id].content for id in sessions.at(memory.id, -1) if id in turns]
        return " ".join(texts[-1].split()[-_BEFORE_WORDS:]) if texts else ""

    texts = {
        id_bytes(one.id): MemoryText(
            _day(one.t_valid, zone),
            before(one),
            f"{lead}:" if (lead := lead_of(one)) else "",
            plain_figures(one.content),
        )
        for one in memories
    }
    return texts, others


def _day(moment: datetime, zone: tzinfo) -> str:
    """The day as the judge has learnt to read it; that of UTC where the zone's lies beyond all
    dates."""
    with suppress(OverflowError):
        moment = moment.astimezone(zone)
    month = MONTH_NAMES[moment.month - 1]
    return f"{DAY_NAMES[moment.weekday()]} {moment.day} {month} {moment.year} ·"
