"""Exports of ChatGPT: conversations as trees, of which one branch is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import DecodeError, json

from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    Draft,
    Found,
    Reading,
    joined,
    list_of,
    moment,
    present,
    refused,
    text_of,
)
from vestig.lazy_pattern import lazy_pattern

_SPEAKERS: Final = ("user", "assistant")
_OF_CONVERSATIONS: Final = ("mapping", "title")
_TEXTS: Final = ("text", "multimodal_text")
# A text with this recipient is what ChatGPT chose to remember.
_MEMORY: Final = "bio"
_EVERYONE: Final = "all"
# A mark begins and ends with characters of private use, and one stands between its fields.
_MARK: Final = lazy_pattern("([ \\t]?)\ue200([^\ue200\ue201]*)\ue201")
_ANY_MARK: Final = lazy_pattern("[\ue200-\ue20f]")
_FIELD: Final = "\ue202"
_CITATIONS: Final = ("cite", "filecite")
_NAME: Final = "entity"

# Names that its records have.
KEYS: Final = frozenset(("mapping", "current_node", "conversation_id", "create_time", "title"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a conversation of ChatGPT."""
    mapping = record.get("mapping", ...)
    if mapping is None:
        return "current_node" in record or "conversation_id" in record
    return isinstance(mapping, dict) and (
        "current_node" in record or "create_time" in record or "title" in record
    )


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The shown turns of each conversation, and what was remembered in it as notes."""
    for record in file.records():
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            nodes = _nodes(record.value)
            branch = _branch(record.value, nodes)
        except ValidationError as error:
            yield refused(record.line, error)
            continue
        reading.leave_unread(record.value, _OF_CONVERSATIONS, "of a conversation")
        if not nodes:
            reading.leave_out("empty conversation")
            continue
        shown = {id(node) for node in branch}
        others = [node for node in nodes.values() if id(node) not in shown and _is_said(node)]
        if others:
            reading.leave_out("message of another branch", len(others))
            ids = (node["message"].get("id") or node.get("id") for node in others)
            reading.withdrawn.update((id, None) for id in ids if isinstance(id, str))
        yield from _turns(record, branch, reading)


def _nodes(conversation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    mapping = conversation.get("mapping", ...)
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise ValidationError("mapping", None, "an object", message='no object under "mapping"')
    if not all(isinstance(node, dict) for node in mapping.values()):
        raise ValidationError(
            "mapping", "", "", message='"mapping": expected objects of message, parent, children'
        )
    return mapping


def _branch(conversation: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes from the root to the current one; a loop ends it."""
    current = conversation.get("current_node")
    if current not in nodes:
        current = _newest_leaf(nodes)
    parents = _parents(nodes)
    branch: list[dict[str, Any]] = []
    passed: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in passed:
        passed.add(current)
        branch.append(nodes[current])
        current = parents.get(current)
    return branch[::-1]


def _parents(nodes: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Each node's parent: the one it names, else the one that names it as a child."""
    found: dict[str, str] = {}
    for name, node in nodes.items():
        children = node.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, str):
                found.setdefault(child, name)
    for name, node in nodes.items():
        parent = node.get("parent")
        if isinstance(parent, str) and parent in nodes:
            found[name] = parent
    return found


def _newest_leaf(nodes: dict[str, dict[str, Any]]) -> str | None:
    parents = set(_parents(nodes).values())
    leaves = [name for name in nodes if name not in parents] or list(nodes)
    return max(leaves, key=lambda name: _seconds(nodes[name]), default=None)


def _seconds(node: dict[str, Any]) -> float:
    message = node.get("message")
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, (int, float)) else float("-inf")


def _is_said(node: dict[str, Any]) -> bool:
    message = node.get("message")
    author = message.get("author") if isinstance(message, dict) else None
    return isinstance(author, dict) and author.get("role") in _SPEAKERS


