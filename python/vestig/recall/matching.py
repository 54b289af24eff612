"""Which entities a query means (G-27). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from vestig.language.names.forms import norm_name
from vestig.language.names.gazetteer import Hit, Known, Mentioned, resolve
from vestig.language.names.readings import Reading

__all__ = ["MATCHES_MAX", "Matches", "best_matches", "matched"]

MATCHES_MAX: Final = 10


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """Entities that a query names, with 1.0 each; and its names that no entity has."""

    found: dict[str, float]
    unknown: tuple[Mentioned, ...]


def matched(
    reading: Reading, hits: Sequence[Hit], known: Mapping[str, Known], common: Collection[str]
) -> Matches:
    """Entities by name or alias, in order of position. A name that several entities have means
    all of them: the query says no type, and that matches every type.

    Example:
        >>> from vestig.language.names.readings import read
        >>> ada = Known(id="ent_1", type="PERSON", name="Ada Lovelace")
        >>> reading = read("what did ada lovelace tell Grace Hopper?")
        >>> found = matched(reading, [(2, 2, "ent_1", "Ada Lovelace")], {"ent_1": ada}, ())
        >>> found.found, [name.name for name in found.unknown]
        ({'ent_1': 1.0}, ['Grace Hopper'])
    """
    having: dict[str, list[Known]] = {}
    for _, _, id, stored in hits:
        if id in known:
            having.setdefault(norm_name(stored), []).append(known[id])
    found: dict[str, float] = {}
    unknown: list[Mentioned] = []
    for name in resolve(reading, hits, known, common=common, query=True):
        group = having.get(norm_name(name.evidence), [])
        if name.entity is None and not group:
            unknown.append(name)
        for entity in sorted(group, key=lambda entity: entity.order):
            found[entity.id] = 1.0
        if name.entity is not None:
            found.setdefault(name.entity, 1.0)
    return Matches(found=found, unknown=tuple(unknown))


def best_matches(found: Mapping[str, float]) -> list[tuple[str, float]]:
    """At most ten, the surest first, then as they were found.

    Example:
        >>> best_matches({"ent_1": 0.8, "ent_2": 1.0})
        [('ent_2', 1.0), ('ent_1', 0.8)]
    """
    ranked = sorted(found.items(), key=lambda pair: -pair[1])
    return ranked[:MATCHES_MAX]
