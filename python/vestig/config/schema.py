"""Every configuration key that acts: its place, type, range and default.

A key is the dotted path of a leaf of `Settings`, or of a stage, whose value is the table of its
parameters; a parameter is spelt like a key. Types carry the ranges, so one table (`key_specs`, of
leaves) drives validation, `config show` and `config explain`. To read the types of all keys
takes longer than a recall: what is made at every start (`default_values`, `settings_from`) reads
those alone that something sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, Final, Literal, TypeVar, get_type_hints

import msgspec

from vestig.config.kinds import (
    BOUNDS,
    PATTERN_WORDS,
    TYPE_WORDS,
    Count,
    Dimension,
    NamespaceName,
    Positive,
    Section,
    Share,
    Stage,
    Text,
    Timeout,
    VariableName,
    Wait,
    doc,
)
from vestig.config.recall_sections import (
    DecaySettings,
    EntitySettings,
    EntityTypeEntry,
    EventWeights,
    IndexSettings,
    JudgeSettings,
    LinkSettings,
    Profiles,
    QuestionSettings,
    RankingSettings,
    RecallSettings,
    ReferenceSettings,
    RetrieveSettings,
    SearchSettings,
    SynonymGroups,
    UsageSettings,
    WalkSettings,
    Weights,
)
from vestig.config.service_sections import (
    PROMPT_MEANINGS,
    FleetSettings,
    LlmSettings,
    McpSettings,
    Prices,
    Prompts,
    PromptTemplate,
    ServeSettings,
    TelemetrySettings,
)
from vestig.config.signals import KINDS, SignalSettings
from vestig.types import EventType


class StoreSettings(Section, frozen=True, kw_only=True):
    path: Annotated[
        Text,
        doc(
            "Directory of the store; :memory: keeps everything in memory; postgresql://… is the"
            " database of a tenant. A relative path"
            " counts from the file that names it, else from the working directory; the default"
            " from the user data directory.",
            shown=True,
        ),
    ] = "vestig"
    tenant: Annotated[
        Text | None,
        doc("The tenant, where store.path is an address of PostgreSQL.", shown=True),
    ] = None
    lock_timeout_s: Annotated[
        Wait, doc("Seconds that a writer waits for the write lock.", shown=True)
    ] = 5.0
    durability: Annotated[
        Literal["full", "normal"],
        doc(
            "full: a commit survives a loss of power; normal: only the death of the process.",
            shown=True,
        ),
    ] = "full"


class TimeSettings(Section, frozen=True, kw_only=True):
    zone: Annotated[
        Text, doc("Time zone in which words such as yesterday are read.", shown=True)
    ] = "UTC"


class EmbeddingSettings(Section, frozen=True, kw_only=True):
    provider: Annotated[
        Text,
        doc(
            "Which embedder makes the vectors: builtin, openai, fastembed, sentence-transformers,"
            " hashing (words only, for tests), or the name of an installed entry point of"
            " vestig.embedders.",
            shown=True,
        ),
    ] = "builtin"
    model: Annotated[
        Text | None, doc("Model of the provider; null: the provider's own.", shown=True)
    ] = None
    dimension: Annotated[
        Dimension | None, doc("Length of a vector; null: the model's own.", shown=True)
    ] = None
    normalize: Annotated[bool, doc("Scale every vector to length 1.")] = True
    timeout_s: Annotated[
        Timeout, doc("Seconds that one call of a remote embedder may take.", shown=True)
    ] = 60.0
    batch_size: Annotated[Count, doc("Texts per call of the embedder.", shown=True)] = 64
    on_failure: Annotated[
        Literal["error", "defer"],
        doc(
            "error: a commit whose embedding fails is refused; defer: it is stored without a"
            " vector and embedded later.",
            shown=True,
        ),
    ] = "error"
    base_url: Annotated[Text | None, doc("Address of a remote embedder.", shown=True)] = None
    api_key_env: Annotated[
        VariableName | None,
        doc("Name of the environment variable that holds the embedder's key.", shown=True),
    ] = None


class RerankerSettings(Section, frozen=True, kw_only=True):
    provider: Annotated[
        Text | None,
        doc(
            "Which cross-encoder reads the best memories, where signals.rerank is on: onnx (extra"
            " onnx), or the name of an installed entry point of vestig.rerankers; null: none.",
            shown=True,
        ),
    ] = None
    model: Annotated[Text | None, doc("Model of the provider; for onnx, a folder.", shown=True)] = (
        None
    )
    timeout_s: Annotated[
        Timeout,
        doc(
            "Seconds that the reranker may take in one recall; after them it is ranked without.",
            shown=True,
        ),
    ] = 10.0


class NearDuplicateSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, doc("Recognise a text that states a known fact again.", shown=True)
    ] = True
    threshold: Annotated[
        Share,
        doc("Cosine from which a memory is compared as a near duplicate (inclusive).", shown=True),
    ] = 0.92
    on_near_dup: Annotated[
        Literal["reinforce", "link", "insert"],
        doc(
            "What a near duplicate does: reinforce counts it for the known memory, link stores"
            " it and links both, insert only stores it.",
            shown=True,
        ),
    ] = "reinforce"


class HygieneSettings(Section, frozen=True, kw_only=True):
    min_chars: Annotated[
        Count,
        doc(
            "Shortest note that is stored, in code points; one of Han, Kana, Hangul or Thai"
            " counts as three. Shorter ones need two words that say something: two of content, or a"
            " digit, a quotation, a name, a negation or the first person among two. Turns of"
            " conversations may always be shorter.",
            shown=True,
        ),
    ] = 12
    max_chars: Annotated[Count, doc("Longest text that is stored, in code points.", shown=True)] = (
        4000
    )
    normalize_whitespace: Annotated[
        bool,
        doc(
            "In the normal form of a text every run of white space is one space, but for the"
            " indentation of lines; `content` keeps its own.",
            shown=True,
        ),
    ] = True
    near_duplicate: Annotated[
        NearDuplicateSettings, doc("How a text that states a known fact again is told and kept.")
    ] = NearDuplicateSettings()


class DocumentSettings(Stage, frozen=True, kw_only=True):
    passage_chars: Annotated[
        int,
        msgspec.Meta(ge=200, le=4000),
        doc("Longest passage of a document, in code points with its title.", shown=True),
    ] = 800
    timeout_s: Annotated[Count, doc("Longest time to convert a document.", shown=True)] = 60
    memory_mb: Annotated[
        int,
        msgspec.Meta(ge=128, le=65_536),
        doc("Most memory that converting a document takes, in MiB.", shown=True),
    ] = 1024


class SimilarSettings(Section, frozen=True, kw_only=True):
    min_score: Annotated[
        Share,
        doc("Cosine from which a commit names a known memory as similar (inclusive).", shown=True),
    ] = 0.46


class UpdateSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool,
        doc(
            "With a language model: it judges which similar memories a new one replaces.",
            shown=True,
        ),
    ] = True
    min_confidence: Annotated[
        Share,
        doc("Confidence of the model from which a replaced memory is superseded (inclusive)."),
    ] = 0.9


class CognifySettings(Stage, frozen=True, kw_only=True):
    window_chars: Annotated[
        Count,
        doc("Most characters of consecutive passages that a language model reads at once."),
    ] = 4000
    turns: Annotated[
        Count, doc("Most consecutive turns of a session that a language model reads at once.")
    ] = 8
    min_confidence: Annotated[
        Share, doc("Confidence of the model from which a claim is stored (inclusive).")
    ] = 0.5


class SummarySettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, doc("With a language model: cognify sums up the documents that it has read.")
    ] = True
    min_passages: Annotated[Count, doc("Fewest passages of a document that is summed up.")] = 6


class KeywordSettings(Section, frozen=True, kw_only=True):
    stopwords: Annotated[
        tuple[Text, ...], doc("Words that are no keywords, added to the built-in ones.", shown=True)
    ] = ()


class EnrichmentSettings(Section, frozen=True, kw_only=True):
    mode: Annotated[
        Literal["deferred", "inline", "off"],
        doc(
            "deferred: jobs wait for a worker; inline: the commit works its own jobs; off: no"
            " jobs.",
            shown=True,
        ),
    ] = "deferred"
    inline_timeout_s: Annotated[
        Timeout,
        doc(
            "Seconds that a commit with mode inline, or a forget, waits for its own jobs.",
            shown=True,
        ),
    ] = 20.0
    workers: Annotated[
        Count, doc("Memories about which a language model is asked at the same time.")
    ] = 2


class HookSettings(Section, frozen=True, kw_only=True):
    strict: Annotated[
        bool, doc("Raise what a commit hook raised, after all is done.", shown=True)
    ] = False
    budget: Annotated[
        int,
        msgspec.Meta(ge=40, le=1_000_000),
        doc("Most tokens of the memories that an editor's prompt brings."),
    ] = 600


class AnchorSettings(Section, frozen=True, kw_only=True):
    folder: Annotated[
        Text | None,
        doc(
            "Folder in whose repository the files of anchors are looked at; null: the one that is"
            " worked in, and none in `vestig serve`."
        ),
    ] = None


# policy_half_life_days → days; `permanent` has none
Retention = dict[str, Positive]
POLICIES: Final = {"decision": 365.0, "standard": 90.0, "ephemeral": 7.0, "session": 1.0}


def _retention() -> Retention:
    return {f"{policy}_half_life_days": days for policy, days in POLICIES.items()}


class FirewallSettings(Section, frozen=True, kw_only=True):
    secrets: Annotated[
        Literal["mask", "reject", "off"],
        doc(
            "What becomes of secrets in texts, such as passwords and keys of services. mask: a"
            " marker stands in their place; reject: the text is refused; off: they are stored.",
            shown=True,
        ),
    ] = "mask"
    echo: Annotated[
        bool,
        doc("Take what a store printed of its memories out of a text that comes in.", shown=True),
    ] = True


class LifecycleSettings(Section, frozen=True, kw_only=True):
    default_policy: Annotated[
        Literal["permanent", "decision", "standard", "ephemeral", "session"],
        doc("Retention policy of a commit that names none.", shown=True),
    ] = "standard"
    retention: Annotated[
        Retention, doc("Half-lives in days of memories, by policy; permanent ones have none.")
    ] = msgspec.field(default_factory=_retention)


class Settings(Section, frozen=True, kw_only=True):
    """The effective configuration as values; every default is the built-in layer.

    Example:
        >>> Settings().hygiene.near_duplicate.threshold
        0.92
    """

    store: StoreSettings = StoreSettings()
    namespace: Annotated[
        NamespaceName,
        doc("Namespace in which every call acts unless it names another one.", shown=True),
    ] = "default"
    time: TimeSettings = TimeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    reranker: RerankerSettings = RerankerSettings()
    llm: LlmSettings = LlmSettings()
    prompts: Annotated[
        Prompts, doc("Prompts of your own in place of the shipped ones, by name.")
    ] = msgspec.field(default_factory=dict)
    hygiene: HygieneSettings = HygieneSettings()
    documents: Annotated[DocumentSettings, doc("How files become text, and text passages.")] = (
        DocumentSettings()
    )
    similar: SimilarSettings = SimilarSettings()
    updates: Annotated[
        UpdateSettings, doc("Judgement by a language model of what a new memory replaces.")
    ] = UpdateSettings()
    cognify: Annotated[
        CognifySettings, doc("Reading of turns and passages by a language model, a window a call.")
    ] = CognifySettings()
    summaries: Annotated[
        SummarySettings, doc("Summaries of documents that a language model has read.")
    ] = SummarySettings()
    keywords: KeywordSettings = KeywordSettings()
    enrichment: EnrichmentSettings = EnrichmentSettings()
    hooks: HookSettings = HookSettings()
    anchors: AnchorSettings = AnchorSettings()
    usage: Annotated[
        UsageSettings, doc("TraceRank: what the use, age and links of a memory do to its score.")
    ] = UsageSettings()
    entities: Annotated[EntitySettings, doc("What names a memory has, and of which types.")] = (
        EntitySettings()
    )
    links: Annotated[
        LinkSettings, doc("The links that a new memory gets, and how an expansion follows them.")
    ] = LinkSettings()
    questions: Annotated[
        QuestionSettings,
        doc("Questions that a memory answers, stored beside it and compared with queries."),
    ] = QuestionSettings()
    walk: Annotated[
        WalkSettings, doc("The walk along links, from the best memories to others.")
    ] = WalkSettings()
    ranking: Annotated[
        RankingSettings, doc("How the final score is made of its parts, and what competes.")
    ] = RankingSettings()
    reference: Annotated[
        ReferenceSettings,
        doc("The start score of the given formula: shares of meaning, words, times and names."),
    ] = ReferenceSettings()
    signals: Annotated[
        SignalSettings, doc("Parts of the linear score that are switched as a whole.")
    ] = SignalSettings()
    judge: Annotated[
        JudgeSettings, doc("The judge: a model that reads the question with each of the best.")
    ] = JudgeSettings()
    index: IndexSettings = IndexSettings()
    recall: RecallSettings = RecallSettings()
    search: SearchSettings = SearchSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    decay: DecaySettings = DecaySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    firewall: FirewallSettings = FirewallSettings()
    serve: ServeSettings = ServeSettings()
    mcp: McpSettings = McpSettings()
    fleet: Annotated[
        FleetSettings, doc("Copies of tenants on this machine, and how they follow PostgreSQL.")
    ] = FleetSettings()


class KeySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One key, or one entry of a key that is a mapping: dotted name, type with its range, default,
    the range in words and what it means; `shown`: `config show` prints it without `--all`."""

    key: str
    meaning: str
    shown: bool
    type: Any
    default: Any
    allowed: str
    takes_text: bool
    takes_other: bool


