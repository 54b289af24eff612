"""Documents: texts that are stored as passages."""

from typing import Annotated, ClassVar

from vestig.arguments import SCOPE_CHARS_MAX, SOURCE_CHARS_MAX
from vestig.calls.argument import Choice, Flag, Id, Integer, Label, Text, Words
from vestig.calls.commit import Entities, GivenEntity
from vestig.calls.declaration import Actor, InNamespace, Request
from vestig.types import Word


class DocumentFormat(Word):
    """How the text of a document is read."""

    MARKDOWN = "markdown"
    RST = "rst"
    TEXT = "text"


class AddDocumentRequest(Request, frozen=True, kw_only=True):
    """A document as one text."""

    call: ClassVar = "add_document"

    text: Annotated[str, Text("The whole text; it is cut into passages.", stored=True, stdin=True)]
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
        Label(
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
        str | None, Label("Only documents of this scope.", "--scope", chars_max=SCOPE_CHARS_MAX)
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
