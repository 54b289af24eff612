"""Equal texts: memories of one namespace, scope and author with one content hash, all expired or
all unexpired, are one text, as turns are that repeat each other. Recall and search return it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from vestig.answers import Repeat
from vestig.ids import id_bytes, split_ids
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import RecalledMemory
from vestig.times import from_us

# Repeats that a result names; the others are counted.
REPEATS_MAX: Final = 50
# One takes about 250 bytes.
_ROWS_MAX: Final = 65_536


class _TextRows:
    """Row numbers and content hashes by the 16 bytes of an id. They never change, so what was read
    stays true."""

    def __init__(self) -> None:
        self.by_id: dict[bytes, tuple[int, bytes]] = {}

    def drop(self, _seq: int, /) -> None:
        """Those of forgotten memories go, with all others."""
        self.by_id = {}

    def of(
        self, view: LedgerView, namespace: str, ids: Sequence[bytes]
    ) -> list[tuple[int, bytes] | None]:
        """Of each of these memories; None for one that is unknown."""
        known = self.by_id
        missing = [id for id in ids if id not in known]
        if missing:
            if len(known) > _ROWS_MAX:
                known = self.by_id = {}
                missing = list(ids)
            known |= view.text_rows(namespace, missing)
        return [known.get(id) for id in ids]


def recalled(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[bytes]
) -> dict[bytes, RecalledMemory]:
    """The memories with these ids of 16 bytes, by the row numbers that this process has seen.

    Raises:
        StoreDamagedError: the text of one is not the one that was hashed.
    """
    rows = session.cache(_TextRows).of(view, namespace, ids)
    found = view.recalled_rows(namespace, [row[0] for row in rows if row is not None])
    # an id that came back under another number, after it was forgotten elsewhere
    missing = [id for id in ids if id not in found]
    return {**found, **view.recalled(namespace, missing)} if missing else found


def text_keys(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[bytes], known_at_us: int
) -> dict[bytes, Hashable]:
    """id → key of its text, for those of these memories whose text another of them may have: two
    with equal keys are one text. For a callback of the keeper's `run`.

    Args:
        ids: 16 bytes each.
        known_at_us: what is expired, is it at this time.
    """
    rows = session.cache(_TextRows).of(view, namespace, ids)
    hashes = [None if row is None else row[1] for row in rows]
    if len(set(hashes)) == len(ids):
        return {}
    times = Counter(hashes)
    shared = {id: digest for id, digest in zip(ids, hashes, strict=True) if times[digest] > 1}
    owners = view.text_owners(namespace, list(shared))
    keys: dict[bytes, Hashable] = {}
    for id, (scope, author, ended_us) in owners.items():
        expired = ended_us is not None and ended_us <= known_at_us
        keys[id] = shared[id], scope, author, expired
    return keys


def distinct(ids: Sequence[bytes], keys: Mapping[bytes, Hashable]) -> list[int]:
    """Places of the ids whose text none before them has.

    Example:
        >>> distinct([b"a", b"b", b"c"], {b"a": 1, b"b": 1})
        [0, 2]
    """
    seen = set[Hashable]()
    found = []
    for place, id in enumerate(ids):
        key = keys.get(id)
        if key is None or key not in seen:
            found.append(place)
            seen.add(key)
    return found


def repeats_of(
    session: Session,
    view: LedgerView,
    namespace: str,
    ids: Sequence[str],
    known_at_us: int,
    filter: Callable[[], Mapping[str, Any]],
) -> dict[str, tuple[tuple[Repeat, ...], int]]:
    """id → the other memories of its text that a filter lets through, oldest first, and how many
    there are beyond those; only those that have any.

    Args:
        filter: gives the keyword arguments of the core's filter.
    """
    others = view.equal_texts(namespace, ids, known_at_us) if ids else {}
    if not others:
        return {}
    named = {id_bytes(other.id) for group in others.values() for other in group}
    given = filter()
    listed = given.get("ids")
    if listed is not None:
        named &= set(split_ids(listed))
    chosen = {**given, "ids": b"".join(sorted(named))}
    eligible = set(split_ids(session.keeper.eligible(view, chosen))) if named else set()
    found = {}
    for id, group in others.items():
        repeats = [
            Repeat(
                id=other.id,
                session_id=other.session_id,
                sequence=other.sequence,
                t_valid=from_us(other.t_valid_us),
            )
            for other in group
            if id_bytes(other.id) in eligible
        ]
        if repeats:
            found[id] = tuple(repeats[:REPEATS_MAX]), max(0, len(repeats) - REPEATS_MAX)
    return found
