"""Every argument of every public call with every hostile value: only documented errors come, what
is refused changes nothing, and what no argument takes is taken by none."""

from __future__ import annotations

import hashlib
import inspect
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import vestig
from hostile_values import VALUES, HostileValue
from tables import each
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.api.rules import Rules
from vestig.api.store import open_store
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import ItemError

DRAWN: Final = 2_000
TEXTS: Final = (
    "Ada Lovelace keeps the keys of Atlas in Oslo.",
    "The lift of Atlas stops at floor two.",
    "Bread is sold out on 3 May 2026.",
    "Ravi met Ada Lovelace in Bergen.",
)
# What ends a store is not called with a hostile argument.
SKIPPED: Final = frozenset({"close"})
# What takes any JSON, and gives it back as it was.
ANY_JSON: Final = ("items", "put", "value")
DOCUMENTED: Final = (vestig.VestigError, TypeError, FileNotFoundError, IsADirectoryError)
GROUPS: Final = (
    ("", vestig.Vestig),
    ("graph", Graph),
    ("admin", Admin),
    ("items", Items),
    ("rules", Rules),
    ("anchors", Anchors),
    ("branches", Branches),
)


class World:
    """A small store in memory and a sound value of every argument that has no default."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.last_digest: str | None = None
        self.store = vestig.open(":memory:", embedder=HashingEmbedder(8), clock=FrozenClock())
        ids = [self.store.commit(text, author="Ann").memory_id for text in TEXTS]
        entities = [entity.id for entity in self.store.graph.entities()]
        edge = self.store.graph.link(entities[0], entities[1], "RELATION", relation="KNOWS")
        file = folder / "lines.jsonl"
        file.write_text('{"content": "One sound line of a file."}\n', encoding="utf-8")
        self.sound: dict[str, Any] = {
            "by": "Ada",
            "content": "A fresh sentence about Trondheim.",
            "items": [{"content": "A fresh sentence about Trondheim."}],
            "id": ids[0],
            "old": ids[0],
            "new": ids[1],
            "ids": [ids[2]],
            "query": "Who has the keys?",
            "scope": "user/ada",
            "queries": ["Who has the keys?"],
            "messages": [{"content": "Who has the keys?"}],
            "a": entities[0],
            "b": entities[1],
            "from_id": entities[0],
            "to_id": entities[1],
            "edge_type": "RELATION",
            "edge_id": edge.id,
            "name": "fix/pool",
            "files": file,
            "target": folder / "out.jsonl",
            "dest": folder / "copy",
            "start": "2026-01-01",
            "topic": "The kitchen",
            "key": "kitchen.colour",
            "context": "The walls were painted green.",
            "value": {"colour": "green"},
            "when": 'command = "git push"',
            "tool": "Bash",
            "keys": ["kitchen.colour"],
            "text": "# Kitchen\n\nThe walls of the kitchen were painted green.",
        }
        self.rule = self.store.rules.add("Never ship on Friday", 'command = "make ship"').id
        self.puts = {"items": [{"key": "kitchen.colour", "value": "green"}]}
        self.ids = {"edge": edge.id, "entity": entities[0], "expire_entity": entities[0]}

    def known_digest(self) -> str:
        """The digest, computed again only after a call that was not refused."""
        if self.last_digest is None:
            self.last_digest = self.digest()
        return self.last_digest

    def digest(self) -> str:
        """Changes with every record of the store."""
        lines = io.StringIO()
        self.store.export(lines)
        records = lines.getvalue().splitlines()[1:]
        whole = f"{self.store.admin.stats().seq}\n" + "\n".join(sorted(records))
        return hashlib.sha256(whole.encode()).hexdigest()


def functions() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Group, name and function of every public method."""
    for group, kind in GROUPS:
        for name, function in vars(kind).items():
            if inspect.isfunction(function) and not name.startswith("_") and name not in SKIPPED:
                yield group, name, function


def places() -> list[tuple[str, str, str]]:
    """Group, method and parameter, of all arguments of all public calls."""
    return [
        (group, name, parameter)
        for group, name, function in functions()
        for parameter in inspect.signature(function).parameters
        if parameter != "self"
    ]


