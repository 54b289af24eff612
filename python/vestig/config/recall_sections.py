"""Keys of recall and search: `questions`, `walk`, `ranking`, `reference`, `index`,
`recall`, `search`, `decay`.

The built-in values of what a profile may set are those of the profile `default`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from vestig.config.kinds import (
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Section,
    Seed,
    Share,
    SignedShare,
    Text,
    doc,
)

# name → key → value
Profiles = dict[str, dict[str, Any]]
# origin → term → weight
Weights = dict[str, dict[str, float]]


class QuestionSettings(Section, frozen=True, kw_only=True):
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


class WalkSettings(Section, frozen=True, kw_only=True):
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


class RankingSettings(Section, frozen=True, kw_only=True):
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
    # (`vestig eval`), so they come beside the results.
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


class ReferenceSettings(Section, frozen=True, kw_only=True):
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


class ReasonSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, doc("false: results carry method, similarity and final score only.")
    ] = True
    include_path: Annotated[bool, doc("Give path and hops of each result.")] = True
    include_scores: Annotated[bool, doc("Give the scores behind each result.")] = True


class RecallSettings(Section, frozen=True, kw_only=True):
    default_limit: Annotated[Count, doc("Results when the call names no limit.", shown=True)] = 5
    profile: Annotated[Text, doc("Name of the set of ranking values in effect.", shown=True)] = (
        "default"
    )
    profiles: Annotated[
        Profiles,
        doc(
            "Further profiles: name to keys of usage, questions, walk,"
            " ranking, reference, signals and recall.",
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
    min_confidence: Annotated[
        Share | None,
        doc(
            "Where the store is less sure than this that it holds an answer, recall gives nothing"
            " but the nearest misses; it acts where the profile has a confidence; null: never.",
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
    reasons: ReasonSettings = ReasonSettings()


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
