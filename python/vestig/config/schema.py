"""Every configuration key that acts: its place, type, range and default.

A key is the dotted path of a leaf of `Settings`. Types carry the ranges, so
one table (`KEYS`) drives validation, `config show` and `config explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec

from vestig.config.graph_sections import (
    EntitySettings,
    EntityTypeEntry,
    EventWeights,
    LinkSettings,
    UsageSettings,
)
from vestig.config.kinds import (
    Count,
    Dimension,
    NamespaceName,
    Pause,
    Positive,
    Section,
    Share,
    Span,
    Text,
    VariableName,
    Wait,
)
from vestig.config.recall_sections import (
    DecaySettings,
    IndexSettings,
    QuestionSettings,
    RankingSettings,
    RecallSettings,
    ReferenceSettings,
    SearchSettings,
    WalkSettings,
)
from vestig.config.signals import SignalSettings

__all__ = ["KEYS", "EventWeights", "KeySpec", "Settings", "key_specs", "sections"]

GuardClass = Literal["numbers", "dates", "negation", "units", "entities", "words"]
_ALL_GUARDS: Final[tuple[GuardClass, ...]] = (
    "numbers",
    "dates",
    "negation",
    "units",
    "entities",
    "words",
)


class StoreSettings(Section, frozen=True, kw_only=True):
    path: Text = "vestig"
    lock_timeout_s: Wait = 5.0
    durability: Literal["full", "normal"] = "full"


class TimeSettings(Section, frozen=True, kw_only=True):
    zone: Text = "UTC"


class EmbeddingSettings(Section, frozen=True, kw_only=True):
    provider: Text = "builtin"
    model: Text | None = None
    dimension: Dimension | None = None
    normalize: bool = True
    max_length: Count | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=1_000_000)] = 60.0
    batch_size: Count = 64
    on_failure: Literal["error", "defer"] = "error"
    base_url: Text | None = None
    api_key_env: VariableName | None = None


class RerankerSettings(Section, frozen=True, kw_only=True):
    provider: Text | None = None
    model: Text | None = None


class NearDuplicateSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    threshold: Share = 0.92
    skip_manual_source: bool = False
    max_candidates: Count = 50
    guard: tuple[GuardClass, ...] = _ALL_GUARDS
    on_near_dup: Literal["reinforce", "link", "insert"] = "reinforce"


class HygieneSettings(Section, frozen=True, kw_only=True):
    min_chars: Count = 12
    max_chars: Count = 4000
    normalize_whitespace: bool = True
    near_duplicate: NearDuplicateSettings = NearDuplicateSettings()


class KeywordSettings(Section, frozen=True, kw_only=True):
    max_per_memory: Count = 64
    stopwords: tuple[Text, ...] = ()


class EnrichmentSettings(Section, frozen=True, kw_only=True):
    mode: Literal["deferred", "inline", "off"] = "deferred"
    max_attempts: Count = 8
    lease_s: Span = 300.0
    backoff_base_s: Pause = 60.0
    backoff_cap_s: Pause = 21600.0


class HookSettings(Section, frozen=True, kw_only=True):
    strict: bool = False


class RetentionSettings(Section, frozen=True, kw_only=True):
    """Half-lives in days; `permanent` has none."""

    decision_half_life_days: Positive = 365.0
    standard_half_life_days: Positive = 90.0
    ephemeral_half_life_days: Positive = 7.0
    session_half_life_days: Positive = 1.0


class LifecycleSettings(Section, frozen=True, kw_only=True):
    default_policy: Literal["permanent", "decision", "standard", "ephemeral", "session"] = (
        "standard"
    )
    retention: RetentionSettings = RetentionSettings()


class Settings(Section, frozen=True, kw_only=True):
    """The effective configuration as values; every default is the built-in layer of K-01.

    Example:
        >>> Settings().hygiene.near_duplicate.threshold
        0.92
    """

    store: StoreSettings = StoreSettings()
    namespace: NamespaceName = "default"
    time: TimeSettings = TimeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    reranker: RerankerSettings = RerankerSettings()
    hygiene: HygieneSettings = HygieneSettings()
    keywords: KeywordSettings = KeywordSettings()
    enrichment: EnrichmentSettings = EnrichmentSettings()
    hooks: HookSettings = HookSettings()
    usage: UsageSettings = UsageSettings()
    entities: EntitySettings = EntitySettings()
    links: LinkSettings = LinkSettings()
    questions: QuestionSettings = QuestionSettings()
    walk: WalkSettings = WalkSettings()
    ranking: RankingSettings = RankingSettings()
    reference: ReferenceSettings = ReferenceSettings()
    signals: SignalSettings = SignalSettings()
    index: IndexSettings = IndexSettings()
    recall: RecallSettings = RecallSettings()
    search: SearchSettings = SearchSettings()
    decay: DecaySettings = DecaySettings()
    lifecycle: LifecycleSettings = LifecycleSettings()


class KeySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One key: dotted name, type with its range, default, and the range in words."""

    key: str
    type: Any
    default: Any
    allowed: str
    takes_text: bool
    takes_other: bool


