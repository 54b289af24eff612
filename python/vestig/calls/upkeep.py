"""The calls that open a store, keep it in order, and bring files out of it and into it."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from vestig.arguments import SCOPE_CHARS_MAX, SOURCE_CHARS_MAX, path_argument
from vestig.calls.argument import (
    NO_FACTS,
    Choice,
    Facts,
    Flag,
    Function,
    Integer,
    Label,
    Namespace,
    Number,
    Port,
    Profile,
    Text,
    Words,
)
from vestig.calls.commit import Entities, GivenEntity
from vestig.calls.declaration import InNamespace, Request
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.types import Word


class StatsRequest(Request, frozen=True, kw_only=True):
    """Counts of a store."""

    call: ClassVar = "stats"

    namespace: InNamespace = None


class DoctorRequest(Request, frozen=True, kw_only=True):
    """Every check of a store."""

    call: ClassVar = "doctor"


class CompactRequest(Request, frozen=True, kw_only=True):
    """All segments as one."""

    call: ClassVar = "compact"


class GcRequest(Request, frozen=True, kw_only=True):
    """Removal of what supports nothing."""

    call: ClassVar = "gc"

    dry_run: Annotated[bool, Flag("Say what would go and keep everything.", "--dry-run")] = False


class PruneRequest(Request, frozen=True, kw_only=True):
    """Removal of what need not be kept any longer."""

    call: ClassVar = "prune"

    superseded_after_days: Annotated[
        float | None,
        Number(
            "Also what was superseded at least so many days ago; absent: only what its own"
            " retention_until says.",
            "--superseded-after-days",
            least=0,
            most=36_525,
        ),
    ] = None
    where: Annotated[
        Filter,
        Where(
            "Of which memories, superseded, deprecated and archived ones too unless it names"
            " statuses. A field without a value is refused.",
            selects=True,
        ),
    ] = NO_FILTER
    dry_run: Annotated[bool, Flag("Say what would go and keep everything.", "--dry-run")] = False
    namespace: InNamespace = None


class SecretsRequest(Request, frozen=True, kw_only=True):
    """Secrets in what is stored."""

    call: ClassVar = "secrets"

    fix: Annotated[
        bool,
        Flag(
            "Let the masked text of each take over as an update does, at its time and from its"
            " source, and forget the memory that holds the secret, pinned ones too; what is expired"
            " is only forgotten. What was interrupted goes on in the next run.",
            "--fix",
        ),
    ] = False
    dry_run: Annotated[
        bool, Flag("Say what would be masked and forgotten and keep everything.", "--dry-run")
    ] = False
    namespace: InNamespace = None


class EnrichRequest(Request, frozen=True, kw_only=True):
    """Jobs of the queue."""

    call: ClassVar = "enrich"

    limit: Annotated[int | None, Integer("Most jobs in this run.", "--limit")] = None
    retry_failed: Annotated[bool, Flag("Jobs that failed for good too.", "--retry-failed")] = False
    dry_run: Annotated[
        bool,
        Flag(
            "Say what due jobs would ask a language model, and its price; ask nothing.", "--dry-run"
        ),
    ] = False


class CognifyRequest(Request, frozen=True, kw_only=True):
    """Turns and passages that a language model reads."""

    call: ClassVar = "cognify"

    where: Annotated[
        Filter,
        Where(
            "Which of the turns and passages that no model has read are read: a `vestig.Filter`,"
            " or an object of its fields.",
            beside=True,
        ),
    ] = NO_FILTER
    limit: Annotated[
        int | None, Integer("Most windows, that is calls of the model, in this run.", "--limit")
    ] = None
    retry_failed: Annotated[bool, Flag("Windows that failed for good too.", "--retry-failed")] = (
        False
    )
    dry_run: Annotated[
        bool,
        Flag(
            "Count the windows and say what they would send, and its price; ask nothing.",
            "--dry-run",
        ),
    ] = False
    progress: Annotated[
        Callable[[int, int | None], None] | None,
        Function("Called with the windows done and how many there are, or None."),
    ] = None


class RebuildRequest(Request, frozen=True, kw_only=True):
    """Parts that are made again from the ledger."""

    call: ClassVar = "rebuild"

    embeddings: Annotated[
        bool,
        Flag(
            "Embed every text again with the configured embedder; goes on where it was"
            " interrupted.",
            "--embeddings",
        ),
    ] = False
    tokens: Annotated[
        bool,
        Flag(
            "Make codes of word pieces for the memories that lack them, where late interaction"
            " counts.",
            "--tokens",
        ),
    ] = False
    progress: Annotated[
        Callable[[int, int | None], None] | None,
        Function("Called with what is done and how much there is, or None."),
    ] = None


class ImportFormat(Word):
    """Formats of files that an import reads."""

    AUTO = "auto"
    EXPORT = "export"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"
    OPENAI_CHAT = "openai-chat"
    MESSAGES = "messages"
    MEMORIES = "memories"
    CSV = "csv"


# By what each is recognised, in the order in which they are tried.
FORMAT_SIGNS: Final = {
    ImportFormat.EXPORT: "the header of `vestig export`",
    ImportFormat.CHATGPT: '"mapping"',
    ImportFormat.CLAUDE: '"chat_messages" or "conversations_memory"',
    ImportFormat.MEM0: '"memory" beside "id" or "user_id"',
    ImportFormat.CLAUDE_CODE: '"sessionId" and "type"',
    ImportFormat.CODEX: '"type" and "payload"',
    ImportFormat.MCP_MEMORY: '"type" entity with "observations", or relation',
    ImportFormat.MESSAGES: '"timestamp", "message_id", "turn" or "speaker"',
    ImportFormat.OPENAI_CHAT: '"role" and "content", or a list "messages" of these',
    ImportFormat.MEMORIES: '"content"',
    ImportFormat.CSV: "a header row with a column content or text",
}


class Folder(Text, frozen=True):
    """The path of a folder; over HTTP a name beside that of the store."""

    def check(self, field: str, value: Any) -> Any:
        return path_argument(field, value, "a directory's path")

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^(?!\.)[A-Za-z0-9._-]{1,64}$"}


class ExportRequest(Request, frozen=True, kw_only=True):
    """The content of an export."""

    call: ClassVar = "export"
    # one of both is without a value
    rules: ClassVar = (
        {
            "anyOf": [
                {"properties": {"all_namespaces": {"enum": [False, None]}}},
                {"properties": {"where": {"type": "null"}}},
            ]
        },
    )

    target: Annotated[Any, Port("A file's path, or a file that is open for writing.")]
    where: Annotated[
        Filter,
        Where(
            "Only these memories, with what belongs to them: vectors, events, sources, the entities"
            " that they mention, and the edges between these."
        ),
    ] = NO_FILTER
    all_namespaces: Annotated[
        bool, Flag("Of every namespace, not only the store's own.", "--all-namespaces")
    ] = False


class ImportRequest(Request, frozen=True, kw_only=True):
    """How files are read."""

    call: ClassVar = "import_"

    files: Annotated[
        Any, Port("A path, a folder, a pattern such as logs/*.jsonl, an open file, or a list.")
    ]
    format: Annotated[
        ImportFormat,
        Choice(
            "What the files hold, in place of what their keys say.",
            "--format",
            words=ImportFormat,
            default_text="auto",
        ),
    ] = ImportFormat.AUTO
    scope: Annotated[
        str | None,
        Label("The scope of records that name none.", "--scope", chars_max=SCOPE_CHARS_MAX),
    ] = None
    source: Annotated[
        str,
        Label(
            "A word for where memories come from that do not say it.",
            "--source",
            chars_max=SOURCE_CHARS_MAX,
            blank=False,
            default="import",
        ),
    ] = "import"
    tags: Annotated[
        tuple[str, ...] | None, Words("Tags of every memory beside its own.", "--tags")
    ] = None
    author: Annotated[str | None, Label("Who said or wrote what names nobody.", "--author")] = None
    entities: Annotated[
        tuple[GivenEntity, ...],
        Entities("Entities that every memory mentions: names, or TYPE:Name.", "--entity"),
    ] = ()
    recursive: Annotated[bool, Flag("Read the folders in a folder too.", "--recursive")] = False
    include_system: Annotated[
        bool, Flag("Take turns of the role system of a chat too.", "--include-system")
    ] = False
    dry_run: Annotated[bool, Flag("Read and count, and write nothing.", "--dry-run")] = False
    merge: Annotated[bool, Flag("Merge an export by id into what is there.", "--merge")] = False
    partial: Annotated[
        bool,
        Flag(
            "Take what is whole of a cut or changed export; the report names the rest.", "--partial"
        ),
    ] = False
    progress: Annotated[
        Callable[[int, int | None], None] | None,
        Function("Called with the bytes done and how many there are, or None."),
    ] = None


class BackupRequest(Request, frozen=True, kw_only=True):
    """Where a copy of the store goes."""

    call: ClassVar = "backup"

    dest: Annotated[Any, Folder("A directory that does not exist yet.")]


class OpenRequest(Request, frozen=True, kw_only=True):
    """How a store is opened. `must_exist`: a path without one is refused, and not taken for an
    empty one."""

    call: ClassVar = "open"

    path: Annotated[
        Any,
        Port(
            'The directory of the store; ":memory:" keeps everything in memory; default'
            " store.path of the configuration."
        ),
    ] = None
    config: Annotated[
        Any, Port("Path of a configuration file, or an object of keys that win over every file.")
    ] = None
    profile: Annotated[str | None, Profile("Recall profile of this store.")] = None
    namespace: Annotated[
        str | None, Namespace("The namespace in which all calls act unless they name another.")
    ] = None
    clock: Annotated[
        Any, Function("A function giving the current time; for tests and replays.")
    ] = None
    on_commit: Annotated[Any, Function("Called with every outcome, after the write.")] = None
    read_only: Annotated[bool, Flag("Change no file; writes raise `StoreLockedError`.")] = False
    init: Annotated[bool, Flag("Begin a store among other files, or where one was lost.")] = False
    embedder: Annotated[
        Any, Port("An object of the Embedder port instead of the configured one.")
    ] = None
    reranker: Annotated[
        Any, Port("An object of the Reranker port instead of the configured one.")
    ] = None
    llm: Annotated[
        Any, Port("An object of the LanguageModel port instead of the configured one.")
    ] = None
    accept_ledger: Annotated[
        bool,
        Flag(
            "Take a ledger as it stands that is older than its witness or its projection, which"
            " are made again from it; what is missing stays missing."
        ),
    ] = False
    change_embedder: Annotated[
        bool,
        Flag(
            "Open a store whose vectors are of another model, for"
            " `store.admin.rebuild(embeddings=True)`; until then nothing is embedded."
        ),
    ] = False
    worker: Annotated[
        bool,
        Flag("Work the queue of enrichment jobs in a background thread until the store is closed."),
    ] = False
    must_exist: bool = False
