"""Types that the keys of the configuration share, with their ranges."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

VARIABLE_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
NAMESPACE_PATTERN: Final = r"^(?!\.{1,2}$)[a-z0-9._-]{1,64}$"
# Upper ends are those of the types that carry the values further (32-bit counts, 64-bit µs).
Count = Annotated[int, msgspec.Meta(ge=1, le=2_147_483_647)]
CountOrZero = Annotated[int, msgspec.Meta(ge=0, le=2_147_483_647)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
SignedShare = Annotated[float, msgspec.Meta(ge=-1, le=1)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
AtLeastOne = Annotated[float, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Timeout = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
Wait = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
Span = Annotated[float, msgspec.Meta(gt=0, le=1_000_000_000)]
Dimension = Annotated[int, msgspec.Meta(ge=1, le=8192)]
# What a double holds exactly: seeds travel through JSON.
Seed = Annotated[int, msgspec.Meta(ge=0, le=9_007_199_254_740_991)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=9_007_199_254_740_991)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
VariableName = Annotated[str, msgspec.Meta(pattern=VARIABLE_PATTERN)]
NamespaceName = Annotated[str, msgspec.Meta(pattern=NAMESPACE_PATTERN)]

# How types and ranges are said.
BOUNDS: Final = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
PATTERN_WORDS: Final = {
    NAMESPACE_PATTERN: "1-64 characters of a-z 0-9 . _ -, and not . or ..",
    VARIABLE_PATTERN: "the name of an environment variable",
}
TYPE_WORDS: Final[dict[Any, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a finite number",
    str: "text",
    type(None): "null",
}


def doc(description: str, *, shown: bool = False) -> msgspec.Meta:
    """Return what a key means, in a sentence or two; `shown`: `config show` prints it without
    `--all`.

    It stands in the annotation of a field, and holds for every key of a section that has none of
    its own.
    """
    return msgspec.Meta(description=description, extra={"shown": shown})


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of keys."""


class Stage(Section, frozen=True, kw_only=True):
    """A group of parameters that one formula or one step reads together, and that a profile or an
    experiment sets together: one key, whose value is their table. A parameter is spelt like a key
    below it."""
