"""The generated parts of docs/: between `<!-- generated:NAME -->` and `<!-- end -->`.

`python tests/docs_blocks.py` (or `make docs`) writes them; tests/test_docs.py compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PART = re.compile(r"(<!-- generated:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def replaced(text: str, parts: Mapping[str, str]) -> str:
    """`text` with every generated part made anew. KeyError: a part that nobody makes."""
    return _PART.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}", text)


def key_rows() -> str:
    """One table row for each configuration key, from the schema."""
    from vestig.config.meanings import MEANINGS
    from vestig.config.schema import key_specs

    lines = ["| Key | Default | Allowed | Meaning |", "|---|---|---|---|"]
    for key, spec in key_specs().items():
        default = json.dumps(spec.default, ensure_ascii=False)
        cells = (f"`{key}`", f"`{default}`", spec.allowed, MEANINGS[key][0])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def help_texts() -> list[tuple[str, str]]:
    """(command, its --help) of every command, depth first, 80 columns wide."""
    import click

    from vestig.surfaces.cli import cli

    found: list[tuple[str, str]] = []

    def visit(command: click.Command, path: str, parent: click.Context | None) -> None:
        context = click.Context(
            command, info_name=path.rpartition(" ")[2], parent=parent, terminal_width=80
        )
        found.append((path, command.get_help(context)))
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                if child is not None and not child.hidden:
                    visit(child, f"{path} {name}", context)

    visit(cli, "vestig", None)
    return found


_EVERYWHERE = re.compile(r"^ +--(store|config|namespace|profile P|json|help)\b.*\n?", re.MULTILINE)


def help_pages() -> str:
    """Headings and help texts of all commands; options that all share are shown once."""
    pages = []
    for path, text in help_texts():
        own = text if path == "vestig" else _EVERYWHERE.sub("", text)
        own = own.removesuffix("Options:\n").replace("Options:\n\n", "").rstrip()
        pages.append(f"## `{path}`\n\n```text\n{own}\n```")
    return "\n\n".join(pages)


GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "docs/configuration.md": {"keys": key_rows},
    "docs/cli.md": {"help": help_pages},
}


def refreshed(path: Path) -> str:
    """What the page should hold."""
    makers = GENERATED[path.relative_to(ROOT).as_posix()]
    return replaced(path.read_text("utf-8"), {name: make() for name, make in makers.items()})


if __name__ == "__main__":
    for page in GENERATED:
        (ROOT / page).write_text(refreshed(ROOT / page), "utf-8")
