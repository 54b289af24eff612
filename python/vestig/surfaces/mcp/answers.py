"""Answers of the tools: one call of the store, and its result as one text.

Clients show an agent the structured content of a result alone where there is some, so that there is
none: the text has it all. Stored text stands behind `> `, behind an id on a line of a block, or
inside JSON, never where Vestig speaks.

The texts of `recall` and `retrieve` keep to a budget of tokens. Each begins with the line that says
how sure the store is; below it stands a block of quoted memories, as `recall(context=True)` makes
it. A text that does not fit its share of the budget is cut where a sentence or word ends, and says
how the whole of it is shown. What degraded, and warnings, come last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from vestig.answers import RecallHit, RecallResult, count_of_more
from vestig.api.store import Vestig
from vestig.arguments import listed
from vestig.calls.declaration import checked
from vestig.calls.filter import Filter, checked_filter
from vestig.calls.queries import RecallRequest, RetrieveRequest
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.filters import moments
from vestig.language.text_forms import one_line, word_list
from vestig.language.time.printed_dates import day_of
from vestig.lazy_pattern import lazy_pattern
from vestig.memories.read import anchors_of, as_known
from vestig.other_words import by_caller
from vestig.printed import (
    anchor_words,
    clean,
    limits,
    on_line,
    said_by,
    speaker_of,
)
from vestig.recall.context.block import ESTIMATE, Counted, Entry, Measure
from vestig.recall.context.budget import fitting_text, measure, shared_block, short_ids
from vestig.recall.layouts import confidence_line, first_line, line_without_results
from vestig.recall.reason import contribution
from vestig.recall.recall import NEAREST_MAX, recalled
from vestig.repository.branches import read_scopes
from vestig.results import MemoryDetail
from vestig.retrieve.retrieve import retrieved
from vestig.retrieve.values import RetrieveResult
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.surfaces.earlier_scope import left_behind
from vestig.surfaces.mcp.resources import listed_as, memory_url, title_of
from vestig.surfaces.mcp.speakers import check_speaker, check_stated, replaced_by, said_by_whom
from vestig.times import from_us, to_plain
from vestig.types import (
    CommitOutcome,
    CommitOutcomeKind,
    Degradation,
    Memory,
    Role,
    Status,
    flags_of,
)

# Tokens of an explained result where the caller gives no budget.
BUDGET_EXPLAINED: Final = 2_500
# What the first line and the head of one memory need, with some of its text.
BUDGET_MIN: Final = 100
# Of an explained result so much is for the memories, unless a result without reasons has less.
_EXPLAINED_SHARE: Final = 0.5
# What degraded is named without its sentences where these take more of the budget.
_NOTES_SHARE: Final = 0.2
# A summary by a model takes no more of the budget.
_SUMMARY_SHARE: Final = 0.35
_STEP: Final = 2
_QUOTE: Final = "> "
_PARAGRAPH: Final = "\n\n"
_DECIMALS: Final = 4
ESTIMATED: Final = Degradation(code="tokens_estimated", detail="the embedder counts none")

Count = Callable[[str], int]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Means with which the texts are made.

    Args:
        entries: memories for the block, each once.
        twins: pairs of ids that say the same.
        short_ids: id → the short form that stands for it, of every entry.
        measure: how tokens are counted, and how many there may be.
        zone: time zone in which days begin.
        counted: what the block counts, where the question asks for all.
    """

    entries: Sequence[Entry]
    twins: AbstractSet[frozenset[str]]
    short_ids: Mapping[str, str]
    measure: Measure
    zone: str = "UTC"
    counted: Counted | None = None


