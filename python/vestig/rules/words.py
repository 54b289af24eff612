"""Words of a line for a shell: their text without quotes, and what of it is not fixed."""

from __future__ import annotations

from typing import Final, NamedTuple

# What a part of a word that is not fixed becomes: a text within the word, one character, a text
# that may divide the word, or a text of which no end is known.
WITHIN: Final = "within"
CHARACTER: Final = "character"
DIVIDES: Final = "divides"
ENDLESS: Final = "endless"
_SIGNS: Final = {WITHIN: "*", CHARACTER: "?"}


class Word(NamedTuple):
    """A word without its quotes. `fixed`: it is the same whatever the shell knows; `assigns`: it
    begins as an assignment does; `plain`: no part of it is quoted. Of one that is not fixed,
    `pattern` is a glob of the first word that becomes of it, and `name` what stands behind its last
    slash; "" where that is not fixed either."""

    text: str
    fixed: bool = True
    assigns: bool = False
    plain: bool = True
    pattern: str = ""
    name: str = ""

    @property
    def program(self) -> str:
        """The name of the program that it starts; "" where that is not fixed."""
        return self.text.rpartition("/")[2] if self.fixed else self.name


class WordParts:
    """A word that is being read. `equals`: it has an = outside of quotes; `indexed`: a [ behind a
    name; `opened`: the place of its first {, -1 for none; `braces`: what stands in braces may be
    several words."""

    def __init__(self, first: str) -> None:
        self.said = [first] if first else []
        self.fixed = self.plain = True
        self.assigns = self.equals = self.indexed = self.braces = False
        self.opened = -1
        self._loose: dict[int, str] = {}

    def add(self, text: str, loose: str = "", *, plain: bool = True) -> None:
        """Adds a part. `loose`: what a part becomes that is not fixed."""
        if loose:
            self._loose[len(self.said)] = loose
            self.fixed = False
        self.said.append(text)
        self.plain = self.plain and plain

    def whole(self) -> Word:
        """The word."""
        text = "".join(self.said)
        braces = self.braces and not self.assigns
        if self.fixed and not braces:
            return Word(text, True, self.assigns, self.plain)
        loose = {**self._loose, self.opened: ENDLESS} if braces else self._loose
        rest = "".join(self.said[max(loose) + 1 :])
        fixed_end = ENDLESS not in loose.values() and "/" in rest
        name = rest.rpartition("/")[2] if fixed_end else ""
        return Word(text, False, self.assigns, self.plain, self._pattern(loose), name)

    def _pattern(self, loose: dict[int, str]) -> str:
        parts = []
        for at, said in enumerate(self.said):
            kind = loose.get(at)
            if kind in (DIVIDES, ENDLESS):
                parts.append("*")
                break
            parts.append(escaped(said) if kind is None else _SIGNS[kind])
        return "".join(parts)


def escaped(text: str) -> str:
    """A text as a glob of nothing else."""
    for sign in "\\*?":
        text = text.replace(sign, f"\\{sign}")
    return text


def filled(word: Word, place: str) -> Word:
    """A word in which another text stands wherever `place` does."""
    if place not in word.text:
        return word
    parts = WordParts("")
    for at, said in enumerate(word.text.split(place)):
        if at:
            parts.add(place, WITHIN)
        parts.add(said)
    return parts.whole()


def is_file_name(text: str) -> bool:
    """Return whether a text is a variable in braces, which takes the number of a file."""
    return text[:1] == "{" and text[-1:] == "}" and text[1:-1].isidentifier() and text.isascii()


def is_name(text: str) -> bool:
    """Return whether a text may stand before the = of an assignment."""
    name = text.removesuffix("+").partition("[")[0]
    return name.isidentifier() and name.isascii()
