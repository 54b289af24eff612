"""An export that is imported: it is restored as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from vestig.calls.files import ImportFormat, ImportRequest
from vestig.calls.upkeep import SecretsRequest
from vestig.commit.stored_secrets import secrets
from vestig.commit.text import normalise
from vestig.config.schema import HygieneSettings
from vestig.errors import ConflictError, ValidationError
from vestig.exchange.commit_fields import ImportFile, different_warning, forgotten_warning
from vestig.firewall import masked_text
from vestig.language.text_forms import count_of, first_of, normal_form
from vestig.other_words import by_caller
from vestig.results import ImportReport
from vestig.session.embedding import probed_identity
from vestig.session.session import Session
from vestig.store.portable.restore import RestoreReport, restore
from vestig.types import ItemError

_SHOWN: Final = 5


def restore_export(session: Session, file: ImportFile, asked: ImportRequest) -> ImportReport:
    """Restores an export as it is; secrets in it are masked, as a commit would.

    Raises:
        ConflictError: the call is bound to a scope.
        ValidationError: an argument that would change what is restored, or a damaged export.
    """
    if session.scope is not None:
        raise ConflictError(
            "an export is restored with the scopes that it has, and this view is bound to the"
            f" scope {session.scope!r}: the store that it is a view of takes it"
        )
    for name in ("tags", "author", "entities", "dry_run"):
        if getattr(asked, name):
            raise ValidationError(
                name, "an export", "chats or memories", "an export is restored as it is"
            )
    masks = _may_hold_secrets(session, file)
    report = restore(
        session.ledger,
        file.export_lines(),
        merge=asked.merge,
        partial=asked.partial,
        namespace=_one_namespace(session, file),
        identity=session.ledger.embedding_identity() or probed_identity(session),
        normal_forms=_normal_forms,
        progress=asked.progress,
        now_us=session.now_us(),
    )
    degraded = session.keeper.after_commit()
    warnings = [
        *report.warnings,
        *_of_all(session, file),
        *(_mask_restored(session) if masks else ()),
    ]
    if report.different:
        warnings.append(different_warning(report.different))
    warnings += _stays_warnings(report)
    if report.forgotten:
        warnings.append(forgotten_warning(report.forgotten))
    for space, ids in report.forgotten_elsewhere.items():
        warnings.append(
            f"{len(ids)} memories of namespace {space} were forgotten elsewhere and are kept here;"
            " `vestig memory forget` forgets them here too"
        )
    return ImportReport(
        format=ImportFormat.EXPORT.value,
        lines=report.lines,
        imported=report.restored,
        skipped=report.present + report.forgotten + report.frame_lines,
        duplicates=report.duplicates,
        rejected=0,
        failed=report.left_lines,
        memories=report.memories,
        errors=tuple(
            ItemError(index=line - 1, code=ValidationError.code, message=why)
            for line, why in report.left_out
        ),
        superseded=report.superseded,
        forgotten_elsewhere=tuple(id for ids in report.forgotten_elsewhere.values() for id in ids),
        warnings=tuple(warnings),
        degraded=tuple(degraded),
    )


def _stays_warnings(report: RestoreReport) -> Iterator[str]:
    """Warnings about what a merge left as it was where the file has something else, and about
    values of keys that end earlier."""
    for one in report.beside[:_SHOWN]:
        pinned = "it is pinned" if one.pinned else "no value of a model or of the archive takes it"
        yield (
            f"{one.holder} keeps the key {one.key}, for {pinned}: {one.id} was stored beside it"
            " without a key"
        )
    if (more := len(report.beside) - _SHOWN) > 0:
        yield f"{count_of(more, 'further memory')} stand beside what keeps their key"
    for deleted, why in ((False, "has another value here"), (True, "was deleted here")):
        names = [one.name for one in report.kept_items if one.deleted == deleted]
        if names:
            yield (
                f"{count_of(len(names), 'item')} of the file stayed out, for each {why}:"
                f" {first_of(names, _SHOWN)}"
            )
    if report.ended:
        yield (
            f"{count_of(len(report.ended), 'memory')} of the file stayed out, for what states the"
            f" same was replaced or withdrawn here since: {first_of(report.ended, _SHOWN)}"
        )
    for mine, theirs in report.outdated[:_SHOWN]:
        way = by_caller(
            f'store.supersede("{mine}", "{theirs}")', f"`vestig memory supersede {mine} {theirs}`"
        )
        yield f"{mine} holds here, and in the store of the file {theirs} replaced it: {way}"
    if (more := len(report.outdated) - _SHOWN) > 0:
        yield f"{count_of(more, 'further memory')} hold here and were replaced there"
    if report.shortened:
        yield (
            f"{count_of(len(report.shortened), 'earlier value')} of keys end where a value of the"
            f" file begins: {first_of(report.shortened, _SHOWN)}"
        )


def _one_namespace(session: Session, file: ImportFile) -> str | None:
    """The namespace that takes in an export of one namespace; None = each goes where it was."""
    first = next(iter(file.export_lines()), b"")
    try:
        header = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError):
        return None  # `restore` names the bad line
    single = isinstance(header, dict) and header.get("namespace") is not None
    return session.namespace if single else None


def _of_all(session: Session, file: ImportFile) -> list[str]:
    """The warning about an export of several namespaces none of which is the one of the call."""
    if _one_namespace(session, file) is not None:
        return []
    try:
        spaces = msgspec.json.decode(next(iter(file.export_lines())))["namespaces"]
    except (msgspec.DecodeError, RecursionError, KeyError):
        return []  # in part, without its header
    if not spaces or session.namespace in spaces:
        return []
    return [
        f"namespace: the export is of all namespaces, and each went where it was:"
        f" {first_of(spaces, _SHOWN)}; none is {session.namespace}"
    ]


def _normal_forms(text: str) -> tuple[str, ...]:
    """The normal forms of a text: with single spaces, in code and quotations too, and with its own,
    for the versions that export a text differ in them."""
    both = (HygieneSettings(normalize_whitespace=one) for one in (True, False))
    own = (normalise(text, settings) for settings in both)
    return (*own, normal_form(text, quotations=False))


def _may_hold_secrets(session: Session, file: ImportFile) -> bool:
    """Return whether any line of the file has a secret that is not to be stored."""
    if session.config.settings.firewall.secrets == "off":
        return False
    return any(masked_text(line.decode("utf-8", "replace"))[1] for line in file.export_lines())


def _mask_restored(session: Session) -> list[str]:
    """Masks the secrets of what was restored, and forgets the memories that held them; returns a
    warning where there were some."""
    with session.ledger.read() as view:
        spaces = view.namespaces()
    fixed, items, warnings = 0, 0, list[str]()
    for space in spaces:
        report = secrets(session, SecretsRequest(fix=True, namespace=space))
        fixed += report.fixed
        items += report.items_fixed
        warnings += [f"a secret could not be masked: {error.message}" for error in report.errors]
    if fixed:
        warnings.append(
            f"{fixed} memories held secrets: masked texts stand in their place, and they are"
            " forgotten"
        )
    if items:
        warnings.append(f"the values of {items} items held secrets, which are masked")
    return warnings
