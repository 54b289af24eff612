"""The site: the pages of docs/ and the documents of the root, with links that lead within it.

`python tests/docs_site.py [ZENSICAL]` (or `make docs`) writes the pages to build/pages and, where
Zensical is installed (the extra `site`), builds them to build/site. tests/test_docs_site.py checks
pages, links and the contents without building. A page may hold `<!-- site:NAME -->`, in whose place
the site has a text that is made for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import docs_blocks

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "zensical.toml"
BUILD = ROOT / "build"
# Documents of the root and their pages; what is no page is copied.
_PAGES_OF_ROOT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.txt",
    "NOTICE": "notice.txt",
}
_COPIED = (".css", ".svg")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
_SOURCE_OF_IMAGE = re.compile(r'(src=")([^"]+)(")')
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
# A part of a page that stands in the site alone.
_PART = re.compile(r"<!-- site:(\w+) -->")
_NOT_OF_SLUG = re.compile(r"[^\w\- ]")


_PARTS: dict[str, Callable[[], str]] = {
    "help": docs_blocks.help_pages,
    "keys": docs_blocks.key_rows,
    "parameters": docs_blocks.parameter_tables,
}


class Link(NamedTuple):
    """A link as it stands in a document: its line and what it leads to."""

    line: int
    target: str


def documents() -> dict[str, str]:
    """Path of each document, seen from the root → its page, seen from the pages."""
    found = dict(_PAGES_OF_ROOT)
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", *_COPIED):
            inside = path.relative_to(ROOT / "docs").as_posix()
            found[f"docs/{inside}"] = inside
    return found


def without_code(text: str) -> str:
    """The text with blanks in the place of code, every line where it was."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return _INLINE_CODE.sub(blank, _FENCE.sub(blank, text))


def links(text: str) -> Iterator[Link]:
    """Links and images of a Markdown text, those in code left out."""
    plain = without_code(text)
    for pattern in (_LINK, _SOURCE_OF_IMAGE):
        for found in pattern.finditer(plain):
            yield Link(plain.count("\n", 0, found.start()) + 1, found[2])


def is_outside(target: str) -> bool:
    """Return whether a link leads to another site."""
    return re.match(r"[a-z][a-z+.-]*:", target) is not None


def resolved(document: str, target: str) -> tuple[str, str]:
    """Path, seen from the root, and anchor of a link that stands in a document.

    Example:
        >>> resolved("docs/api/open.md", "../python.md#writing")
        ('docs/python.md', 'writing')
    """
    path, _, anchor = target.partition("#")
    parts: list[str] = []
    for part in (PurePosixPath(document).parent / path).parts if path else (document,):
        if part == "..":
            if not parts:
                return target, anchor
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts), anchor


def anchors(text: str) -> set[str]:
    """Anchors of a Markdown text: those of its headings, which the site and repository pages make
    alike, and those written out."""
    plain = _FENCE.sub("", text)
    found = set(_ANCHOR.findall(plain))
    counts: dict[str, int] = {}
    for heading in _HEADING.findall(plain):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = _NOT_OF_SLUG.sub("", words.lower()).strip().replace(" ", "-")
        again = counts.get(slug, 0)
        counts[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def page_text(document: str, text: str) -> str:
    """A document as a page: links to other documents lead to their pages, and what is made for the
    site alone stands in it."""
    pages = documents()
    place = PurePosixPath(pages[document]).parent

    def moved(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        path, anchor = resolved(document, target)
        if is_outside(target) or target.startswith("#") or path not in pages:
            return found[0]
        up = "../" * len(place.parts)
        return f"{before}{up}{pages[path]}{'#' + anchor if anchor else ''}{after}"

    plain = without_code(text)
    made, end = [], 0
    places = sorted(
        (found.span(), moved(found))
        for pattern in (_LINK, _SOURCE_OF_IMAGE)
        for found in pattern.finditer(plain)
    )
    for (start, stop), new in places:
        # the words of a link may be code, which the plain text has not
        own = text[start:stop]
        target = new[new.rindex("](") + 2 : -1] if new.startswith("[") else new[5:-1]
        old = own[own.rindex("](") + 2 : -1] if own.startswith("[") else own[5:-1]
        made += [text[end:start], own[: own.rindex(old)], target, own[own.rindex(old) + len(old) :]]
        end = stop
    return whole("".join([*made, text[end:]]))


def whole(text: str) -> str:
    """`text` with what is made for the site alone. KeyError: a part that nobody makes."""
    return _PART.sub(lambda part: _PARTS[part[1]](), text)


def nav_pages(entries: Any = None) -> Iterator[str]:
    """The pages of the table of contents, in order."""
    for entry in settings()["nav"] if entries is None else entries:
        for place in entry.values():
            if isinstance(place, str):
                yield place
            else:
                yield from nav_pages(place)


def settings() -> dict[str, Any]:
    """The settings of the site."""
    project: dict[str, Any] = tomllib.loads(SETTINGS.read_text("utf-8"))["project"]
    return project


def write_pages(folder: Path) -> None:
    """Writes every page into a folder, which holds nothing else afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    for document, page in documents().items():
        place = folder / page
        place.parent.mkdir(parents=True, exist_ok=True)
        if page.endswith(".md"):
            place.write_text(page_text(document, (ROOT / document).read_text("utf-8")), "utf-8")
        else:
            shutil.copyfile(ROOT / document, place)


def main(program: Path) -> int:
    """Writes the pages and builds the site with this program."""
    write_pages(BUILD / "pages")
    if not program.exists():
        sys.stdout.write("pages: build/pages; for the site: pip install -e '.[site]'\n")
        return 0
    command = [str(program), "build", "--clean", "--strict", "--config-file", str(SETTINGS)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    named = sys.argv[1:] or [str(Path(sys.executable).parent / "zensical")]
    raise SystemExit(main(Path(named[0])))
