"""Documents of a store: listed and forgotten."""

from __future__ import annotations

from vestig.calls.files import DocumentsRequest, ForgetDocumentRequest
from vestig.calls.memories import ForgetRequest
from vestig.errors import NotFoundError
from vestig.memories.forget import forget
from vestig.results import Document, DocumentList, ForgetReport
from vestig.session.references import unambiguous_id
from vestig.session.session import Session
from vestig.store.records import documents
from vestig.types import Source


def list_documents(session: Session, asked: DocumentsRequest) -> DocumentList:
    """The newest version of each document, the newest first."""
    with session.operation("documents"), session.ledger.read() as view:
        histories = documents.histories(view, session.namespace)
        newest = [history[-1] for history in reversed(histories)]
        standing = documents.product_counts(view, session.namespace, newest)
        found = [
            _document(source, standing.get(source.id, 0))
            for source in newest
            if not documents.has_ended(source)
            and (asked.scope is None or documents.name_of(source).scope == asked.scope)
            and (asked.source is None or documents.is_at(source.path, asked.source))
        ]
    return DocumentList(documents=tuple(found[: asked.limit]), total=len(found))


def forget_document(session: Session, asked: ForgetDocumentRequest) -> ForgetReport:
    """Removes all versions of a document and their passages for good.

    Raises:
        NotFoundError: no document has this id.
        ValidationError: several fit it.
    """
    space = session.in_namespace(asked.namespace)
    with session.operation("forget", without_store="make"), session.ledger.read() as view:
        histories = documents.histories(view, space)
        by_id = {
            source.id: history
            for history in histories
            for source in history
            if session.may_name(documents.name_of(source).scope)
        }
        id = unambiguous_id([one for one in by_id if one.startswith(asked.id)], "id", asked.id)
        if id is None:
            raise NotFoundError("Document", asked.id)
        chosen = by_id[id]
        ids = view.products_of(space, [source.id for source in chosen], ever=True)
    request = ForgetRequest(
        ids=tuple(ids),
        force=asked.force,
        dry_run=asked.dry_run,
        actor=asked.actor,
        namespace=asked.namespace,
    )
    gone = tuple(source.id for source in chosen)
    return forget(session, request, document=gone)


def _document(source: Source, passages: int) -> Document:
    fields = source.metadata
    return Document(
        id=source.id,
        path=source.path,
        title=fields.get("title", ""),
        format=fields.get("format", ""),
        scope=fields.get("scope"),
        size=fields.get("size", 0),
        passages=passages,
        created_at=source.created_at,
        ingested_at=source.ingested_at,
    )
