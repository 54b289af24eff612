"""Where a text comes from, when the caller does not say (Q-01)."""

from __future__ import annotations

from typing import Final

from vestig.types import OriginType

__all__ = ["derive_origin"]

_AGENT_ROLES: Final = frozenset(("user", "assistant", "tool"))


def derive_origin(
    *, role: str | None, author: str | None, session_id: str | None, from_chunk: bool = False
) -> OriginType:
    """The origin type of a memory, from the memory alone (Q-01).

    Example:
        >>> derive_origin(role="tool", author=None, session_id=None).value
        'chat_agent'
        >>> derive_origin(role=None, author="Dana", session_id="s1").value
        'chat_peer'
    """
    if role in _AGENT_ROLES:
        return OriginType.CHAT_AGENT
    if author is not None and session_id is not None:
        return OriginType.CHAT_PEER
    return OriginType.DOCUMENT if from_chunk else OriginType.NOTE
