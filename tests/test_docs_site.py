"""The site: every link leads somewhere, every page stands in the contents, every call on a page."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import docs_site
import vestig
from tables import each
from vestig.api.admin import Admin
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.errors import VestigError

ROOT = docs_site.ROOT
DOCUMENTS = [name for name in docs_site.documents() if name.endswith(".md")]
_OBJECT = re.compile(r"^::: (\S+)$", re.MULTILINE)


def read(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def broken(document: str, text: str) -> list[str]:
    """Links of a document that lead to no file, no anchor, or no page of the site."""
    pages, found = docs_site.documents(), []
    for link in docs_site.links(text):
        if docs_site.is_outside(link.target):
            continue
        path, anchor = docs_site.resolved(document, link.target)
        place = ROOT / path
        if not place.is_file() or path not in pages:
            found.append(f"{document}:{link.line}: no page {link.target}")
        elif anchor and anchor not in docs_site.anchors(docs_site.whole(place.read_text("utf-8"))):
            found.append(f"{document}:{link.line}: no anchor {link.target}")
    return found


@each("document", DOCUMENTS)
def test_every_link_leads_to_a_page_and_an_anchor(document: str) -> None:
    assert broken(document, read(document)) == []


@each("document", DOCUMENTS)
def test_a_fence_names_one_language_at_most(document: str) -> None:
    """The site takes one with another word behind it for text, and what follows for code."""
    fences = [line for line in read(document).splitlines() if line.startswith("```")]
    assert [line for line in fences if not re.fullmatch(r"`{3,}[\w-]*", line)] == []


@each("document", DOCUMENTS)
def test_every_link_of_a_page_of_the_site_leads_within_it(document: str) -> None:
    pages = docs_site.documents()
    text = docs_site.page_text(document, read(document))
    targets = [link.target for link in docs_site.links(text)]
    within = [one.partition("#")[0] for one in targets if not docs_site.is_outside(one)]
    places = [docs_site.resolved(pages[document], one)[0] for one in within if one]
    assert [place for place in places if place not in pages.values()] == []


def test_a_broken_link_is_noticed() -> None:
    text = "[a](docs/recall.md) [b](docs/none.md) [c](docs/recall.md#none)\n`[d](none.md)`\n"
    assert broken("README.md", text) == [
        "README.md:1: no page docs/none.md",
        "README.md:1: no anchor docs/recall.md#none",
    ]


def test_links_of_the_readme_lead_within_the_site() -> None:
    text = 'See [`the` page](docs/recall.md#signals), [us](LICENSE), <img src="docs/a.svg">.'
    assert docs_site.page_text("README.md", text) == (
        'See [`the` page](recall.md#signals), [us](licence.txt), <img src="docs/a.svg">.'
    )
    back = "[start](../../README.md), [words](../concepts.md)"
    assert docs_site.page_text("docs/api/open.md", back) == (
        "[start](../index.md), [words](../concepts.md)"
    )


def test_every_page_stands_once_in_the_contents() -> None:
    pages = [page for page in docs_site.documents().values() if page.endswith(".md")]
    listed = sorted(docs_site.nav_pages())
    assert listed == sorted(pages), "each page of docs/ stands under `nav` in zensical.toml, once"


def test_nothing_is_asked_of_other_sites() -> None:
    settings = docs_site.settings()
    assert settings["theme"]["font"] is False
    assert settings["plugins"]["mkdocstrings"]["handlers"]["python"]["inventories"] == []
    assert not [one for one in settings.get("extra_javascript", []) if docs_site.is_outside(one)]
    for document in docs_site.documents():
        if document.endswith((".css", ".svg")):
            assert "url(http" not in read(document)
            assert "href=" not in read(document)


def described() -> list[str]:
    """Names of the objects that the pages of the interface describe."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    return [name for page in pages for name in _OBJECT.findall(page.read_text("utf-8"))]


def found(name: str) -> Any:
    """The object of a dotted name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            place: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            place = getattr(place, part)
        return place
    raise LookupError(name)


def test_every_public_call_and_value_is_described_once() -> None:
    names = described()
    assert len(names) == len(set(names))
    objects = [found(name) for name in names]
    members = inspect.getmembers(vestig.Vestig, inspect.isfunction)
    calls = [call for name, call in members if not name.startswith("_")]
    values = [getattr(vestig, name) for name in vestig.__all__ if name != "__version__"]
    wanted = [*calls, Graph, Admin, Items, *values]

    def is_elsewhere(one: object) -> bool:
        # errors stand with their codes in docs/errors.md, the store as its calls
        return inspect.isclass(one) and issubclass(one, (VestigError, vestig.Vestig))

    assert [one for one in wanted if one not in objects and not is_elsewhere(one)] == []


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("*.svg")), ids=lambda p: p.name)
def test_a_picture_says_what_it_shows_and_has_colours_for_both_schemes(picture: Path) -> None:
    text = picture.read_text("utf-8")
    assert "<title" in text
    assert "<desc" in text
    assert "prefers-color-scheme: dark" in text
