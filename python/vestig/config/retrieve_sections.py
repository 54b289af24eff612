"""Keys of retrieval from a conversation: `retrieve`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from vestig.config.kinds import Count, Section, Share, Text, doc

__all__ = ["RetrieveConfidenceSettings", "RetrieveSettings", "SynonymGroups"]

# term → its synonyms
SynonymGroups = dict[str, tuple[Text, ...]]

QueryLength = Annotated[int, msgspec.Meta(ge=10, le=2_147_483_647)]


class ConfidenceWeights(Section, frozen=True, kw_only=True):
    relevance: Annotated[
        Share, doc("Weight of how well the memories fit the message in the confidence.")
    ] = 0.35
    evidence: Annotated[
        Share, doc("Weight of how often the facts were stated in the confidence.")
    ] = 0.20
    coverage: Annotated[
        Share, doc("Weight of how much of the question was found in the confidence.")
    ] = 0.25
    reliability: Annotated[Share, doc("Weight of searches without failures in the confidence.")] = (
        0.20
    )


class RetrieveConfidenceSettings(Section, frozen=True, kw_only=True):
    weights: ConfidenceWeights = ConfidenceWeights()
    high: Annotated[Share, doc("Score from which confidence is high.")] = 0.70
    medium: Annotated[Share, doc("Score from which confidence is medium; at most high.")] = 0.40
    high_min_relevance: Annotated[
        Share, doc("Relevance that a high confidence takes beside its score.")
    ] = 0.40
    sim_lo: Annotated[
        Share,
        doc("Cosine that counts as unrelated, where recall has no confidence; below sim_hi."),
    ] = 0.30
    sim_hi: Annotated[
        Share, doc("Cosine that counts as an answer, where recall has no confidence.")
    ] = 0.80


class RetrieveSettings(Section, frozen=True, kw_only=True):
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
    confidence: RetrieveConfidenceSettings = RetrieveConfidenceSettings()
