"""What a parameter is, and the rows of those that several public calls share.

The command line makes its options from these rows, the reference its tables, and a test compares
the docstrings of `Vestig` with them: each parameter is described once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from vestig.types import OriginType, RetentionPolicy, Role, Stability, Trigger

__all__ = ["NAMESPACE", "Parameter", "ParameterKind", "by_name", "words"]

ParameterKind = Literal[
    "text",  # one text; `-` reads standard input where `stdin` is set
    "time",  # a date, a time with or without zone (none: UTC), or a datetime
    "integer",
    "number",
    "flag",  # true when named, else absent
    "switch",  # --x / --no-x, else absent
    "choice",
    "words",  # a,b,c; may be repeated
    "texts",  # one text each time; may be repeated
    "pairs",  # NAME=VALUE; may be repeated
    "names",  # texts, or in JSON objects that describe one
    "seed",  # an integer, or "random"
    "cut",  # a number, or "auto"
    "object",  # one JSON object
    # JSON and Python only
    "objects",
    "numbers",
]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter. `help` is its one sentence everywhere. `flag` is its option on the command
    line, "" for a positional one.

    `default` is what the command line gives when the caller names nothing; None leaves the
    parameter out, so that the call's own default holds; `default_text` is printed for that one.
    `least` and `most` bound a number, both inside.
    """

    name: str
    kind: ParameterKind = "text"
    help: str
    flag: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    default_text: str = ""
    many: bool = False
    required: bool = True
    stdin: bool = False
    least: float | None = None
    most: float | None = None


def words(kind: type[StrEnum]) -> tuple[str, ...]:
    """The literal words of an enum.

    Example:
        >>> from vestig.types import Role
        >>> words(Role)
        ('user', 'assistant', 'tool', 'system')
    """
    return tuple(member.value for member in kind)


def by_name(*rows: Parameter) -> dict[str, Parameter]:
    """Rows by the names of their parameters."""
    return {row.name: row for row in rows}


NAMESPACE: Final = Parameter(
    name="namespace", flag="--namespace", help="The namespace to act in instead of the store's own."
)
TIME_TRAVEL: Final = by_name(
    Parameter(
        name="as_of",
        kind="time",
        flag="--as-of",
        help="What was known and true at this time: `known_at` and `valid_at` at once.",
    ),
    Parameter(
        name="known_at",
        kind="time",
        flag="--known-at",
        help="Only what was recorded by this time.",
    ),
    Parameter(
        name="valid_at",
        kind="time",
        flag="--valid-at",
        help="Only facts that hold at this time.",
    ),
)
QUERY_TIME: Final = Parameter(
    name="query_time",
    kind="time",
    help="The moment at which the query is asked, for words such as yesterday; default now.",
)
TRACE: Final = Parameter(
    name="trace", kind="flag", flag="--trace", help="Add each stage with its time and counts."
)
TOUCH: Final = Parameter(
    name="touch", kind="flag", flag="--touch", help="Count this as an access of each result."
)