def recall_text(
    result: RecallResult, layout: Layout, *, explained: int | None = None, more: str = ""
) -> str:
    """A result as a text of at most `layout.measure.budget` tokens. Where recall abstained, its
    nearest misses are shown.

    Args:
        explained: None, or how many tokens a result without reasons has: what is left above these
            is for the score, the sentence and the signals of each memory. The smallest
            contributions are left out first.
        more: said behind the memories, or in their place.
    """
    hits = result.nearest if result.abstained else result.results
    if not hits:
        notes = _notes(result.degraded, result.warnings, layout.measure)
        return _joined(line_without_results(result), more, notes)
    budget = layout.measure.budget
    first = first_line(result)
    if first is not None and result.results[1:]:
        # the block stands in the order of time
        first = f"{first}; best: [{layout.short_ids[hits[0].id]}]"
    fit = _Fit(layout, first, (result.degraded, result.warnings))
    if explained is None:
        return fit.text(budget, more)
    memories = max(BUDGET_MIN, min(explained, int(budget * _EXPLAINED_SHARE)))
    text = fit.text(memories, more)
    head = f"Why (seq {result.seq}):"
    room = budget - fit.count(f"{text}{_PARAGRAPH}{head}")
    while room > 0:
        lines = _reasons(hits, layout.short_ids, room, fit.count)
        whole = _joined(text, "\n".join([head, *lines]))
        excess = fit.count(whole) - budget
        if not lines:
            break
        if excess <= 0:
            return whole
        room -= excess
    return text


def retrieve_text(result: RetrieveResult, layout: Layout) -> str:
    """Facts and turns of a retrieval as a text of at most `layout.measure.budget` tokens, a model's
    summary in it."""
    found = result.metadata
    budget = layout.measure.budget
    fit = _Fit(layout, confidence_line(found.confidence_score), (found.degraded, found.warnings))
    summary = ""
    if result.context_summary:
        room = int(budget * _SUMMARY_SHARE)
        whole = clean(result.context_summary)
        text = fitting_text(whole, room, "…", lambda one: fit.count(quoted(one)))
        summary = f"Summary by a model of such data:\n{quoted(text)}"
    return fit.text(budget, summary)


def quoted(text: str) -> str:
    """Every line of a stored text behind a mark."""
    return "\n".join(f"{_QUOTE}{line}" for line in text.splitlines() or [""])


class _Fit:
    """The first line, the block and the notes of one result."""

    def __init__(
        self,
        layout: Layout,
        first: str | None,
        notes: tuple[Sequence[Degradation], Sequence[str]],
    ) -> None:
        self._layout = msgspec.structs.replace(
            layout,
            measure=msgspec.structs.replace(layout.measure, count=cache(layout.measure.count)),
        )
        self._first = first
        self._notes = notes
        self.count: Count = self._layout.measure.count

    def text(self, budget: int, beside: str = "") -> str:
        """The text within a budget.

        Args:
            beside: what stands between the block and the notes.
        """
        layout = self._layout
        measure = msgspec.structs.replace(layout.measure, budget=budget)
        notes = _notes(*self._notes, measure)
        frame = _joined(self._first, beside, notes)
        room = budget - self.count(frame)
        while room > 0:
            measure = msgspec.structs.replace(layout.measure, budget=room)
            found = shared_block(
                layout.entries,
                layout.twins,
                measure,
                layout.short_ids,
                zone=layout.zone,
                counted=layout.counted,
            )
            text = _joined(self._first, found.text, beside, notes)
            excess = self.count(text) - budget
            if excess <= 0:
                return text
            room -= max(excess, _STEP)
        return frame


def _joined(*parts: str | None) -> str:
    return _PARAGRAPH.join(part for part in parts if part)


def _notes(degraded: Sequence[Degradation], warnings: Sequence[str], measure: Measure) -> str:
    """Return what made the answer weaker, and warnings; codes alone where a budget has little
    room."""
    if measure.counted_by == ESTIMATE:
        degraded = [*degraded, ESTIMATED]
    codes = [f"Degraded: {', '.join(one.code for one in degraded)}."] if degraded else []
    whole = [f"Degraded: {one.code} ({one.detail})." for one in degraded]
    text = "\n".join([*whole, *(f"Warning: {by_caller(one)}" for one in warnings)])
    if measure.count(text) <= measure.budget * _NOTES_SHARE:
        return text
    return "\n".join([*codes, *([f"{len(warnings)} warnings."] if warnings else [])])


