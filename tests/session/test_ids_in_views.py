"""Ids of another scope: to every call of a view they are ids that nothing has."""

from __future__ import annotations

import asyncio
import inspect
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, Final

import pytest

import vestig
from tables import each
from vestig import aio
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.api.rules import Rules
from vestig.testing import FrozenClock, HashingEmbedder

ADA, BO = "user/ada", "user/bo"
GROUPS: Final = (
    ("", vestig.Vestig),
    ("graph", Graph),
    ("admin", Admin),
    ("items", Items),
    ("rules", Rules),
    ("anchors", Anchors),
    ("branches", Branches),
)
BOS: Final = "Bo keeps the walnut boat in Bergen"
# Arguments that take the id of a memory, a source or a document, alone or within something.
WITH_IDS: Final = frozenset((
    "id", "ids", "old", "new", "key", "supersedes", "claim", "anchor", "expect", "seed_nodes",
    "where", "items",
))  # fmt: skip
# Texts, which may hold what a store prints of a memory.
TEXTS: Final = frozenset(("content", "context", "text"))
# Arguments that take none, or ids of the graph, which a view has no calls for.
WITHOUT_IDS: Final = frozenset((
    "a", "accept", "actor", "all", "all_namespaces", "as_of", "author", "b", "batch_size", "budget",
    "by", "channel_id", "clear", "command", "confidence", "config", "deadline_ms", "debug", "decay",
    "decisions", "deprecate", "depth", "descending", "dest", "do", "dry_run", "edge_id",
    "edge_type", "embeddings", "end", "ended", "enrich", "entities", "entity_limit", "entity_type",
    "evidence", "exclude_session_ids", "expand", "expected", "expires", "files", "fix", "force",
    "format", "from_id", "graph_depth", "hypothetical_queries", "include_expired",
    "include_memory_ids", "include_system", "include_vectors", "index", "keys", "keywords",
    "known_at", "limit", "max_facts", "max_iterations", "max_messages", "merge", "messages",
    "metadata", "min_confidence", "min_position", "mirror", "name", "namespace", "node_id",
    "offset", "on_commit", "on_near_dup", "only", "order_by", "partial", "path", "pinned", "prefix",
    "profile", "progress", "provenance", "queries", "query", "query_time", "query_vector",
    "rationale", "reason", "recursive", "related_limit", "relation", "reprocess", "request_id",
    "retention_policy", "retention_until", "retry_failed", "role", "scope", "scope_prefix", "seed",
    "sequence", "session_id", "session_ids", "silence", "since", "snippet_len", "source", "start",
    "strict", "summaries", "superseded_after_days", "t_invalid", "t_ref", "t_valid", "tags",
    "target", "temporal_stability", "title", "to_id", "tokens", "tool", "topic", "touch", "trace",
    "trigger", "type", "unless", "until", "url", "valid_at", "value", "weight", "when",
))  # fmt: skip
# Calls that end a view or move the store that both see.
SKIPPED: Final = frozenset(("close",))


def calls() -> list[tuple[str, str]]:
    return [
        (group, name)
        for group, kind in GROUPS
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and not name.startswith("_") and name not in SKIPPED
    ]


def parameters(group: str, name: str) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(getattr(dict(GROUPS)[group], name)).parameters)
    return {key: one for key, one in found.items() if key != "self"}


def test_every_argument_of_every_call_is_known_to_take_ids_or_not() -> None:
    seen = {one for call in calls() for one in parameters(*call)}
    assert seen - WITH_IDS - TEXTS - WITHOUT_IDS == set()


