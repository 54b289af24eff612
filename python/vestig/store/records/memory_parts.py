"""Rows that belong to a memory, for another one that has its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.changes import (
    ChangeSet,
    NewAnchor,
    NewEdge,
    NewJob,
    NewOriginalText,
    NewQuestion,
    NewTokenCodes,
    NewVector,
)
from vestig.ids import id_bytes, new_id
from vestig.store.records import anchor_rows
from vestig.store.records.projection_rows import stored_pieces
from vestig.store.sqlite.connections import fetch, store_faults
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import columns_sql
from vestig.types import EdgeType, Memory

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

# Edges that say something of the text itself, or of where it comes from.
_COPIED: Final = (EdgeType.PRODUCED, EdgeType.MENTIONS, EdgeType.RELATED)
_OF_MEMORY: Final = '(SELECT "row" FROM memories WHERE id = ?)'
_CODES: Final = f"SELECT {columns_sql('token_codes')} FROM token_codes WHERE memory = {_OF_MEMORY}"
_QUESTIONS: Final = (
    f"SELECT position, text, model, embedding FROM questions WHERE memory = {_OF_MEMORY}"
    " ORDER BY position"
)
_OPEN_JOBS: Final = (
    f"SELECT kind FROM jobs WHERE memory = {_OF_MEMORY}"
    " AND state IN ('pending', 'running', 'submitted') ORDER BY \"row\""
)


def parts_for(view: LedgerView, memory: Memory, id: str) -> ChangeSet:
    """The rows that give a new memory what a stored one has, but for its claim: vectors, questions,
    anchors, edges from it and to its source, and the work on it that is not done.

    Args:
        id: of the new memory.
    """
    space = memory.namespace
    key = (id_bytes(memory.id),)
    with store_faults(view.where):
        pieces = [stored_pieces(row) for row in fetch(view.connection, _CODES, key)]
    questions = view.fetch(_QUESTIONS, key)
    jobs = view.fetch(_OPEN_JOBS, key)
    vectors = view.vectors(space, [memory.id]).values()
    normal = view.normal_texts(space, [memory.id]).get(memory.id)
    model = next((model for model, _ in vectors), "")
    return ChangeSet(
        namespace=space,
        vectors=tuple(NewVector(memory_id=id, model=m, embedding=one) for m, one in vectors),
        token_codes=tuple(
            NewTokenCodes(memory_id=id, model=model, **one._asdict()) for one in pieces
        ),
        original_texts=()
        if normal == memory.content
        else (NewOriginalText(memory_id=id, content=memory.content),),
        questions=tuple(
            NewQuestion(memory_id=id, position=at, text=text, model=made, embedding=vector)
            for at, text, made, vector in questions
            if at != NO_QUESTION
        ),
        questions_tried=(id,) if any(one[0] == NO_QUESTION for one in questions) else (),
        anchors=_anchors(view, memory, id),
        edges=_edges(view, memory, id),
        jobs=tuple(NewJob(id=new_id("job"), memory_id=id, kind=kind) for (kind,) in jobs),
    )


def _edges(view: LedgerView, memory: Memory, id: str) -> tuple[NewEdge, ...]:
    edges = list[NewEdge]()
    for one in view.edges(memory.namespace, memory.id):
        incoming = one.edge_type is EdgeType.PRODUCED
        if one.edge_type in _COPIED and (incoming or one.from_id == memory.id):
            fields: dict[str, Any] = {
                name: getattr(one, name)
                for name in ("edge_type", "weight", "confidence", "evidence", "origin", "relation")
            }
            from_id, to_id = (one.from_id, id) if incoming else (id, one.to_id)
            edges.append(NewEdge(id=new_id("edge"), from_id=from_id, to_id=to_id, **fields))
    return tuple(edges)


def _anchors(view: LedgerView, memory: Memory, id: str) -> tuple[NewAnchor, ...]:
    if not anchor_rows.any_anchors(view):
        return ()
    found = anchor_rows.of_memories(view, memory.namespace, [memory.id], derived=False)
    names = [one for one in NewAnchor.__struct_fields__ if one in anchor_rows.AnchorRow._fields]
    names.remove("position")
    return tuple(
        NewAnchor(
            memory_id=id,
            commit=one.commit_id,
            target=one.target,
            committed=None if one.committed is None else bool(one.committed),
            **{name: getattr(one, name) for name in names if name not in ("target", "committed")},
        )
        for one in found.get(memory.id, ())
        if one.target is not None
    )


def moved(parts: ChangeSet, of: str, id: str) -> ChangeSet:
    """Those of these rows that belong to one memory that is not stored yet, for another one."""
    named = {
        name: tuple(
            msgspec.structs.replace(one, memory_id=id)
            for one in getattr(parts, name)
            if one.memory_id == of
        )
        for name in (
            "vectors", "token_codes", "original_texts", "questions", "claims", "anchors", "jobs",
        )
    }  # fmt: skip
    named["jobs"] = tuple(msgspec.structs.replace(one, id=new_id("job")) for one in named["jobs"])
    return ChangeSet(
        namespace=parts.namespace,
        questions_tried=(id,) if of in parts.questions_tried else (),
        edges=tuple(
            msgspec.structs.replace(
                one,
                id=new_id("edge"),
                from_id=id if one.from_id == of else one.from_id,
                to_id=id if one.to_id == of else one.to_id,
            )
            for one in parts.edges
            if of in (one.from_id, one.to_id) and one.edge_type in _COPIED
        ),
        **named,
    )