# more than there are keys; callers may ask for many that are none
_KEYS_KEPT: Final = 1_024
_S = TypeVar("_S", bound=Section)
# values of these types are already in the form of a key whose default has the same type
_PLAIN: Final = (bool, int, float, str)
_MAPPING_WORDS: Final[dict[Any, str]] = {
    Profiles: "a mapping of profile names to keys and values",
    EventWeights: "a mapping {type of event: a number ≥ 0 and ≤ 1}",
    Weights: "a mapping {origin: {term: a finite number}}, or the path of a file that holds one",
    SynonymGroups: "a mapping {term: a list of its synonyms}",
    Retention: "a mapping {policy_half_life_days: a number > 0}",
    Prompts: "a mapping {name: text, or {system, user}}",
    Prices: "a mapping {model: {input, output, cache_read, cache_write, batch_factor}}",
}
# Keys whose value is a mapping that layers merge entry by entry; an entry is spelt like a key.
MAPPINGS: Final = ("usage.event_weights", "ranking.weights", "prompts", "lifecycle.retention")
_KIND_WORDS: Final = {"chat_peer": "people's chats", "all": "all else"}


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
            return PATTERN_WORDS[meta.pattern]
        bounds = [
            f"{sign} {getattr(meta, name)}"
            for name, sign in BOUNDS
            if getattr(meta, name) is not None
        ]
        if meta.min_length is not None:
            return "text that is not empty"
        return f"{TYPE_WORDS[args[0]]} {' and '.join(bounds)}"
    if origin is Literal:
        return " | ".join(str(word) for word in args)
    if origin is tuple:
        return f"a list of: {_allowed(args[0])}"
    if origin is dict:
        return _MAPPING_WORDS[kind]
    if kind is EntityTypeEntry:
        return "{name, description, tier 1 | 2 | 3, synonyms, examples}"
    if kind is PromptTemplate:
        return "{system, user}"
    return TYPE_WORDS[kind]


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
    """Return what a type allows in words, whether it takes text, and whether anything else."""
    arms = [_is_text(arm) for arm in _arms(kind) if arm is not type(None)]
    return _allowed(kind), any(arms), not all(arms)


