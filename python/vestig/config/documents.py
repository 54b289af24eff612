"""YAML documents of the configuration: bounded before anything is made of them, then read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Final

from vestig.lazy_pattern import lazy_pattern

BYTES_MAX: Final = 1024 * 1024
# plain scalars that mean in YAML what they look like
_WORD: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_INTEGER: Final = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL: Final = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_NAMED: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL"), None),
}
DEPTH_MAX: Final = 64
# lengths of all keys and scalars plus one for each node, an alias counted as what it stands for
NODES_MAX: Final = 64 * 1024
_KEY_CHARS_MAX: Final = 128
# the parser compares each with all before it
_TAG_DIRECTIVES_MAX: Final = 16
_KEY_LEVELS_MAX: Final = 12
_CORE: Final = "tag:yaml.org,2002:"
_DEEPER: Final = f"expected values nested at most {DEPTH_MAX} deep, they are deeper"
# what the native parser says of brackets deeper than a bound of its own, far above this one: it
# reads them ahead of the events that are counted here
_DEEPER_THAN_LIBRARY: Final = "exceeded maximum nesting depth"
_TAGS: Final = frozenset(
    f"{_CORE}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)


@cache
def _base() -> Any:
    """The safe loader of the library: the native one where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _loader() -> Any:
    """A safe YAML loader with the scalars of YAML 1.2 (`off` is a word) and unique keys."""

    import yaml

    base: Any = _base()

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key_node, _ in node.value:
                if key_node.tag.endswith(":merge"):
                    continue
                if fault := _fault_of_key(key_node, seen):
                    raise yaml.constructor.ConstructorError(None, None, fault, key_node.start_mark)
                seen.add(key_node.value)
            # a key is text, whatever it looks like: +1 is no number, on is no switch
            self.flatten_mapping(node)
            for key_node, _ in node.value:
                key_node.tag = f"{_CORE}str"
            return super().construct_mapping(node, deep)

    def integer(_: Any, node: Any) -> int:
        text = node.value
        radix = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if radix != 10 else text, radix)

    def number(_: Any, node: Any) -> float:
        return float(node.value.lower().replace(".inf", "inf").replace(".nan", "nan"))

    def resolve(tag: str, pattern: str, first: str) -> None:
        Loader.add_implicit_resolver(f"{_CORE}{tag}", lazy_pattern(pattern), list(first))

    resolve("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
    resolve("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789")
    resolve(
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    )
    Loader.add_implicit_resolver(
        f"{_CORE}null", lazy_pattern(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
    )
    resolve("merge", r"^(?:<<)$", "<")
    Loader.add_constructor(f"{_CORE}int", integer)
    Loader.add_constructor(f"{_CORE}float", number)
    return Loader


def _fault_of_key(node: Any, seen: set[str]) -> str:
    """Return what is wrong with a key beside those of the same mapping; "" for nothing."""
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        return "expected a key that is text"
    if len(node.value) > _KEY_CHARS_MAX:
        return f"expected a key of at most {_KEY_CHARS_MAX} characters, got {len(node.value)}"
    return f"duplicate key {node.value!r}" if node.value in seen else ""


class _Size:
    """A node as it stands expanded: what it counts, and how many levels it has."""

    __slots__ = ("anchor", "levels", "nodes")

    def __init__(self, anchor: str | None, nodes: int, levels: int) -> None:
        self.anchor = anchor
        self.nodes = nodes
        self.levels = levels


class _Bounds:
    """Sizes of a document, event by event: no node is made, no alias followed.

    The innermost collection that is still open is the last of `open`; all of it counts at once,
    so a document ends at the first event that leads beyond a bound.
    """

    def __init__(self) -> None:
        self.open: list[_Size] = []
        self.anchors: dict[str, _Size] = {}
        self.nodes = 0

    def begin(self, anchor: str | None) -> str:
        """A mapping or a list begins; its fault, "" for none."""
        self.open.append(_Size(anchor, 1, 1))
        self.nodes += 1
        return self._fault(0)

    def end(self) -> None:
        """The innermost collection ends, and counts for the one around it."""
        size = self.open.pop()
        self._keep(size)
        if self.open:
            around = self.open[-1]
            around.nodes += size.nodes
            around.levels = max(around.levels, size.levels + 1)

    def scalar(self, anchor: str | None, length: int) -> str:
        """A scalar of this many characters; its fault, "" for none."""
        size = _Size(anchor, length + 1, 0)
        self._keep(size)
        return self._add(size)

    def alias(self, anchor: str) -> str:
        """Return what an alias stands for, counted once more; its fault, "" for none."""
        size = self.anchors.get(anchor)
        if size is not None:
            return self._add(size)
        if any(size.anchor == anchor for size in self.open):
            return f"the alias *{anchor} stands inside of what it names"
        return f"found undefined alias {anchor!r}"

    def _keep(self, size: _Size) -> None:
        if size.anchor is not None:
            self.anchors[size.anchor] = size

    def _add(self, size: _Size) -> str:
        self.nodes += size.nodes
        if self.open:
            around = self.open[-1]
            around.nodes += size.nodes
            around.levels = max(around.levels, size.levels + 1)
        return self._fault(size.levels)

    def _fault(self, levels: int) -> str:
        """The bound that the document is beyond, with `levels` below the innermost collection."""
        if self.nodes > NODES_MAX:
            return (
                f"expected at most {NODES_MAX} characters and nodes (an alias counts as what it"
                " stands for), it holds more; write less, or without aliases"
            )
        if len(self.open) + levels > DEPTH_MAX:
            return _DEEPER
        return ""


def _check_bounds(text: str) -> None:
    """Holds a text against every bound, in time and space that do not grow with its aliases.

    Raises:
        ValueError: the bound that it is beyond.
        yaml.YAMLError: unreadable.
    """
    import yaml

    if len(text) > BYTES_MAX or len(text.encode()) > BYTES_MAX:
        raise ValueError(f"expected at most {BYTES_MAX} bytes, it has more")
    if text.count("\n%TAG") > _TAG_DIRECTIVES_MAX:
        raise ValueError(f"expected at most {_TAG_DIRECTIVES_MAX} tag directives, it has more")
    bounds, documents = _Bounds(), 0
    parser = _base()(text)
    try:
        while (event := parser.get_event()) is not None:
            fault = _fault_of(event, bounds)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                fault = "expected one document, a second one begins" if documents > 1 else ""
            if fault:
                raise ValueError(f"line {event.start_mark.line + 1}: {fault}")
    finally:
        parser.dispose()


def _fault_of(event: Any, bounds: _Bounds) -> str:
    """Counts what an event begins or ends; its fault, "" for none."""
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return bounds.scalar(event.anchor, len(event.value)) or _fault_of_tag(event)
    if isinstance(event, yaml.CollectionStartEvent):
        return bounds.begin(event.anchor) or _fault_of_tag(event)
    if isinstance(event, yaml.CollectionEndEvent):
        bounds.end()
    elif isinstance(event, yaml.AliasEvent):
        return bounds.alias(event.anchor or "")
    return ""


def _fault_of_tag(event: Any) -> str:
    tag = event.tag
    if tag is None or tag == "!" or tag in _TAGS:
        return ""
    return f"expected a plain value, got one with the tag {tag}"


def _key_lines(node: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """Dotted key → line, for messages; values deeper than any key are not looked into."""
    import yaml

    if not isinstance(node, yaml.MappingNode) or depth > _KEY_LEVELS_MAX:
        return
    for key_node, value_node in node.value:
        name = f"{prefix}{key_node.value}"
        yield name, key_node.start_mark.line + 1
        yield from _key_lines(value_node, f"{name}.", depth + 1)


def parse(text: str) -> tuple[Any, dict[str, int]]:
    """The document and the lines of its keys.

    Raises:
        ValueError: unreadable, or beyond a bound; the message says where and what.

    Example:
        >>> parse("walk: {max_nodes: 3}")
        ({'walk': {'max_nodes': 3}}, {'walk': 1, 'walk.max_nodes': 1})
    """
    import yaml

    loader = None
    try:
        _check_bounds(text)
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is None:
            return None, {}
        return loader.construct_document(node), dict(_key_lines(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = "" if mark is None else f"line {mark.line + 1}: "
        fault = _DEEPER if error.problem == _DEEPER_THAN_LIBRARY else error.problem
        raise ValueError(f"{line}{fault}") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from None
    except KeyError as error:
        raise ValueError(f"expected a value of its tag, got {error.args[0]!r}") from None
    finally:
        if loader is not None:
            loader.dispose()


def parse_value(text: str) -> Any:
    """One YAML value, as an environment variable holds it.

    Raises:
        ValueError: unreadable, or beyond a bound.

    Example:
        >>> parse_value("[1, off]")
        [1, 'off']
    """
    # most are one plain word or number, for which a YAML parser is not loaded
    if _WORD.fullmatch(text) is not None:
        return _NAMED.get(text, text)
    if _INTEGER.fullmatch(text) is not None:
        return int(text)
    if _DECIMAL.fullmatch(text) is not None:
        return float(text)
    return parse(text)[0]
