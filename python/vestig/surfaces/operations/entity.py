"""The operations on entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.parameters import NAMESPACE, Parameter
from vestig.surfaces.operation import Arguments, Call, Operation

if TYPE_CHECKING:
    from vestig.graph.backfill import BackfillReport
    from vestig.graph.entities import EntityChange, EntityDetail, EntityPage, PurgeReport
    from vestig.types import Entity

__all__ = ["OPERATIONS"]

_SNIPPET_CHARS: Final = 80
_PLANNED_IDS: Final = 20
_ID: Final = Parameter(
    name="id", help="The entity by its id, at least 8 characters of it, its name or an alias."
)
_INCLUDE_EXPIRED: Final = Parameter(
    name="include_expired",
    kind="flag",
    flag="--include-expired",
    help="Expired and merged entities too.",
)
_BATCH: Final = Parameter(
    name="batch_size",
    kind="integer",
    least=1,
    flag="--batch-size",
    help="Memories per transaction.",
    default_text="500",
)
_DRY_RUN: Final = Parameter(
    name="dry_run", kind="flag", flag="--dry-run", help="Say what would happen; change nothing."
)


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


_LIST_PARAMETERS: Final = (
    Parameter(name="entity_type", flag="--type", help="Only this type, such as PERSON."),
    Parameter(
        name="limit",
        kind="integer",
        least=1,
        flag="--limit",
        help="Most entities.",
        default=20,
    ),
    Parameter(
        name="offset", kind="integer", least=0, flag="--offset", help="First entity.", default=0
    ),
    _INCLUDE_EXPIRED,
)
_SHOW_PARAMETERS: Final = (
    _ID,
    Parameter(name="expand", kind="flag", flag="--expand", help="With their texts."),
    _INCLUDE_EXPIRED,
)
_EXTRACT_PARAMETERS: Final = (
    Parameter(
        name="reprocess",
        kind="flag",
        flag="--reprocess",
        help="Read every memory again; existing links stay.",
    ),
    _BATCH,
)
_MERGE_PARAMETERS: Final = (
    Parameter(name="a", help="The entity that is merged, by id, name or alias."),
    Parameter(name="b", help="The entity that remains."),
)
_PURGE_IDS: Final = "By id, name or alias; absent: all that are expired."


def _arguments(
    method: str, *rows: Parameter, required: tuple[str, ...] = (), confirmed: bool = False
) -> Arguments:
    return Arguments(
        method=f"graph.{method}",
        parameters=(*rows, NAMESPACE),
        required=required,
        confirmed=confirmed,
    )


OPERATIONS: Final = (
    Operation(
        name="entity list",
        params=_LIST_PARAMETERS,
        run=lambda call: call.store.graph.entities(**call.args),
        document="entities",
        text=_listed,
        arguments=_arguments("entities", *_LIST_PARAMETERS),
    ),
    Operation(
        name="entity show",
        params=_SHOW_PARAMETERS,
        run=lambda call: call.store.graph.entity(**call.args),
        document="entity",
        text=_shown,
        arguments=_arguments("entity", *_SHOW_PARAMETERS, required=("id",)),
    ),
    Operation(
        name="entity extract",
        params=_EXTRACT_PARAMETERS,
        run=lambda call: call.store.graph.extract_entities(progress=call.progress, **call.args),
        document="entity_backfill",
        text=_extracted,
        writes=True,
        arguments=_arguments("extract_entities", *_EXTRACT_PARAMETERS),
    ),
    Operation(
        name="entity merge",
        params=_MERGE_PARAMETERS,
        run=lambda call: call.store.graph.merge_entities(**call.args),
        document="entity",
        text=_merged,
        writes=True,
        arguments=_arguments("merge_entities", *_MERGE_PARAMETERS, required=("a", "b")),
    ),
    Operation(
        name="entity expire",
        params=(_ID,),
        run=lambda call: call.store.graph.expire_entity(**call.args),
        document="entity",
        text=_expired,
        writes=True,
        arguments=_arguments("expire_entity", _ID, required=("id",)),
    ),
    Operation(
        name="entity purge",
        params=(
            Parameter(
                name="ids",
                help=_PURGE_IDS,
                many=True,
                required=False,
            ),
            Parameter(name="yes", kind="flag", flag="--yes", help="Do not ask."),
            _DRY_RUN,
        ),
        run=_purge,
        document="entities_purged",
        text=_purged,
        writes=True,
        arguments=_arguments(
            "purge_entities",
            Parameter(name="ids", kind="words", help=_PURGE_IDS),
            _DRY_RUN,
            confirmed=True,
        ),
    ),
    Operation(
        name="housekeeping entity-backfill",
        params=(_DRY_RUN, _BATCH),
        run=lambda call: call.store.graph.entity_backfill(progress=call.progress, **call.args),
        document="entity_backfill",
        text=_extracted,
        writes=True,
        arguments=_arguments("entity_backfill", _DRY_RUN, _BATCH),
    ),
)
