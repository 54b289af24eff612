"""Files as other programs write them, and the store that they are imported into."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import vestig
from vestig.results import ImportReport
from vestig.testing import HashingEmbedder


def store_of(files: Any, **options: Any) -> tuple[vestig.Vestig, ImportReport]:
    """A store in memory and the report of what was imported into it."""
    store = vestig.open(":memory:", embedder=HashingEmbedder())
    return store, store.import_(files, **options)


def said(store: vestig.Vestig, session: str) -> list[tuple[str, str]]:
    """(role, text) of the turns of a session in their order."""
    turns = store.list(session_ids=session, limit=1_000)
    ordered = sorted(turns, key=lambda turn: turn.sequence or 0)
    return [("" if turn.role is None else turn.role.value, turn.content) for turn in ordered]


def texts(store: vestig.Vestig) -> set[str]:
    """The texts of all memories."""
    return {memory.content for memory in store.list(limit=1_000)}


def as_file(value: Any, *, indent: int | None = None) -> io.BytesIO:
    """A file of one JSON value."""
    return io.BytesIO(json.dumps(value, indent=indent).encode())


def as_lines(*rows: Any) -> io.BytesIO:
    """A file of JSON lines; bytes and texts stand as they are."""
    made = b""
    for row in rows:
        data = row.encode() if isinstance(row, str) else row
        made += (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n"
    return io.BytesIO(made)


def zipped(path: Path, members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip archive; members that are neither text nor bytes are written as JSON."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in members.items():
            data = value if isinstance(value, (str, bytes)) else json.dumps(value)
            archive.writestr(name, data)
    return path


def message(id: str, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    """A message as ChatGPT exports it."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": fields.pop("create_time", None),
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": fields.pop("metadata", {}),
        "recipient": fields.pop("recipient", "all"),
        "channel": None,
        **fields,
    }


def tree(*nodes: tuple[str, str | None, dict[str, Any] | None]) -> dict[str, Any]:
    """A mapping of (id, parent, message)."""
    mapping: dict[str, Any] = {}
    for id, parent, said_there in nodes:
        mapping[id] = {"id": id, "message": said_there, "parent": parent, "children": []}
    for id, parent, _ in nodes:
        if parent in mapping:
            mapping[parent]["children"].append(id)
    return mapping


def conversation(id: str, title: str, mapping: dict[str, Any], current: str | None) -> Any:
    """A conversation as ChatGPT exports it."""
    return {
        "title": title,
        "create_time": 1_767_225_600.0,
        "update_time": 1_767_229_200.5,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "plugin_ids": None,
        "conversation_id": id,
        "conversation_template_id": None,
        "gizmo_id": None,
        "is_archived": False,
        "default_model_slug": "auto",
        "id": id,
    }