def _reasons(
    hits: Sequence[RecallHit], short_ids: Mapping[str, str], room: int, count: Count
) -> list[str]:
    """Lines with the score and sentence of each hit, then the greatest contributions of all hits
    as value × weight, as long as they fit."""
    heads, left = list[str](), room
    for hit in hits:
        similarity = "" if hit.similarity is None else f", similarity {_number(hit.similarity)}"
        sentence = hit.reason.explanation
        said = "" if sentence is UNSET else f": {clean(' '.join(sentence.split()))}"
        line = f"[{short_ids[hit.id]}] score {_number(hit.score)}{similarity}{said}"
        left -= count(f"\n{line}")
        if left < 0:
            return heads
        heads.append(line)
    weighed = [
        (abs(contribution(signal)), place, name, signal)
        for place, hit in enumerate(hits)
        if hit.reason.signals is not UNSET
        for name, signal in hit.reason.signals.items()
        if contribution(signal) != 0
    ]
    signals: list[list[str]] = [[] for _ in hits]
    for _, place, name, signal in sorted(weighed, key=lambda one: (-one[0], one[1], one[2])):
        value = signal.raw
        term = f"{name} {_number(value)} × {_number(signal.weight)}"
        left -= count(f", {term}") + (0 if signals[place] else count("\n  "))
        if left < 0:
            break
        signals[place].append(term)
    lines = list[str]()
    for head, terms in zip(heads, signals, strict=True):
        lines += [head, *([f"  {', '.join(terms)}"] if terms else [])]
    return lines


def _number(value: float) -> str:
    return f"{round(value, _DECIMALS):g}"


_AGENT: Final = "mcp"
_SEARCH_LIMIT: Final = 10
_RELATED_CHARS: Final = 160
_EVENTS_SHOWN: Final = 20
# Of a memory as `show` gives it: what stands in the text already, and what only the store needs.
_NOT_IN_FIELDS: Final = frozenset(
    word_list(
        "content content_hash embedding_dimensions embedding_head embedding_model keywords"
        " related versions mentions events"
    )
)
# The word behind `code=` in the name of a counter.
_CODE: Final = lazy_pattern(r"\w+")
_EMPTY: Final[tuple[object, ...]] = (None, [], {})


class OpenStore(msgspec.Struct, frozen=True, kw_only=True):
    """The store that the tools work on.

    `scope`: of what is remembered; reads see it and what has none, unless their filter names a
    scope. None: no scope of its own. `folder`: of the project whose scope it is, where a branch
    may be checked out; None: the scope was named. `running_session`: the editor's session, whose
    turns the model has before it; reads in a scope leave it out. `options`: of the command line.
    """

    store: Vestig
    session: Session
    scope: str | None = None
    folder: str | None = None
    running_session: str | None = None
    options: Mapping[str, Any] = {}

    @property
    def namespace(self) -> str:
        """The namespace that it serves."""
        return self.session.namespace

    @property
    def zone(self) -> str:
        """Time zone in which days begin."""
        return self.session.config.settings.time.zone

    def where(self, given: Mapping[str, Any] | None) -> Filter:
        """The filter of a read: the given one, in the scope of this server."""
        chosen = checked_filter(given, query=True)
        if self.scope is None:
            return chosen
        fields = chosen.given()
        if not {"scope", "unscoped"} & fields.keys():
            fields |= {"scope": read_scopes(self.scope, self.folder), "unscoped": True}
        running = self.running_session
        if running is not None and running not in fields.get("session_ids", ()):
            others = fields.get("exclude_session_ids", ())
            fields["exclude_session_ids"] = [*others, running]
        return checked_filter(fields, query=True)

    def reads(self, scope: str | None) -> bool:
        """Return whether reads without a filter see what has this scope."""
        if self.scope is None or scope is None:
            return True
        return scope in read_scopes(self.scope, self.folder)

    def short(self, ids: Iterable[str | None]) -> dict[str, str]:
        """Id → its short form, of those that are ids of memories."""
        known = [id for id in dict.fromkeys(ids) if id is not None and id.startswith("mem_")]
        if not known:
            return {}
        with self.session.ledger.read() as view:
            return short_ids(view, self.namespace, known)