class World:
    """A store of two scopes; `bos` are ids of one, `sound` are arguments for a view of the
    other."""

    def __init__(self, folder: Path) -> None:
        self.rules = 0
        self.open(folder)
        ids = [
            self.view.commit(text).memory_id
            for text in ("Ada keeps the boat in Porto", "The boat of Ada is red",
                         "The boat of Ada has two masts")
        ]  # fmt: skip
        assert None not in ids
        self.own = [str(id) for id in ids]
        other = self.store.scoped(BO)
        memory = other.commit(BOS, key="bo.boat").memory_id
        rule = other.rules.add("Bo never sails on Fridays", 'command = "sail"').id
        document = other.add_document("# Walnuts\n\nBo stores the walnuts in the hold.")
        anchored = other.commit("Bo painted the walnut boat", anchor=memory).memory_id
        assert memory is not None
        assert anchored is not None
        assert document.source_id is not None
        # across both: what only the store can link
        self.store.graph.link(self.own[0], memory, "RELATED")
        self.bos = {"memory": memory, "rule": rule, "document": document.source_id,
                    "anchored": anchored}  # fmt: skip
        self.places["files"].write_text('{"content": "Ada has a stove"}\n', encoding="utf-8")
        self.sound: dict[str, Any] = {
            "content": "Ada has bread in the galley",
            "topic": "The galley", "context": "Ada looked at the galley",
            "items": ["Ada has an anchor"],
            "id": self.own[0], "ids": [self.own[1]], "old": self.own[0], "new": self.own[1],
            "by": "Ada", "queries": ["boat"], "query": "boat", "messages": [{"content": "boat?"}],
            "key": "boat", "start": "2020-01-01",
            "text": "# Galley\n\nThere is bread.", "value": 1,
            "name": "fix/pool", "a": "Ada", "b": "Bo", "from_id": self.own[0],
            "to_id": self.own[1], "edge_id": "edge_0123abcd", "when": 'command = "row"',
            "tool": "Bash", "scope": ADA,
        }  # fmt: skip

    def open(self, folder: Path) -> None:
        self.folder = folder
        self.store = vestig.open(
            folder / "store", embedder=HashingEmbedder(64), clock=FrozenClock()
        )
        self.view = self.store.scoped(ADA)
        self.places = {"target": folder / "out.jsonl", "files": folder / "lines.jsonl",
                       "dest": folder / "copy"}  # fmt: skip

    def copied(self, folder: Path) -> World:
        """A world of the same ids, as this one was when it was closed."""
        made = copy(self)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        made.open(folder)
        return made

    def given(self, group: str, name: str) -> dict[str, Any]:
        """Sound values of what has no default, and what a call cannot do without."""
        wanted = {"forget": ["ids"], "deprecate": ["id"], "recall": ["query"],
                  "search": ["query"], "delete": ["keys"], "update": ["tags"], "edit": ["text"],
                  "check": ["tool"], "test": ["tool"]}.get(name, [])  # fmt: skip
        own: dict[str, Any] = {"keys": ["boat"], "tags": ["sea"]}
        if (group, name) == ("items", "put_many"):
            own["items"] = [{"key": "mast", "value": 2}]
        if name in ("get", "history") and not group:
            own["key"] = self.own[0]
        if group == "rules" and name != "add":
            self.rules += 1
            rule = self.view.rules.add(f"Ada never rows {self.rules} boats", 'command = "row"')
            own["id"] = rule.id
        if name == "forget_document":
            own["id"] = self.view.add_document("# Oars\n\nTwo oars.").source_id
        if group == "anchors":
            own["id"] = self.view.commit("Ada oiled it", anchor=self.own[0]).memory_id
        values = self.sound | self.places | own
        return {
            key: values[key]
            for key, one in parameters(group, name).items()
            if one.default is inspect.Parameter.empty or key in wanted
        }

    def call(self, group: str, name: str, given: dict[str, Any]) -> object:
        """Return what a call of the view answers, or its error."""
        owner = self.view if not group else getattr(self.view, group)
        try:
            return getattr(owner, name)(**given)
        except vestig.VestigError as error:
            return error

    def of_bo(self) -> list[object]:
        """All that is stored of the other scope."""
        return [
            self.store.list(where={"scope": BO, "include_expired": True}).memories,
            self.store.items.list(BO).items,
            [one.id for one in self.store.documents(scope=BO).documents],
            [self.store.rules.show(self.bos["rule"])],
            [self.store.events(self.bos["memory"])],
        ]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A closed world, of which tests take copies."""
    made = World(tmp_path_factory.mktemp("original"))
    made.store.close()
    return made


@pytest.fixture
def world(original: World, tmp_path: Path) -> Iterator[World]:
    with a_copy(original, tmp_path) as made:
        yield made


@contextmanager
def a_copy(original: World, folder: Path) -> Iterator[World]:
    made = original.copied(folder)
    with made.store:
        yield made


def beginning(id: str) -> str:
    return id[: id.index("_") + 20]


def forms(argument: str, id: str) -> list[Any]:
    """An id as an argument takes one."""
    if argument == "where":
        return [{"ids": [id]}]
    if argument == "claim":
        return [{"subject": "Ada", "fact_type": "has", "evidence": [{"source_id": id}]}]
    if argument == "items":
        return [[{"content": "Ada has a net", "supersedes": [id]}]]
    if argument == "anchor":
        return [id, [id]]
    if argument in ("id", "old", "new", "key"):
        return [id, beginning(id)]
    return [id, [id], [beginning(id)]]


def texts(answer: object) -> str:
    """All that an answer says."""
    return f"{type(answer).__name__} {answer} {getattr(answer, 'args', '')} {answer!r}"


@each(("group", "name"), calls())
def test_an_id_of_another_scope_is_an_id_that_nothing_has(
    original: World, tmp_path: Path, group: str, name: str
) -> None:
    with a_copy(original, tmp_path) as world:
        compare_ids(world, group, name)


def compare_ids(world: World, group: str, name: str) -> None:
    before = world.of_bo()
    for argument in WITH_IDS & parameters(group, name).keys():
        for kind, id in world.bos.items():
            prefix = id.partition("_")[0]
            unknown = f"{prefix}_0199ffff-ffff-7fff-bfff-ffffffffff01"
            pairs = zip(forms(argument, id), forms(argument, unknown), strict=True)
            for theirs, nobodys in pairs:
                given = world.given(group, name)
                if argument == "where":
                    given = {key: one for key, one in given.items() if key not in ("id", "ids")}
                    given |= {"all": True} if "all" in parameters(group, name) else {}
                answer = world.call(group, name, given | {argument: theirs})
                expected = world.call(group, name, given | {argument: nobodys})
                what = f"{group}.{name}({argument}: {kind})"
                assert type(answer) is type(expected), f"{what}: {answer} | {expected}"
                if isinstance(answer, vestig.VestigError):
                    said = str(answer).replace(id, unknown)
                    assert said.replace(beginning(id), beginning(unknown)) == str(expected), what
                else:
                    assert "walnut" not in texts(answer).lower(), what
    assert world.of_bo() == before


@each(("group", "name"), calls())
def test_no_call_of_a_view_says_or_changes_anything_of_another_scope(
    original: World, tmp_path: Path, group: str, name: str
) -> None:
    with a_copy(original, tmp_path) as world:
        look_at_answer(world, group, name)


def look_at_answer(world: World, group: str, name: str) -> None:
    gone = world.store.scoped(BO).commit("Bo sold the walnut oars").memory_id
    assert gone is not None
    world.store.forget(gone)
    before = world.of_bo()
    given = world.given(group, name)
    more: dict[str, Any] = {"include_expired": True, "expand": 1, "all": True, "trace": True}
    if name in ("forget", "deprecate", "get"):
        more = {}
    given |= {key: one for key, one in more.items() if key in parameters(group, name)}
    answer = world.call(group, name, given)
    said = texts(answer)
    target = given.get("target")
    if target is not None and Path(target).exists():
        said += Path(target).read_text(encoding="utf-8")
    assert "walnut" not in said.lower()
    for id in (*world.bos.values(), gone):
        assert id not in said, f"{group}.{name}"
    assert world.of_bo() == before
    if isinstance(answer, vestig.VestigError) and name != "cognify":
        assert isinstance(answer, vestig.ConflictError), answer
        assert "the store that it is a view of has the call" in str(answer)
        assert group in ("graph", "admin", "branches")


def test_a_view_writes_into_no_other_scope(world: World) -> None:
    before = world.of_bo()
    with pytest.raises(vestig.ValidationError, match="bound to the scope"):
        world.view.update(world.own[0], scope=BO)
    with pytest.raises(vestig.ValidationError, match="bound to the scope"):
        world.view.update(world.own[0], clear=["scope"])
    file = world.folder / "others.jsonl"
    file.write_text(f'{{"content": "Bo has a cat", "scope": "{BO}"}}\n', encoding="utf-8")
    report = world.view.import_(file)
    assert (report.imported, report.failed) == (0, 1)
    assert f"bound to '{ADA}'" in report.errors[0].message
    whole = world.folder / "whole.jsonl"
    world.store.export(whole)
    with pytest.raises(vestig.ConflictError, match="bound to the scope"):
        world.view.import_(whole, merge=True)
    assert world.of_bo() == before


def test_what_was_printed_of_another_scope_is_a_text_like_any(world: World) -> None:
    printed = f"Quoted data, not instructions.\n[{world.bos['memory'][4:12]}]: {BOS}"
    assert world.store.commit(printed, dry_run=True).echoes == (world.bos["memory"],)
    stored = world.view.commit(printed)
    assert (stored.echoes, stored.matched_memory_id) == ((), None)
    assert world.view.get(str(stored.memory_id)).content == printed


def test_what_only_the_store_linked_is_not_shown(world: World) -> None:
    world.store.supersede(world.own[2], world.bos["memory"])
    assert [one.id for one in world.view.history(world.own[2])] == [world.own[2]]
    assert world.view.show(world.own[0], expand=1).related == ()
    assert len(world.store.show(world.own[0], expand=1).related or ()) == 1
    assert world.bos["memory"] not in world.view
    assert world.own[0] in world.view


def test_a_view_of_an_event_loop_knows_no_other_ids(world: World) -> None:
    async def main() -> Callable[[], Any]:
        view = aio.wrap(world.store).scoped(ADA)
        for call in (view.get, view.show, view.forget, view.pin):
            with pytest.raises(vestig.NotFoundError):
                await call(world.bos["memory"])
        with pytest.raises(vestig.ConflictError, match=r"graph\.entities acts on all scopes"):
            await view.graph.entities()
        return view.count

    asyncio.run(main())


def test_what_has_no_scope_is_left_out_of_searches_and_differences(world: World) -> None:
    world.store.forget(world.own[2])
    for store, everything in ((world.store, True), (world.view, False)):
        kinds = {hit.kind for hit in store.graph.search("boat", limit=20)}
        assert kinds == ({"memory", "entity"} if everything else {"memory"})
        assert bool(store.diff("2020-01-01").forgotten) is everything
