"""Text for humans of what goes from a store: the plan before it goes, and the report after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vestig.calls.filter import FIELDS
from vestig.language.text_forms import count_of, escaped_breaks, one_line
from vestig.surfaces.cli.render import ERRORS_SHOWN, Args, json_line, table

if TYPE_CHECKING:
    from vestig.calls.filter import FilterFields
    from vestig.memories.states import StateChange
    from vestig.results import (
        DeprecateReport,
        DestroyReport,
        ForgetReport,
        GcReport,
        PruneReport,
        SecretsReport,
        StoredSecret,
    )
    from vestig.store.upkeep.whole_store import StoreFiles
    from vestig.surfaces.operation import Call

_Plan = TypeVar("_Plan", "ForgetReport", "DeprecateReport", "PruneReport")
# What a plan names, and the characters that it shows of each text.
_PLANNED_IDS: Final = 20
_PLANNED_CHARS: Final = 60
# The argument under which a plan finds the beginnings of texts by id.
_TEXTS: Final = "texts"


def with_texts(call: Call, ids: Sequence[str]) -> dict[str, Any]:
    """The arguments of a call, and the beginnings of the texts of memories that a plan names."""
    where: FilterFields = {"ids": list(ids), "include_expired": True, "include_archived": True}
    found = call.store.list(where=where, limit=len(ids)) if ids else ()
    texts = {one.id: one_line(one.content, _PLANNED_CHARS) for one in found}
    call.shown[_TEXTS] = texts
    return {**call.args, _TEXTS: texts}


def planned(call: Call, report: _Plan) -> _Plan:
    """A report; that of a dry run is shown with the texts of what it names."""
    if report.dry_run:
        with_texts(call, report.memory_ids[:_PLANNED_IDS])
    return report


def deprecated(value: StateChange | DeprecateReport, args: Args) -> str:
    """Return which memory was withdrawn, or how many a filter selected."""
    from vestig.results import DeprecateReport

    if not isinstance(value, DeprecateReport):
        return f"Memory {value.memory_id} deprecated successfully"
    if not value.memory_ids:
        return "Nothing to deprecate"
    if value.dry_run:
        return deprecation_plan(value, args)
    head = f"{count_of(len(value.memory_ids), 'memory')} deprecated"
    return "\n".join([head, *_had_superseded(value.had_superseded)])


def deprecation_to_confirm(call: Call, report: DeprecateReport) -> str:
    """Return what would be withdrawn, before somebody agrees."""
    return deprecation_plan(report, with_texts(call, report.memory_ids[:_PLANNED_IDS]))


def deprecation_plan(report: DeprecateReport, args: Args) -> str:
    """Return what would be withdrawn: how many, by which fields of the filter, and their ids."""
    lines = _planned(report.memory_ids, "deprecated", args)
    return "\n".join([*lines, *_had_superseded(report.had_superseded)])


def plan_to_confirm(call: Call, report: ForgetReport) -> str:
    """Return what would be deleted, and the warnings about what stays, before somebody agrees."""
    shown = (*report.memory_ids[:_PLANNED_IDS], *report.also_named[:_PLANNED_IDS])
    args = with_texts(call, shown)
    warnings = [f"warning: {escaped_breaks(one)}" for one in report.warnings]
    named = indented(report.also_named, args[_TEXTS])
    return "\n".join([forget_plan(report, args), *warnings, *named])


def forget_plan(report: ForgetReport, args: Args) -> str:
    """Return what would be deleted: by which fields of the filter, ids and texts, counts of rows,
    and what lies outside the store."""
    lines = [
        *_planned(report.memory_ids, "forgotten for good", args),
        *_items_of(report, "would go too, with all texts"),
        *_documents_of(report, "would go too, with all versions"),
    ]
    rows = ", ".join(f"{name} {count}" for name, count in report.rows_removed.items() if count)
    return "\n".join(
        [*lines, f"With all that is kept of them, in rows: {rows}", *_side_effects(report)]
    )


def forgotten(report: ForgetReport, args: Args) -> str:
    """Return what was forgotten, and how many residues the search of the files found."""
    items = [*_items_of(report, "forgotten too"), *_documents_of(report, "forgotten too")]
    if report.dry_run and (report.memory_ids or items):
        return forget_plan(report, args)
    if not report.memory_ids and not items:
        return "Nothing to forget"
    head = (
        f"{count_of(len(report.memory_ids), 'memory')} forgotten:"
        f" {count_of(report.files_scanned, 'file')} ({report.bytes_scanned} bytes) searched,"
        f" {count_of(report.residues, 'residue')}"
    )
    named = _listed("A word of the name stays in", report.also_named)
    return "\n".join([head, *items, *_side_effects(report), *named])


def _items_of(report: ForgetReport, done: str) -> list[str]:
    """How many items go too."""
    count = report.rows_removed.get("items", 0)
    return [f"{count_of(count, 'item')} {done}"] if count else []


def _documents_of(report: ForgetReport, done: str) -> list[str]:
    """How many documents go too."""
    count = len(report.documents_removed)
    return [f"{count_of(count, 'document')} {done}"] if count else []


def _listed(what: str, ids: Sequence[str]) -> list[str]:
    """How many memories of a kind there are, and their ids; nothing where there are none."""
    return [f"{what} ({len(ids)}):", *indented(ids)] if ids else []


def _planned(ids: Sequence[str], done: str, args: Args) -> list[str]:
    """How many memories would be `done`, by which fields of the filter, their ids and texts."""
    fields = ", ".join(name for name in FIELDS if name in args)
    by = f", selected by {fields}" if fields else ""
    head = f"{count_of(len(ids), 'memory')} would be {done}{by}:"
    return [head, *indented(ids, args.get(_TEXTS, {}))]


def indented(ids: Sequence[str], texts: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The first ids, a line each, with what is known of their texts, and how many more there
    are."""
    more = [f"  … and {len(ids) - _PLANNED_IDS} more"] if len(ids) > _PLANNED_IDS else []
    return [*(f"  {id}  {texts.get(id, '')}".rstrip() for id in ids[:_PLANNED_IDS]), *more]