@cache
def _hints(section: type) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def _described(kind: Any) -> tuple[Any, msgspec.Meta | None]:
    """A type without its description, and that."""
    from typing import get_args, get_origin

    if get_origin(kind) is Annotated:
        inner, *metas = get_args(kind)
        if metas[-1].description is not None:
            rest = metas[:-1]
            return (Annotated[(inner, *rest)] if rest else inner), metas[-1]
    return kind, None


def _spec(key: str, kind: Any, default: Any, meaning: str, *, shown: bool) -> KeySpec:
    allowed, takes_text, takes_other = _taken(kind)
    return KeySpec(
        key=key,
        meaning=meaning,
        shown=shown,
        type=kind,
        default=default,
        allowed=allowed,
        takes_text=takes_text,
        takes_other=takes_other,
    )


def _leaf(defaults: msgspec.Struct, name: str, prefix: str, above: msgspec.Meta | None) -> KeySpec:
    """The key that a field of a section is; `above` describes the section where the key has no
    description of its own."""
    kind, own = _described(_hints(type(defaults))[name])
    said = own or above
    if said is None or said.description is None:
        raise TypeError(f"{prefix}{name}: a key without a description")
    shown = bool((said.extra or {})["shown"])
    default = getattr(defaults, name)
    return _spec(f"{prefix}{name}", kind, default, said.description, shown=shown)


