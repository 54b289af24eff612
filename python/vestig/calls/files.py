"""Files and documents that come into a store, and files that leave one."""

import shlex
from collections.abc import Callable
from os import PathLike
from os.path import splitext
from typing import Annotated, Any, ClassVar, Final

from vestig.arguments import SCOPE_CHARS_MAX, SOURCE_CHARS_MAX, path_argument
from vestig.calls.argument import (
    NO_FACTS,
    Choice,
    Facts,
    Flag,
    Function,
    Id,
    Integer,
    Label,
    Port,
    Schema,
    Text,
    Words,
)
from vestig.calls.commit import Entities, GivenEntity
from vestig.calls.declaration import Actor, InNamespace, Request
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.scope import ScopeName
from vestig.errors import Description, ValidationError
from vestig.other_words import by_caller, is_request
from vestig.types import Word


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
    MARKDOWN = "md"
    DOCUMENT = "document"


# Endings of documents: of text, and of what is converted to text.
TEXT_ENDINGS: Final = frozenset((".md", ".markdown", ".txt", ".rst"))
CONVERTED_ENDINGS: Final = frozenset(
    (".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".html", ".htm", ".epub")
)
MAIL_ENDINGS: Final = frozenset((".eml", ".mbox"))
DOCUMENT_ENDINGS: Final = TEXT_ENDINGS | CONVERTED_ENDINGS | MAIL_ENDINGS
_READS_FILES: Final = "store.import_(path), or `vestig import PATH`, reads a file"


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
    ImportFormat.CSV: "a header row that names the columns",
    ImportFormat.MARKDOWN: "front matter that begins with vestig: memory/1",
    ImportFormat.DOCUMENT: "the ending .md, .markdown, .txt or .rst",
}


class Folder(Text, frozen=True):
    """The path of a folder; over HTTP a name beside that of the store."""

    def check(self, field: str, value: Any) -> Any:
        return path_argument(field, value, "a directory's path")

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^(?!\.)[A-Za-z0-9._-]{1,64}$"}


# Endings of what is one file.
_FILE_ENDINGS: Final = (
    ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar",
    ".json", ".jsonl", ".sql", ".db", ".sqlite", ".sqlite3",
)  # fmt: skip


class NewFolder(Folder, frozen=True):
    """The path of a folder that a call makes; none that is called as a file is."""

    def check(self, field: str, value: Any) -> Any:
        path = super().check(field, value)
        base, ending = splitext(path)
        if ending.lower() not in _FILE_ENDINGS:
            return path
        base = base.removesuffix(".tar")
        made = by_caller(f"backup({base!r})", f"`vestig backup {shlex.quote(base)}`")
        packed = f"tar -czf {shlex.quote(f'{base}.tar.gz')} {shlex.quote(base)}"
        raise ValidationError(
            field,
            path,
            "the name of a folder",
            f"a backup is a folder: {made} makes it, `{packed}` packs it",
        )


class ExportFormat(Word):
    """Forms in which an export is written."""

    LINES = "jsonl"
    MARKDOWN = "md"


class _ExportForm(Choice, frozen=True, kw_only=True):
    """A form of an export. What is sent to a client is one file."""

    def check(self, field: str, value: Any) -> Any:
        found = super().check(field, value)
        if found is ExportFormat.MARKDOWN and is_request():
            hint = "`vestig export FOLDER --format md` on the machine of the store writes a folder"
            raise ValidationError(field, value, ExportFormat.LINES.value, hint)
        return found

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        return {"type": "string", "enum": [ExportFormat.LINES.value]}


class ExportRequest(Request, frozen=True, kw_only=True):
    """The content of an export."""

    call: ClassVar = "export"
    # one of both is without a value
    rules: ClassVar = (
        {
            "anyOf": [
                {"properties": {"all_namespaces": {"enum": [False, None]}}},
                # a filter of fields without a value selects all
                {"properties": {"where": {"additionalProperties": {"enum": [None, "", {}]}}}},
            ]
        },
    )

    target: Annotated[
        Any, Port("A file's path, or a file that is open for writing; of md a folder's path.")
    ]
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
    format: Annotated[
        ExportFormat,
        _ExportForm(
            "jsonl: every record, as lines of JSON; md: a folder with a Markdown file a memory.",
            "--format",
            words=ExportFormat,
            default_text="jsonl",
        ),
    ] = ExportFormat.LINES


