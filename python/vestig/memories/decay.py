"""Half-life decay and heat of stored items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from vestig.times import DAY_US, to_us
from vestig.types import Entity, Memory, RetentionPolicy


class DecayRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the scores of items decay. `half_lives`: days by policy, None = never. `power` and `ln`:
    the functions of the core, whose results ranking equals to the last bit."""

    half_lives: Mapping[str, float | None]
    default_policy: str
    by_access: bool
    reference: int
    power: Callable[[float, float], float]
    ln: Callable[[float], float]


def half_life_decay(
    age_days: float, half_life_days: float | None, power: Callable[[float, float], float]
) -> float:
    """0.5 ^ (age / half-life); 1 for what is new, or never decays.

    Example:
        >>> half_life_decay(60, 30, pow), half_life_decay(-1, 30, pow)
        (0.25, 1.0)
    """
    if half_life_days is None or age_days <= 0:
        return 1.0
    return power(0.5, age_days / half_life_days)


def heat(count: int, reference: int, ln: Callable[[float], float]) -> float:
    """How much an item is used, 0 to 1; `reference` accesses or more are 1.

    Example:
        >>> from math import log
        >>> heat(0, 10, log), heat(20, 10, log)
        (0.0, 1.0)
    """
    return min(1.0, ln(max(0, count) + 1.0) / ln(reference + 1.0))


def _frequency(count: int, rules: DecayRules) -> float:
    return 0.5 + 0.5 * heat(count, rules.reference, rules.ln)


def _age_days(item: Memory | Entity, now_us: int, rules: DecayRules) -> float:
    begun = item.t_created if isinstance(item, Memory) else item.created_at
    seen = item.last_accessed_at if rules.by_access else None
    return (now_us - to_us(begun if seen is None else seen)) / DAY_US


def memory_factor(memory: Memory, now_us: int, rules: DecayRules) -> float:
    """Decay times frequency of a memory; the decay of a pinned one is 1."""
    half_life = None if memory.pinned else rules.half_lives[memory.retention_policy.value]
    decayed = half_life_decay(_age_days(memory, now_us, rules), half_life, rules.power)
    return decayed * _frequency(memory.access_count, rules)


def entity_factor(
    entity: Entity, memories: Iterable[Memory], now_us: int, rules: DecayRules
) -> float:
    """An entity lasts as long as the most lasting of its memories: a permanent or pinned one
    keeps it from decaying. Without memories its own dates alone count."""
    age = _age_days(entity, now_us, rules)
    mentioned = list(memories)
    if not mentioned:
        return half_life_decay(age, rules.half_lives[rules.default_policy], rules.power)
    lasting = RetentionPolicy.PERMANENT
    if any(memory.pinned or memory.retention_policy is lasting for memory in mentioned):
        half_life = None
    else:
        known = (rules.half_lives[memory.retention_policy.value] for memory in mentioned)
        half_life = max(days for days in known if days is not None)
    decayed = half_life_decay(age, half_life, rules.power)
    return decayed * _frequency(entity.access_count, rules)