COMMIT: Final = by_name(
    Parameter(
        name="content",
        help="The text to remember, best one self-contained fact. Line breaks and indentation are"
        " kept.",
        stdin=True,
    ),
    Parameter(name="author", flag="--author", help="Who said or wrote it."),
    Parameter(
        name="role", kind="choice", flag="--role", choices=words(Role), help="Part in a dialogue."
    ),
    Parameter(name="session_id", flag="--session-id", help="The conversation it belongs to."),
    Parameter(
        name="sequence",
        kind="integer",
        flag="--sequence",
        help="Its position in that conversation, from 0; only there is its text a duplicate.",
        least=0,
    ),
    Parameter(
        name="source",
        flag="--source",
        help="A word for where it comes from.",
        default="manual",
    ),
    Parameter(name="actor", flag="--actor", help="Who stores it; kept in the event."),
    Parameter(
        name="scope", flag="--scope", help="A label inside the namespace, by which reads select."
    ),
    NAMESPACE,
    Parameter(
        name="provenance",
        kind="object",
        help="The rest of where it comes from: an object with agent, artifact_ref, origin_type.",
    ),
    Parameter(
        name="agent",
        flag="--agent",
        help="The program that stores it.",
        default="cli",
    ),
    Parameter(
        name="artifact_ref", flag="--artifact-ref", help="A reference to its origin, such as a URL."
    ),
    Parameter(
        name="origin_type",
        kind="choice",
        flag="--origin-type",
        choices=words(OriginType),
        help="What kind of text it is; derived when absent.",
    ),
    Parameter(name="tags", kind="words", flag="--tags", help="Tags, by which reads select."),
    Parameter(
        name="metadata",
        kind="pairs",
        flag="--metadata",
        help="JSON values of the caller's own, by name.",
    ),
    Parameter(
        name="title", flag="--title", help="The title of the document or section it comes from."
    ),
    Parameter(
        name="t_valid",
        kind="time",
        flag="--t-valid",
        help="When the fact began to hold; default t_ref.",
    ),
    Parameter(
        name="t_invalid", kind="time", flag="--t-invalid", help="When the fact ended, if it did."
    ),
    Parameter(
        name="t_ref",
        kind="time",
        flag="--t-ref",
        help="When it was said, to which words such as today refer; default now.",
    ),
    Parameter(
        name="temporal_stability",
        kind="choice",
        flag="--stability",
        choices=words(Stability),
        help="How long such a fact holds; derived when absent.",
    ),
    Parameter(
        name="trigger",
        kind="choice",
        flag="--trigger",
        choices=words(Trigger),
        help="Why it is worth remembering.",
    ),
    Parameter(
        name="entities",
        help="Entities that it mentions: names, TYPE:Name, or objects with name, type, confidence"
        " and evidence.",
        kind="names",
        flag="--entity",
    ),
    Parameter(
        name="keywords",
        kind="texts",
        flag="--keyword",
        help="Keywords beside those found in the text.",
    ),
    Parameter(
        name="hypothetical_queries",
        kind="texts",
        flag="--question",
        help="Questions that it answers, stored for some triggers.",
    ),
    Parameter(
        name="claim",
        kind="object",
        flag="--claim",
        help="What it states of whom: an object with subject, fact_type, and any of subject_id,"
        " object, object_id, object_type, relationship_type, attributes, confidence, evidence.",
    ),
    Parameter(
        name="retention_policy",
        kind="choice",
        flag="--retention",
        choices=words(RetentionPolicy),
        help="How long it is worth keeping; default lifecycle.default_policy.",
    ),
    Parameter(
        name="retention_until",
        kind="time",
        flag="--retention-until",
        help="Keep it at least until then.",
    ),
    Parameter(
        name="pinned",
        kind="flag",
        flag="--pin",
        help="Protect it from decay and from being forgotten.",
    ),
    Parameter(
        name="supersedes",
        kind="words",
        flag="--supersedes",
        help="Ids of memories that this fact replaces.",
    ),
    Parameter(
        name="on_near_dup",
        kind="choice",
        flag="--on-near-dup",
        choices=("reinforce", "link", "insert"),
        help="What to do with a text that restates a known fact;"
        " default hygiene.near_duplicate.on_near_dup.",
    ),
    Parameter(
        name="enrich",
        kind="switch",
        flag="--enrich",
        help="Work its jobs now, or leave them to the queue; default enrichment.mode.",
    ),
    Parameter(
        name="strict",
        kind="flag",
        flag="--strict",
        help="Raise `HygieneError` where the text is refused.",
    ),
    Parameter(
        name="dry_run",
        kind="flag",
        flag="--dry-run",
        help="Say what would happen and write nothing.",
    ),
    Parameter(
        name="on_commit", help="Called with the outcome after the write, in place of open's."
    ),
)
UPDATE: Final = by_name(
    Parameter(name="id", help="Id of the memory, or at least 8 characters of it."),
    Parameter(
        name="content",
        flag="--content",
        help="Another text: it is committed as a memory that supersedes this one; the same text"
        " with other white space takes the place of the memory's.",
        stdin=True,
    ),
    COMMIT["tags"],
    COMMIT["metadata"],
    COMMIT["scope"],
    COMMIT["retention_policy"],
    COMMIT["retention_until"],
    COMMIT["t_valid"],
    COMMIT["t_invalid"],
    COMMIT["temporal_stability"],
    COMMIT["trigger"],
    Parameter(
        name="clear",
        kind="words",
        flag="--clear",
        choices=(
            "metadata",
            "tags",
            "scope",
            "retention_policy",
            "retention_until",
            "t_invalid",
            "temporal_stability",
            "trigger",
        ),
        help="Names of fields to empty.",
    ),
    NAMESPACE,
)
RECALL: Final = by_name(
    Parameter(
        name="query",
        help="The question, or words; a JSON or JSONL conversation stands for its end.",
        stdin=True,
    ),
    Parameter(
        name="limit",
        kind="integer",
        flag="--limit",
        least=1,
        help="Most results; default recall.default_limit.",
        default_text="recall.default_limit, 5",
    ),
    Parameter(
        name="messages",
        kind="objects",
        help="A conversation in the place of a query: objects with content.",
    ),
    Parameter(
        name="query_vector",
        kind="numbers",
        help="Numbers that stand in for embedding the query, as many as the store's vectors have.",
    ),
    Parameter(
        name="min_confidence",
        kind="number",
        flag="--min-confidence",
        least=0,
        most=1,
        help="From 0 to 1: where the store is less sure that it holds an answer, nothing is given"
        " but the nearest misses.",
    ),
    Parameter(
        name="cut",
        kind="cut",
        flag="--cut",
        help='Keep only what has this score at least, 0 to 1; "auto": what comes near the best.',
        default_text="auto with context, else all",
    ),
    Parameter(name="profile", flag="--profile", help="A recall profile in place of the store's."),
    NAMESPACE,
    *TIME_TRAVEL.values(),
    QUERY_TIME,
    Parameter(
        name="seed",
        kind="seed",
        flag="--seed",
        help='Seed of the walk, 0 to 9007199254740991, or "random"; default from query and state.',
    ),
    Parameter(
        name="config",
        kind="object",
        help="Keys of the configuration for this call, of ranking and layout.",
    ),
    Parameter(
        name="expect",
        kind="words",
        flag="--expect",
        help="Ids expected in the result: for those missing, why, and what would bring them in.",
    ),
    Parameter(
        name="context",
        kind="flag",
        flag="--context",
        help="Add what was found as one block of text for a prompt, by session and time.",
    ),
    Parameter(
        name="budget",
        kind="integer",
        flag="--budget",
        least=1,
        help="Most tokens of that block.",
        default_text="1000",
    ),
    TOUCH,
    Parameter(name="include_vectors", kind="flag", help="Give each result its stored vector."),
    TRACE,
)
GRAPH_SEARCH: Final = by_name(
    Parameter(
        name="query",
        help="Question or words; needed but for graph search.",
        required=False,
        stdin=True,
    ),
    Parameter(
        name="type",
        kind="choice",
        flag="--type",
        choices=("vector", "graph", "hybrid"),
        help="Rank by meaning (vector), by links from seed nodes (graph), or by their sum.",
        default_text="hybrid",
    ),
    Parameter(
        name="limit",
        kind="integer",
        flag="--limit",
        least=1,
        help="Most hits; default search.limit.",
        default_text="search.limit, 10",
    ),
    Parameter(
        name="graph_depth",
        kind="integer",
        flag="--depth",
        least=0,
        help="Hops from seed nodes or vector hits, 0 for none; default search.graph_depth.",
        default_text="search.graph_depth, 1",
    ),
    Parameter(
        name="seed_nodes",
        kind="words",
        flag="--seed-node",
        help="Where a graph search begins: memories by id, entities by id, name or alias.",
    ),
    Parameter(
        name="include_memory_ids",
        kind="switch",
        flag="--memory-ids",
        help="Give each entity the ids of the memories that mention it.",
    ),
    Parameter(
        name="decay",
        kind="switch",
        flag="--decay",
        help="Let old memories count less.",
    ),
    *TIME_TRAVEL.values(),
    QUERY_TIME,
    NAMESPACE,
    TOUCH,
    TRACE,
)
RETRIEVE: Final = by_name(
    Parameter(
        name="messages",
        kind="objects",
        help="The end of a conversation, oldest first: objects with content, and author, timestamp,"
        " message_id where they are known. The last one is to be answered.",
    ),
    Parameter(
        name="scope",
        help="Only this scope, as where.scope: the spelling of older clients.",
    ),
    Parameter(
        name="channel_id",
        help="Another spelling of scope.",
    ),
    Parameter(
        name="max_facts",
        kind="integer",
        least=1,
        most=500,
        flag="--max-facts",
        help="Most facts, 1 to 500; default retrieve.max_facts.",
        default_text="retrieve.max_facts, 30",
    ),
    Parameter(
        name="max_messages",
        kind="integer",
        least=1,
        most=100,
        flag="--max-messages",
        help="Most turns of conversations beside them, 1 to 100; default retrieve.max_messages.",
        default_text="retrieve.max_messages, 10",
    ),
    Parameter(
        name="max_iterations",
        kind="integer",
        least=1,
        most=50,
        flag="--max-iterations",
        help="Most rounds of searches, 1 to 50; default retrieve.max_iterations.",
        default_text="retrieve.max_iterations, 10",
    ),
    Parameter(
        name="budget",
        kind="integer",
        least=40,
        most=2_147_483_647,
        flag="--budget",
        help="Most tokens of facts and turns together, at least 40; default retrieve.budget.",
        default_text="retrieve.budget, 700",
    ),
    Parameter(
        name="request_id",
        flag="--request-id",
        help="An id of the caller's for the request, at most 128 characters; made when absent.",
    ),
    Parameter(
        name="deadline_ms",
        kind="integer",
        least=1,
        most=3_600_000,
        flag="--deadline-ms",
        help="Milliseconds after which nothing more is begun; default retrieve.deadline_ms.",
        default_text="retrieve.deadline_ms, 10000",
    ),
    *TIME_TRAVEL.values(),
    QUERY_TIME,
    NAMESPACE,
    Parameter(
        name="debug",
        kind="flag",
        flag="--debug",
        help="Add why each fact is there, and the steps that led to it.",
    ),
)
LIST: Final = by_name(
    Parameter(
        name="offset",
        kind="integer",
        flag="--offset",
        help="Memories to skip.",
        default_text="0",
        least=0,
    ),
    Parameter(
        name="limit",
        kind="integer",
        flag="--limit",
        least=1,
        most=1000,
        help="Memories per page, at most 1000.",
        default_text="20",
    ),
    Parameter(
        name="order_by",
        kind="choice",
        flag="--order-by",
        choices=(
            "created_at",
            "last_seen_at",
            "access_count",
            "last_accessed_at",
            "t_valid",
            "session",
        ),
        help="The field to sort by; session: as conversations went, by session, position and time.",
        default_text="session where sessions are named, else created_at",
    ),
    Parameter(
        name="descending", kind="flag", help="Largest first; default true, but for session order."
    ),
    *TIME_TRAVEL.values(),
    NAMESPACE,
)
IMPORT: Final = by_name(
    Parameter(name="source", help="A file's path, or an open file."),
    Parameter(
        name="format",
        kind="choice",
        flag="--format",
        choices=("auto", "export", "messages", "memories"),
        help="What the file holds: an export, a transcript, or memories as JSON.",
        default_text="auto",
    ),
    Parameter(name="scope", flag="--scope", help="The scope of every line, in place of its own."),
    Parameter(
        name="merge",
        kind="flag",
        flag="--merge",
        help="Merge an export by id into what is there.",
    ),
    Parameter(
        name="partial",
        kind="flag",
        flag="--partial",
        help="Take what is whole of a cut or changed export; the report names the rest.",
    ),
    Parameter(name="progress", help="Called with the lines done and how many there are, or None."),
)
OPEN: Final = by_name(
    Parameter(
        name="path",
        help='The directory of the store; ":memory:" keeps everything in memory; default'
        " store.path of the configuration.",
    ),
    Parameter(
        name="config",
        help="Path of a configuration file, or an object of keys that win over every file.",
    ),
    Parameter(name="profile", help="Recall profile of this store."),
    Parameter(
        name="namespace", help="The namespace in which all calls act unless they name another."
    ),
    Parameter(name="clock", help="A function giving the current time; for tests and replays."),
    Parameter(name="on_commit", help="Called with every outcome, after the write."),
    Parameter(
        name="read_only", help="Change no file; writes raise `StoreLockedError`.", kind="flag"
    ),
    Parameter(
        name="init", help="Begin a store among other files, or where one was lost.", kind="flag"
    ),
    Parameter(
        name="embedder", help="An object of the Embedder port instead of the configured one."
    ),
    Parameter(
        name="reranker", help="An object of the Reranker port instead of the configured one."
    ),
    Parameter(
        name="llm", help="An object of the LanguageModel port instead of the configured one."
    ),
    Parameter(
        name="accept_ledger",
        kind="flag",
        help="Take a ledger as it stands that is older than its witness or its projection, which"
        " are made again from it; what is missing stays missing.",
    ),
    Parameter(
        name="change_embedder",
        kind="flag",
        help="Open a store whose vectors are of another model, for"
        " `store.admin.rebuild(embeddings=True)`; until then nothing is embedded.",
    ),
    Parameter(
        name="worker",
        kind="flag",
        help="Work the queue of enrichment jobs in a background thread until the store is closed.",
    ),
)
