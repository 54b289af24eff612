"""Keys of what use does to a memory, of entities and of links: `usage`, `entities`, `links`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vestig.config.kinds import (
    AtLeastOne,
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Section,
    Share,
    Text,
    doc,
)
from vestig.types import EventType

BUILT_IN_ENTITY_TYPES: Final = (
    "PERSON",
    "ORG",
    "SYSTEM",
    "PROJECT",
    "PLACE",
    "SKILL",
    "TOOL",
    "FILE",
    "CONCEPT",
    "CAPABILITY",
)


# type of event → what it counts for
EventWeights = dict[EventType, Share]


def _event_weights() -> EventWeights:
    return {EventType.REINFORCE_EXACT: 1.0, EventType.REINFORCE_NEAR: 1.0}


class SpacingSettings(Section, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Let repetitions count more the further they lie apart.")] = False
    bonus: Annotated[NotNegative, doc("Most that spacing adds to an event.")] = 0.25
    spacing_days: Annotated[Positive, doc("Gap in days that earns the whole bonus.")] = 14.0


class UsageSettings(Section, frozen=True, kw_only=True):
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


class EntitySettings(Section, frozen=True, kw_only=True):
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


class LinkSettings(Section, frozen=True, kw_only=True):
    mentions: MentionsSettings = MentionsSettings()
    related: RelatedSettings = RelatedSettings()
    expansion: ExpansionSettings = ExpansionSettings()