def _json(value: Any) -> str:
    """A value as JSON on one line, without hidden characters."""
    return clean(wire.encode(value).decode())


# --- remember ---------------------------------------------------------------------------------


def remember(at: OpenStore, given: Mapping[str, Any]) -> str:
    """Stores one fact. A refused text is an outcome, no error."""
    fields = {"scope": at.scope, **given}
    if fields.pop("unscoped", False):
        if "scope" in given:
            raise ValidationError("unscoped", "scope beside it", "one of them")
        fields["scope"] = None
    elif at.scope is not None and at.folder is not None and "scope" not in given:
        from vestig.commit.branches import in_project

        (fields,) = in_project(at.session, at.scope, [given])
    check_speaker(at, replaced_by(at, fields), fields.get("role"))
    text = fields.pop("text")
    _check_no_rule(at, fields.get("supersedes"))
    if "valid_from" in fields:
        fields["t_valid"] = fields.pop("valid_from")
    fields |= {"source": _AGENT, "provenance": {"agent": _AGENT}}
    if "role" not in fields and at.store.commit(text, dry_run=True, **fields).confirms:
        # a model that says again what one said confirms nothing
        fields["role"] = Role.ASSISTANT
    outcome = at.store.commit(text, **fields)
    said = _committed(at, outcome, fields.get("role"))
    if outcome.memory_id is None or at.reads(fields["scope"]):
        return said
    scope = on_line(repr(fields["scope"]))
    return (
        f"{said}\nIts scope {scope} is not that of this project: recall and search find it where"
        " where.scope names it. With unscoped true a fact holds everywhere."
    )


def _committed(at: OpenStore, outcome: CommitOutcome, role: Role | None) -> str:
    short = at.short(
        (
            outcome.memory_id,
            outcome.matched_memory_id,
            outcome.revives,
            outcome.repeats,
            *(one.memory_id for one in outcome.similar),
            *outcome.superseded,
            *outcome.confirms,
        )
    )
    known = [one.memory_id for one in outcome.similar]
    own = () if outcome.memory_id is None else (outcome.memory_id,)
    with at.session.ledger.read() as view:
        kept = {one.id for one in view.memories(at.namespace, known) if said_by_whom(one, role)}
        # what is history at once replaces nothing, as a warning says
        if any(one.status is Status.SUPERSEDED for one in view.memories(at.namespace, own)):
            outcome = msgspec.structs.replace(outcome, similar=())
    return _outcome_text(outcome, short, at.zone, kept, role)


