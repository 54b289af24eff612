"""A document that is given as text, the documents of a store, and one that is forgotten."""

from __future__ import annotations

from typing import Any

from vestig.calls.files import AddDocumentRequest, DocumentsRequest, ForgetDocumentRequest
from vestig.calls.memories import ForgetRequest
from vestig.errors import NotFoundError, ValidationError
from vestig.exchange.blocks import Markup
from vestig.exchange.counts import Run, Tally
from vestig.exchange.document_text import DocumentText, document_of
from vestig.exchange.documents import DocumentFile, DocumentOptions, import_documents
from vestig.exchange.importer import named
from vestig.exchange.inputs import Input
from vestig.memories.forget import RunJobs, forget
from vestig.results import AddedDocument, Document, DocumentList, ForgetReport
from vestig.session.nodes import unambiguous_id
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.types import Source


def add_document(session: Session, asked: AddDocumentRequest) -> AddedDocument:
    """Stores a text as passages; one with the source of an earlier one takes its place."""
    if not asked.text.strip():
        raise ValidationError("text", asked.text, "", message="text cannot be empty")
    size = len(asked.text.encode("utf-8", "surrogatepass"))

    def read() -> DocumentText:
        return document_of(
            asked.text,
            label=asked.title or "",
            format=asked.format.value,
            markup=Markup(asked.format.value),
            size=size,
            path=asked.source,
            title=asked.title or "",
        )

    source = Input()
    source.name, source.size = asked.title or asked.source or "text", size
    run = Run()
    tally = Tally(source, run, lone=True)
    shared: dict[str, Any] = {
        "source": asked.source or "import",
        "tags": asked.tags,
        "entities": [named(one) for one in asked.entities] or None,
    }
    options = DocumentOptions(
        scope=asked.scope,
        shared={name: value for name, value in shared.items() if value is not None},
        passage_chars=session.config.settings.documents.passage_chars,
    )
    with session.operation("add_document", without_store="make"):
        import_documents(session, [DocumentFile(tally, asked.source, size, None, read)], options)
    if tally.failed:
        raise ValidationError("text", "", "", message=run.errors[-1].message)
    return AddedDocument(
        source_id=tally.source_id,
        passages=tally.passages,
        added=tally.added,
        kept=tally.kept,
        ended=tally.ended,
        errors=tuple(run.errors),
        warnings=tuple(run.warnings),
        degraded=tuple(run.degraded.values()),
    )


def list_documents(session: Session, asked: DocumentsRequest) -> DocumentList:
    """The newest version of each document, the newest first."""
    with session.operation("documents"), session.ledger.read() as view:
        newest: dict[Any, Source] = {}
        for source in documents.versions(view, session.namespace):
            name = documents.name_of(source)
            # one without a path has no other versions
            key: Any = name if name.path is not None else source.id
            newest.pop(key, None)
            newest[key] = source
        found = [
            _document(source)
            for source in reversed(newest.values())
            if asked.scope is None or documents.name_of(source).scope == asked.scope
        ]
    return DocumentList(documents=tuple(found[: asked.limit]), total=len(found))


def forget_document(
    session: Session, asked: ForgetDocumentRequest, *, run_jobs: RunJobs
) -> ForgetReport:
    """Removes all versions of a document and their passages for good.

    Raises:
        NotFoundError: no document has this id.
        ValidationError: several fit it.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("forget", without_store="make"), session.ledger.read() as view:
        versions = list(documents.versions(view, space))
        by_id = {source.id: source for source in versions}
        id = unambiguous_id([one for one in by_id if one.startswith(asked.id)], "id", asked.id)
        if id is None:
            raise NotFoundError("Document", asked.id)
        chosen = [by_id[id]]
        name = documents.name_of(by_id[id])
        if name.path is not None:
            chosen = [source for source in versions if documents.name_of(source) == name]
        ids = view.products_of(space, [source.id for source in chosen])
    request = ForgetRequest(
        ids=tuple(ids),
        force=asked.force,
        dry_run=asked.dry_run,
        actor=asked.actor,
        namespace=asked.namespace,
    )
    gone = tuple(source.id for source in chosen)
    return forget(session, request, run_jobs=run_jobs, documents=gone)


def _document(source: Source) -> Document:
    fields = source.metadata
    return Document(
        id=source.id,
        path=source.path,
        title=fields.get("title", ""),
        format=fields.get("format", ""),
        scope=fields.get("scope"),
        size=fields.get("size", 0),
        passages=fields.get("passages", 0),
        created_at=source.created_at,
        ingested_at=source.ingested_at,
    )
