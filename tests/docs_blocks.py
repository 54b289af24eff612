"""The generated parts of docs/: between `<!-- generated:NAME -->` and `<!-- end -->`.

`python tests/docs_blocks.py` (or `make docs`) writes them, and beneath every example what it
prints; tests/test_docs.py compares.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_PART = re.compile(r"(<!-- generated:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# An object whose docstring the site shows, with how it is shown.
_OBJECT = re.compile(r"^::: .*(?:\n    .*)*", re.MULTILINE)


def replaced(text: str, parts: Mapping[str, str]) -> str:
    """`text` with every generated part made anew. KeyError: a part that nobody makes."""
    return _PART.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}", text)


def written(text: str) -> str:
    """`text` without its generated parts: those of this module and those that the site makes of
    docstrings."""
    return _OBJECT.sub("", _PART.sub("", text))


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines
    )


def stage_of(key: str) -> str | None:
    """The stage whose parameter a name spells; None: it is none of its parameters.

    Example:
        >>> stage_of("walk.start.limit"), stage_of("recall.profile")
        ('walk', None)
    """
    from vestig.config.schema import stages

    return next((name for name in stages() if key.startswith(f"{name}.")), None)


def key_rows() -> str:
    """One table row for each configuration key, from the schema; of a stage, the stage itself."""
    from vestig.config.explain import occasions
    from vestig.config.schema import key_specs, stages

    rows: dict[str, tuple[str, ...]] = {}
    for key, spec in key_specs().items():
        stage = stage_of(key)
        if stage is None:
            name = f"**`{key}`**" if spec.shown else f"`{key}`"
            rows[key] = name, _json(spec.default), spec.allowed, spec.meaning, occasions()[key]
        else:
            table = f"its [parameters](#{stage.replace('.', '')})"
            rows[stage] = f"`{stage}`", "", table, stages()[stage], ""
    return _rows(("Key", "Default", "Allowed", "Meaning", "Change it when"), rows.values())


def _json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def parameter_tables() -> str:
    """For each stage a table of its parameters."""
    from vestig.config.explain import occasions
    from vestig.config.schema import key_specs, stages

    found = []
    for stage, says in stages().items():
        rows = (
            (
                f"**`{key}`**" if spec.shown else f"`{key}`",
                _json(spec.default),
                spec.allowed,
                spec.meaning,
                occasions()[key],
            )
            for key, spec in key_specs().items()
            if stage_of(key) == stage
        )
        table = _rows(("Parameter", "Default", "Allowed", "Meaning", "Change it when"), rows)
        found.append(f"### `{stage}`\n\n{says}\n\n{table}")
    return "\n\n".join(found)


def term_rows() -> str:
    """One table row for each term of the linear score, with its learned weights."""
    from vestig.config.signals import KINDS
    from vestig.config.weights import TERMS, learned

    return _rows(
        ("Term", "Weighs", *KINDS),
        (
            (f"`{name}`", what, *(f"{learned()[kind].get(name, 0.0):g}" for kind in KINDS))
            for name, what in TERMS.items()
        ),
    )


def _forgetting_of(table: Any) -> str:
    """What becomes of a row when one that it refers to is forgotten, and what is searched for."""
    from vestig.store.tables.table import Erase

    said = [
        f"`{one.name}` ({one.refers}): {one.forgetting.value}"
        for one in table.columns
        if one.forgetting is not None
    ]
    if table.lives_by:
        said.append(f"removed with the last row of `{table.lives_by}`")
    said += [f"removed where a text holds its `{c.name}`" for c in table.columns if c.quoted]
    searched = [f"`{c.name}`" for c in table.columns if c.erase not in (None, Erase.SALT)]
    return "; ".join(said + ([f"searched for: {', '.join(searched)}"] if searched else []))


def _peers() -> Any:
    """The figures that benches/measure_peers.py writes."""
    return json.loads((ROOT / "benches" / "peers" / "figures.json").read_text("utf-8"))


def _cell(value: float | None, scale: int = 1) -> str:
    return "–" if value is None else f"{scale * value:.1f}" if scale > 1 else f"{value:g}"


def peer_rows() -> str:
    """How much each tool finds, one table row a tool."""
    sets = _peers()["sets"]
    head, has_newest = ["tool"], {}
    for kind, one in sets.items():
        rows = one["rows"].values()
        has_newest[kind] = any(row["newest"] is not None for row in rows)
        head += [f"{kind}: hit@1", "R@5", *(["newest first"] if has_newest[kind] else [])]
    made = []
    for name in next(iter(sets.values()))["rows"]:
        cells = [name]
        for kind, one in sets.items():
            row = one["rows"][name]
            cells += [_cell(row["hit_1"], 100), _cell(row["recall_5"], 100)]
            cells += [_cell(row["newest"], 100)] if has_newest[kind] else []
        made.append(tuple(cells))
    counts = "; ".join(
        f"{kind}: {one['name']}, {one['questions']} questions on {one['texts']:,} texts"
        for kind, one in sets.items()
    )
    return f"{_rows(tuple(head), made)}\n\n{counts}."


def named_peer_rows() -> str:
    """Share of the answers among the best five, by kind of text: a row a tool, of one with several
    ways to search the way that finds most."""
    found = _peers()
    sets = found["sets"]
    best: dict[str, tuple[str, list[float]]] = {}
    for name in next(iter(sets.values()))["rows"]:
        tool = next((one for one in found["versions"] if name.startswith(one)), name)
        shares = [one["rows"][name]["recall_5"] for one in sets.values()]
        if tool not in best or sum(shares) > sum(best[tool][1]):
            best[tool] = (name, shares)
    made = [(name, *(_cell(share, 100) for share in shares)) for name, shares in best.values()]
    return _rows(("R@5", *sets), made)


def peer_cost_rows() -> str:
    """What each tool costs, one table row a tool."""
    found = _peers()
    sets, made = found["sets"].values(), []
    for name in next(iter(sets))["rows"]:
        tool = next((one for one in found["versions"] if name.startswith(one)), "")
        rows = [one["rows"][name] for one in sets]
        disk = [row["mb"] for row in rows if row["mb"] is not None]
        made.append(
            (
                name,
                found["versions"].get(tool, ""),
                _cell(found["install_mb"].get(tool)),
                *(_cell(row["ms"]) for row in rows),
                _cell(round(sum(disk), 1)) if disk else "–",
            )
        )
    times = tuple(f"{kind}: ms" for kind in found["sets"])
    return _rows(("tool", "version", "install, MB", *times, "disk, MB, all sets"), made)


def chained_table_rows() -> str:
    """One table row for each table under the chain, by its code."""
    from vestig.store.tables.schema import CHAINED, TABLES

    return _rows(
        ("code", "table", "a row is", "a forgetting"),
        (
            (str(code), f"`{name}`", TABLES[name].says, _forgetting_of(TABLES[name]))
            for code, name in enumerate(CHAINED)
        ),
    )


def plain_table_rows() -> str:
    """One table row for each table outside of the chain."""
    from vestig.store.tables.schema import ALL

    return _rows(
        ("table", "a row is", "a forgetting"),
        ((f"`{t.name}`", t.says, _forgetting_of(t)) for t in ALL if t.code is None),
    )


def export_rows() -> str:
    """One table row for each kind of line of an export, with its members."""
    from vestig.store.portable.lines import FORMS, Header, Trailer

    def said(line: type) -> str:
        doc = inspect.cleandoc(line.__doc__ or "").partition("\n\nAttributes:")[0]
        return " ".join(doc.split())

    lines = [
        ("header", said(Header), Header.__struct_fields__),
        *((form.kind, form.table.says, form.members) for form in FORMS.values()),
        ("end", said(Trailer), Trailer.__struct_fields__),
    ]
    return _rows(
        ("`record`", "a line is", "members"),
        (
            (f"`{kind}`", says, ", ".join(f"`{name}`" for name in members))
            for kind, says, members in lines
        ),
    )


def signal_rows() -> str:
    """One table row for each term that the core computes, in the order in which they are summed."""
    from vestig.config.weights import SIGNALS, TABLE

    return _rows(
        ("Term", "What it measures"),
        ((f"`{name}`", TABLE[name].definition) for name in SIGNALS),
    )


def learned_rows() -> str:
    """One table row for each set of questions: what the learned weights find of it."""
    from vestig.config.weights import LEARNED, WeightsFile

    metrics = {"hit@1": "hit@1", "recall@5": "R@5", "recall@10": "R@10", "mrr": "MRR"}
    return _rows(
        ("Set", "Questions", *metrics.values()),
        (
            (name, f"{row['questions']:g}", *(f"{row[metric]:.1f}" for metric in metrics))
            for name, row in WeightsFile.read(LEARNED).figures.items()
        ),
    )


def confidence_rows() -> str:
    """One table row for each set of questions: how good confidence and score are."""
    from vestig.recall.confidence import fits

    others = ("foreign", "removed", "unanswerable")

    def cells(figures: Mapping[str, float], names: Iterable[str]) -> Iterator[str]:
        return (f"{figures[name]:.3f}" if name in figures else "–" for name in names)

    return _rows(
        (
            "Set",
            "Questions",
            *(f"AUROC {name}" for name in others),
            "Error of the confidence",
            "Kept",
            *(f"Passed {name}" for name in others),
            "Error of the score",
        ),
        (
            (
                name,
                str(one["questions"]),
                *cells(one["auroc"], others),
                f"{one['calibration_error']:.3f}",
                *cells(one["above_half"], ("answerable", *others)),
                f"{one['score_error']:.3f}",
            )
            for name, one in fits().figures.items()
        ),
    )


def _judge() -> Any:
    return json.loads((ROOT / "python/vestig/data/judge.json").read_text("utf-8"))


def judge_rows() -> str:
    """One table row for each set of questions: what recall finds without the judge and with it."""
    columns = (
        ("hit@1", "hit@1", 1),
        ("recall@5", "R@5", 1),
        ("recall@10", "R@10", 1),
        ("auroc unanswerable", "AUROC unanswerable", 100),
        ("auroc foreign", "AUROC foreign", 100),
        ("likely answerable", "answerable called likely", 100),
        ("likely unanswerable", "unanswerable", 100),
        ("likely foreign", "foreign", 100),
    )

    def cell(one: Mapping[str, Mapping[str, float]], name: str, factor: int) -> str:
        values = [one[side].get(name) for side in ("without", "with")]
        return " → ".join("–" if v is None else f"{v * factor:.1f}" for v in dict.fromkeys(values))

    return _rows(
        ("Set", *(head for _, head, _ in columns)),
        (
            (name, *(cell(one, metric, factor) for metric, _, factor in columns))
            for name, one in _judge()["figures"].items()
        ),
    )


def version_rows() -> str:
    """One table row for each set of questions: with versions in the order of the ranking, and with
    the newest first."""
    figures = json.loads((ROOT / "python/vestig/data/versions.json").read_text("utf-8"))["figures"]

    def cell(one: Mapping[str, Mapping[str, float]], name: str) -> str:
        values = [one[side].get(name) for side in ("before", "after")]
        return " → ".join("–" if v is None else f"{v:.1f}" for v in dict.fromkeys(values))

    metrics = ("hit@1", "newest first")
    return _rows(
        ("Set", *metrics),
        ((name, *(cell(one, metric) for metric in metrics)) for name, one in figures.items()),
    )


def silence_rows() -> str:
    """One table row for each set and kind of questions: how many brought something."""
    kinds = {
        "unanswerable": "nothing answers",
        "foreign": "are of another store",
        "answerable": "have an answer",
    }
    silence = _judge()["silence"]
    levels = list(next(iter(silence.values())))
    return _rows(
        ("Set", "Questions that", *levels),
        (
            (name, says, *(f"{100 * one[level][kind]:.1f}" for level in levels))
            for name, one in silence.items()
            for kind, says in kinds.items()
            if kind in one[levels[0]]
        ),
    )


def _first_sentence(doc: str) -> str:
    """The first sentence of a docstring; a full stop inside of code ends none."""
    text = " ".join(doc.partition("\n\n")[0].split())
    ends = (found.start() + 1 for found in re.finditer(r"\. ", text))
    return text[: next((end for end in ends if text.count("`", 0, end) % 2 == 0), len(text))]


def prompt_rows() -> str:
    """One table row for each prompt: what it does, and what its template is given."""
    from vestig.config.service_sections import PROMPT_MEANINGS, PROMPT_VALUES

    return _rows(
        ("Name", "Does", "Placeholders `{{…}}`"),
        (
            (f"`{name}`", PROMPT_MEANINGS[name], ", ".join(f"`{value}`" for value in values))
            for name, values in PROMPT_VALUES.items()
        ),
    )


def request_rows() -> str:
    """One table row for each field of a request of `retrieve`."""
    from vestig.calls.declaration import rows_of
    from vestig.surfaces.operation import operations

    (call,) = (one.call for one in operations() if one.name == "retrieve")
    return _rows(
        ("Field", "Meaning"),
        ((f"`{name}`", row.help) for name, row in rows_of(call).items()),
    )


def tenant_rows() -> str:
    """One table row for each command that acts on tenants or their database."""
    from vestig.surfaces.operation import operations

    return _rows(
        ("Command", "Does"),
        (
            (f"`vestig {one.name}`", _first_sentence(one.help))
            for one in operations()
            if one.name.startswith(("tenant ", "fleet "))
        ),
    )


def error_rows() -> str:
    """One table row for each error: its bases, code, exit status and status of HTTP, and when."""
    import vestig.errors
    from vestig.surfaces.wire import EXIT_CODES, STATUS

    def row(error: type[vestig.errors.VestigError]) -> tuple[str, ...]:
        bases = ", ".join(f"`{b.__name__}`" for b in error.__bases__ if b is not Exception)
        code, doc = error.code, inspect.getdoc(error) or ""
        status = str(EXIT_CODES.get(code, 1)), str(STATUS.get(code, 500))
        when = " ".join(doc.partition("\n\n")[0].split())
        return f"`{error.__name__}`", bases, f"`{code}`", *status, when

    names = sorted(vestig.errors.__all__)
    return _rows(
        ("Class", "Is a", "Code", "Exit", "HTTP", "When"),
        (row(getattr(vestig.errors, name)) for name in names),
    )


def route_rows() -> str:
    """One table row for each operation that has a route: its method and path, and what it does."""
    from vestig.surfaces.operation import operations

    return _rows(
        ("Route", "Method", "Does"),
        (
            (f"`/{one.path.split(' ')[1]}`", one.path.split(" ")[0], _first_sentence(one.help))
            for one in operations()
            if one.path
        ),
    )


def call_rows() -> str:
    """One table row for each public call, in the order of the code: the beginning of its signature,
    and the first sentence of its docstring."""
    import vestig
    from vestig.api.admin import Admin
    from vestig.api.graph import Graph
    from vestig.api.items import Items

    rows = []
    for place, owner in (
        ("", vestig.Vestig),
        ("items.", Items),
        ("graph.", Graph),
        ("admin.", Admin),
    ):
        for name, member in vars(owner).items():
            doc = inspect.getdoc(member)
            if name.startswith("_") or doc is None:
                continue
            shown = f"{place}{name}"
            if inspect.isfunction(member):
                given = list(inspect.signature(member).parameters.values())[1:]
                needed = [one.name for one in given if one.default is one.empty]
                more = ["…"] if len(needed) < len(given) else []
                shown += f"({', '.join(needed + more)})"
            rows.append((f"`{shown}`", _first_sentence(doc)))
    return _rows(("Call", "Does"), rows)


def filter_rows() -> str:
    """One table row for each field of the filter."""
    from vestig.calls.filter import FIELDS

    return _rows(("Field", "Meaning"), ((f"`{f.name}`", f.help) for f in FIELDS.values()))


def help_texts() -> list[tuple[str, str]]:
    """(command, its --help) of every command, depth first, 80 columns wide."""
    import click

    from vestig.surfaces.cli import cli

    found: list[tuple[str, str]] = []

    def visit(command: click.Command, path: str, parent: click.Context | None) -> None:
        context = click.Context(
            command,
            info_name=path.rpartition(" ")[2],
            parent=parent,
            terminal_width=80,
            **command.context_settings,
        )
        # where the store of most people is; its folder depends on who asks
        context.meta["vestig.globals"] = {"store": "~/.local/share/vestig"}
        found.append((path, command.get_help(context)))
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                if child is not None and not child.hidden:
                    visit(child, f"{path} {name}", context)

    visit(cli, "vestig", None)
    return found


_EVERYWHERE = re.compile(
    r"^ +(?:-h, )?--(store|config|namespace|profile P|json|help)\b.*\n?", re.MULTILINE
)


def help_pages() -> str:
    """Headings and help texts of all commands; options that all share are shown once, and a short
    form names the command whose text is its own."""
    from vestig.surfaces.operation import operations

    long_forms = {f"vestig {op.short}": op.name for op in operations() if op.short}
    pages = []
    for path, text in help_texts():
        if path in long_forms:
            pages.append(f"## `{path}`\n\nThe same command as `vestig {long_forms[path]}`.")
            continue
        own = text if path == "vestig" else _EVERYWHERE.sub("", text)
        own = own.removesuffix("Options:\n").replace("Options:\n\n", "").rstrip()
        pages.append(f"## `{path}`\n\n```text\n{own}\n```")
    return "\n\n".join(pages)


GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"named_peers": named_peer_rows},
    "docs/comparison.md": {"peers": peer_rows, "peer_costs": peer_cost_rows},
    "docs/export.md": {"lines": export_rows},
    "docs/ledger.md": {"chained": chained_table_rows, "plain": plain_table_rows},
    "docs/configuration.md": {
        "terms": term_rows,
    },
    "docs/python.md": {"calls": call_rows, "filter": filter_rows},
    "docs/ranking.md": {"signals": signal_rows},
    "docs/errors.md": {"errors": error_rows},
    "docs/fleet.md": {"tenants": tenant_rows},
    "docs/http.md": {"routes": route_rows},
    "docs/models.md": {"prompts": prompt_rows},
    "docs/retrieve.md": {"request": request_rows},
    "docs/judge.md": {
        "judge": judge_rows,
        "silence": silence_rows,
        "versions": version_rows,
    },
    "docs/evaluation.md": {
        "learned": learned_rows,
        "confidence": confidence_rows,
    },
}


_ARGS = re.compile(r"(?m)^ {8}Args:\n(?:(?: {12}.*)?\n)+?(?=\n|^ {8}\S)")


def declared_calls() -> dict[str, tuple[str, type[Any]]]:
    """The public calls that are declared: name → (module of its class, declaration)."""
    from vestig.calls.files import ImportRequest
    from vestig.surfaces.operation import operations

    places = {
        "": "store",
        "admin": "admin",
        "graph": "graph",
        "items": "items",
        "rules": "rules",
        "anchors": "anchors",
        "branches": "branches",
    }
    found: dict[str, tuple[str, type[Any]]] = {"import_": ("store", ImportRequest)}
    for operation in operations():
        if operation.arguments is not None:
            place, _, method = operation.arguments.method.rpartition(".")
            found[f"{place}.{method}".lstrip(".")] = (places[place], operation.arguments.call)
    return found


def described(call: Callable[..., object], declaration: type[Any]) -> str:
    """The section Args of a docstring, from the declaration of its call."""
    from vestig.calls.declaration import rows_of
    from vestig.calls.filter import FIELDS

    rows = {**FIELDS, **rows_of(declaration)}
    lines = [" " * 8 + "Args:"]
    for name in inspect.signature(call).parameters:
        if name != "self":
            text = f"{name}: {rows[name].help}"
            lines += textwrap.wrap(
                text,
                100,
                initial_indent=" " * 12,
                subsequent_indent=" " * 16,
                break_on_hyphens=False,
            )
    return "\n".join(lines) + "\n"


def with_docstrings(
    source: str, calls: Mapping[str, tuple[Callable[..., object], type[Any]]]
) -> str:
    """A module of `api` whose docstrings say of each argument what its declaration says."""
    lines = source.splitlines(keepends=True)
    for node in reversed(
        [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    ):
        if node.name in calls:
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno
            text = "".join(lines[first:last])
            made = _ARGS.sub(lambda _, name=node.name: described(*calls[name]), text, count=1)
            lines[first:last] = [made]
    return "".join(lines)


def refreshed_api(path: Path) -> str:
    """What a module of `api` should hold."""
    from vestig.api import admin, anchors, branches, graph, items, rules, store

    classes = {
        "store": store.Vestig,
        "admin": admin.Admin,
        "graph": graph.Graph,
        "items": items.Items,
        "rules": rules.Rules,
        "anchors": anchors.Anchors,
        "branches": branches.Branches,
    }
    calls = {
        name.rpartition(".")[2]: (getattr(classes[place], name.rpartition(".")[2]), declaration)
        for name, (place, declaration) in declared_calls().items()
        if place == path.stem
    }
    return with_docstrings(path.read_text("utf-8"), calls)


API = tuple(
    ROOT / "python/vestig/api" / f"{name}.py"
    for name in ("store", "items", "rules", "anchors", "branches", "graph", "admin")
)


def refreshed(path: Path) -> str:
    """What the page should hold."""
    makers = GENERATED[path.relative_to(ROOT).as_posix()]
    return replaced(path.read_text("utf-8"), {name: make() for name, make in makers.items()})


if __name__ == "__main__":
    import documents

    for path in API:
        path.write_text(refreshed_api(path), "utf-8")
    for page in GENERATED:
        (ROOT / page).write_text(refreshed(ROOT / page), "utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        with tempfile.TemporaryDirectory() as folder:
            try:
                path.write_text(documents.rewritten(path, Path(folder)), "utf-8")
            except ImportError as error:
                if not documents.lacks_extra(error):
                    raise
                sys.stderr.write(f"{path.name} stays as it is: {error}\n")
