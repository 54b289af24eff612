"""The filters of recall that only the ledger or the names can resolve, as ids."""

from __future__ import annotations

from typing import Any, Final

from vestig.filters import FilterParts
from vestig.ids import id_bytes, id_text, is_full_id
from vestig.language.names.forms import norm_name
from vestig.ports import LedgerView

__all__ = ["entity_ids", "resolved"]

_IDS_MAX: Final = 1_000
# Names are compared word by word, up to this many.
_WORDS_MAX: Final = 8


def resolved(view: LedgerView, core: Any, parts: FilterParts) -> dict[str, Any]:
    """Keyword arguments of `_core.Filter`, complete.

    Args:
        core: the projection at the view's seq; for a callback of the keeper's `run`.
    """
    namespace, chosen = parts.namespace, dict(parts.columns)
    wanted: set[str] | None = None
    if parts.ids is not None:
        wanted = {full for id in parts.ids for full in _full_ids(view, namespace, id)}
    if parts.metadata is not None:
        matching = set(view.ids_with_metadata(namespace, parts.metadata))
        wanted = matching if wanted is None else wanted & matching
    if wanted is not None:
        chosen["ids"] = _joined(wanted)
    if parts.exclude_ids:
        excluded = {full for id in parts.exclude_ids for full in _full_ids(view, namespace, id)}
        chosen["exclude_ids"] = _joined(excluded)
    if parts.entities is not None:
        chosen["entities"] = entity_ids(
            view, core, namespace, parts.entities, parts.moments.known_at_us
        )
    if parts.moments.past:
        ends = view.ends_before(namespace, parts.moments.known_at_us)
        chosen["ends"] = [(id_bytes(id), end) for id, end in ends.items()]
    return chosen


def entity_ids(
    view: LedgerView, core: Any, namespace: str, named: tuple[str, ...], known_at_us: int
) -> bytes:
    """Ids of the entities with these ids, beginnings of ids, or names; a merged one stands for
    what it was merged into. An unknown name matches nothing."""
    found: set[str] = set()
    for text in named:
        if text.startswith("ent_"):
            found.update(_through_merges(view, namespace, text))
        else:
            found |= _by_name(view, core, namespace, text, known_at_us)
    return _joined(found)


def _through_merges(view: LedgerView, namespace: str, id: str) -> list[str]:
    """What an id or a beginning of one stands for, through merges."""
    ids = [id] if is_full_id(id, "ent") else view.entity_ids_with_prefix(namespace, id, _IDS_MAX)
    seen: set[str] = set()
    while fresh := [one for one in ids if one not in seen]:
        seen.update(fresh)
        entities = view.entities(namespace, fresh)
        ids = [one.merged_into for one in entities if one.merged_into is not None]
    return sorted(seen)


def _by_name(view: LedgerView, core: Any, namespace: str, name: str, known_at_us: int) -> set[str]:
    words = norm_name(name).split()
    if not words or len(words) > _WORDS_MAX:
        return set()
    forms = [(word, word, word, word) for word in words]
    hits = core.find_names(view.seq, namespace, forms, known_at_us)
    whole = [id for first, count, id, _ in hits if first == 0 and count == len(words)]
    return {one for id in whole for one in _through_merges(view, namespace, id_text("ent", id))}


def _full_ids(view: LedgerView, namespace: str, id: str) -> list[str]:
    """Ids that an id or a beginning of one stands for."""
    return view.ids_with_prefix(namespace, id, _IDS_MAX)


def _joined(ids: set[str]) -> bytes:
    return b"".join(id_bytes(id) for id in sorted(ids))