class ImportRequest(Request, frozen=True, kw_only=True):
    """How files are read. `anchors`: turns of session logs get those that are certain."""

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
        ScopeName("The scope of records that name none.", "--scope", chars_max=SCOPE_CHARS_MAX),
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
    author: Annotated[
        str | None, Label("Who said or wrote what names nobody.", "--author", trim=True)
    ] = None
    entities: Annotated[
        tuple[GivenEntity, ...],
        Entities("Entities that every memory mentions: names, or TYPE:Name.", "--entity"),
    ] = ()
    recursive: Annotated[bool, Flag("Read the folders in a folder too.", "--recursive")] = False
    include_system: Annotated[
        bool, Flag("Take turns of the role system of a chat too.", "--include-system")
    ] = False
    force: Annotated[
        bool, Flag("Read documents whose file has its size and time of before too.", "--force")
    ] = False
    mirror: Annotated[
        bool,
        Flag(
            "Make the documents of folders those that are in them: one whose file is gone ends, and"
            " one whose file has moved goes with it.",
            "--mirror",
        ),
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
    anchors: bool = False


class BackupRequest(Request, frozen=True, kw_only=True):
    """Where a copy of the store goes."""

    call: ClassVar = "backup"

    dest: Annotated[Any, NewFolder("A directory that does not exist yet.")]


class RestoreRequest(Request, frozen=True, kw_only=True):
    """A backup, and where it goes."""

    call: ClassVar = "restore"

    backup: Annotated[Any, Folder("A directory that backup made; it stays as it is.")]
    path: Annotated[
        Any,
        Port("The directory of the store, missing or empty; default store.path, where it is set."),
    ] = None
    config: Annotated[
        Any, Port("Path of a configuration file, or an object of keys that win over every file.")
    ] = None


class DocumentFormat(Word):
    """How the text of a document is read."""

    MARKDOWN = "markdown"
    RST = "rst"
    TEXT = "text"


class DocumentText(Text, frozen=True, kw_only=True):
    """The text of a document. One word that ends as a file of a document does is the name of a
    file."""

    def check(self, field: str, value: Any) -> Any:
        if isinstance(value, PathLike):
            raise ValidationError(field, Description("a path"), "text", by_caller(_READS_FILES))
        text = super().check(field, value)
        ending = splitext(text.strip().lower())[1] if len(text.split()) == 1 else ""
        if ending in DOCUMENT_ENDINGS:
            raise ValidationError(
                field,
                Description(f"one word that ends in {ending}"),
                "the text of a document",
                by_caller(_READS_FILES),
            )
        return text


class AddDocumentRequest(Request, frozen=True, kw_only=True):
    """A document as one text."""

    call: ClassVar = "add_document"

    text: Annotated[
        str, DocumentText("The whole text; it is cut into passages.", blank=False, stdin=True)
    ]
    title: Annotated[
        str | None, Label("Its title; default its first heading.", "--title", chars_max=200)
    ] = None
    source: Annotated[
        str | None,
        Label(
            "What it is known by: a text with the same source takes its place. Without one it is"
            " known by its text.",
            "--source",
            chars_max=SOURCE_CHARS_MAX,
            blank=False,
            plain=True,
        ),
    ] = None
    format: Annotated[
        DocumentFormat,
        Choice(
            "How it is read; text has no headings.",
            "--format",
            words=DocumentFormat,
            default_text="markdown",
        ),
    ] = DocumentFormat.MARKDOWN
    scope: Annotated[
        str | None,
        ScopeName(
            "A label inside the namespace, by which reads select.",
            "--scope",
            chars_max=SCOPE_CHARS_MAX,
        ),
    ] = None
    tags: Annotated[tuple[str, ...] | None, Words("Tags of every passage.", "--tags")] = None
    entities: Annotated[
        tuple[GivenEntity, ...],
        Entities("Entities that every passage mentions: names, or TYPE:Name.", "--entity"),
    ] = ()


class DocumentsRequest(Request, frozen=True, kw_only=True):
    """The documents of a store."""

    call: ClassVar = "documents"

    scope: Annotated[
        str | None, ScopeName("Only documents of this scope.", "--scope", chars_max=SCOPE_CHARS_MAX)
    ] = None
    source: Annotated[
        str | None,
        Label(
            "Only the document of this source, or those of this file or folder, by its path.",
            "--source",
        ),
    ] = None
    limit: Annotated[int | None, Integer("Documents at most; default all.", "--limit")] = None


class ForgetDocumentRequest(Request, frozen=True, kw_only=True):
    """A document that goes for good."""

    call: ClassVar = "forget_document"

    id: Annotated[
        str, Id("Id of a version of the document, or at least 8 characters of it.", kind="source")
    ]
    force: Annotated[bool, Flag("Pinned passages too.", "--force")] = False
    dry_run: Annotated[bool, Flag("Say what would go and keep it.", "--dry-run")] = False
    actor: Actor = None
    namespace: InNamespace = None
