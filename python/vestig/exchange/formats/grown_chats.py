"""Conversations without an id of a file that is imported again: which of them are recorded already.

A conversation is the recorded one that it begins with, or, where the file has that no more, the one
of which it is the beginning: the same messages in the same order, by digests of each beginning. One
that only begins alike is another one. No recorded conversation is two of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Chat(NamedTuple):
    """A conversation of a file: where it stands, its scope, and the digest of the messages up to
    each of them."""

    line: int
    scope: str | None
    digests: list[str]


def turn_reference(session: str, place: int, digest: str) -> str:
    """Return the reference of a turn without an id: the same where its conversation has grown, or
    lies at another place of the file."""
    return f"{session}:{place}:{digest}"


class RecordedChats:
    """The conversations that were recorded by their turns.

    Args:
        references: (scope, reference) of the turns, oldest first; others are passed over.
    """

    def __init__(self, references: Sequence[tuple[str | None, str]]) -> None:
        # (scope, session) → place → digest
        self.sessions: dict[tuple[str | None, str], dict[int, str]] = {}
        for scope, reference in references:
            session, place, digest = ("", *reference.rsplit(":", 2))[-3:]
            if session and place.isdecimal():
                self.sessions.setdefault((scope, session), {})[int(place)] = digest

    def continued(self, chats: Sequence[Chat]) -> dict[int, str]:
        """Line → the session in which the conversation there is recorded; those that have grown
        least take theirs first."""
        ends: dict[tuple[str | None, int, str], list[str]] = {}
        for (scope, session), digests in self.sessions.items():
            end = max(digests)
            ends.setdefault((scope, end, digests[end]), []).append(session)
        matches = sorted(
            (len(chat.digests) - place, chat.line, (chat.scope, place, digest))
            for chat in chats
            for place, digest in enumerate(chat.digests)
            if (chat.scope, place, digest) in ends
        )
        found: dict[int, str] = {}
        for _, line, match in matches:
            if line not in found and ends[match]:
                found[line] = ends[match].pop(0)
        taken = {(chat.scope, found[chat.line]) for chat in chats if chat.line in found}
        beginnings: dict[tuple[str | None, int, str], list[str]] = {}
        for (scope, session), digests in self.sessions.items():
            if (scope, session) not in taken:
                for place, digest in digests.items():
                    beginnings.setdefault((scope, place, digest), []).append(session)
        begun = set[str]()
        for chat in chats:
            if chat.line in found or not chat.digests:
                continue
            last = chat.scope, len(chat.digests) - 1, chat.digests[-1]
            free = (one for one in beginnings.get(last, ()) if one not in begun)
            if (before := next(free, None)) is not None:
                found[chat.line] = before
                begun.add(before)
        return found
