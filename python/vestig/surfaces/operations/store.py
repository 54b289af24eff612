"""The operations on whole stores and on the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.parameters import NAMESPACE, Parameter
from vestig.surfaces.cli import render
from vestig.surfaces.operation import Arguments, Call, Operation
from vestig.surfaces.operations.memory_parameters import FILTER_PARAMETERS, filter_arguments

if TYPE_CHECKING:
    from vestig.results import ImportReport

__all__ = ["OPERATIONS"]

STANDARD_STREAM: Final = "-"
_IMPORT_FORMATS: Final = ("auto", "export", "messages", "memories")


def _enrich(call: Call) -> Any:
    return call.store.admin.enrich(call.args.pop("limit", None), **call.args)


def _export(call: Call) -> Any:
    target = call.args.pop("file")
    if target == STANDARD_STREAM and call.output is not None:
        target = call.output()
    return call.store.export(target, **filter_arguments(call.args))


def _import(call: Call) -> Any:
    source = call.args.pop("file")
    if source == STANDARD_STREAM and call.input is not None:
        source = call.input()
    return call.store.import_(source, progress=call.progress, **call.args)


def _import_exit(report: ImportReport) -> int:
    return 1 if report.failed or report.errors else 0


def _rebuild(call: Call) -> Any:
    given = {name: value for name, value in call.args.items() if name != "accept_ledger"}
    return call.store.admin.rebuild(progress=call.progress, **given)


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
    from vestig.admin import places

    forget = bool(call.args.get("forget_lost", False))
    if call.args.get("all_stores", False):
        return places.list_stores(forget=forget)
    return places.forget_lost(call.config) if forget else None


def _destroy(call: Call) -> Any:
    from vestig.admin import places
    from vestig.errors import ConflictError

    sure, confirm = bool(call.args.get("yes", False)), call.confirm
    if confirm is None and not sure:
        raise ConflictError("nothing was removed: nobody can be asked, confirm with --yes")
    return places.destroy_store(
        call.config,
        call.args["path"],
        lambda found: sure or (confirm is not None and confirm(render.destruction_plan(found))),
    )


_GC_DRY_RUN: Final = Parameter(
    name="dry_run",
    kind="flag",
    flag="--dry-run",
    help="Say what would be removed; remove nothing.",
)
_ENRICH_PARAMETERS: Final = (
    Parameter(name="limit", kind="integer", least=1, flag="--limit", help="Most jobs in this run."),
    Parameter(
        name="retry_failed",
        kind="flag",
        flag="--retry-failed",
        help="Jobs that failed for good too.",
    ),
)
_ALL_NAMESPACES: Final = Parameter(
    name="all_namespaces",
    kind="flag",
    flag="--all-namespaces",
    help="Every namespace of the store, not only one.",
)
_DEST: Final = Parameter(name="dest", help="Directory that does not exist yet.")
_REBUILD_PARAMETERS: Final = (
    Parameter(
        name="embeddings",
        kind="flag",
        flag="--embeddings",
        help="Embed every text again with the configured model.",
    ),
    Parameter(
        name="tokens",
        kind="flag",
        flag="--tokens",
        help="Make missing codes of word pieces, where late interaction counts.",
    ),
)

OPERATIONS: Final = (
    Operation(
        name="housekeeping gc",
        params=(_GC_DRY_RUN,),
        run=lambda call: call.store.admin.gc(**call.args),
        document="gc",
        text=render.garbage_collected,
        writes=True,
        arguments=Arguments(method="admin.gc", parameters=(_GC_DRY_RUN,)),
    ),
    Operation(
        name="housekeeping enrich",
        params=_ENRICH_PARAMETERS,
        run=_enrich,
        document="enrichment",
        text=render.enriched,
        exit_code=lambda report: 1 if report.failed else 0,
        writes=True,
        arguments=Arguments(method="admin.enrich", parameters=_ENRICH_PARAMETERS),
    ),
    Operation(
        name="housekeeping compact",
        run=lambda call: call.store.admin.compact(),
        document="compaction",
        text=render.compacted,
        writes=True,
        arguments=Arguments(method="admin.compact"),
    ),
    Operation(
        name="export",
        params=(
            Parameter(name="file", help="File to write; - is standard output."),
            _ALL_NAMESPACES,
            *FILTER_PARAMETERS,
        ),
        run=_export,
        document="export",
        text=render.exported,
        arguments=Arguments(method="export", parameters=(_ALL_NAMESPACES,), filtered=True),
    ),
    Operation(
        name="import",
        params=(
            Parameter(name="file", help="JSON lines, .gz too; - is standard input."),
            Parameter(
                name="format",
                kind="choice",
                flag="--format",
                choices=_IMPORT_FORMATS,
                help="Format of the lines.",
                default_text="auto",
            ),
            Parameter(name="scope", flag="--scope", help="Scope of every line."),
            Parameter(
                name="merge",
                kind="flag",
                flag="--merge",
                help="Merge an export by id into what is there.",
            ),
            Parameter(
                name="partial",
                kind="flag",
                flag="--partial",
                help="Take what is whole of a cut or changed export; the report names the rest.",
            ),
        ),
        run=_import,
        document="import",
        text=render.imported,
        exit_code=_import_exit,
        without_store="make",
        writes=True,
    ),
    Operation(
        name="backup",
        params=(_DEST,),
        run=lambda call: call.store.admin.backup(call.args["dest"]),
        document="backup",
        text=render.backup,
        arguments=Arguments(method="admin.backup", parameters=(_DEST,), required=("dest",)),
    ),
    Operation(
        name="rebuild",
        params=(
            *_REBUILD_PARAMETERS,
            Parameter(
                name="accept_ledger",
                kind="flag",
                flag="--accept-ledger",
                help="Accept the ledger as it is, even if records are missing.",
            ),
        ),
        run=_rebuild,
        document="rebuild",
        text=render.rebuilt,
        writes=True,
        open_options=_rebuild_options,
        arguments=Arguments(method="admin.rebuild", parameters=_REBUILD_PARAMETERS),
    ),
    Operation(
        name="stats",
        run=lambda call: call.store.admin.stats(),
        document="stats",
        text=render.stats,
        arguments=Arguments(method="admin.stats", parameters=(NAMESPACE,)),
    ),
    Operation(
        name="doctor",
        params=(
            Parameter(
                name="forget_lost",
                kind="flag",
                flag="--forget-lost",
                help="Drop the record of this path, if its store is gone; with --global, of every"
                " path that is gone.",
            ),
            Parameter(
                name="all_stores",
                kind="flag",
                flag="--global",
                help="List every store known on this machine, and name those that are gone.",
            ),
        ),
        run=lambda call: call.store.admin.doctor(),
        alone=_doctor_alone,
        document="doctor",
        text=render.doctor,
        exit_code=lambda report: int(report.exit_code),
        open_options=lambda args: {} if args.get("clock") else {"read_only": True},
        arguments=Arguments(method="admin.doctor"),
    ),
    Operation(
        name="destroy",
        params=(
            Parameter(name="path", help="Directory of the store."),
            Parameter(name="yes", kind="flag", flag="--yes", help="Do not ask."),
        ),
        run=_destroy,
        document="destruction",
        text=render.destroyed,
        needs_store=False,
        writes=True,
    ),
    Operation(
        name="demo",
        params=(
            Parameter(name="keep", kind="flag", flag="--keep", help="Keep the temporary store."),
        ),
        run=_demo,
        document="demo",
        text=render.demo_end,
        needs_config=False,
        needs_store=False,
    ),
    Operation(
        name="config show",
        params=(
            Parameter(
                name="all",
                kind="flag",
                flag="--all",
                help="Every key, and the learned weights.",
            ),
        ),
        run=_show_config,
        document="config",
        text=render.config_values,
        needs_store=False,
    ),
    Operation(
        name="config explain",
        params=(
            Parameter(name="key", help="Dotted key or section; absent: every key.", required=False),
        ),
        run=_explain_config,
        document="explanations",
        text=render.config_keys,
        needs_store=False,
    ),
)
