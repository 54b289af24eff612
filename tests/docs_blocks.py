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


_ORIGINS = re.compile(r"(?<=^ranking\.weights\.)(?:chat_peer|chat_agent|document|note)(?=\.)")


def written(key: str) -> str:
    """A key as its row names it: weights of all origins have one row."""
    return _ORIGINS.sub("<origin>", key)


def _origin(key: str) -> str:
    return key.split(".")[2]


def _value(found: Mapping[str, object]) -> str:
    """One default, or one for each origin where they differ."""
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in found.items()}
    if len(set(texts.values())) == 1:
        return f"`{next(iter(texts.values()))}`"
    return ", ".join(f"{_origin(key)} `{text}`" for key, text in texts.items())


def key_rows() -> str:
    """One table row for each configuration key, from the schema."""
    from vestig.config.meanings import MEANINGS
    from vestig.config.schema import key_specs

    lines = ["| Key | Default | Allowed | Meaning |", "|---|---|---|---|"]
    rows: dict[str, dict[str, object]] = {}
    for key, spec in key_specs().items():
        rows.setdefault(written(key), {})[key] = spec.default
    for name, found in rows.items():
        key = next(iter(found))
        meaning = MEANINGS[key][0]
        if key != name:
            meaning = meaning.replace(f"of {_origin(key)}", "of this origin")
        cells = (f"`{name}`", _value(found), key_specs()[key].allowed, meaning)
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
