"""Additions of a language model to a query: a query written from a conversation, and the names in
it.

Called where a model is configured; without one, and where it fails, rules do both.
"""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.answers import QueryName
from vestig.config import Config
from vestig.enrichment.memory_answer import ExtractedEntity, kept_entities
from vestig.errors import ConfigError, ModelCallError, ProviderError
from vestig.recall.request import Request
from vestig.session.model_calls import degradation_of
from vestig.session.references import types_of
from vestig.session.session import Session
from vestig.types import Degradation

# The end of a conversation that a query is written from, and the longest such query.
LAST_CHARS: Final = 4_000
QUERY_CHARS_MAX: Final = 500
# What begins a conversation in JSON: no query of a model is read as one.
_JSON: Final = ("[", "{")


class SynthesizedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `synthesize_query`."""

    query: str


class NamesInQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `extract_entities`."""

    entities: list[ExtractedEntity]


def with_synthesized_query(
    session: Session, config: Config, request: Request
) -> tuple[Request, list[Degradation]]:
    """The request with the query that a model writes from its conversation, where
    `recall.synthesize` wants that; and what degraded."""
    wanted = config.settings.recall.synthesize and not request.says_nothing
    if request.conversation is None or not wanted:
        return request, []
    try:
        asked = session.models.ask(
            "synthesize_query",
            {"conversation": request.conversation[-LAST_CHARS:]},
            answer=SynthesizedQuery,
        )
        query = session.models.cleaned(asked.value.query).strip()[:QUERY_CHARS_MAX].strip()
        if not query or query.startswith(_JSON) or "\0" in query:
            raise ModelCallError(f'language model "{asked.model}": the answer holds no query')
    except (ProviderError, ConfigError) as error:
        return request, [degradation_of(error)]
    arguments = msgspec.structs.replace(request.arguments, query=query)
    return msgspec.structs.replace(request, query=query, asked=None, arguments=arguments), []


def names_by_model(
    session: Session, config: Config, query: str
) -> tuple[tuple[QueryName, ...] | None, list[Degradation]]:
    """The names that a model finds in a query, where `recall.query_entities` is `llm`; None = the
    rules find them. And what degraded."""
    settings = config.settings
    if settings.recall.query_entities != "llm":
        return None, []
    try:
        asked = session.models.ask(
            "extract_entities",
            {"content": query},
            answer=NamesInQuery,
            model=settings.entities.model,
        )
    except (ProviderError, ConfigError) as error:
        return None, [degradation_of(error)]
    types = types_of(settings.entities)
    kept = kept_entities(asked.value.entities, query, settings.entities, types)
    return tuple(QueryName(type=one.type, name=one.name) for one in kept.entities), []
