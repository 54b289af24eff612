"""The operations on anchors: how the sources of memories stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import anchors
from vestig.language.text_forms import count_of, escaped_breaks, one_line
from vestig.surfaces.operation import Operation
from vestig.types import AnchorKind

if TYPE_CHECKING:
    from vestig.anchors.values import MemoryAnchors, StaleMemories
    from vestig.types import Anchor

_SNIPPET_CHARS: Final = 80


def _line(one: Anchor) -> str:
    """One anchor: its state, what it is, and what is to be said of that."""
    where = "a forgotten memory" if one.target is None else escaped_breaks(one.target)
    if one.lines is not None:
        where += f":{one.lines[0]}-{one.lines[1]}"
    now = "" if one.file is None else escaped_breaks(one.file)
    if one.now is not None and (one.file is not None or one.now != one.lines):
        now += f"{':' if now else ''}{one.now[0]}-{one.now[1]}"
    is_whole = one.kind is AnchorKind.FILE and one.lines is None
    more = ["all of the file"] if is_whole else []
    more += [f"now {now}"] if now else []
    more += [] if one.equal == 1 else [f"one of {one.equal} equal places"]
    more += [] if one.why is None else [escaped_breaks(one.why)]
    more += [] if one.of is None else [f"of {one.of}"]
    more.append(f"taken {one.taken_at:%Y-%m-%d}")
    return f"{one.state:<7} {where} ({', '.join(more)})"


def _shown(found: MemoryAnchors, _: Mapping[str, Any]) -> str:
    return "\n".join(map(_line, found)) or "No anchors."


def _stale(found: StaleMemories, _: Mapping[str, Any]) -> str:
    lines = []
    for one in found:
        said = " (deprecated)" if one.deprecated else ""
        if one.stays is not None:
            said = f" (stays: {escaped_breaks(one.stays)})"
        lines.append(f"{one.id}{said} {one_line(one.text, _SNIPPET_CHARS)}")
        lines += [f"  {_line(anchor)}" for anchor in one.anchors]
    if found.more:
        lines.append(f"{found.more} more; --limit shows them")
    looked_at = count_of(found.looked_at, "memory")
    lines.append(f"{len(found) + found.more} stale of {looked_at} with anchors")
    if found.unknown:
        lines.append(
            f"{found.unknown} anchors cannot be seen from here, such as those of another branch;"
            " `vestig anchor show ID` says why"
        )
    return "\n".join(lines)


OPERATIONS: Final = (
    Operation(
        name="anchor show",
        call=anchors.AnchorsRequest,
        method="anchors.show",
        document="anchors",
        text=_shown,
    ),
    Operation(
        name="anchor refresh",
        call=anchors.RefreshRequest,
        method="anchors.refresh",
        document="anchors",
        text=_shown,
        writes=True,
    ),
    Operation(
        name="anchor stale",
        route="POST stale",
        call=anchors.StaleRequest,
        method="anchors.stale",
        document="stale",
        text=_stale,
        without_store="empty",
        writes=True,
    ),
)
