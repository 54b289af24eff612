"""Keys of what use does to a memory, of entities and of links: `usage`, `entities`, `links`."""

from __future__ import annotations

from typing import Final, Literal

from vestig.config.kinds import (
    AtLeastOne,
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Section,
    Share,
    Text,
)

__all__ = [
    "BUILT_IN_ENTITY_TYPES",
    "EntitySettings",
    "EntityTypeEntry",
    "EventWeights",
    "LinkSettings",
    "UsageSettings",
]

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


class EventWeights(Section, frozen=True, kw_only=True):
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


class SpacingSettings(Section, frozen=True, kw_only=True):
    enabled: bool = False
    bonus: NotNegative = 0.25
    spacing_days: Positive = 14.0


class UsageSettings(Section, frozen=True, kw_only=True):
    event_weights: EventWeights = EventWeights()
    enabled: bool = True
    tau_days: Positive = 21.0
    cooldown_hours: NotNegative = 24.0
    burst_discount: Share = 0.2
    k: NotNegative = 0.35
    graph_connectivity_enabled: bool = False
    graph_k: NotNegative = 0.15
    temporal_decay_enabled: bool = True
    dynamic_tau_days: Positive = 90.0
    ephemeral_tau_days: Positive | None = None
    static_boost: NotNegative = 1.0
    clip_min: Share = 0.25
    clip_max: AtLeastOne = 2.0
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

    ontology: Literal["insight"] | tuple[EntityTypeEntry, ...] | None = None
    allowed_types: tuple[Text, ...] = BUILT_IN_ENTITY_TYPES
    enabled: bool = True
    min_confidence: Share = 0.75
    max_per_memory: Count = 10
    store_low_confidence: bool = False
    max_evidence_length: Count = 200


class MentionsSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True


class RelatedSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    similarity_threshold: Share = 0.6
    max_edges_per_memory: Count = 10


class ExpansionSettings(Section, frozen=True, kw_only=True):
    max_expand_via_entities: CountOrZero = 3
    max_expand_via_related: CountOrZero = 3
    min_confidence: Share = 0.75


class LinkSettings(Section, frozen=True, kw_only=True):
    mentions: MentionsSettings = MentionsSettings()
    related: RelatedSettings = RelatedSettings()
    expansion: ExpansionSettings = ExpansionSettings()
