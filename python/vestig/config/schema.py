"""Every configuration key that acts: its place, type, range and default (K-07).

A key is the dotted path of a leaf of `Settings`. Types carry the ranges, so
one table (`KEYS`) drives validation, `config show` and `config explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec

__all__ = ["KEYS", "KeySpec", "Settings", "key_specs", "sections"]

# Upper ends are those of the types that carry the values further (32-bit counts, 64-bit µs).
Count = Annotated[int, msgspec.Meta(ge=1, le=2_147_483_647)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Wait = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
Span = Annotated[float, msgspec.Meta(gt=0, le=1_000_000_000)]
Pause = Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)]
Dimension = Annotated[int, msgspec.Meta(ge=1, le=8192)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
VariableName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
NamespaceName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9._-]{1,64}$")]
GuardClass = Literal["numbers", "dates", "negation", "units", "entities", "words"]
_ALL_GUARDS: Final[tuple[GuardClass, ...]] = (
    "numbers",
    "dates",
    "negation",
    "units",
    "entities",
    "words",
)


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of keys."""


class StoreSettings(_Section, frozen=True, kw_only=True):
    path: Text = "vestig"
    lock_timeout_s: Wait = 5.0
    durability: Literal["full", "normal"] = "full"


class TimeSettings(_Section, frozen=True, kw_only=True):
    zone: Text = "UTC"


class EmbeddingSettings(_Section, frozen=True, kw_only=True):
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


class NearDuplicateSettings(_Section, frozen=True, kw_only=True):
    enabled: bool = True
    threshold: Share = 0.92
    skip_manual_source: bool = False
    max_candidates: Count = 50
    guard: tuple[GuardClass, ...] = _ALL_GUARDS
    on_near_dup: Literal["reinforce", "link", "insert"] = "reinforce"


class HygieneSettings(_Section, frozen=True, kw_only=True):
    min_chars: Count = 12
    max_chars: Count = 4000
    normalize_whitespace: bool = True
    near_duplicate: NearDuplicateSettings = NearDuplicateSettings()


class KeywordSettings(_Section, frozen=True, kw_only=True):
    max_per_memory: Count = 64
    stopwords: tuple[Text, ...] = ()


class EnrichmentSettings(_Section, frozen=True, kw_only=True):
    mode: Literal["deferred", "inline", "off"] = "deferred"
    max_attempts: Count = 8
    lease_s: Span = 300.0
    backoff_base_s: Pause = 60.0
    backoff_cap_s: Pause = 21600.0


class HookSettings(_Section, frozen=True, kw_only=True):
    strict: bool = False


class EventWeights(_Section, frozen=True, kw_only=True):
    ADD: Share = 0.0
    IMPORT: Share = 0.0
    REINFORCE_EXACT: Share = 1.0
    REINFORCE_NEAR: Share = 1.0
    DEPRECATE: Share = 0.0
    SUPERSEDE: Share = 0.0
    ARCHIVE: Share = 0.0
    RESTORE: Share = 0.0
    PIN: Share = 0.0
    UNPIN: Share = 0.0
    UPDATE: Share = 0.0
    ENTITY_EXTRACTED: Share = 0.0
    SUMMARY_CREATED: Share = 0.0


class SpacingSettings(_Section, frozen=True, kw_only=True):
    enabled: bool = False
    bonus: NotNegative = 0.25
    spacing_days: Positive = 14.0


class TraceRankSettings(_Section, frozen=True, kw_only=True):
    enabled: bool = True
    tau_days: Positive = 21.0
    cooldown_hours: NotNegative = 24.0
    burst_discount: Share = 0.2
    k: NotNegative = 0.35
    temporal_decay_enabled: bool = True
    dynamic_tau_days: Positive = 90.0
    ephemeral_tau_days: Positive | None = None
    static_boost: NotNegative = 1.0
    clip_min: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.25
    clip_max: Annotated[float, msgspec.Meta(ge=1)] = 2.0
    spacing: SpacingSettings = SpacingSettings()


class ExpirySettings(_Section, frozen=True, kw_only=True):
    include_expired: bool = False


class M3Settings(_Section, frozen=True, kw_only=True):
    event_weights: EventWeights = EventWeights()
    tracerank: TraceRankSettings = TraceRankSettings()
    retrieval: ExpirySettings = ExpirySettings()