def _outcome_text(
    outcome: CommitOutcome,
    short: Mapping[str, str],
    zone: str,
    kept: Collection[str] = (),
    role: Role | None = None,
) -> str:
    """The outcome in words.

    Args:
        kept: what is known of the same and such a statement does not replace.
        role: of the statement.
    """
    if outcome.memory_id is None:
        reasons = ", ".join(outcome.hygiene_reasons).rstrip(".")
        return f"Not stored: {reasons}. Store one self-contained fact in a sentence, or nothing."
    own = short[outcome.memory_id]
    if outcome.echoes and outcome.seq is None:
        said = f"Echo of {own}: that text came from this memory, and nothing is stored."
        return " ".join([said, *_warned(outcome.warnings)])
    if outcome.outcome is CommitOutcomeKind.EXACT_DUPE:
        lines = [f"Known already as {own}: counted as said once more."]
    elif outcome.outcome is CommitOutcomeKind.NEAR_DUPE:
        lines = [f"Known already as {own} in nearly the same words: counted as said once more."]
    else:
        lines = [f"Stored as {own}."]
    if outcome.revives is not None:
        lines.append(f"It says again what {short[outcome.revives]} said.")
    if outcome.repeats is not None:
        lines.append(f"{short[outcome.repeats]} has the same text.")
    if outcome.confirms:
        lines.append(f"Confirms {', '.join(short[id] for id in outcome.confirms)}.")
    if outcome.superseded:
        lines.append(f"Replaces {', '.join(short[id] for id in outcome.superseded)}.")
    if outcome.masked:
        found = ", ".join(f"{one.count} × {one.rule}" for one in outcome.masked)
        lines.append(f"Secrets are not kept; masked: {found}.")
    said = " ".join([*lines, *_warned(outcome.warnings), *_degraded(outcome.degraded)])
    return "\n".join([said, *_similar(outcome, short, zone, kept, role)])


def _similar(
    outcome: CommitOutcome,
    short: Mapping[str, str],
    zone: str,
    kept: Collection[str],
    role: Role | None,
) -> list[str]:
    """Return what is known of the same, as quoted data, and which call replaces one of it."""
    if not outcome.similar:
        return []
    lines = ["Similar, quoted:"]
    for one in outcome.similar:
        head = f"[{short[one.memory_id]}] {day_of(one.t_valid, zone)}"
        if one.differs:
            head += f" (differs: {on_line(', '.join(map(str, one.differs)))})"
        lines += [f"{head}:", quoted(clean(one.beginning))]
    own = "" if outcome.memory_id is None else short[outcome.memory_id]
    replaceable = [short[one.memory_id] for one in outcome.similar if one.memory_id not in kept]
    if not replaceable:
        first = short[outcome.similar[0].memory_id]
        call = (
            f"confirm with id {own}" if role else f"supersede with old {first}, text and role user"
        )
        return [*lines, f"It replaces none of this. If the user has said it, call {call}."]
    new = f" and new {own}" if own else ""
    first = replaceable[0]
    which = (
        "Both stay; if the older" if len(outcome.similar) == 1 else f"All stay; if one, as {first},"
    )
    return [*lines, f"{which} is no longer so, call supersede with old {first}{new}."]


def _warned(warnings: Sequence[str]) -> list[str]:
    """Warnings with the tools and arguments that who reads them has."""
    return [f"Warning: {by_caller(one)}." for one in warnings]


def _degraded(entries: Sequence[Degradation]) -> list[str]:
    return [f"Degraded: {one.code} ({one.detail})." for one in entries]


# --- recall, search ----------------------------------------------------------------------------


def recall(at: OpenStore, given: Mapping[str, Any]) -> str:
    """Memories that answer a question, within a budget of tokens."""
    fields = {**given, "where": at.where(given.get("where"))}
    explained = fields.pop("explain", False)
    own = at.session.config.settings.mcp.result_tokens
    budget = _budget(fields.pop("budget", None), max(own, BUDGET_EXPLAINED) if explained else own)
    asked = checked(RecallRequest, {**fields, "context": True, "budget": budget})
    result, material = recalled(at.session, asked)
    assert material is not None, "a block is asked for"
    entries = material.entries or _nearest(at, result.nearest)
    layout = _layout(at, entries, budget, material.twins, material.counted)
    more = ""
    if result.results and result.more:
        more = f"{count_of_more(result)} more: offset {fields.get('offset', 0) + len(result)}."
    elif not result.results and at.folder is not None:
        more = "\n".join(left_behind(at.store, Path(at.folder), at.options))
    return recall_text(result, layout, explained=own if explained else None, more=more)


