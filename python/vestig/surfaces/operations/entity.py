"""The operations on entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import graph
from vestig.surfaces.operation import YES, Call, Operation

if TYPE_CHECKING:
    from vestig.graph.backfill import BackfillReport
    from vestig.graph.entities import EntityChange, EntityDetail, EntityPage, PurgeReport
    from vestig.types import Entity

_SNIPPET_CHARS: Final = 80
_PLANNED_IDS: Final = 20


def _purge(call: Call) -> Any:
    from vestig.errors import ConflictError

    given = dict(call.args)
    agreed = given.pop("yes", False) or given.get("dry_run", False)
    if not agreed:
        plan = call.store.graph.purge_entities(**{**given, "dry_run": True})
        if not plan.entity_ids:
            return plan
        if call.confirm is None or not call.confirm(_plan(plan)):
            raise ConflictError("nothing was removed: the plan was not confirmed")
    return call.store.graph.purge_entities(**given)


def _listed(page: EntityPage, _: Mapping[str, Any]) -> str:
    """id | type | mentions | name and aliases."""
    if not page.entities:
        return "No entities found."
    return "\n".join(_line(one.entity, one.mentions) for one in page)


def _line(entity: Entity, mentions: int) -> str:
    known = f" (also {', '.join(entity.aliases)})" if entity.aliases else ""
    state = ""
    if entity.merged_into is not None:
        state = f" [merged into {entity.merged_into}]"
    elif entity.expired_at is not None:
        state = " [expired]"
    cells = (entity.id, entity.entity_type, str(mentions), f"{entity.canonical_name}{known}{state}")
    return " | ".join(cells)


def _shown(detail: EntityDetail, args: Mapping[str, Any]) -> str:
    from vestig.language.text_forms import one_line
    from vestig.times import to_plain

    plain = to_plain(detail)
    hidden = {"memory_ids", "memories"}
    rows = [
        (name, value if not isinstance(value, list) else ", ".join(map(str, value)))
        for name, value in plain.items()
        if name not in hidden and value not in (None, "", [])
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    if args.get("expand"):
        lines += [
            "",
            *(
                f"{one.id} | {one_line(one.content, _SNIPPET_CHARS)}"
                for one in detail.memories or ()
            ),
        ]
        return "\n".join(lines)
    return "\n".join([*lines, *(f"{'memory':<{width}}  {id}" for id in detail.memory_ids)])


def _extracted(report: BackfillReport, _: Mapping[str, Any]) -> str:
    would = "would be " if report.dry_run else ""
    return (
        f"{report.memories} memories read: {report.entities_added} entities and"
        f" {report.mentions_added} mentions {would}added"
    )


def _merged(change: EntityChange, _: Mapping[str, Any]) -> str:
    return (
        f"Entity {change.merged_id} merged into {change.id}: {change.edges_moved} edges moved,"
        f" {change.edges_folded} were there already"
    )


def _expired(change: EntityChange, _: Mapping[str, Any]) -> str:
    return f"Entity {change.id} expired with {change.edges_expired} edges"


def _plan(report: PurgeReport) -> str:
    ids = report.entity_ids
    lines = [f"{len(ids)} expired entities would be removed for good:"]
    lines += [f"  {id}" for id in ids[:_PLANNED_IDS]]
    if len(ids) > _PLANNED_IDS:
        lines.append(f"  … and {len(ids) - _PLANNED_IDS} more")
    return "\n".join(
        [*lines, f"Rows: {report.entities_removed} entities, {report.edges_removed} edges"]
    )


def _purged(report: PurgeReport, _: Mapping[str, Any]) -> str:
    if not report.entity_ids:
        return "Nothing to remove"
    if report.dry_run:
        return _plan(report)
    return f"{report.entities_removed} entities and {report.edges_removed} edges removed"


OPERATIONS: Final = (
    Operation(
        name="entity list",
        call=graph.EntitiesRequest,
        method="graph.entities",
        document="entities",
        text=_listed,
    ),
    Operation(
        name="entity show",
        call=graph.EntityRequest,
        method="graph.entity",
        document="entity",
        text=_shown,
    ),
    Operation(
        name="entity extract",
        call=graph.ExtractEntitiesRequest,
        method="graph.extract_entities",
        document="entity_backfill",
        text=_extracted,
        writes=True,
    ),
    Operation(
        name="entity merge",
        call=graph.MergeEntitiesRequest,
        method="graph.merge_entities",
        document="entity",
        text=_merged,
        writes=True,
    ),
    Operation(
        name="entity expire",
        call=graph.ExpireEntityRequest,
        method="graph.expire_entity",
        document="entity",
        text=_expired,
        writes=True,
    ),
    Operation(
        name="entity purge",
        call=graph.PurgeEntitiesRequest,
        method="graph.purge_entities",
        options=(YES,),
        run=_purge,
        document="entities_purged",
        text=_purged,
        writes=True,
        confirmed="always",
    ),
    Operation(
        name="housekeeping entity-backfill",
        call=graph.EntityBackfillRequest,
        method="graph.entity_backfill",
        document="entity_backfill",
        text=_extracted,
        writes=True,
    ),
)