@cache
def key_specs() -> Mapping[str, KeySpec]:
    """Every key that is one value, and every parameter of a stage, in the order of the schema."""
    return {key: _required(key) for key in default_values()}


@cache
def stages() -> Mapping[str, str]:
    """Every key whose value is a table of parameters: its name and what it is about.

    Example:
        >>> stages()["walk"]
        'The walk along links, from the best memories to others.'
    """
    return dict(_stages(Settings(), ""))


def _stages(section: msgspec.Struct, prefix: str) -> Iterator[tuple[str, str]]:
    for name in section.__struct_fields__:
        inner = getattr(section, name)
        if isinstance(inner, Stage):
            said = _described(_hints(type(section))[name])[1]
            if said is None or said.description is None:
                raise TypeError(f"{prefix}{name}: a stage without a description")
            yield f"{prefix}{name}", said.description
        elif isinstance(inner, Section):
            yield from _stages(inner, f"{prefix}{name}.")


@cache
def entry_specs() -> Mapping[str, KeySpec]:
    """Every entry of the keys that are mappings."""
    from vestig.config.weights import TERMS, learned

    events = {
        f"usage.event_weights.{event}": _spec(
            f"usage.event_weights.{event}",
            Share,
            Settings().usage.event_weights.get(event, 0.0),
            f"Weight of a {event} event in TraceRank.",
            shown=False,
        )
        for event in EventType
    }
    weights = {
        f"ranking.weights.{kind}.{term}": _spec(
            f"ranking.weights.{kind}.{term}",
            float,
            learned()[kind][term],
            f"Weight for {_KIND_WORDS[kind]}: {meaning}.",
            shown=False,
        )
        for kind in KINDS
        for term, meaning in TERMS.items()
    }
    prompts = {
        f"prompts.{name}": _spec(
            f"prompts.{name}",
            Text | PromptTemplate | None,
            None,
            f"Prompt that {what}; null: the shipped one.",
            shown=False,
        )
        for name, what in PROMPT_MEANINGS.items()
    }
    half_lives = {
        f"lifecycle.retention.{policy}_half_life_days": _spec(
            f"lifecycle.retention.{policy}_half_life_days",
            Positive,
            days,
            f"Half-life in days of memories with the policy {policy}.",
            shown=False,
        )
        for policy, days in POLICIES.items()
    }
    return {**events, **weights, **prompts, **half_lives}