def _nearest(at: OpenStore, hits: Sequence[RecallHit]) -> list[Entry]:
    """The nearest misses, which no block of a recall has."""
    ids = {hit.id for hit in hits}
    return [
        Entry(
            memory=hit.memory,
            rank=rank,
            version="older" if hit.reason.older_than in ids else None,
            flags=() if hit.reason.flags is UNSET else hit.reason.flags,
            sources=tuple(anchor_words(hit.anchors, at.zone)),
        )
        for rank, hit in enumerate(hits)
    ]


def retrieve(at: OpenStore, given: Mapping[str, Any]) -> str:
    """Facts and turns for the end of a conversation, within a budget of tokens."""
    fields = dict(given)
    budget = _budget(fields.pop("budget", None), at.session.config.settings.mcp.result_tokens)
    fields["where"] = at.where(fields.get("where"))
    found = retrieved(at.session, checked(RetrieveRequest, fields))
    # where nothing is close, the nearest alone, as recall has them
    most = NEAREST_MAX if found.result.confidence == "low" else None
    entries = _entries(at, found.memory_ids[:most])
    return retrieve_text(found.result, _layout(at, entries, budget))


def _budget(given: int | None, default: int) -> int:
    if given is None:
        return default
    if given < BUDGET_MIN:
        raise ValidationError("budget", given, f"an integer >= {BUDGET_MIN}")
    return given


def _layout(
    at: OpenStore,
    entries: Sequence[Entry],
    budget: int,
    twins: AbstractSet[frozenset[str]] = frozenset(),
    counts: Counted | None = None,
) -> Layout:
    counted = measure(at.session, budget)
    if counted.counted_by == ESTIMATE:
        at.session.metrics.degraded([ESTIMATED])
    return Layout(
        entries=entries,
        twins=twins,
        short_ids=at.short([one.memory.id for one in entries]),
        measure=counted,
        zone=at.zone,
        counted=counts,
    )


def _entries(at: OpenStore, ids: Sequence[str]) -> list[Entry]:
    """Memories for a block, in the order of their ids, as they are known."""
    if not ids:
        return []
    when = moments(at.session.now_us())
    query_time = from_us(when.query_time_us)
    with at.session.ledger.read() as view:
        stored = {one.id: one for one in view.memories(at.namespace, list(ids))}
        known = as_known(view, at.namespace, [stored[id] for id in ids if id in stored], when)
        anchors = anchors_of(at.session, view, at.namespace, list(stored))
    return [
        Entry(
            memory=one,
            rank=rank,
            flags=tuple(flags_of(one, query_time)),
            sources=tuple(anchor_words(anchors.get(one.id, ()), at.zone)),
        )
        for rank, one in enumerate(known)
    ]


def search(at: OpenStore, given: Mapping[str, Any]) -> str:
    """The memories that answer a question as a list of documents, best first, and the nearest where
    none does; without a word to search for, the newest."""
    fields = {"limit": _SEARCH_LIMIT, **given, "where": at.where(given.get("where"))}
    query = fields.pop("query", "")
    if not any(map(str.isalnum, query)):
        newest = at.store.list(fields["where"], limit=fields["limit"])
        return _documents(newest)
    result = at.store.search(query, **fields)
    return _documents(
        [hit.memory for hit in result],
        nearest=[listed_as(hit.memory) for hit in result.nearest] if result.abstained else (),
        degraded=result.degraded,
        warnings=list(map(by_caller, result.warnings)),
    )


def _documents(results: Iterable[Memory], **beside: Sequence[object]) -> str:
    """The results, of which there may be none, and what stands beside them where there is any."""
    found: dict[str, Sequence[object]] = {"results": [listed_as(one) for one in results]}
    found |= {name: ones for name, ones in beside.items() if ones}
    return wire.encode(found).decode()


# --- one memory --------------------------------------------------------------------------------