class RelatedSettings(_Section, frozen=True, kw_only=True):
    enabled: bool = True
    similarity_threshold: Share = 0.6
    max_edges_per_memory: Count = 10


class EdgeCreationSettings(_Section, frozen=True, kw_only=True):
    related: RelatedSettings = RelatedSettings()


class M4Settings(_Section, frozen=True, kw_only=True):
    edge_creation: EdgeCreationSettings = EdgeCreationSettings()


class StartNodeSettings(_Section, frozen=True, kw_only=True):
    direct_pool: Literal["auto", "all"] | Count = "auto"


class SignalSwitch(_Section, frozen=True, kw_only=True):
    enabled: bool = True


class SignalWeights(_Section, frozen=True, kw_only=True):
    bias: float = -12.0
    cosine: float = 8.0
    lexical: float = 5.6


class OriginWeights(_Section, frozen=True, kw_only=True):
    chat_peer: SignalWeights = SignalWeights()
    chat_agent: SignalWeights = SignalWeights()
    document: SignalWeights = SignalWeights()
    note: SignalWeights = SignalWeights()


class SignalSettings(_Section, frozen=True, kw_only=True):
    cosine: SignalSwitch = SignalSwitch()
    lexical: SignalSwitch = SignalSwitch()
    weights: OriginWeights = OriginWeights()


class FinalSettings(_Section, frozen=True, kw_only=True):
    base: Literal["linear", "semantic", "cosine"] = "linear"
    tracerank_power: NotNegative = 0.5


class ExplainabilitySettings(_Section, frozen=True, kw_only=True):
    enabled: bool = True
    include_path: bool = True
    include_scores: bool = True


class M5Settings(_Section, frozen=True, kw_only=True):
    enabled: bool = True
    start_node: StartNodeSettings = StartNodeSettings()
    signals: SignalSettings = SignalSettings()
    final: FinalSettings = FinalSettings()
    explainability: ExplainabilitySettings = ExplainabilitySettings()


class RecallSettings(_Section, frozen=True, kw_only=True):
    default_limit: Count = 5
    profile: Text = "default"
    profiles: dict[str, dict[str, Any]] = {}
    format: Literal["text", "compact", "explain", "list", "json"] = "text"
    min_score: float | None = None
    max_query_chars: Count = 4000


class LifecycleSettings(_Section, frozen=True, kw_only=True):
    default_policy: Literal["permanent", "decision", "standard", "ephemeral", "session"] = (
        "standard"
    )


class Settings(_Section, frozen=True, kw_only=True):
    """The effective configuration as values; every default is the built-in layer of K-01.

    Example:
        >>> Settings().hygiene.near_duplicate.threshold
        0.92
    """

    store: StoreSettings = StoreSettings()
    namespace: NamespaceName = "default"
    time: TimeSettings = TimeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    hygiene: HygieneSettings = HygieneSettings()
    keywords: KeywordSettings = KeywordSettings()
    enrichment: EnrichmentSettings = EnrichmentSettings()
    hooks: HookSettings = HookSettings()
    m3: M3Settings = M3Settings()
    m4: M4Settings = M4Settings()
    m5: M5Settings = M5Settings()
    recall: RecallSettings = RecallSettings()
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
    return _WORDS[kind]


def _allowed(kind: Any) -> str:
    return ", or ".join(_allowed_arm(arm) for arm in _arms(kind))


def _is_text(kind: Any) -> bool:
    from typing import get_args, get_origin

    origin = get_origin(kind)
    if origin is Annotated:
        return get_args(kind)[0] is str
    return kind is str or origin is Literal


def _walk(section: type[msgspec.Struct], prefix: str) -> Iterator[KeySpec]:
    hints = get_type_hints(section, include_extras=True)
    defaults = section()
    for name in section.__struct_fields__:
        kind, key = hints[name], f"{prefix}{name}"
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _walk(kind, f"{key}.")
            continue
        arms = [arm for arm in _arms(kind) if arm is not type(None)]
        yield KeySpec(
            key=key,
            type=kind,
            default=getattr(defaults, name),
            allowed=_allowed(kind),
            takes_text=any(_is_text(arm) for arm in arms),
            takes_other=not all(_is_text(arm) for arm in arms),
        )


@cache
def key_specs() -> Mapping[str, KeySpec]:
    """Every key in the order of the schema."""
    return {spec.key: spec for spec in _walk(Settings, "")}


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
