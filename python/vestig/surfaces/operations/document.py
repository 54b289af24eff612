"""The operations on documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import files
from vestig.language.text_forms import row
from vestig.surfaces.cli import removal
from vestig.surfaces.operation import YES, Call, Operation, after_confirmation

if TYPE_CHECKING:
    from vestig.results import AddedDocument, DocumentList


def _forget(call: Call) -> Any:
    report = after_confirmation(
        call,
        call.store.forget_document,
        call.args,
        partial(removal.plan_to_confirm, call),
        done="forgotten",
    )
    return removal.planned(call, report)


def _added(value: AddedDocument, _: Mapping[str, Any]) -> str:
    """Id and counts of a document."""
    counts = ("passages", "added", "kept", "ended")
    lines = [f"{value.source_id or 'nothing is stored'}"]
    lines += [f"{name}: {getattr(value, name)}" for name in counts]
    return "\n".join(lines)


def _listed(value: DocumentList, _: Mapping[str, Any]) -> str:
    """id | passages | when its file was changed | path or title."""
    if not value.documents:
        return "No documents found."
    return "\n".join(
        row(one.id, str(one.passages), f"{one.created_at:%Y-%m-%d}", str(one.path or one.title))
        for one in value
    )


OPERATIONS: Final = (
    Operation(
        name="document add",
        slow=True,
        call=files.AddDocumentRequest,
        method="add_document",
        document="document",
        text=_added,
        exit_code=lambda report: 1 if report.errors else 0,
        without_store="make",
        writes=True,
    ),
    Operation(
        name="document list",
        call=files.DocumentsRequest,
        method="documents",
        document="documents",
        text=_listed,
        rows=True,
        without_store="empty",
    ),
    Operation(
        name="document forget",
        call=files.ForgetDocumentRequest,
        method="forget_document",
        options=(YES,),
        run=_forget,
        document="forgotten",
        text=removal.forgotten,
        writes=True,
        confirmed="always",
    ),
)