def show(at: OpenStore, given: Mapping[str, Any]) -> str:
    """One memory with its evidence and links."""
    detail = at.store.show(given["id"], expand=1)
    memory = detail.memory
    related = () if detail.related is None else detail.related
    mentions = () if detail.mentions is None else detail.mentions
    versions = [one.memory_id for one in detail.versions]
    short = at.short([memory.id, *(one.id for one in related), *versions])
    lines = [_head(at, detail, short[memory.id]), quoted(clean(memory.content)), ""]
    plain = detail.to_dict()
    lines += [
        f"{name}: {_json(value)}"
        for name, value in plain.items()
        if name not in _NOT_IN_FIELDS and value not in _EMPTY
    ]
    events = plain["events"]
    lines += [f"event: {_json(_without_empty(one))}" for one in events[:_EVENTS_SHOWN]]
    if len(events) > _EVENTS_SHOWN:
        lines.append(f"{len(events) - _EVENTS_SHOWN} more events.")
    for one in mentions:
        sure = "" if one.confidence is None else f" (confidence {one.confidence:.2f})"
        lines.append(f"Mentions {on_line(f'{one.type}:{one.name}')}{sure}")
    for version in detail.versions:
        since = " ".join(filter(None, (day_of(version.t_valid, at.zone), said_by(version))))
        snippet = clean(one_line(version.content, _RELATED_CHARS))
        lines += [f"Version [{short[version.memory_id]}] of {since}:", quoted(snippet)]
    for other in related:
        snippet = clean(one_line(other.content, _RELATED_CHARS))
        lines += [f"Related [{short[other.id]}] (weight {other.weight:.2f}):", quoted(snippet)]
    return "\n".join(lines)


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in _EMPTY}


def _head(at: OpenStore, detail: MemoryDetail, short: str) -> str:
    memory = detail.memory
    speaker = "" if memory.author is None and memory.role is None else speaker_of(memory)
    sources = anchor_words(at.store.anchors.show(memory.id), at.zone)
    state = limits(memory, detail.flags, at.zone, sources=sources)
    words = (f"[{short}]", day_of(memory.t_valid, at.zone), speaker, state)
    return " ".join(word for word in words if word) + ":"


def fetch(at: OpenStore, given: Mapping[str, Any]) -> str:
    """A memory as clients expect a document that look for a tool of this name."""
    memory = at.store.show(given["id"]).memory
    named = (
        "author", "role", "confirmed", "session_id", "scope", "key", "t_valid", "t_invalid",
        "status", "metadata",
    )  # fmt: skip
    metadata = {name: to_plain(getattr(memory, name)) for name in named}
    document = {
        "id": memory.id,
        "title": title_of(memory),
        "text": memory.content,
        "url": memory_url(memory.namespace, memory.id),
        "metadata": _without_empty(metadata),
    }
    return wire.encode(document).decode()


# --- changes -----------------------------------------------------------------------------------


def _check_no_rule(at: OpenStore, ids: object) -> None:
    """Refuses to end rules: whom they bind does not lift them. What is no id the call itself
    refuses.

    Raises:
        ConflictError: an id is that of a rule that binds.
    """
    given = listed(ids)
    for id in given if isinstance(given, (list, tuple)) else ():
        with suppress(NotFoundError, ValidationError):
            rule = at.store.rules.show(id)
            if rule.status == Status.ACTIVE:
                raise ConflictError(
                    f"{rule.id} is a rule of the user, and no tool ends one; ask the user to run"
                    f" `vestig rule remove {rule.id}` or `vestig rule edit {rule.id}`"
                )