@lru_cache(_KEYS_KEPT)
def _key_spec(key: str) -> KeySpec | None:
    """Return the spec that `key_specs` has, from the types of its section alone."""
    *path, name = key.split(".")
    defaults: msgspec.Struct = Settings()
    above = None
    for part in path:
        inner = getattr(defaults, part, None) if part in defaults.__struct_fields__ else None
        if not isinstance(inner, Section):
            return None
        above = None if isinstance(inner, Stage) else _described(_hints(type(defaults))[part])[1]
        defaults = inner
    if name not in defaults.__struct_fields__ or isinstance(getattr(defaults, name), Section):
        return None
    return _leaf(defaults, name, key[: -len(name)], above)


def spec_of(key: str) -> KeySpec | None:
    """Of a key, or of an entry of a mapping; None: there is none of this name."""
    return _key_spec(key) if mapping_of(key) is None else entry_specs().get(key)


@cache
def default_values() -> Mapping[str, Any]:
    """The built-in value of every key, in the order of the schema.

    Example:
        >>> default_values()["hygiene.min_chars"]
        12
    """
    return dict(_leaves(Settings(), ""))


def _leaves(section: msgspec.Struct, prefix: str) -> Iterator[tuple[str, Any]]:
    for name in section.__struct_fields__:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def settings_from(values: Mapping[str, Any]) -> Settings:
    """The values of every key as one value.

    Args:
        values: of every key, each valid for it.

    Example:
        >>> settings_from({**default_values(), "walk.max_nodes": 7}).walk.max_nodes
        7
    """
    return _filled(Settings(), "", values)


