"""Keys of what is stored beside a text (`usage`, `entities`, `links`, `questions`) and of how it is
found: `walk`, `ranking`, `reference`, `index`, `recall`, `search`, `decay`, `retrieve`.

The built-in values of what a profile may set are those of the profile `default`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from vestig.arguments import SILENCE_MIN
from vestig.config.kinds import (
    AtLeastOne,
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Section,
    Seed,
    Share,
    SignedShare,
    Stage,
    Text,
    Timeout,
    doc,
)
from vestig.types import EventType

BUILT_IN_ENTITY_TYPES: Final = (
    "PERSON", "ORG", "SYSTEM", "PROJECT", "PLACE", "SKILL", "TOOL", "FILE", "CONCEPT",
    "CAPABILITY",
)  # fmt: skip


# type of event → what it counts for
EventWeights = dict[EventType, Share]


def _event_weights() -> EventWeights:
    return {EventType.REINFORCE_EXACT: 1.0, EventType.REINFORCE_NEAR: 1.0}


class SpacingSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Let repetitions count more the further they lie apart.")] = False
    bonus: Annotated[NotNegative, doc("Most that spacing adds to an event.")] = 0.25
    spacing_days: Annotated[Positive, doc("Gap in days that earns the whole bonus.")] = 14.0


class UsageSettings(Stage, frozen=True, kw_only=True):
    event_weights: Annotated[
        EventWeights,
        doc(
            "Weight of each type of event in TraceRank; a type that is not named weighs 0.",
            shown=True,
        ),
    ] = msgspec.field(default_factory=_event_weights)
    enabled: Annotated[bool, doc("Multiply scores by TraceRank; false: by 1.", shown=True)] = True
    tau_days: Annotated[
        Positive, doc("Days in which the trace of an event falls to 1/e.", shown=True)
    ] = 21.0
    cooldown_hours: Annotated[
        NotNegative,
        doc("An event with a newer one less than this many hours later is part of a burst."),
    ] = 24.0
    burst_discount: Annotated[Share, doc("Weight of an event inside a burst.")] = 0.2
    k: Annotated[
        NotNegative,
        doc(
            "Strength of reinforcement: how much the trace of events raises TraceRank.", shown=True
        ),
    ] = 0.35
    graph_connectivity_enabled: Annotated[bool, doc("Let memories with more links weigh more.")] = (
        False
    )
    graph_k: Annotated[
        NotNegative, doc("Strength of connectivity: how much links raise TraceRank.")
    ] = 0.15
    temporal_decay_enabled: Annotated[
        bool, doc("Let unstable facts lose weight by age.", shown=True)
    ] = True
    dynamic_tau_days: Annotated[
        Positive, doc("Days in which a dynamic fact falls to 1/e.", shown=True)
    ] = 90.0
    ephemeral_tau_days: Annotated[
        Positive | None,
        doc(
            "Days in which an ephemeral fact falls to 1/e; null: a quarter of dynamic_tau_days,"
            " between 3 and 7."
        ),
    ] = None
    static_boost: Annotated[NotNegative, doc("Factor of facts that never change.")] = 1.0
    clip_min: Annotated[Share, doc("Least value of TraceRank.")] = 0.25
    clip_max: Annotated[AtLeastOne, doc("Greatest value of TraceRank.")] = 2.0
    spacing: SpacingSettings = SpacingSettings()


class EntityTypeEntry(Section, frozen=True, kw_only=True):
    """One own type of `entities.ontology`."""

    name: Text
    description: Text
    tier: Literal[1, 2, 3] = 2
    synonyms: tuple[Text, ...] = ()
    examples: tuple[Text, ...] = ()


class EntitySettings(Stage, frozen=True, kw_only=True):
    """`ontology` wins where both are present; null: `allowed_types` decides."""

    ontology: Annotated[
        Literal["insight"] | tuple[EntityTypeEntry, ...] | None,
        doc(
            "Own entity types with description, tier, synonyms and examples, or insight (types"
            " for lessons learned); null: allowed_types decides.",
            shown=True,
        ),
    ] = None
    allowed_types: Annotated[tuple[Text, ...], doc("Names of the entity types.", shown=True)] = (
        BUILT_IN_ENTITY_TYPES
    )
    enabled: Annotated[bool, doc("Find the entities that a memory names.", shown=True)] = True
    min_confidence: Annotated[
        Share, doc("Confidence from which an entity counts (inclusive).", shown=True)
    ] = 0.75
    max_per_memory: Annotated[
        Count, doc("Entities stored per memory, the most certain first.", shown=True)
    ] = 10
    store_low_confidence: Annotated[
        bool,
        doc("Store less certain entities too; the expansion of links passes over them."),
    ] = False
    max_evidence_length: Annotated[
        Count,
        CountOrZero,
        doc(
            "Characters of the quoted evidence of an entity or a link, and of the description that"
            " a language model gives an entity."
        ),
    ] = 200
    model: Annotated[
        Text | None,
        doc("Language model that finds entities in memories; null: llm.model."),
    ] = None


class MentionsSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Link a memory to the entities that it names.", shown=True)] = True


class RelatedSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Link a new memory to similar ones.", shown=True)] = True
    similarity_threshold: Annotated[
        Share, doc("Cosine from which two memories are linked.", shown=True)
    ] = 0.6
    max_edges_per_memory: Annotated[Count, doc("Links made per new memory.", shown=True)] = 10


class ExpansionSettings(Section, frozen=True, kw_only=True):
    max_expand_via_entities: Annotated[
        CountOrZero, doc("Memories that expand_with_graph adds by shared entities.")
    ] = 3
    max_expand_via_related: Annotated[
        CountOrZero, doc("Memories that expand_with_graph adds by RELATED edges.")
    ] = 3
    min_confidence: Annotated[
        Share, doc("Confidence from which a mention counts in an expansion.")
    ] = 0.75


class LinkSettings(Stage, frozen=True, kw_only=True):
    mentions: MentionsSettings = MentionsSettings()
    related: RelatedSettings = RelatedSettings()
    expansion: ExpansionSettings = ExpansionSettings()


# name → key → value
Profiles = dict[str, dict[str, Any]]
# origin → term → weight
Weights = dict[str, dict[str, float]]


class QuestionSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool,
        doc("Store questions that a memory answers, and compare queries with them.", shown=True),
    ] = True
    allowed_triggers: Annotated[
        tuple[Text, ...], doc("Triggers of commits that get stored questions.", shown=True)
    ] = ("problem-solution", "learning-failure")
    max_per_memory: Annotated[Count, doc("Stored questions per memory.", shown=True)] = 2
    model: Annotated[
        Text | None,
        doc("Language model that writes the questions; null: llm.model."),
    ] = None
    offline: Annotated[
        Literal["none", "templates"],
        doc("Who makes the questions without a model: none, or templates from rules.", shown=True),
    ] = "none"
    content_weight: Annotated[
        Share, doc("Weight of the content beside the best stored question.")
    ] = 0.4
    question_weight: Annotated[Share, doc("Weight of the best stored question.")] = 0.6


class StartSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[
        bool,
        doc("false: memories are ordered by cosine where the walk starts and the pool is cut."),
    ] = True
    limit: Annotated[Count, doc("Memories at which the walk starts.")] = 5


class WalkSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Walk from the best memories along edges.", shown=True)] = True
    mode: Annotated[
        Literal["probabilistic", "deterministic"],
        doc(
            "probabilistic: edges are drawn by the seed; deterministic: by a threshold.", shown=True
        ),
    ] = "probabilistic"
    order: Annotated[
        Literal["best", "dfs"],
        doc("best: the edge with the strongest signal first; dfs: depth first."),
    ] = "best"
    max_nodes: Annotated[Count, doc("Memories that one walk may reach.", shown=True)] = 20
    exploration_factor: Annotated[NotNegative, doc("Factor of the probability of every step.")] = (
        1.0
    )
    signal_decay: Annotated[NotNegative, doc("Factor of the signal at every step.")] = 1.0
    normalize_weights: Annotated[
        bool, doc("Stretch RELATED weights from the linking threshold to 1 before drawing.")
    ] = True
    start: StartSettings = StartSettings()
    seed: Annotated[
        Seed | None, doc("Seed of the walk; null: derived from query and state.", shown=True)
    ] = None
    edge_types: Annotated[
        tuple[Literal["RELATED", "MENTIONS"], ...], doc("Edges that are walked.", shown=True)
    ] = ("RELATED",)
    min_signal: Annotated[Share, doc("Memories whose signal is weaker are not walked to.")] = 0.01
    associated: Annotated[
        CountOrZero,
        doc(
            "Memories that the walk reaches and that come back beside the results; 0: none. Acts"
            " where ranking.base is linear and ranking.association is 0.",
            shown=True,
        ),
    ] = 3
    max_hops: Annotated[Count | None, doc("Longest path; null: no limit.")] = None
    max_entity_degree: Annotated[
        Count, doc("Entities with more mentions are not walked through.")
    ] = 50
    use_tracerank: Annotated[bool, doc("Prefer reinforced memories at each step.")] = True
    deterministic_threshold: Annotated[
        Share, doc("Probability from which deterministic mode takes a step.")
    ] = 0.5


class RankingSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, doc("false: every eligible memory is scored by max(0, cosine) · TraceRank.")
    ] = True
    base: Annotated[
        Literal["linear", "semantic", "blend", "cosine"],
        doc(
            "What is ranked: linear = fused signals, semantic = max(0, meaning), blend = max(0,"
            " start score), cosine = as it is."
        ),
    ] = "linear"
    pool: Annotated[
        Literal["auto", "all", "starts"] | Count,
        doc(
            "How many of the best memories by start score compete: auto = max(50, 5 · limit),"
            " starts = the start nodes only."
        ),
    ] = "auto"
    # Memories that the walk ranks among the others push out what was found by itself
    # (`benches/evaluate.py`), so they come beside the results.
    association: Annotated[
        Share,
        SignedShare,
        doc(
            "Share of the score of its start that a memory reached by the walk inherits by its"
            " signal. Where ranking.base is linear, 0 keeps walked memories out of the ranking:"
            " they come beside the results (walk.associated)."
        ),
    ] = 0.0
    path_power: Annotated[
        NotNegative, doc("Power to which the path score enters the final score.")
    ] = 1.0
    tracerank_power: Annotated[
        NotNegative, doc("Power to which TraceRank enters the final score.", shown=True)
    ] = 0.5
    newer_first: Annotated[
        bool,
        doc(
            "Where ranking.base is linear: of several versions of one thing among the best ten"
            " results the newest comes first, unless the query asks about the past.",
            shown=True,
        ),
    ] = True
    weights: Annotated[
        Weights,
        doc(
            "Weights in place of the learned ones: {all or chat_peer: {term: number}}, or the path"
            " of a JSON or YAML file that holds that; null gives a term its learned weight back.",
            shown=True,
        ),
    ] = msgspec.field(default_factory=dict)


class ReferenceSettings(Stage, frozen=True, kw_only=True):
    """Of the given formula: `ranking.base` semantic or blend."""

    alpha_meta: Annotated[
        Share,
        SignedShare,
        doc(
            "Share of the metadata in the start score. Keys of this section act where"
            " ranking.base is semantic or blend."
        ),
    ] = 0.3
    keyword_weight: Annotated[Share, doc("Weight of shared keywords in the metadata.")] = 0.5
    temporal_weight: Annotated[
        Share, doc("Weight of the times that the query names in the metadata.")
    ] = 0.3
    entity_weight: Annotated[
        Share, doc("Weight of the entities that the query names in the metadata.")
    ] = 0.2
    recency_weight: Annotated[Share, doc("Weight of recency in the metadata.")] = 0.0
    recency_tau_days: Annotated[Positive, doc("Days in which recency falls to 1/e.")] = 30.0
    keyword_mode: Annotated[
        Literal["jaccard", "weighted"],
        doc("jaccard: shared of all keywords; weighted: rare keywords count more."),
    ] = "weighted"
    entity_mode: Annotated[
        Literal["overlap", "weighted"],
        doc("overlap: share of the query's entities; weighted: by match and confidence."),
    ] = "weighted"


class IndexSettings(Section, frozen=True, kw_only=True):
    approximate_above: Annotated[
        Count,
        doc(
            "Memories above which an index proposes candidates, so that some may be missed;"
            " 2147483647: everything is always compared.",
            shown=True,
        ),
    ] = 3_000_000


class ReasonSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, doc("false: results carry method, similarity and final score only.")
    ] = True
    include_path: Annotated[bool, doc("Give path and hops of each result.")] = True
    include_scores: Annotated[bool, doc("Give the scores behind each result.")] = True


class JudgeSettings(Stage, frozen=True, kw_only=True):
    enabled: Annotated[
        bool | None,
        doc(
            "Let the judge read the best memories of a recall; null: where the embedder is the"
            " built-in one.",
            shown=True,
        ),
    ] = None
    pool: Annotated[Count, doc("How many of the best memories the judge reads.", shown=True)] = 8
    budget_ms: Annotated[
        Timeout,
        doc(
            "Milliseconds that the judge may read, and the version reader as long again; a memory"
            " not read by then keeps its place, a pair goes by words. Where it is not set, a"
            " question at the command line has 1,500."
        ),
    ] = 150.0


class RecallSettings(Section, frozen=True, kw_only=True):
    default_limit: Annotated[Count, doc("Results when the call names no limit.", shown=True)] = 5
    profile: Annotated[Text, doc("Name of the set of ranking values in effect.", shown=True)] = (
        "default"
    )
    profiles: Annotated[
        Profiles,
        doc(
            "Further profiles: name to keys of usage, questions, walk,"
            " ranking, reference, signals, judge and recall.",
            shown=True,
        ),
    ] = msgspec.field(default_factory=dict)
    format: Annotated[
        Literal["text", "compact", "explain", "list", "json"],
        doc("Layout that recall prints.", shown=True),
    ] = "text"
    min_score: Annotated[
        Share | None, doc("Results below this score are left out; null: none.", shown=True)
    ] = None
    silence: Annotated[
        Annotated[float, msgspec.Meta(ge=SILENCE_MIN, le=1)] | None,
        doc(
            "How often a question that nothing stored answers may bring something; null: 0.2"
            " where a judge read the memories, else always.",
            shown=True,
        ),
    ] = None
    include_expired: Annotated[
        bool,
        doc(
            "Recall superseded and deprecated memories too, unless the call says otherwise.",
            shown=True,
        ),
    ] = False
    expand_summaries: Annotated[
        bool, doc("Memories that a summary among the candidates covers compete too.")
    ] = False
    summary_prior: Annotated[
        SignedShare, doc("Added to the score that a summary starts from; -0.05: ties go to facts.")
    ] = 0.0
    synthesize: Annotated[
        bool,
        doc(
            "Let the language model, where there is one, write the query of a conversation; false:"
            " the end of the conversation is the query."
        ),
    ] = False
    query_entities: Annotated[
        Literal["rules", "llm"],
        doc("Who finds the names in a query: rules, or the language model where there is one."),
    ] = "rules"
    entity_similarity_threshold: Annotated[
        Share | None,
        doc("Cosine from which a query's name matches an entity of another name; null: never."),
    ] = None
    reasons: Annotated[ReasonSettings, doc("What the results of recall say of themselves.")] = (
        ReasonSettings()
    )


class SearchSettings(Section, frozen=True, kw_only=True):
    limit: Annotated[
        Count, doc("Hits of graph search when the call names no limit.", shown=True)
    ] = 10
    graph_depth: Annotated[
        CountOrZero, doc("Hops that graph search expands when the call names none.", shown=True)
    ] = 1


class DecaySettings(Section, frozen=True, kw_only=True):
    basis: Annotated[
        Literal["access", "creation"],
        doc("Age counts from the last access or from creation.", shown=True),
    ] = "access"


# term → its synonyms
SynonymGroups = dict[str, tuple[Text, ...]]

FactCount = Annotated[int, msgspec.Meta(ge=1, le=500)]
MessageCount = Annotated[int, msgspec.Meta(ge=1, le=100)]
IterationCount = Annotated[int, msgspec.Meta(ge=1, le=50)]
Tokens = Annotated[int, msgspec.Meta(ge=40, le=2_147_483_647)]
Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=3_600_000)]
QueryLength = Annotated[int, msgspec.Meta(ge=10, le=2_147_483_647)]


class RetrieveSettings(Section, frozen=True, kw_only=True):
    max_facts: Annotated[FactCount, doc("Facts when the call names no number.")] = 30
    max_messages: Annotated[MessageCount, doc("Turns when the call names no number.")] = 10
    budget: Annotated[
        Tokens, doc("Tokens of facts and turns together when the call names no number.")
    ] = 700
    max_iterations: Annotated[
        IterationCount, doc("Most rounds of a search when the call names no number.")
    ] = 10
    deadline_ms: Annotated[Milliseconds, doc("Milliseconds after which nothing more is begun.")] = (
        10_000
    )
    llm: Annotated[
        bool, doc("Let the language model plan queries, judge and summarise, where there is one.")
    ] = True
    llm_max_calls: Annotated[
        CountOrZero, doc("Most calls of the language model in one retrieval.")
    ] = 3
    early_stop_min_iterations: Annotated[
        CountOrZero, doc("Rounds before which a search ends early only for a strong first one.")
    ] = 2
    novelty_min_new_facts: Annotated[
        CountOrZero, doc("New facts below which a round brought nothing; 0: every round counts.")
    ] = 1
    novelty_patience: Annotated[
        Count, doc("Rounds in a row that bring nothing before a search ends.")
    ] = 2
    stop_confidence_required: Annotated[
        Literal["high", "medium", "low"],
        doc("How sure the language model must be that a search may end."),
    ] = "high"
    fallback_max_queries: Annotated[
        Count, doc("Queries that rules make for one round of a search; at most 20 count.")
    ] = 12
    fallback_max_query_length: Annotated[
        QueryLength, doc("Longest query that rules make, in code points.")
    ] = 120
    synonyms: Annotated[
        SynonymGroups,
        doc("Synonyms in place of which terms of a message are asked for too, beside the shipped."),
    ] = msgspec.field(default_factory=dict)
    message_blacklist: Annotated[
        Text | None,
        doc(
            "File of messages that say too little to be returned, one a line; null: a short list"
            " of greetings and thanks."
        ),
    ] = None
