"""Keys of language models, `llm` and `prompts`, of the servers, `serve` and `mcp`, of `fleet`
and of `telemetry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, get_args

import msgspec

from vestig.config.kinds import (
    Bytes,
    Count,
    CountOrZero,
    NotNegative,
    Section,
    Share,
    Stage,
    Text,
    Timeout,
    VariableName,
    Wait,
    doc,
)

# What each prompt is given beside the ontology: the names that may stand in `{{…}}`.
PROMPT_VALUES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "extract_entities": ("content",),
        "generate_hypothetical_queries": ("content", "trigger"),
        "classify_stability": ("content",),
        "judge_updates": ("content", "origin", "older"),
        "extract_claims": ("title", "context", "memories"),
        "summarize_document": ("title", "passages"),
        "synthesize_query": ("conversation",),
        "plan_queries": ("conversation", "tried", "facts"),
        "stop_verdict": ("conversation", "tried", "facts"),
        "context_summary": ("conversation", "facts", "messages"),
    }
)
ONTOLOGY_VALUES: Final = ("entity_types", "entity_type_list")


class ModelPrice(Section, frozen=True, kw_only=True):
    """Money for a million tokens of one model, in any one currency. null: reading from and writing
    to the cache cost what other input costs."""

    input: NotNegative
    output: NotNegative
    cache_read: NotNegative | None = None
    cache_write: NotNegative | None = None
    batch_factor: Share = 1.0


# name of the model → what it costs
Prices = dict[str, ModelPrice]


class LlmSettings(Section, frozen=True, kw_only=True):
    provider: Annotated[
        Text,
        doc(
            "Which language model enriches memories and plans retrieval: none, anthropic (Claude),"
            " or the name of an installed entry point of vestig.llms. Nothing needs one.",
            shown=True,
        ),
    ] = "none"
    model: Annotated[
        Text, doc("Model of the provider, where no other key names one.", shown=True)
    ] = "claude-sonnet-5-5"
    timeout_s: Annotated[
        Timeout,
        doc("Seconds that one try of a model call may take, from its start to the last byte."),
    ] = 60.0
    api_key_env: Annotated[
        VariableName,
        doc("Name of the environment variable that holds the model's key.", shown=True),
    ] = "ANTHROPIC_API_KEY"
    max_calls_per_day: Annotated[
        CountOrZero | None,
        doc(
            "Most tries and batch items that all processes of a store send in one day (UTC); null:"
            " no limit.",
            shown=True,
        ),
    ] = None
    base_url: Annotated[Text | None, doc("Address of the provider; null: the provider's own.")] = (
        None
    )
    prices: Annotated[
        Prices,
        doc(
            "Money for a million tokens of each model, for the report of costs; a model that is"
            " not named has no money in it."
        ),
    ] = msgspec.field(default_factory=dict)
    batch: Annotated[
        Literal["off", "auto"],
        doc(
            "auto: many jobs at once are sent as one batch, which is cheaper and takes up to a day."
        ),
    ] = "off"


class PromptTemplate(Section, frozen=True, kw_only=True):
    """A prompt of your own."""

    user: Text
    system: str = ""


# name → the prompt in place of the shipped one; a text is the user part alone
Prompts = dict[str, Text | PromptTemplate]
PROMPT_MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "extract_entities": "finds the entities of a memory",
        "generate_hypothetical_queries": "writes the questions a memory answers",
        "classify_stability": "tells how long a memory stays true",
        "judge_updates": "judges which older memories a new one replaces",
        "extract_claims": "reads entities and claims out of turns or passages",
        "summarize_document": "sums up a document",
        "synthesize_query": "writes a query from a conversation",
        "plan_queries": "plans the queries of a retrieval",
        "stop_verdict": "judges whether a retrieval may stop",
        "context_summary": "sums up what a retrieval found",
    }
)


def prompt_faults(prompts: Prompts) -> Iterator[tuple[str, str]]:
    """Yield (name, placeholder) of every `{{…}}` of an own template that its prompt is not
    given."""
    for name, own in prompts.items():
        texts = (own,) if isinstance(own, str) else (own.system, own.user)
        for text in texts:
            for found in placeholders(text):
                if found not in (*PROMPT_VALUES[name], *ONTOLOGY_VALUES):
                    yield name, found


def placeholders(text: str) -> list[str]:
    """Return what stands in `{{…}}`, trimmed.

    Example:
        >>> placeholders("Read {{content}} of {{ trigger }}.")
        ['content', 'trigger']
    """
    found = []
    for part in text.split("{{")[1:]:
        name, closed, _ = part.partition("}}")
        if closed:
            found.append(name.strip())
    return found


Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]


class RateLimit(Section, frozen=True, kw_only=True):
    requests: Annotated[
        Count | None,
        doc(
            "Retrievals that one client may ask for in a minute; null: any number from this"
            " machine, 10 from others."
        ),
    ] = None


class FleetSettings(Stage, frozen=True, kw_only=True):
    cache_dir: Annotated[
        Text | None,
        doc(
            "Folder for this machine's copies of tenants; null: tenants in the user's cache folder."
        ),
    ] = None
    max_staleness_s: Annotated[
        Wait, doc("Seconds that a read may lie behind what others wrote.")
    ] = 1.0
    max_offline_s: Annotated[
        Wait, doc("Seconds for which reads go on while PostgreSQL does not answer.")
    ] = 3_600.0
    max_open: Annotated[
        Count, doc("Tenants that one process keeps open; those in use stay open beyond it.")
    ] = 100
    max_cache_bytes: Annotated[
        Bytes,
        doc(
            "Bytes that this machine's copies of tenants of one database take on the disk; those"
            " that are open are never removed."
        ),
    ] = 10_737_418_240
    snapshot_bytes: Annotated[
        Count, doc("Bytes of changes after which a tenant's snapshot is made anew.")
    ] = 4_194_304


class ServeSettings(Section, frozen=True, kw_only=True):
    host: Annotated[
        Text,
        doc(
            "Address to listen on. One that other machines reach needs serve.token_env.",
            shown=True,
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, doc("Port to listen on; 0: a free one.", shown=True)] = 8765
    token_env: Annotated[
        VariableName | None,
        doc(
            "Name of the environment variable that holds the token which requests must carry;"
            " null: none is asked for.",
            shown=True,
        ),
    ] = None
    rate_limit: RateLimit = RateLimit()
    debug_endpoint: Annotated[
        bool, doc("Offer the route at which a retrieval is asked for with its trace.")
    ] = False
    audit: Annotated[
        bool, doc("Write each request to the log of requests: route, times, counts, no text.")
    ] = True
    audit_payloads: Annotated[
        bool, doc("Write bodies of requests and answers to that log too: they hold texts.")
    ] = False
    cors_origins: Annotated[
        tuple[Text, ...],
        doc("Origins beside the server's own whose pages may call it from a browser."),
    ] = ()
    allowed_hosts: Annotated[
        tuple[Text, ...],
        doc("Names in a request's Host beside those of this machine's loopback and serve.host."),
    ] = ()
    max_concurrent: Annotated[Count, doc("Requests that run at once.")] = 2
    max_waiting: Annotated[CountOrZero, doc("Requests that may wait for one of those to end.")] = 64
    max_wait_ms: Annotated[CountOrZero, doc("Milliseconds that a request waits at most.")] = 2_000
    request_timeout_s: Annotated[
        Timeout,
        doc(
            "Seconds after which a request is answered as not done in time, or that it goes on, and"
            " in which its body has to come, beside the time for its size."
        ),
    ] = 30.0


ToolName = Literal[
    "remember",
    "recall",
    "search",
    "retrieve",
    "show",
    "supersede",
    "confirm",
    "forget",
    "fetch",
    "check",
    "stats",
]
_ALL_TOOLS: Final[tuple[ToolName, ...]] = get_args(ToolName)


class McpSettings(Section, frozen=True, kw_only=True):
    tools: Annotated[
        tuple[ToolName, ...],
        msgspec.Meta(min_length=1),
        doc("Tools that agents are offered; without forget, say, none can erase."),
    ] = _ALL_TOOLS
    result_tokens: Annotated[
        int,
        msgspec.Meta(ge=200, le=1_000_000),
        doc("Most tokens of a result of recall and of retrieve, without explain."),
    ] = 700


class TelemetrySettings(Section, frozen=True, kw_only=True):
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        doc("Least level of the log records that a command or server writes.", shown=True),
    ] = "WARNING"
    log_format: Annotated[
        Literal["text", "json"], doc("How a command or server writes log records.")
    ] = "text"
    trace_file: Annotated[
        Text | None,
        doc("File that gets one line of JSON for each operation; null: none.", shown=True),
    ] = None
