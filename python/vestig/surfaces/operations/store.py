"""The operations on whole stores and on the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import files, upkeep
from vestig.calls.argument import Flag, Text, Texts
from vestig.surfaces.cli import removal, render
from vestig.surfaces.operation import YES, Call, Operation, agreement, filter_arguments, on_screen

if TYPE_CHECKING:
    from vestig.results import ImportReport

STANDARD_STREAM: Final = "-"


def _export(call: Call) -> Any:
    target = call.args.pop("file")
    if target == STANDARD_STREAM and call.output is not None:
        target = call.output()
    return call.store.export(target, **filter_arguments(call.args))


def _import(call: Call) -> Any:
    given = call.args.pop("file")
    names = [given] if isinstance(given, str) else list(given)
    files = [
        call.input() if name == STANDARD_STREAM and call.input is not None else name
        for name in names
    ]
    return call.store.import_(files, progress=call.progress, **call.args)


def _import_exit(report: ImportReport) -> int:
    return 1 if report.failed or report.errors else 0


def _restore(call: Call) -> Any:
    from vestig.api.admin import restore

    return restore(call.args["backup"], config=call.config)


def _show_config(call: Call) -> Any:
    from vestig.config.explain import show

    return show(call.config, every=bool(call.args.get("all", False)))


def _explain_config(call: Call) -> Any:
    from vestig.config.explain import explain, explanations

    key = call.args.get("key")
    return explanations(call.config) if key is None else explain(call.config, key)


def _demo(call: Call) -> Any:
    from vestig.surfaces.cli.demo import tour

    return tour(call.say, keep=bool(call.args.get("keep", False)))


def _rebuild_options(args: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "accept_ledger": bool(args.get("accept_ledger", False)),
        "change_embedder": bool(args.get("embeddings", False)),
    }


def _doctor_alone(call: Call) -> Any:
    from vestig import admin

    forget = bool(call.args.get("forget_lost", False))
    if call.args.get("all_stores", False):
        return admin.list_stores(forget=forget)
    return admin.forget_lost(call.config) if forget else None


def _repair(report: Any) -> str:
    """Says what can be done about damage; "" where there is none."""
    from vestig.store.sqlite.connections import REPAIR

    findings = getattr(report, "findings", ())  # a list of stores has none
    damage = {one.check for one in findings if one.level == "damage"}
    if damage == {"projection"}:
        return "`vestig rebuild` makes the projection again."
    return f"{REPAIR}." if damage else ""


def _destroy(call: Call) -> Any:
    from vestig import admin

    agreed = agreement(call, done="removed")
    return admin.destroy_store(
        call.config, call.args["path"], lambda found: agreed(removal.destruction_plan(found))
    )


OPERATIONS: Final = (
    Operation(
        name="housekeeping gc",
        slow=True,
        call=upkeep.GcRequest,
        method="admin.gc",
        document="gc",
        text=removal.garbage_collected,
        writes=True,
    ),
    Operation(
        name="housekeeping secrets",
        slow=True,
        call=upkeep.SecretsRequest,
        method="admin.secrets",
        document="secrets",
        text=removal.stored_secrets,
        exit_code=lambda report: 1 if report.errors else 0,
        writes=True,
    ),
    Operation(
        name="housekeeping prune",
        slow=True,
        call=upkeep.PruneRequest,
        method="admin.prune",
        run=lambda call: removal.planned(call, call.store.admin.prune(**call.args)),
        document="prune",
        text=removal.pruned,
        exit_code=lambda report: 1 if report.errors else 0,
        writes=True,
    ),
    Operation(
        name="housekeeping enrich",
        slow=True,
        call=upkeep.EnrichRequest,
        method="admin.enrich",
        document="enrichment",
        text=render.enriched,
        exit_code=lambda report: 1 if report.failed else 0,
        writes=True,
    ),
    Operation(
        name="cognify",
        slow=True,
        call=upkeep.CognifyRequest,
        document="cognition",
        text=render.cognified,
        exit_code=lambda report: 1 if report.errors else 0,
        writes=True,
    ),
    Operation(
        name="housekeeping compact",
        slow=True,
        call=upkeep.CompactRequest,
        method="admin.compact",
        document="compaction",
        text=render.report_fields,
        writes=True,
    ),
    Operation(
        name="export",
        route="POST export",
        slow=True,
        call=files.ExportRequest,
        options=(Text("File to write; - is standard output.", name="file"),),
        run=_export,
        right="admin",
        document="export",
        text=render.report_fields,
    ),
    Operation(
        name="import",
        call=files.ImportRequest,
        options=(
            Texts(
                "Files, folders or patterns; .zip and .gz too; - is standard input.",
                name="file",
                many=True,
                required=True,
            ),
        ),
        run=_import,
        right="admin",
        document="import",
        text=render.imported,
        exit_code=_import_exit,
        without_store="make",
        writes=True,
        offered=False,
    ),
    Operation(
        name="backup",
        route="POST backup",
        slow=True,
        call=files.BackupRequest,
        method="admin.backup",
        document="backup",
        text=render.stats,
    ),
    Operation(
        name="restore",
        call=files.RestoreRequest,
        run=_restore,
        document="restore",
        text=render.stats,
        needs_store=False,
        writes=True,
        offered=False,
    ),
    Operation(
        name="rebuild",
        slow=True,
        call=upkeep.RebuildRequest,
        method="admin.rebuild",
        options=(
            Flag(
                "Accept the ledger as it is, even if records are missing.",
                "--accept-ledger",
                name="accept_ledger",
            ),
        ),
        document="rebuild",
        text=render.report_fields,
        writes=True,
        open_options=_rebuild_options,
    ),
    Operation(
        name="stats",
        call=upkeep.StatsRequest,
        method="admin.stats",
        right="read",
        document="stats",
        text=render.stats,
    ),
    Operation(
        name="doctor",
        slow=True,
        call=upkeep.DoctorRequest,
        method="admin.doctor",
        options=(
            Flag(
                "Drop the record of this path, if its store is gone; with --global, of every"
                " path that is gone.",
                "--forget-lost",
                name="forget_lost",
            ),
            Flag(
                "List every store known on this machine, and name those that are gone.",
                "--global",
                name="all_stores",
            ),
        ),
        alone=_doctor_alone,
        document="doctor",
        text=render.doctor,
        screen=on_screen("doctor"),
        note=_repair,
        exit_code=lambda report: int(report.exit_code),
        open_options=lambda _: {"read_only": True},
    ),
    Operation(
        name="destroy",
        options=(
            Text("Directory of the store.", name="path"),
            YES,
        ),
        run=_destroy,
        document="destruction",
        text=removal.destroyed,
        needs_store=False,
        writes=True,
    ),
    Operation(
        name="demo",
        options=(Flag("Keep the temporary store.", "--keep", name="keep"),),
        run=_demo,
        document="demo",
        text=render.demo_end,
        needs_config=False,
        needs_store=False,
    ),
    Operation(
        name="config show",
        options=(Flag("Every key, and the learned weights.", "--all", name="all"),),
        run=_show_config,
        document="config",
        text=render.config_values,
        needs_store=False,
    ),
    Operation(
        name="config explain",
        options=(Text("Dotted key or section; absent: every key.", name="key", required=False),),
        run=_explain_config,
        document="explanations",
        text=render.config_keys,
        needs_store=False,
    ),
)