def _turns(record: Record, branch: Iterable[dict[str, Any]], reading: Reading) -> Iterator[Found]:
    conversation, place = record.value, 0
    try:
        session = text_of("id", conversation.get("conversation_id") or conversation.get("id"))
        title = text_of("title", conversation.get("title"))
        time = moment("create_time", conversation.get("create_time"))
    except ValidationError as error:
        yield refused(record.line, error)
        return
    session = session or f"{reading.name}:{record.digest}"
    for number, node in enumerate(branch, start=1):
        message = node.get("message")
        if message is None:
            continue
        try:
            said = _said(message, reading)
            if said is None:
                continue
            time = moment("create_time", message.get("create_time")) or time
            reference = text_of("id", message.get("id") or node.get("id"))
        except ValidationError as error:
            yield refused(record.line, error, f"message {number}")
            continue
        role, text, is_note = said
        arguments = {"t_ref": time, "artifact_ref": reference}
        if is_note:
            metadata = present({"conversation": session, "conversation_title": title})
            arguments["metadata"] = metadata
        else:
            arguments |= {"role": role, "session_id": session, "title": title, "sequence": place}
            place += 1
        yield Draft(
            line=record.line,
            content=text,
            arguments=present(arguments),
            digest=f"{record.digest}:{number}",
            is_whole=not is_note,
        )


def _said(message: Any, reading: Reading) -> tuple[str, str, bool] | None:
    """Role, text, and whether it is a note; None where nothing comes in, which is counted."""
    if not isinstance(message, dict) or not isinstance(message.get("author"), dict):
        raise ValidationError("message", None, "", message='no "author" with a role')
    role = message["author"].get("role")
    recipient = message.get("recipient") or _EVERYONE
    if role not in _SPEAKERS:
        reading.leave_out(f"{role} message" if role in _ROLES else "message of another role")
        return None
    content = message.get("content")
    if not isinstance(content, dict):
        raise ValidationError("content", None, "", message='no object under "content"')
    kind = content.get("content_type")
    if recipient not in (_EVERYONE, _MEMORY):
        reading.leave_out("tool call")
        return None
    if kind not in _TEXTS:
        reading.leave_out(kind if isinstance(kind, str) else "content without a type")
        return None
    details = message.get("metadata")
    if isinstance(details, dict) and details.get("is_visually_hidden_from_conversation") is True:
        reading.leave_out("hidden message")
        return None
    text = joined(_parts(content, reading))
    if role == "assistant":
        text = _without_marks(text, reading)
    if not text:
        reading.leave_out("empty message")
        return None
    return role, text, recipient == _MEMORY


def _without_marks(text: str, reading: Reading) -> str:
    """A text without the marks that ChatGPT shows as something else: a citation is taken out and
    counted, of a name and of a link the words that are shown stay, of others all words."""

    def shown(found: re.Match[str]) -> str:
        kind, *fields = found[2].split(_FIELD)
        if kind in _CITATIONS:
            reading.leave_out("citation")
            return ""
        return found[1] + (_shown_name(fields) if kind == _NAME else " ".join(fields))

    if _ANY_MARK.search(text) is None:
        return text
    return _ANY_MARK.sub("", _MARK.sub(shown, text)).strip()


def _shown_name(fields: list[str]) -> str:
    """The name in a mark `["kind", "name", "more"]`."""
    try:
        listed = json.decode(fields[0]) if fields else None
    except DecodeError:
        listed = None
    if isinstance(listed, list) and len(listed) > 1 and isinstance(listed[1], str):
        return listed[1]
    return " ".join(fields)


_ROLES: Final = ("system", "tool", "developer")


def _parts(content: dict[str, Any], reading: Reading) -> list[str]:
    """The texts among the parts; a spoken part counts as what was said."""
    texts = []
    for part in list_of("parts", content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            kind = part.get("content_type") if isinstance(part, dict) else None
            reading.leave_out(kind if isinstance(kind, str) else "part without a text")
    return texts