def _filled(section: _S, prefix: str, values: Mapping[str, Any]) -> _S:
    """A section with these values, each in the form that its type says (a list as a tuple)."""
    changed: dict[str, Any] = {}
    for name in section.__struct_fields__:
        own = getattr(section, name)
        if isinstance(own, Section):
            value: Any = _filled(own, f"{prefix}{name}.", values)
        else:
            key = f"{prefix}{name}"
            value = values[key]
            alike = type(value) is type(own)
            if alike and value == own:
                value = own
            elif not (alike and type(own) in _PLAIN):
                value = msgspec.convert(value, _required(key).type)
        if value is not own:
            changed[name] = value
    return msgspec.structs.replace(section, **changed) if changed else section


def _required(key: str) -> KeySpec:
    spec = _key_spec(key)
    if spec is None:
        raise KeyError(key)
    return spec


@cache
def takes_mapping(key: str) -> bool:
    """Return whether the value of a key may itself be a mapping, read as a whole: layers merge it,
    and its members are no keys.

    Example:
        >>> takes_mapping("llm.prices"), takes_mapping("ranking.weights"), takes_mapping("llm")
        (True, False, False)
    """
    if mapping_of(key) == "prompts":
        return True
    spec = _key_spec(key)
    if spec is None or key in MAPPINGS or spec.type == Profiles:
        return False
    return any(arm in (Prices, SynonymGroups) for arm in _arms(spec.type))


def mapping_of(key: str) -> str | None:
    """The key whose entry a name spells; None: it is no entry.

    Example:
        >>> mapping_of("ranking.weights.all.topic"), mapping_of("ranking.base")
        ('ranking.weights', None)
    """
    return next((name for name in MAPPINGS if key.startswith(f"{name}.")), None)


@cache
def entry_sections() -> frozenset[str]:
    """Dotted names of the mappings, and of the groups of their entries.

    Example:
        >>> "ranking.weights.all" in entry_sections()
        True
    """
    return _groups(entry_specs()).difference(sections())


@cache
def sections() -> frozenset[str]:
    """Dotted names of the groups of keys.

    Example:
        >>> "hygiene.near_duplicate" in sections()
        True
    """
    return _groups(default_values())


def _groups(names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        parts = name.split(".")
        found.update(".".join(parts[:n]) for n in range(1, len(parts)))
    return frozenset(found)