def arguments(world: World, function: Callable[..., Any], name: str) -> dict[str, Any]:
    """Sound values of what has no default; for some calls, of what they cannot do without."""
    parameters = inspect.signature(function).parameters
    needed = {
        "forget": ["ids"],
        "recall": ["query"],
        "search": ["query"],
        "delete": ["keys"],
        "check": ["tool"],
        "test": ["tool"],
        "edit": ["when"],
    }.get(name, [])
    sound = world.sound | ({"id": world.ids[name]} if name in world.ids else {})
    if function.__qualname__.startswith("Rules."):
        sound |= {"id": world.rule}
    sound |= world.puts if name == "put_many" else {}
    return {
        key: sound[key]
        for key, one in parameters.items()
        if key != "self" and (one.default is inspect.Parameter.empty or key in needed)
    }


def is_refused(item: object) -> bool:
    """Whether an item of a batch was stored in no way."""
    return isinstance(item, ItemError) or bool(getattr(item, "hygiene_reasons", ()))


def raised(call: Callable[[], object]) -> Exception | None:
    """What a call raised; a commit that was refused by hygiene counts as refused, and so does a
    batch of which every item was."""
    try:
        made = call()
    except Exception as error:
        return error
    if isinstance(made, vestig.CommitOutcome) and made.hygiene_reasons:
        return vestig.HygieneError(made)
    if isinstance(made, list) and made and all(is_refused(one) for one in made):
        return vestig.ValidationError("items", len(made), "items that can be stored")
    return None


def check(world: World, place: tuple[str, str, str], value: HostileValue) -> None:
    """One call with one hostile argument."""
    group, name, parameter = place
    owner = getattr(world.store, group) if group else world.store
    method = getattr(owner, name)
    given = arguments(world, getattr(type(owner), name), name)
    # a call of forget takes either ids or a filter
    if name == "forget" and parameter == "where":
        del given["ids"]
    before = world.known_digest()
    where = f"{group or 'store'}.{name}({parameter}={value.name})"
    if parameter == "progress" and value.name.startswith(("function", "type")):
        return  # what a function of the caller raises is passed on
    error = raised(lambda: method(**(given | {parameter: value.make()})))
    if error is None:
        world.last_digest = None
        if value.never and (group, name, parameter) == ANY_JSON:
            kept = world.store.items.get(given["key"])
            assert kept is not None
            assert kept.value == value.make(), f"{where}: taken, and not as it was given"
            return
        assert not value.never, f"{where}: taken"
        return
    assert isinstance(error, DOCUMENTED), f"{where}: {type(error).__name__} is not documented"
    assert str(error), f"{where}: an error without a message"
    world.last_digest = world.digest()
    assert world.last_digest == before, f"{where}: refused, and the store changed"


def run(folder: Path, cases: list[tuple[tuple[str, str, str], HostileValue]]) -> None:
    faults = []
    world = World(folder)
    for at, (place, value) in enumerate(cases):
        if at % 100 == 99 or world.store.count() < len(TEXTS):
            world.store.close()
            world = World(folder)
        try:
            check(world, place, value)
        except AssertionError as error:
            faults.append(str(error))
    world.store.close()
    assert not faults, f"{len(faults)} of {len(cases)}:\n" + "\n".join(faults)


def cases() -> list[tuple[tuple[str, str, str], HostileValue]]:
    return [(place, value) for place in places() for value in VALUES]


def test_there_are_enough_values_and_calls() -> None:
    assert len(VALUES) >= 120
    assert len(cases()) >= 20_000


@pytest.mark.slow
def test_drawn_hostile_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(tmp_path, random.Random(13).sample(cases(), DRAWN))


@pytest.mark.torture
def test_all_hostile_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(tmp_path, cases())


@each("value", VALUES, ids=[value.name for value in VALUES])
def test_opening_with_hostile_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: HostileValue
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in inspect.signature(open_store).parameters:
        given = {"path": tmp_path / "store", "embedder": HashingEmbedder(8)}
        given[name] = value.make()
        error = raised(lambda given=given: open_store(**given).close())
        where = f"open({name}={value.name})"
        if error is None:
            assert not value.never, f"{where}: taken"
        else:
            assert isinstance(error, DOCUMENTED), f"{where}: {type(error).__name__}"
            assert str(error)
