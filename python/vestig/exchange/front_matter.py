"""The front matter of a document: title, tags and date before its text."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vestig.arguments import SCOPE_CHARS_MAX, parse_time
from vestig.config.documents import parse
from vestig.errors import ValidationError
from vestig.lazy_pattern import lazy_pattern

_CHARS_MAX: Final = 64 * 1024
_BLOCK: Final = lazy_pattern(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", 24)
_TITLE, _TAGS, _DATES = "title", ("tags", "tag"), ("date", "created")


class FrontMatter(NamedTuple):
    """The fields that stand before a text.

    Args:
        body: where the text begins; 0 where there is no front matter.
        title: "" where there is none.
        date_us: of the document, in microseconds since 1970; None where there is none.
        left_out: how many other fields there are, and tags and dates that are none.
    """

    body: int = 0
    title: str = ""
    tags: tuple[str, ...] = ()
    date_us: int | None = None
    left_out: int = 0


def front_matter(text: str) -> FrontMatter:
    """The front matter of a document. What begins like one and is no YAML mapping is text.

    Example:
        >>> found = front_matter("---\\ntitle: Boats\\ntags: [sea]\\n---\\nLarch floats.")
        >>> found.title, found.tags, found.body
        ('Boats', ('sea',), 33)
    """
    block = _BLOCK.match(text, 0, _CHARS_MAX)
    if block is None:
        return FrontMatter()
    try:
        fields, _ = parse(block[1])
    except ValueError:
        return FrontMatter()
    if fields is None:
        return FrontMatter(body=block.end())
    if not isinstance(fields, dict):
        return FrontMatter()
    return _read({str(name).lower(): value for name, value in fields.items()}, block.end())


def _read(fields: dict[str, Any], body: int) -> FrontMatter:
    left_out = 0
    title, tags, date_us = "", dict[str, None](), None
    for name, value in fields.items():
        if value is None:
            continue
        if name == _TITLE and isinstance(value, (str, int, float)):
            title = " ".join(str(value).split())
        elif name in _TAGS:
            given = value if isinstance(value, list) else str(value).split(",")
            found = [_tag(one) for one in given]
            tags |= dict.fromkeys(one for one in found if one)
            left_out += found.count("")
        elif name in _DATES and (us := _time(value)) is not None:
            date_us = us if date_us is None or name == _DATES[0] else date_us
        else:
            left_out += 1
    return FrontMatter(body, title, tuple(tags), date_us, left_out)


def _tag(value: object) -> str:
    """A tag without its mark; "" of what is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    tag = str(value).strip().removeprefix("#")
    return tag if len(tag) <= SCOPE_CHARS_MAX and tag.isprintable() and "," not in tag else ""


def _time(value: object) -> int | None:
    try:
        return parse_time(value, "date")
    except ValidationError:
        return None
