"""What each tool does: one call of the store, and its result as a text and as numbers.

The text is for an agent to read, the structured content for a program; no text stands in both.
Stored text stands behind `> ` or inside JSON, never where Vestig speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from vestig.api.store import Vestig
from vestig.errors import ValidationError
from vestig.graph.search_result import SearchHit
from vestig.language.text_forms import one_line
from vestig.recall.context.block import ESTIMATE, Entry, clean, limits, on_line
from vestig.recall.context.dates import day_of
from vestig.recall.context.short_forms import measure, short_ids
from vestig.results import MemoryDetail
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.surfaces.mcp.recall_result import (
    BUDGET_EXPLAINED,
    BUDGET_MIN,
    ESTIMATED,
    quoted,
    recall_layout,
    replaced_ids,
)
from vestig.times import to_plain
from vestig.types import CommitOutcome, CommitOutcomeKind, Degradation, Entity, Memory

__all__ = ["Answer", "OpenStore", "listed_memories", "memory_url", "resource_text"]

_AGENT: Final = "mcp"
_ENTITY: Final = "ent_"
_TITLE_CHARS: Final = 100
_LISTED_MAX: Final = 50
_RELATED_CHARS: Final = 160
# Of a memory as `show` gives it: what stands in the text or beside the fields, and what only the
# store needs.
_NOT_IN_FIELDS: Final = frozenset(
    (
        "id",
        "content",
        "content_hash",
        "embedding_dimensions",
        "embedding_head",
        "embedding_model",
        "keywords",
        "related",
        "mentions",
        "events",
    )
)
_EMPTY: Final[tuple[object, ...]] = (None, [], {})


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool: its text, and its structured content."""

    text: str
    content: dict[str, Any] | None = None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as a list of resources names it."""

    id: str
    title: str
    url: str


class OpenStore(msgspec.Struct, frozen=True, kw_only=True):
    """The store that the tools work on."""

    store: Vestig
    session: Session

    @property
    def zone(self) -> str:
        """Time zone in which days begin."""
        return self.session.config.settings.time.zone

    def short(self, ids: Iterable[str | None]) -> dict[str, str]:
        """Id → its short form, of those that are ids of memories."""
        known = [id for id in dict.fromkeys(ids) if id is not None and id.startswith("mem_")]
        if not known:
            return {}
        with self.session.ledger.read() as view:
            return short_ids(view, self.session.namespace, known)


def memory_url(namespace: str, id: str) -> str:
    """The address of a memory as a resource.

    Example:
        >>> memory_url("default", "mem_0123abcd")
        'vestig://default/memory/mem_0123abcd'
    """
    return _address(namespace, "memory", id)


def _address(namespace: str, kind: str, id: str) -> str:
    return f"vestig://{quote(namespace, safe='')}/{kind}/{id}"


def _plain(value: Any) -> Any:
    return msgspec.json.decode(wire.encode(value))


def _degraded(entries: Sequence[Degradation]) -> dict[str, Any]:
    return {"degraded": _plain(entries)} if entries else {}


# --- remember ---------------------------------------------------------------------------------


def remember(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """Stores one fact. A refused text is an outcome, no error."""
    fields = dict(given)
    text = fields.pop("text")
    if "valid_from" in fields:
        fields["t_valid"] = fields.pop("valid_from")
    outcome = at.store.commit(text, source=_AGENT, provenance={"agent": _AGENT}, **fields)
    return _committed(at, outcome)


def _committed(at: OpenStore, outcome: CommitOutcome) -> Answer:
    update = outcome.possible_update_of
    short = at.short(
        (
            outcome.memory_id,
            outcome.matched_memory_id,
            outcome.revives,
            outcome.repeats,
            None if update is None else update.memory_id,
            *outcome.superseded,
        )
    )
    content = {
        "outcome": outcome.outcome.value,
        "id": outcome.memory_id,
        "matched_id": outcome.matched_memory_id,
        "similarity": outcome.query_score,
        "possible_update_of": None if update is None else _plain(update),
        "revives": outcome.revives,
        "repeats": outcome.repeats,
        "superseded": list(outcome.superseded),
        "hygiene_reasons": list(outcome.hygiene_reasons),
        "warnings": list(outcome.warnings),
        "seq": outcome.seq,
    }
    shown = {name: value for name, value in content.items() if value not in _EMPTY}
    return Answer(text=_outcome_text(outcome, short), content=shown | _degraded(outcome.degraded))


def _outcome_text(outcome: CommitOutcome, short: Mapping[str, str]) -> str:
    if outcome.memory_id is None:
        reasons = ", ".join(outcome.hygiene_reasons)
        return (
            f"Not stored: {reasons}. Store one self-contained fact in a whole sentence, or nothing."
        )
    own = short[outcome.memory_id]
    if outcome.outcome is CommitOutcomeKind.EXACT_DUPE:
        lines = [f"Known already as {own}: counted as said once more."]
    elif outcome.outcome is CommitOutcomeKind.NEAR_DUPE:
        lines = [f"Known already as {own} in nearly the same words: counted as said once more."]
    else:
        lines = [f"Stored as {own}."]
    update = outcome.possible_update_of
    if update is not None:
        differs = f" ({clean(', '.join(map(str, update.differs)))})" if update.differs else ""
        other = short[update.memory_id]
        lines.append(
            f"Possible update of {other}{differs}: if it replaces that fact, call supersede with"
            f" old {other} and new {own}."
        )
    if outcome.revives is not None:
        lines.append(f"It says again what {short[outcome.revives]} said.")
    if outcome.repeats is not None:
        lines.append(f"{short[outcome.repeats]} has the same text.")
    if outcome.superseded:
        lines.append(f"Replaces {', '.join(short[id] for id in outcome.superseded)}.")
    return " ".join([*lines, *outcome.warnings])


# --- recall, search ----------------------------------------------------------------------------


def recall(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """Memories that answer a question, within a budget of tokens."""
    fields = dict(given)
    explained = fields.pop("explain", False)
    budget = fields.pop("budget", None)
    if budget is None:
        own = at.session.config.settings.mcp.result_tokens
        budget = max(own, BUDGET_EXPLAINED) if explained else own
    elif budget < BUDGET_MIN:
        raise ValidationError("budget", budget, f"an integer >= {BUDGET_MIN}")
    result = at.store.recall(fields.pop("query"), **fields)
    hits = result.nearest_misses if result.abstained else result.results
    named = (*hits, *result.associated)
    short = at.short([id for hit in named for id in (hit.id, *replaced_ids(hit))])
    counted = measure(at.session, budget)
    if counted.counted_by == ESTIMATE:
        at.session.metrics.degraded([ESTIMATED])
    layout = recall_layout(result, counted, short, zone=at.zone, explained=explained)
    return Answer(text=layout.text, content=layout.content)


def retrieve(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """Facts and turns for the end of a conversation."""
    fields = dict(given)
    result = at.store.retrieve(fields.pop("messages"), **fields)
    found = result.metadata
    lines = [f"confidence: {result.confidence} ({found.confidence_score:.2f})"]
    for title, texts in (("Facts", result.facts), ("Messages", result.messages)):
        if texts:
            lines += ["", f"{title}:", *(quoted(text) for text in texts)]
    if result.context_summary:
        lines += ["", "Summary:", quoted(result.context_summary)]
    if not result.facts and not result.messages:
        lines += ["", "No memory was found."]
    content: dict[str, Any] = {
        "confidence": result.confidence,
        "confidence_score": found.confidence_score,
        "stop_reason": found.stop_reason,
        "iterations_used": found.iterations_used,
        "facts_returned": found.facts_returned,
        "messages_retrieved": found.messages_retrieved,
        "coverage_score": found.coverage_score,
        "seq": found.seq,
    }
    if found.warnings:
        content["warnings"] = list(found.warnings)
    return Answer(text="\n".join(lines), content=content | _degraded(found.degraded))


def search(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """Memories and entities by meaning or by links."""
    fields = dict(given)
    if "depth" in fields:
        fields["graph_depth"] = fields.pop("depth")
    result = at.store.search(fields.pop("query", None), include_memory_ids=False, **fields)
    named = [
        {
            "id": hit.node_id,
            "title": _title(hit.node),
            "url": _url(result.namespace, hit),
        }
        for hit in result
    ]
    hits = [
        {
            "id": hit.node_id,
            "kind": str(hit.kind),
            "score": hit.score,
            "similarity": hit.similarity,
            "source": hit.source,
            "depth": hit.graph_depth,
        }
        for hit in result
    ]
    content = {
        "type": result.type,
        "score_scale": result.score_scale,
        "seq": result.seq,
        "hits": hits,
        **({"warnings": list(result.warnings)} if result.warnings else {}),
    }
    text = wire.encode({"results": named}).decode()
    return Answer(text=text, content=_plain(content) | _degraded(result.degraded))


def _title(node: Memory | Entity) -> str:
    if isinstance(node, Entity):
        return clean(f"{node.entity_type}:{node.canonical_name}")
    return clean(one_line(node.content, _TITLE_CHARS))


def _url(namespace: str, hit: SearchHit) -> str:
    kind = "entity" if isinstance(hit.node, Entity) else "memory"
    return _address(namespace, kind, hit.node_id)


# --- one memory --------------------------------------------------------------------------------


def show(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """One memory with its evidence and links."""
    detail = at.store.show(given["id"], expand=1)
    memory = detail.memory
    related = () if detail.related is None else detail.related
    mentions = () if detail.mentions is None else detail.mentions
    short = at.short([memory.id, *(one.id for one in related)])
    lines = [_head(at, detail, short[memory.id]), quoted(clean(memory.content))]
    if mentions:
        named = ", ".join(on_line(f"{one.type}:{one.name}") for one in mentions)
        lines.append(f"Mentions: {named}")
    for one in related:
        snippet = clean(one_line(one.content, _RELATED_CHARS))
        lines += [f"Related [{short[one.id]}] (weight {one.weight:.2f}):", quoted(snippet)]
    plain = detail.to_dict()
    fields = {
        name: value
        for name, value in plain.items()
        if name not in _NOT_IN_FIELDS and value not in _EMPTY
    }
    edges = [
        *({"type": "MENTIONS", "id": one.id, "confidence": one.confidence} for one in mentions),
        *({"type": "RELATED", "id": one.id, "weight": one.weight} for one in related),
    ]
    events = [
        {name: value for name, value in event.items() if value not in _EMPTY}
        for event in plain["events"]
    ]
    content = {"id": memory.id, "fields": fields, "events": events, "edges": edges}
    return Answer(text="\n".join(lines), content=_plain(content))


def _head(at: OpenStore, detail: MemoryDetail, short: str) -> str:
    memory = detail.memory
    speaker = on_line(memory.author) if memory.author is not None else ""
    if not speaker and memory.role is not None:
        speaker = memory.role.value
    state = limits(Entry(memory=memory, rank=0, flags=detail.flags), at.zone)
    words = (f"[{short}]", day_of(memory.t_valid, at.zone), speaker, state)
    return " ".join(word for word in words if word) + ":"


def fetch(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """What a search found, as clients expect it that look for a tool of this name."""
    if given["id"].startswith(_ENTITY):
        return _fetched_entity(at, given["id"])
    memory = at.store.show(given["id"]).memory
    named = ("author", "role", "session_id", "scope", "t_valid", "t_invalid", "status", "metadata")
    metadata = {name: to_plain(getattr(memory, name)) for name in named}
    document = {
        "id": memory.id,
        "title": clean(memory.title) if memory.title is not None else _title(memory),
        "text": memory.content,
        "url": memory_url(memory.namespace, memory.id),
        "metadata": {name: value for name, value in metadata.items() if value not in _EMPTY},
    }
    return Answer(text=wire.encode(document).decode())


def _fetched_entity(at: OpenStore, id: str) -> Answer:
    entity = at.store.graph.entity(id).entity
    document = {
        "id": entity.id,
        "title": _title(entity),
        "text": _entity_text(at, entity.id),
        "url": _address(entity.namespace, "entity", entity.id),
        "metadata": {"type": entity.entity_type},
    }
    return Answer(text=wire.encode(document).decode())


def _entity_text(at: OpenStore, id: str) -> str:
    """An entity as a text: its names, and the memories that mention it."""
    detail = at.store.graph.entity(id)
    entity = detail.entity
    short = at.short(detail.memory_ids[:_LISTED_MAX])
    lines = [
        _title(entity),
        f"Also: {', '.join(entity.aliases)}" if entity.aliases else "",
        entity.description,
        f"Mentioned by: {', '.join(short.values())}" if short else "",
    ]
    return "\n".join(line for line in lines if line)


def listed_memories(at: OpenStore) -> list[Listed]:
    """The newest memories, as resources."""
    page = at.store.list(limit=_LISTED_MAX)
    return [
        Listed(id=one.id, title=_title(one), url=memory_url(one.namespace, one.id)) for one in page
    ]


def resource_text(at: OpenStore, uri: str) -> str:
    """The text behind an address of this store: that of a memory unaltered.

    Raises:
        ValidationError: no address of a memory or an entity in this namespace.
        NotFoundError: there is none.
    """
    namespace = at.session.namespace
    for kind, text in (("memory", _memory_text), ("entity", _entity_text)):
        start = _address(namespace, kind, "")
        if uri.startswith(start):
            return text(at, unquote(uri.removeprefix(start)))
    raise ValidationError("uri", uri, memory_url(namespace, "ID"))


def _memory_text(at: OpenStore, id: str) -> str:
    return at.store.show(id).memory.content


# --- changes -----------------------------------------------------------------------------------


def supersede(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """A newer fact in the place of an older one: a memory that is there, or a new text."""
    old, new, text = given["old"], given.get("new"), given.get("text")
    reason = {"reason": given["reason"]} if "reason" in given else {}
    if (new is None) == (text is None):
        got = "neither of them" if new is None else "both"
        raise ValidationError("new", got, "either new, the id of a memory, or text, a new fact")
    if text is not None:
        if reason:
            raise ValidationError("reason", "a reason beside text", "a reason beside new")
        outcome = at.store.commit(
            text, source=_AGENT, provenance={"agent": _AGENT}, supersedes=[old]
        )
        return _committed(at, outcome)
    record = at.store.supersede(old, given["new"], **reason)
    short = at.short((record.superseding_id, record.superseded_id))
    said = f"{short[record.superseding_id]} replaces {short[record.superseded_id]}."
    return Answer(text=said, content=record.to_dict())


def forget(at: OpenStore, given: Mapping[str, Any]) -> Answer:
    """Erases one memory for good."""
    if not given["confirm"]:
        raise ValidationError(
            "confirm", False, "true", "nothing was forgotten; ask the user before you confirm"
        )
    report = at.store.forget([given["id"]])
    count = len(report.memory_ids)
    said = (
        f"Forgotten for good: {count} {'memory' if count == 1 else 'memories'}. A search of"
        f" {report.files_scanned} files found nothing of it. {report.outside}"
    )
    return Answer(text=said, content=report.to_dict())


def stats(at: OpenStore, _: Mapping[str, Any]) -> Answer:
    """What the store holds and its health."""
    found = at.store.admin.stats()
    metrics = at.store.admin.metrics()
    prefix = "vestig_degradations_total"
    degraded = {
        name.partition('code="')[2].rstrip('"}'): int(number)
        for name, number in metrics.items()
        if name.startswith(prefix)
    }
    waiting = sum(number for state, number in found.jobs.items() if state != "done")
    failed = found.jobs.get("failed", 0)
    lines = [
        f"{found.memories} memories, {found.entities} entities, {found.events} events.",
        f"{waiting} jobs not done, {failed} of them failed.",
        f"Degraded since the start: {', '.join(degraded) or 'nothing'}.",
    ]
    content = found.to_dict() | {"degraded": degraded}
    # which array has how many bytes is for the store's owner
    content.pop("projection")
    return Answer(text=" ".join(lines), content=_plain(content))