def _side_effects(report: ForgetReport) -> list[str]:
    """Lines about what a forgetting leaves or changes beside the memories that go."""
    holders = report.residual_holders
    return [
        *_listed("Claims that were read out of them alone go too", report.derived_removed),
        *_listed("Summaries that cover them go too", report.summaries_removed),
        *_listed("Summaries that cover them stay, and may tell of them", holders),
        *_reembedded(report),
        *_had_superseded(report.had_superseded),
        f"Note: {report.outside}",
    ]


def _had_superseded(ids: Sequence[str]) -> list[str]:
    """The memories that stay superseded though their successors go."""
    if not ids:
        return []
    head = "Superseded by these, and stay so (add a text again to make it current):"
    return [head, *indented(ids)]


def _reembedded(report: ForgetReport) -> list[str]:
    count = len(report.reembedded)
    if not count:
        return []
    lost = "would lose" if report.dry_run else "lost"
    vectors = "vector" if count == 1 else "vectors"
    return [
        f"{count_of(count, 'claim')} of other memories {lost} evidence,"
        f" and the {vectors} made of it"
    ]


def garbage_collected(report: GcReport, _: Args) -> str:
    """Counts of the records that garbage collection removed."""
    would = "would be " if report.dry_run else ""
    counts = (
        f"{count_of(report.items_removed, 'expired item')},"
        f" {count_of(report.sources_removed, 'source')},"
        f" {count_of(report.entities_removed, 'entity')}"
    )
    return f"{counts} and {count_of(report.edges_removed, 'link')} {would}removed"


def stored_secrets(report: SecretsReport, args: Args) -> str:
    """Ids of memories, keys of items that hold secrets, their rules, and how many were masked; no
    text of theirs."""
    rows = (
        (_holder(one), ", ".join(f"{rule.count} × {rule.rule}" for rule in one.rules))
        for one in report.found
    )
    items = count_of(report.items_evaluated, "item")
    head = f"{count_of(report.evaluated, 'memory')} and {items} looked at"
    head += f", {len(report.found)} with secrets"
    if args.get("fix"):
        masked = report.fixed + report.items_fixed
        head += ", all would be masked" if report.dry_run else f", {masked} masked"
    lines = [head, table(rows), *(f"not masked: {error.message}" for error in report.errors)]
    return "\n".join(line for line in lines if line)


def _holder(found: StoredSecret) -> str:
    """Return an id, or the key of an item with its scope."""
    if found.key is None:
        return str(found.memory_id or found.id)
    return f"item {json_line(found.key)}" + (
        "" if found.scope is None else f" of {escaped_breaks(found.scope)}"
    )


def pruned(report: PruneReport, args: Args) -> str:
    """Counts of a prune: looked at, removed, and kept although they were due."""
    would = "would be " if report.dry_run else ""
    kept = {name: count for name, count in report.kept.to_dict().items() if count}
    why = f" ({', '.join(f'{count} by {name}' for name, count in kept.items())})" if kept else ""
    lines = [
        f"{count_of(report.evaluated, 'memory')} looked at,"
        f" {report.removed} {would}removed for good, {sum(kept.values())} due but kept{why}",
        *(indented(report.memory_ids, args.get(_TEXTS, {})) if report.dry_run else []),
        *(f"not removed: {error.message}" for error in report.errors[:ERRORS_SHOWN]),
    ]
    more = len(report.errors) - ERRORS_SHOWN
    return "\n".join(lines + ([f"… and {more} more errors"] if more > 0 else []))


def destruction_plan(found: StoreFiles) -> str:
    """Return what would be removed."""
    return (
        f"The store in {found.folder} ({found.transactions or 'unknown'} transactions,"
        f" {found.files} files, {found.bytes} bytes) would be removed for good."
    )


def destroyed(value: DestroyReport, _: Args) -> str:
    """Which store went."""
    uuid = value.store_uuid or "unknown"
    transactions = "unknown" if value.transactions is None else str(value.transactions)
    lines = [
        f"Removed {value.path}: store {uuid}, {transactions} transactions, {value.bytes} bytes;"
        f" {value.outside}"
    ]
    if value.left:
        lines.append("Left there, for they are not files of the store:")
        lines += [f"  {path}" for path in value.left]
    if value.left_more:
        lines.append(f"  and {value.left_more} more")
    return "\n".join(lines)