def supersede(at: OpenStore, given: Mapping[str, Any]) -> str:
    """A newer fact in the place of an older one: a memory that is there, or a new text."""
    old, new, text = given["old"], given.get("new"), given.get("text")
    reason = {"reason": given["reason"]} if "reason" in given else {}
    if (new is None) == (text is None):
        got = "neither of them" if new is None else "both"
        raise ValidationError("new", got, "either new, the id of a memory, or text, a new fact")
    _check_no_rule(at, old)
    if text is not None:
        if reason:
            raise ValidationError("reason", "a reason beside text", "a reason beside new")
        replaced, role = at.store.show(old).memory, given.get("role")
        check_speaker(at, [replaced], role)
        outcome = at.store.commit(
            text,
            source=_AGENT,
            provenance={"agent": _AGENT},
            supersedes=[old],
            scope=replaced.scope,
            role=role,
        )
        return _committed(at, outcome, role)
    if "role" in given:
        raise ValidationError("role", "a role beside new", "a role beside text")
    check_stated(at, old, given["new"])
    record = at.store.supersede(old, given["new"], **reason)
    short = at.short((record.superseding_id, record.superseded_id))
    said = f"{short[record.superseding_id]} replaces {short[record.superseded_id]}."
    return " ".join([said, *_warned(record.warnings)])


def confirm(at: OpenStore, given: Mapping[str, Any]) -> str:
    """A statement of an assistant or a tool that somebody stands for."""
    state = at.store.confirm(given["id"], by=given["by"])
    own = at.short((state.memory_id,))[state.memory_id]
    said = f"{own} is confirmed." if state.changed else f"{own} needs no confirmation."
    return " ".join([said, *_warned(state.warnings)])


def forget(at: OpenStore, given: Mapping[str, Any]) -> str:
    """Erases one memory for good."""
    if not given["confirm"]:
        raise ValidationError(
            "confirm", False, "true", "nothing was forgotten; ask the user before you confirm"
        )
    _check_no_rule(at, given["id"])
    report = at.store.forget([given["id"]])
    count = len(report.memory_ids)
    said = (
        f"Forgotten for good: {count} {'memory' if count == 1 else 'memories'}. A search of"
        f" {report.files_scanned} files found nothing of it. {report.outside}."
    )
    old = ", ".join(at.short(report.had_superseded).values())
    stays = [f"It had superseded {old}, and nothing brings that back."] if old else []
    equal = ", ".join(at.short(report.same_text).values())
    stays += [f"The very text stays in {equal}."] if equal else []
    return " ".join([said, *stays, *_degraded(report.degraded)])


def check(at: OpenStore, given: Mapping[str, Any]) -> str:
    """Return the decision of the rules about an action, and those that fire."""
    found = at.store.rules.check(**given, scope=at.scope)
    from vestig.rules.reasons import reasons

    return "\n".join([f"Decision: {found.decision or 'no rule fires'}.", *reasons(found)])


def stats(at: OpenStore, _: Mapping[str, Any]) -> str:
    """Return what the store holds and its health."""
    found = at.store.admin.stats()
    prefix = "vestig_degradations_total"
    degraded = [
        f"{_CODE.findall(name)[-1]} {int(number)}"
        for name, number in at.store.admin.metrics().items()
        if name.startswith(prefix)
    ]
    waiting = sum(number for state, number in found.jobs.items() if state != "done")
    lines = (
        f"{found.memories} memories{_counts({**found.kinds, **found.statuses})};"
        f" {found.embedded} have a vector.",
        f"{found.entities} entities, {sum(found.edges.values())} edges, {found.events} events,"
        f" {found.sources} sources, {found.claims} claims; {found.bytes} bytes at seq {found.seq}.",
        f"{waiting} jobs not done, {found.jobs.get('failed', 0)} of them failed.",
        f"Degraded since the start: {', '.join(degraded) or 'nothing'}.",
    )
    return "\n".join(lines)


def _counts(numbers: Mapping[str, int]) -> str:
    """Return counts by name, in brackets; nothing of none.

    Example:
        >>> _counts({"MEMORY": 2, "ACTIVE": 1}), _counts({})
        (' (MEMORY 2, ACTIVE 1)', '')
    """
    named = ", ".join(f"{name} {number}" for name, number in numbers.items())
    return f" ({named})" if named else ""
