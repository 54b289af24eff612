"""Keys of retrieval from a conversation: `retrieve`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from vestig.config.kinds import (
    Count,
    CountOrZero,
    Section,
    Text,
    doc,
)

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
