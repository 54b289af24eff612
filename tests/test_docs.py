"""Documents are tests: examples run, generated parts are fresh, all public is named."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import docs_blocks
import docs_picture
import docs_site
import documents
import house
import vestig
import vestig.errors
from tables import each
from vestig.answers import ContextBlock
from vestig.api.admin import Admin
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.config import schema
from vestig.surfaces.operation import operations

ROOT = documents.ROOT
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [*(ROOT / name for name in documents.OF_ROOT), *sorted((ROOT / "docs").glob("*.md"))]
README_WORDS_MAX = 700
# Words of all pages of docs/, outside of what is generated from declarations.
PAGES_WORDS_MAX = 25_000


def read(path: Path) -> str:
    return path.read_text("utf-8")


def pages_with(*languages: str) -> list[Path]:
    return [p for p in PAGES if any(b.language in languages for b in documents.blocks(read(p)))]


@each("page", PAGES, ids=lambda p: p.name)
def test_a_page_begins_with_its_title(page: Path) -> None:
    assert read(page).startswith("# ")


def test_documents_have_examples() -> None:
    assert README in pages_with("python")
    assert README in pages_with("console")


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python", "console"), ids=lambda p: p.name)
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """The blocks of a page run in order in a fresh folder; README's a second time in the same."""
    for _ in range(2 if page == README else 1):
        with skipped_without_extra():
            for block, got in documents.replay(read(page), page.name, tmp_path):
                assert documents.same(got, block.text), (
                    f"{page.name}:{block.line}: `make docs` writes what is printed:\n{got}"
                )


def test_scores_are_compared_and_volatile_words_are_not() -> None:
    expected = (
        "[mem_3c0a1bb8-2196-48bd-a357-71e331331ac4] (score=0.0256, created=2026-11-22 19:51:11)"
    )
    assert documents.same(expected.replace("3c0a", "77aa").replace("19:51", "20:00"), expected)
    assert documents.same(expected.replace("0.0256", "0.0251"), expected)
    assert not documents.same(expected.replace("0.0256", "0.0276"), expected)
    assert not documents.same(expected.replace("score", "rank"), expected)


def modules() -> list[str]:
    found = ["vestig"]
    for info in pkgutil.walk_packages(vestig.__path__, "vestig."):
        if info.name not in ("vestig._core", "vestig.__main__"):
            found.append(info.name)
    return found


@contextmanager
def skipped_without_extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        if not documents.lacks_extra(error):
            raise
        pytest.skip(str(error))


@each("name", modules())
def test_docstring_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with skipped_without_extra():
        module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for found in doctest.DocTestFinder().find(module):
        # a run, even of nothing, looks at every source file that Python has read
        if found.examples:
            runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_docstring_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    named = [n for n in modules() if not n.startswith("vestig.integrations.")]
    tests = [t for n in named for t in finder.find(importlib.import_module(n)) if t.examples]
    assert len(tests) >= 20


@each("page", sorted(docs_blocks.GENERATED))
def test_generated_parts_are_fresh(page: str) -> None:
    path = ROOT / page
    assert read(path) == docs_blocks.refreshed(path), f"run `make docs`: {page} is out of date"


def test_a_stale_generated_part_is_noticed() -> None:
    text = "a\n<!-- generated:keys -->\nold\n<!-- end -->\nb\n"
    assert docs_blocks.replaced(text, {"keys": "new"}).split("\n")[2] == "new"
    with pytest.raises(KeyError):
        docs_blocks.replaced(text, {})


def test_the_picture_of_a_terminal_is_what_it_shows() -> None:
    assert docs_picture.drawn() == read(docs_picture.PICTURE), "make docs"


def test_every_configuration_key_is_documented() -> None:
    page = docs_site.whole(read(ROOT / "docs" / "configuration.md"))
    assert [key for key in schema.key_specs() if f"`{key}`" not in page] == []


def test_every_command_and_option_is_documented() -> None:
    page = docs_site.page_text("docs/cli.md", read(ROOT / "docs" / "cli.md"))
    for path, text in docs_blocks.help_texts():
        assert f"## `{path}`" in page
        for option in re.findall(r"^\s+(?:-\w, )?(--[a-z][a-z-]*)", text, re.MULTILINE):
            assert option in page, f"{path} {option}"


def test_what_is_made_for_the_site_is_not_committed() -> None:
    for name, part, made in (
        ("cli.md", "help", "## `vestig recall`"),
        ("configuration.md", "keys", "| **`recall.default_limit`** |"),
        ("configuration.md", "parameters", "### `walk`"),
    ):
        page = read(ROOT / "docs" / name)
        assert f"<!-- site:{part} -->" in page
        assert made not in page
        assert made in docs_site.whole(page)
    with pytest.raises(KeyError):
        docs_site.page_text("docs/cli.md", "<!-- site:nothing -->")


def test_the_page_of_http_names_every_route_and_what_has_none() -> None:
    page = read(ROOT / "docs" / "http.md")
    routes = [one.path.split(" ")[1] for one in operations() if one.path]
    assert [route for route in routes if f"`/{route}`" not in page] == []
    # an import streams a file, by a route of its own
    alone = {one.name.split()[0] for one in operations() if not one.path} - {"import"}
    said = " ".join(page.split())
    named = re.search(r" and errors\. Only ([^.]+) are the command line's alone", said)
    assert named is not None
    assert set(re.findall(r"`(\w+)`", named[1])) == alone


def test_every_error_is_documented() -> None:
    page = read(ROOT / "docs" / "errors.md")
    for name in vestig.errors.__all__:
        assert f"`{name}`" in page, name
        assert f"`{getattr(vestig.errors, name).code}`" in page, name