_BOUNDS: Final = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
_PATTERN_WORDS: Final = {
    r"^[a-z0-9._-]{1,64}$": "1-64 characters of a-z 0-9 . _ -",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "the name of an environment variable",
}
_WORDS: Final[dict[Any, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a finite number",
    str: "text",
    type(None): "null",
}


def _arms(kind: Any) -> tuple[Any, ...]:
    """The arms of a union; a type that is none is its own only arm."""
    from types import UnionType
    from typing import Union, get_args, get_origin

    if get_origin(kind) in (Union, UnionType):
        return tuple(arm for part in get_args(kind) for arm in _arms(part))
    return (kind,)


def _allowed_arm(kind: Any) -> str:
    from typing import get_args, get_origin

    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        meta = args[1]
        if meta.pattern is not None:
            return _PATTERN_WORDS[meta.pattern]
        bounds = [
            f"{sign} {getattr(meta, name)}"
            for name, sign in _BOUNDS
            if getattr(meta, name) is not None
        ]
        if meta.min_length is not None:
            return "text that is not empty"
        return f"{_WORDS[args[0]]} {' and '.join(bounds)}"
    if origin is Literal:
        return " | ".join(str(word) for word in args)
    if origin is tuple:
        return f"a list of: {_allowed(args[0])}"
    if origin is dict:
        return "a mapping of profile names to keys and values"
    if kind is EntityTypeEntry:
        return "{name, description, tier 1 | 2 | 3, synonyms, examples}"
    return _WORDS[kind]


def _allowed(kind: Any) -> str:
    return ", or ".join(_allowed_arm(arm) for arm in _arms(kind))


def _is_text(kind: Any) -> bool:
    from typing import get_args, get_origin

    origin = get_origin(kind)
    if origin is Annotated:
        return get_args(kind)[0] is str
    return kind is str or origin is Literal


@cache
def _taken(kind: Any) -> tuple[str, bool, bool]:
    """What a type allows in words, whether it takes text, and whether anything else."""
    arms = [_is_text(arm) for arm in _arms(kind) if arm is not type(None)]
    return _allowed(kind), any(arms), not all(arms)


@cache
def _hints(section: type) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def _walk(defaults: msgspec.Struct, prefix: str) -> Iterator[KeySpec]:
    hints = _hints(type(defaults))
    fields = zip(defaults.__struct_fields__, defaults.__struct_encode_fields__, strict=True)
    for name, written in fields:
        kind, key = hints[name], f"{prefix}{written}"
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _walk(getattr(defaults, name), f"{key}.")
            continue
        allowed, takes_text, takes_other = _taken(kind)
        yield KeySpec(
            key=key,
            type=kind,
            default=getattr(defaults, name),
            allowed=allowed,
            takes_text=takes_text,
            takes_other=takes_other,
        )


@cache
def key_specs() -> Mapping[str, KeySpec]:
    """Every key in the order of the schema."""
    return {spec.key: spec for spec in _walk(Settings(), "")}


@cache
def sections() -> frozenset[str]:
    """Dotted names of the groups of keys.

    Example:
        >>> "hygiene.near_duplicate" in sections()
        True
    """
    found: set[str] = set()
    for key in key_specs():
        parts = key.split(".")
        found.update(".".join(parts[:n]) for n in range(1, len(parts)))
    return frozenset(found)


KEYS: Final = tuple(key_specs())
