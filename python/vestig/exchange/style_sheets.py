"""Rules of style sheets that hide elements: which element a browser does not show.

A rule counts as hiding where its selector is a name, classes and an id alone, outside every block
such as `@media`. One that may show an element counts as showing it, whatever its selector says
beside the last name, classes and id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern

_COMMENT: Final = lazy_pattern(r"/\*.*?(?:\*/|\Z)", 16)  # re.DOTALL
_COMPOUND: Final = lazy_pattern(r"(?:\*|[A-Za-z][\w-]*)?(?:[.#][\w-]+)*")
_PART: Final = lazy_pattern(r"[.#]?[\w-]+")
_PSEUDO: Final = lazy_pattern(r"::?[\w-]+(?:\([^()]*\))?|\[[^\]]*\]")
_BRACE: Final = lazy_pattern(r"[{}]")
_BREAKS: Final = lazy_pattern(r"[\s>+~]+")
_DECLARATION: Final = lazy_pattern(
    r"(?:^|;)\s*(display|visibility)\s*:\s*([\w-]+)\s*(!\s*important)?\s*(?=;|\Z)"
)
_HIDING: Final = {"display": ("none",), "visibility": ("hidden", "collapse")}
_INHERITED: Final = ("inherit", "unset")

# How much a declaration weighs: important, of the element itself, ids, classes, names, place.
Weight = tuple[bool, bool, int, int, int, int]


class _Rule(NamedTuple):
    """`is_exact`: it holds for every element that its names fit."""

    tag: str
    id: str
    classes: frozenset[str]
    is_exact: bool
    weight: Weight
    hides: bool


class Shown(NamedTuple):
    """Return of `StyleSheet.shown`: whether an element has a box, and whether what stands in it is
    visible; None = as in the element around it."""

    is_displayed: bool
    is_visible: bool | None


class StyleSheet:
    """The rules of a document that say `display` or `visibility`.

    Example:
        >>> sheet = StyleSheet()
        >>> sheet.add(".off, p.note { display: none } @media print { .in { display: none } }")
        >>> [sheet.shown("p", {"class": name}).is_displayed for name in ("off", "note", "in", "")]
        [False, False, True, True]
    """

    def __init__(self) -> None:
        # by property and names: of rules with the same names the one that wins
        self._rules: dict[tuple[str, str, str, frozenset[str]], _Rule] = {}
        self._index: dict[tuple[str, str], list[_Rule]] | None = None
        self._place = 0

    def add(self, text: str, *, is_certain: bool = True) -> None:
        """Adds a style sheet; `is_certain`: it holds for what is read on a screen."""
        self._index = None
        for selectors, block, is_nested in _blocks(_COMMENT.sub(" ", text)):
            declarations = list(_declarations(block.lower()))
            if not declarations:
                continue
            for selector in selectors.split(","):
                for name, hides, important in declarations:
                    self._place += 1
                    rule = _rule(selector.strip(), self._place, hides=hides, important=important)
                    if is_nested or not is_certain:
                        rule = rule._replace(is_exact=False)
                    key = (name, rule.tag, rule.id, rule.classes)
                    before = self._rules.get(key)
                    wins = before is None or rule.weight >= before.weight
                    if wins and (rule.is_exact or not rule.hides):
                        self._rules[key] = rule

    def shown(self, tag: str, given: Mapping[str, str | None]) -> Shown:
        """Return whether an element with these attributes is shown."""
        if (given.get("aria-hidden") or "").strip().lower() == "true":
            return Shown(is_displayed=False, is_visible=None)
        return Shown(
            is_displayed=self._hides("display", tag, given) is not True,
            is_visible=_negated(self._hides("visibility", tag, given)),
        )

    def _hides(self, name: str, tag: str, given: Mapping[str, str | None]) -> bool | None:
        """Return whether the declaration that wins hides; None where there is none."""
        best: tuple[Weight, bool] | None = None
        if name == "display" and "hidden" in given:
            best = (False, False, -1, 0, 0, 0), True
        index = self._indexed()
        id = given.get("id") or ""
        classes = frozenset((given.get("class") or "").split())
        keys = [f"#{id}", *(f".{one}" for one in classes), tag, "*"]
        for rule in (one for key in keys for one in index.get((name, key), ())):
            fits = rule.tag in ("", tag) and rule.id in ("", id) and rule.classes <= classes
            if fits and (best is None or rule.weight >= best[0]):
                best = rule.weight, rule.hides
        for found, hides, important in _declarations((given.get("style") or "").lower()):
            weight = (important, True, 0, 0, 0, 0)
            if found == name and (best is None or weight >= best[0]):
                best = weight, hides
        return None if best is None else best[1]

    def _indexed(self) -> dict[tuple[str, str], list[_Rule]]:
        """The rules by property and id, the class that fewest rules name, or the tag."""
        if self._index is None:
            self._index = {}
            counts = Counter(one for key in self._rules for one in key[3])
            for (name, *_), rule in self._rules.items():
                key = rule.tag or "*"
                if rule.id:
                    key = f"#{rule.id}"
                elif rule.classes:
                    key = f".{min(rule.classes, key=lambda one: (counts[one], one))}"
                self._index.setdefault((name, key), []).append(rule)
        return self._index


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _declarations(block: str) -> Iterator[tuple[str, bool, bool]]:
    """The property, whether it hides, and whether it is important."""
    for found in _DECLARATION.finditer(block):
        name, value, important = found.groups()
        if value not in _INHERITED:
            yield name, value in _HIDING[name], important is not None


def _rule(selector: str, place: int, *, hides: bool, important: bool) -> _Rule:
    plain = _PSEUDO.sub("", selector)
    last = _BREAKS.split(plain)[-1]
    is_exact = selector == last and _COMPOUND.fullmatch(last) is not None
    parts = _PART.findall(last)
    ids = [one[1:] for one in parts if one.startswith("#")]
    classes = [one[1:] for one in parts if one.startswith(".")]
    names = [one for one in parts if one[0] not in ".#"]
    # of the whole selector
    every = _PART.findall(plain)
    counts = (
        sum(one.startswith("#") for one in every),
        sum(one.startswith(".") for one in every) + len(_PSEUDO.findall(selector)),
        sum(one[0] not in ".#" for one in every),
    )
    return _Rule(
        tag=names[0].lower() if names else "",
        id=ids[0] if ids else "",
        classes=frozenset(classes),
        is_exact=is_exact and len(ids) < 2,
        weight=(important, False, *counts, place),
        hides=hides,
    )


def _blocks(text: str) -> Iterator[tuple[str, str, bool]]:
    """Selectors and declarations of each rule, and whether it stands in a block."""
    open_blocks: list[str] = []
    start = 0
    for place, mark in ((found.start(), found[0]) for found in _BRACE.finditer(text)):
        part = text[start:place].rpartition(";")[2] if mark == "{" else text[start:place]
        start = place + 1
        if mark == "{":
            open_blocks.append(part.strip())
        elif open_blocks:
            selectors = open_blocks.pop()
            if not selectors.startswith("@"):
                yield selectors, part, bool(open_blocks)
