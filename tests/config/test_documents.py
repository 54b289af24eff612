"""Bounds of a YAML document: held before anything is made of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tables import each
from vestig.config import Config
from vestig.config.documents import BYTES_MAX, DEPTH_MAX, NODES_MAX, parse, parse_value
from vestig.errors import ConfigError

Loader = Callable[..., Config]


def _bomb(first: str, layer: str, layers: int = 7) -> str:
    """Each name stands for ten of the one before it."""
    lines = [f"a0: &a0 {first}"]
    for n in range(1, layers + 1):
        lines.append(f"a{n}: &a{n} " + layer.format(", ".join([f"*a{n - 1}"] * 10)))
    return "\n".join(lines) + "\n"


def _nested(depth: int) -> str:
    return "a: " + "[" * (depth - 1) + "]" * (depth - 1)


_NODES = f"at most {NODES_MAX} characters and nodes"
_BYTES = f"at most {BYTES_MAX} bytes"
BEYOND = {
    "lists": (_bomb("[x]", "[{}]"), _NODES),
    "mappings": (
        "a0: &a0 {x: 1}\n"
        + "".join(
            f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(9))}}}\n"
            for n in range(1, 9)
        ),
        _NODES,
    ),
    "merge of one": (
        "a0: &a0 {"
        + ", ".join(f"k{n}: 1" for n in range(40))
        + "}\n"
        + "".join(f"b{n}: {{<<: *a0}}\n" for n in range(500)),
        _NODES,
    ),
    "merge of lists": (_bomb("{x: 1}", "{{<<: [{}]}}"), _NODES),
    "long text": ("a: &a " + "x" * 4000 + "\nb: [" + ", ".join(["*a"] * 20) + "]\n", _NODES),
    "key by alias": ("a: &a " + "x" * 4000 + "\n" + "b: [" + "{*a : 1}, " * 20 + "]\n", _NODES),
    "many lists": ("- [twelve chars]\n" * 60_000, _NODES),
    "many texts": ("- twelve chars\n" * 60_000, _NODES),
    "one text": ("a: " + "x" * (BYTES_MAX - 10), _NODES),
    "flow without end": ("[a," * 340_000, "at most 64 deep"),
    "depth": (_nested(DEPTH_MAX + 1), "at most 64 deep"),
    "depth by alias": (
        "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 30 + "*a" + "]" * 30 + "\n",
        "at most 64 deep",
    ),
    "open brackets": ("[" * BYTES_MAX, "at most 64 deep"),
    "one byte more": ("#" * (BYTES_MAX + 1), _BYTES),
    "bytes, not characters": ("# " + "é" * (BYTES_MAX // 2), _BYTES),
    "documents": ("---\n...\n" * 130_000, "expected one document"),
    "directives": (
        "".join(f"%TAG !a{n}! x\n" for n in range(60_000)) + "--- a\n",
        "tag directives",
    ),
    "alias of itself": ("a: &a [*a]\n", "stands inside of what it names"),
}


@each("name", sorted(BEYOND))
def test_a_document_beyond_a_bound_is_refused_at_once(
    loaded: Loader, home: Path, name: str
) -> None:
    text, part = BEYOND[name]
    parse_value("a")
    took = []
    for _ in range(3):
        begun = time.process_time()
        with pytest.raises(ValueError, match=part):
            parse(text)
        took.append(time.process_time() - begun)
    assert min(took) <= 0.1
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert str(home / "project" / "vestig.yaml") in str(caught.value)
    assert part in str(caught.value)


def test_the_bombs_are_small() -> None:
    """What is refused by its nodes is far below the bound of bytes."""
    assert len(BEYOND["lists"][0]) <= 430
    assert len(BEYOND["merge of lists"][0]) <= 500


def test_no_document_takes_more_than_a_few_mebibytes() -> None:
    """Of a process of its own: what the parser of the library takes counts too."""
    code = """
import resource, sys
from test_documents import BEYOND
from vestig.config.documents import parse, parse_value
parse_value("{a: [b, &c 1, *c]}")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text, _ in BEYOND.values():
    try:
        parse(text)
    except ValueError:
        continue
    sys.exit("accepted")
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(done.stdout) <= 20 * 1024 * 1024


def test_what_is_within_the_bounds_is_read() -> None:
    assert parse_value("#" * BYTES_MAX) is None
    text = "x" * (NODES_MAX - 4)
    # a list of 1, and 1 beside each of two texts
    assert parse_value(f"[a, {text}]") == ["a", text]
    with pytest.raises(ValueError, match=_NODES):
        parse_value(f"[a, {text}x]")
    deep = parse_value("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    for _ in range(DEPTH_MAX - 1):
        [deep] = deep
    assert deep == []
    assert parse_value("{a: &a {x: 1, y: 2}, b: {<<: *a, y: 3}, c: [*a, *a]}") == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": [{"x": 1, "y": 2}] * 2,
    }


@each(
    ("text", "part"),
    [
        ("!!python/object:os.system x", "got one with the tag tag:yaml.org,2002:python"),
        ("!!timestamp 2026-01-01", "with the tag"),
        ("!!binary aGk=", "with the tag"),
        ("!!bool maybe", "a value of its tag, got 'maybe'"),
        ("!!int many", "many"),
        ("!own x", "with the tag !own"),
        ("{? [a] : 1}", "expected a key that is text"),
        ("{" + "k" * 129 + ": 1}", "a key of at most 128 characters, got 129"),
        ("*a", "undefined alias 'a'"),
    ],
)
def test_values_that_are_not_plain(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        parse_value(text)


def test_values_of_variables_are_bounded_too(loaded: Loader) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(env={"VESTIG_KEYWORDS__STOPWORDS": "[&a [a], " + "*a, " * 40_000 + "*a]"})
    assert "VESTIG_KEYWORDS__STOPWORDS" in str(caught.value)
    assert _NODES in str(caught.value)


@each(
    "text",
    ["true", "TRUE", "tRue", "False", "null", "Null", "nULL", "off", "yes", "n", "a_1", "_", "é",
     "0", "-0", "7", "-12", "007", "+7", "0x1f", "0o17", "1_000", "123456789012345678",
     "1234567890123456789", "0.5", "-0.5", "1.", ".5", "1e3", "1.5e3", "12345678901234.5", ".nan",
     ".inf", "~", "", " 7", "7 ", "a b", "a: b", "7\n", "word\n", "- 1", "'7'", "2026-03-18"],
)  # fmt: skip
def test_a_plain_value_is_read_as_yaml_reads_it(text: str) -> None:
    found, read = parse_value(text), parse(text)[0]
    assert type(found) is type(read)
    assert repr(found) == repr(read)