def test_every_public_method_is_in_the_page_of_calls() -> None:
    text = read(ROOT / "docs" / "python.md")
    groups = {"": vestig.Vestig, "items.": Items, "graph.": Graph, "admin.": Admin}
    methods = [g + n for g, place in groups.items() for n in dir(place) if not n.startswith("_")]
    assert [name for name in methods if f"`{name}" not in text and f".{name}(" not in text] == []


TERMS_MAX = 25


def test_every_term_is_defined_once() -> None:
    page = read(ROOT / "docs" / "concepts.md")
    terms = re.findall(r"^\*\*([^*]+?)\.\*\*", page, re.MULTILINE)
    assert 20 <= len(terms) <= TERMS_MAX
    assert len(terms) == len(set(terms))


INNER_WORDS = "Projection Witness Eligible Sitting Frame Marker Job Tombstone"


@each("word", INNER_WORDS.split())
def test_every_word_of_the_code_is_defined_once(word: str) -> None:
    assert (
        len(re.findall(rf"^\* \*\*{word}\*\*:", read(ROOT / "ARCHITECTURE.md"), re.MULTILINE)) == 1
    )


def test_tests_that_documents_name_exist() -> None:
    """The promise names a test for every sentence; each must be there."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", "\n".join(read(p) for p in PAGES))
    assert len(named) >= 10
    for path, function in named:
        tree = ast.parse(read(ROOT / path))
        names = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        assert function in names, f"{path}::{function}"


PLACES = ("", "python/vestig", "rust/vestig-core/src", "python/vestig/commit")


def test_paths_in_architecture_exist() -> None:
    """Every folder and source file that the page names in code type or in a road is there."""
    text = read(ROOT / "ARCHITECTURE.md")
    named = set(re.findall(r"`([\w/.-]+(?:/|\.(?:py|rs|json|md)))`", text))
    named |= set(re.findall(r"(?<![\w/])((?:commit|recall|session|store)/[\w/]+(?:\.py|/))", text))
    assert len(named) >= 40
    missing = [
        name
        for name in named
        if not any((ROOT / place / name).exists() for place in PLACES)
        and not list((ROOT / "rust").rglob(name))
    ]
    assert missing == []


def test_every_room_is_in_architecture() -> None:
    """The table of folders names all rooms in the order of the floors."""
    text = read(ROOT / "ARCHITECTURE.md")
    table = text.partition("| `times.py`")[2].partition("Beside the package:")[0]
    places = {
        room: max(table.find(f"`{room.replace('.', '/')}{end}`") for end in ("/", ".py"))
        for rooms in house.ROOMS
        for room in rooms
        if room not in ("times", "_core", "store", "", "__main__")
    }
    assert [room for room, place in places.items() if place < 0] == []
    floors = [(house.FLOORS[room], room) for room in sorted(places, key=places.__getitem__)]
    assert [floor for floor, _ in floors] == sorted(floor for floor, _ in floors)


def test_readme_is_short() -> None:
    assert len(read(README).split()) <= README_WORDS_MAX


def words(text: str) -> list[str]:
    """Words of a page outside of its generated parts; a bar of a table or a sign alone is none."""
    return [word for word in docs_blocks.written(text).split() if re.search(r"\w", word)]


def test_pages_are_short() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    assert sum(len(words(read(page))) for page in pages) <= PAGES_WORDS_MAX


def test_generated_parts_are_not_counted() -> None:
    shown = "\n::: vestig.types.Edge\n    options:\n      heading_level: 3\n"
    text = f"| a | b |\n<!-- generated:keys -->\nc d e\n<!-- end -->\n{shown}\nf\n"
    assert words(text) == ["a", "b", "f"]


def test_paths_in_contributing_exist() -> None:
    """Every path below a folder of the root that the page names in code type is there."""
    named = set(re.findall(r"`((?:python|rust|tests|benches|docs)/[\w/.-]+)", read(CONTRIBUTING)))
    assert len(named) >= 15
    # NAME stands for the one that is added
    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []


def test_readme_has_the_two_commands_that_ci_runs() -> None:
    text = read(README)
    for name in ("demo", "test"):
        assert len(re.findall(rf"<!-- ci:{name} -->\n```sh\n[^`]+```", text)) == 1


DEGRADATIONS = {
    "clock_stepped_back",
    "deadline_hit",
    "embedding_deferred",
    "enrichment_pending",
    "hook_failed",
    "llm_budget",
    "llm_failed",
    "llm_unavailable",
    "partial_backend",
    "projection_rebuilt",
    "projection_stale",
    "unembedded_skipped",
}


def test_the_documented_degradations_are_those_that_the_code_can_report() -> None:
    package = "\n".join(read(p) for p in (ROOT / "python" / "vestig").rglob("*.py"))
    reported = {code for code in DEGRADATIONS if f'"{code}"' in package}
    documented = {code for code in DEGRADATIONS if f"`{code}`" in read(ROOT / "docs" / "errors.md")}
    assert documented == reported


def test_every_field_of_a_context_is_documented() -> None:
    table = read(ROOT / "docs" / "context.md").partition("| Field of `context`")[2]
    rows = [line for line in table.partition("\n\n")[0].split("\n") if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(ContextBlock.__struct_fields__)
    (left_out,) = (row for row in rows if row.startswith("| `left_out`"))
    assert all(f"`{name}`" in left_out for name in ("neighbour", "neighbours", "associated"))


def test_make_docs_writes_what_examples_print(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    code = "```python\nprint(6 * 7)\n```\n\n```text\n{}\n```\n\n```console\n$ echo a\n{}\n```\n"
    page.write_text(code.format("41", "b"), "utf-8")
    assert documents.rewritten(page, tmp_path) == code.format("42", "a")
