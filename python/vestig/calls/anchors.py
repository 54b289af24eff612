"""Anchors: the sources that a memory speaks of, as a caller writes them, and the calls on them."""

import re
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from vestig.arguments import label, listed
from vestig.calls.argument import (
    NO_FACTS,
    Facts,
    Flag,
    Integer,
    Label,
    Texts,
    one_or_more,
)
from vestig.calls.declaration import InNamespace, MemoryId, Request
from vestig.calls.filter import ScopeNames
from vestig.errors import Description, ValidationError, kind_of
from vestig.lazy_pattern import lazy_pattern
from vestig.types import AnchorKind

# Of one commit.
ANCHORS_MAX: Final = 20
_TARGET_CHARS_MAX: Final = 1_000
_LINE_MAX: Final = 10_000_000
_FORM: Final = (
    "path, path:10, path:10-30, an address with its hash behind a space, or a memory's id"
)
_MEMORY: Final = lazy_pattern(r"mem_[0-9a-f]{8}[0-9a-f-]{0,28}")
_URL: Final = lazy_pattern(r"(https?://\S+)(?:\s+(\S+))?", re.IGNORECASE)
_LINES: Final = lazy_pattern(r"(.+?)(?::(\d{1,8})(?:-(\d{1,8}))?)?", re.DOTALL)


class GivenAnchor(NamedTuple):
    """An anchor as a caller names it: a path, an address with the hash of what stands there, or an
    id of a memory or its beginning. `lines`: first and last, None for all. `optional`: where it is
    none, the memory is stored without it. `committed`: of a file that the branch changed, whether
    it stands so in a commit. `branch`: the one whose file it is, where that is not checked out."""

    kind: AnchorKind
    target: str
    lines: tuple[int, int] | None = None
    hash: str = ""
    optional: bool = False
    committed: bool | None = None
    branch: str | None = None


def parse_anchor(field: str, text: str) -> GivenAnchor:
    """The anchor that a text names.

    Raises:
        ValidationError: it names none.

    Example:
        >>> parse_anchor("anchor", "src/db.py:10-30").lines
        (10, 30)
        >>> parse_anchor("anchor", "https://example.org/spec 9f2c").hash
        '9f2c'
    """
    text = (label(field, text, _TARGET_CHARS_MAX) or "").strip()
    if not text or not text.isprintable():
        raise ValidationError(field, text, _FORM)
    if _MEMORY.fullmatch(text):
        return GivenAnchor(AnchorKind.MEMORY, text)
    if match := _URL.fullmatch(text):
        address, hash = match.groups()
        if hash is None:
            hint = "write any word that changes when what stands there does, such as its SHA-256"
            raise ValidationError(field, text, "an address and behind a space its hash", hint)
        return GivenAnchor(AnchorKind.URL, address, hash=hash)
    match = _LINES.fullmatch(text)
    assert match is not None, "every text is a path"
    path, first, last = match[1], match[2], match[3] or match[2]
    if first is None:
        return GivenAnchor(AnchorKind.FILE, path)
    lines = (int(first), int(last))
    if not 1 <= lines[0] <= lines[1] <= _LINE_MAX:
        raise ValidationError(field, text, "lines from 1, the first before the last")
    return GivenAnchor(AnchorKind.FILE, path, lines)


class Anchors(Texts, frozen=True, kw_only=True):
    """One anchor, or a list of them; most are one."""

    brief: ClassVar = {"type": "string"}

    @property
    def expected(self) -> str:
        return f"an anchor or a list of anchors: {_FORM}"

    def check(self, field: str, value: Any) -> Any:
        value = listed(value)
        if not isinstance(value, (list, tuple)):
            raise ValidationError(field, kind_of(value), self.expected)
        if len(value) > ANCHORS_MAX:
            raise ValidationError(
                field, Description(f"{len(value)} anchors"), f"at most {ANCHORS_MAX}"
            )
        found = []
        for at, item in enumerate(value):
            if isinstance(item, GivenAnchor):
                found.append(item)
                continue
            if not isinstance(item, str):
                raise ValidationError(f"{field}[{at}]", kind_of(item), _FORM)
            found.append(parse_anchor(f"{field}[{at}]", item))
        return tuple(dict.fromkeys(found))

    def _one(self) -> dict[str, Any]:
        return Label("", blank=False, chars_max=_TARGET_CHARS_MAX).schema()

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        found = one_or_more(self._one(), self._one())
        found["anyOf"][1]["maxItems"] = ANCHORS_MAX
        return found


class AnchorsRequest(Request, frozen=True, kw_only=True):
    """The anchors of one memory."""

    call: ClassVar = "show"

    id: MemoryId
    namespace: InNamespace = None


class RefreshRequest(Request, frozen=True, kw_only=True):
    """Anchors that are taken again as their sources are."""

    call: ClassVar = "refresh"

    id: MemoryId
    namespace: InNamespace = None


class StaleRequest(Request, frozen=True, kw_only=True):
    """Memories whose sources changed or are gone."""

    call: ClassVar = "stale"

    scope: Annotated[
        tuple[str, ...] | None, ScopeNames("Only of these scopes; of all when absent.", "--scope")
    ] = None
    deprecate: Annotated[bool, Flag("End them, each by an event that says why.", "--deprecate")] = (
        False
    )
    limit: Annotated[
        int, Integer("Most memories, at most 1000.", "--limit", most=1000, default_text="100")
    ] = 100
    namespace: InNamespace = None
