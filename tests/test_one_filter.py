"""One filter in every operation: each field lets through the same memories everywhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import UNSET

import vestig
from tables import each
from vestig.calls.argument import Texts
from vestig.calls.filter import BOUNDS, FIELDS, KEYWORDS, Filter
from vestig.surfaces.cli import run
from vestig.testing import FrozenClock, HashingEmbedder

QUERY = "the pump of the harbour"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Five memories that differ in every field, and one of each status but ACTIVE; tests read."""
    clock = FrozenClock()
    store = vestig.open(
        tmp_path_factory.mktemp("filled") / "store",
        config={"hygiene.near_duplicate.enabled": False},
        embedder=HashingEmbedder(64),
        clock=clock,
    )

    def commit(text: str, **fields: Any) -> str:
        clock.move(days=1)
        id = store.commit(f"The pump of the harbour: {text}", **fields).memory_id
        assert id is not None
        return id

    a = commit(
        "Ada Lovelace oils it",
        scope="lab",
        tags=["plant", "oil"],
        author="Ada",
        role="user",
        session_id="s1",
        sequence=0,
        source="hook",
        actor="bot",
        metadata={"level": 1},
        provenance={"artifact_ref": "msg-1", "agent": "ci", "origin_type": "chat_agent"},
        t_valid="2026-01-05",
    )
    b = commit("it stands still", tags=["plant"], pinned=True, t_valid="2026-02-05")
    c = commit(
        "a gasket is on order",
        retention_policy="decision",
        key="gasket.state",
        t_valid="2026-03-05",
    )
    old = commit("it runs on Mondays", t_valid="2025-01-05")
    new = commit("it runs on Tuesdays", t_valid="2025-06-05")
    gone = commit("nobody knows it", t_valid="2025-07-05")
    hidden = commit("it was painted", t_valid="2025-08-05")
    store.supersede(old, new)
    store.deprecate(gone)
    store.archive(hidden)
    yield {
        "store": store, "a": a, "b": b, "c": c, "old": old, "new": new, "gone": gone,
        "hidden": hidden, "source": store.show(a).sources[0].id, "day": clock(),
    }  # fmt: skip
    store.close()


CASES: list[tuple[dict[str, Any], str]] = [
    ({"scope": "lab"}, "a"),
    ({"scope": ["lab", "elsewhere"]}, "a"),
    ({"scope_prefix": "lab"}, "a"),
    ({"scope_prefix": "la"}, ""),
    ({"scope_prefix": "lab", "unscoped": True}, "a b c new"),
    ({"unscoped": True}, "b c new"),
    ({"scope": "lab", "unscoped": True}, "a b c new"),
    ({"kinds": "memory", "tags": "plant"}, "a b"),
    ({"kinds": "SUMMARY", "tags": "plant"}, ""),
    ({"statuses": ["superseded", "ARCHIVED"], "unscoped": True}, "old hidden"),
    ({"include_expired": True, "unscoped": True}, "b c new old gone"),
    ({"include_archived": True, "unscoped": True}, "b c new hidden"),
    ({"tags": ["plant", "nothing"]}, "a b"),
    ({"tags": ["plant", "oil"], "tags_mode": "all"}, "a"),
    ({"sources": "hook"}, "a"),
    ({"actors": ["bot"]}, "a"),
    ({"authors": "Ada"}, "a"),
    ({"roles": "USER"}, "a"),
    ({"session_ids": ["s1"]}, "a"),
    ({"origin_types": "chat_agent"}, "a"),
    ({"exclude_authors": ["ADA", "nobody"], "tags": "plant"}, "b"),
    ({"exclude_session_ids": "s1", "tags": "plant"}, "b"),
    ({"exclude_session_ids": "S1", "tags": "plant"}, "a b"),
    ({"exclude_tags": "OIL", "tags": "plant"}, "b"),
    ({"exclude_sources": ["Hook"], "tags": "plant"}, "b"),
    ({"tags": ["PLANT", "Oil"], "tags_mode": "all"}, "a"),
    ({"authors": "aDA", "sources": "HOOK", "actors": "Bot"}, "a"),
    ({"scope": "LAB"}, ""),
    ({"entities": "Ada Lovelace"}, "a"),
    ({"metadata": {"level": 1}}, "a"),
    ({"metadata": {"level": True}}, ""),
    ({"since": "2026-01-01", "unscoped": True}, "b c"),
    ({"until": "2026-02-01", "tags": "plant"}, "a"),
    ({"created_since": "day", "unscoped": True}, ""),
    ({"created_until": "day", "tags": "plant"}, "a b"),
    ({"ids": ["a", "c"]}, "a c"),
    ({"exclude_ids": ["a"], "tags": "plant"}, "b"),
    ({"source_ids": "source"}, "a"),
    ({"message_ids": ["msg-1", "msg-9"]}, "a"),
    ({"pinned": True, "tags": "plant"}, "b"),
    ({"pinned": False, "tags": "plant"}, "a"),
    ({"confirmed": True, "tags": "plant"}, "a b"),
    ({"confirmed": False, "tags": "plant"}, ""),
    ({"retention_policies": ["Decision"], "unscoped": True}, "c"),
    ({"keys": ["gasket.state", "gasket"]}, "c"),
    ({"key_prefix": "gasket."}, "c"),
]


def resolved(filled: dict[str, Any], value: Any) -> Any:
    """A value of a case with the ids of this store."""
    if isinstance(value, list):
        return [resolved(filled, item) for item in value]
    return filled.get(value, value) if isinstance(value, str) else value


def test_every_field_has_a_case() -> None:
    assert {name for where, _ in CASES for name in where} | {"min_similarity"} == set(FIELDS)


@each(("fields", "names"), CASES, ids=lambda value: str(value)[:60])
def test_every_operation_lets_the_same_through(
    filled: dict[str, Any], fields: dict[str, Any], names: str
) -> None:
    store: vestig.Vestig = filled["store"]

    plain: Any = {name: resolved(filled, value) for name, value in fields.items()}
    where: Any = plain
    wanted = {filled[name] for name in names.split()}
    assert {hit.id for hit in store.recall(QUERY, where=where, limit=20)} == wanted
    assert {hit.id for hit in store.recall(QUERY, where=Filter(**plain), limit=20)} == wanted
    assert {one.id for one in store.list(Filter(**plain), limit=100)} == wanted
    kinds = plain.get("kinds") or "MEMORY"
    found = store.graph.search(QUERY, "vector", where={**plain, "kinds": kinds}, limit=20)
    assert {hit.node_id for hit in found} == wanted
    for most in (500, 1):
        several = store.retrieve([{"content": QUERY}], where=where, max_facts=most, debug=True)
        assert several.details is not UNSET
        shown = {one.memory_id for one in several.details}
        assert shown <= wanted
        assert most == 1 or shown == wanted
        texts = [memory.content for memory in store.list(where, limit=100)]
        assert all(any(text[:30] in line for text in texts) for line in several.messages)
    assert {memory.id for memory in store.list(where, limit=100)} == wanted
    assert store.count(where) == len(wanted)
    statuses = {
        "ACTIVE": True,
        "SUPERSEDED": plain.get("include_expired"),
        "DEPRECATED": plain.get("include_expired"),
        "ARCHIVED": plain.get("include_archived"),
    }
    named = {"statuses": [word for word, counts in statuses.items() if counts]} | plain
    assert set(store.forget(where=named, force=True, dry_run=True).memory_ids) == wanted
    assert store.export(io.StringIO(), where=where).records.get("memory", 0) == len(wanted)


def test_min_similarity_needs_a_query(filled: dict[str, Any]) -> None:
    store: vestig.Vestig = filled["store"]
    where: Any = {"min_similarity": 0.99, "tags": "plant"}
    assert len(store.recall("The pump of the harbour: it stands still", where=where)) == 1
    for call in (store.list, store.count):
        with pytest.raises(vestig.ValidationError, match="min_similarity"):
            call(where)
    with pytest.raises(vestig.ValidationError, match="min_similarity"):
        store.forget(where=where)
    with pytest.raises(vestig.ValidationError, match="min_similarity"):
        store.export(io.StringIO(), where=where)


@each(
    ("where", "named"),
    [
        ({"authors": [None]}, "authors"),
        ({"tags": ["a", " "]}, "tags"),
        ({"statuses": "gone"}, "statuses"),
        ({"kinds": "ENTITY"}, "kinds"),
        ({"unscoped": 1}, "unscoped"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "since"),
        ({"metadata": {"level": float("nan")}}, "metadata"),
        ({"ids": "x"}, "ids"),
        ({"retention_policies": "forever"}, "retention_policies"),
        ({"tags_mode": "some"}, "tags_mode"),
        ({"tags_mode": ["any"]}, "tags_mode"),
        ({"metadata": {"\ud800": 1}}, "metadata"),
        ({"metadata": {"a": {"b": ["\ud800"]}}}, "metadata"),
        ({"author": "Ada"}, "did you mean authors"),
        ("tags", "where"),
        (5, "where"),
    ],
    ids=repr,
)
def test_what_is_no_filter_is_refused_everywhere(
    filled: dict[str, Any], where: Any, named: str
) -> None:
    store: vestig.Vestig = filled["store"]
    before = store.admin.stats()
    for call in (
        lambda: store.recall(QUERY, where=where),
        lambda: store.list(where),
        lambda: store.count(where),
        lambda: store.forget(where=where),
        lambda: store.export(io.StringIO(), where=where),
    ):
        with pytest.raises(vestig.ValidationError, match=named):
            call()
    assert store.admin.stats() == before


# Cases whose fields hold each for itself, so that of several all must hold.
ALONE = [
    (fields, set(names.split()))
    for fields, names in CASES
    if not fields.keys() & {"statuses", "include_expired", "include_archived", "unscoped"}
]
CURRENT = {"a", "b", "c", "new"}


def combined(filled: dict[str, Any], random: Random) -> tuple[dict[str, Any], set[str]]:
    """Up to four cases with different fields as one filter, and whom it lets through."""
    fields: dict[str, Any] = {}
    names = set(CURRENT)
    for one, wanted in random.sample(ALONE, random.randint(1, 4)):
        takes_tags = one.keys() & {"tags", "tags_mode"} and fields.keys() & {"tags", "tags_mode"}
        if len(fields) < 5 and not one.keys() & fields.keys() and not takes_tags:
            fields |= one
            names &= wanted
    return {name: resolved(filled, value) for name, value in fields.items()}, names


def test_random_filters_let_the_same_through_everywhere(filled: dict[str, Any]) -> None:
    store: vestig.Vestig = filled["store"]
    random = Random(13)
    sizes = set()
    for _ in range(80):
        fields, names = combined(filled, random)
        where: Any = fields
        wanted = {filled[name] for name in names}
        sizes.add(len(wanted))
        assert {hit.id for hit in store.recall(QUERY, where=where, limit=20)} == wanted, fields
        memories: Any = {"kinds": "MEMORY"} | fields
        found = store.graph.search(QUERY, "vector", where=memories, limit=20)
        assert {hit.node_id for hit in found} == wanted, fields
        assert {memory.id for memory in store.list(Filter(**where), limit=100)} == wanted, fields
        beside = {name: value for name, value in fields.items() if name in KEYWORDS}
        rest: Any = {name: value for name, value in fields.items() if name not in KEYWORDS}
        assert store.count(rest, **beside) == len(wanted), fields
        statuses: Any = {"statuses": "ACTIVE"} | fields
        planned = store.forget(where=statuses, all=True, force=True, dry_run=True)
        assert set(planned.memory_ids) == wanted, fields
        assert store.export(io.StringIO(), where=where).records.get("memory", 0) == len(wanted)
    assert sizes >= {0, 1, 2}


FLAGS: list[tuple[list[str], str]] = [
    (["--scope", "lab", "--unscoped"], "a b c new"),
    (["--tags", "PLANT,oil", "--tags-mode", "all"], "a"),
    (["--authors", "ada", "--authors", "nobody"], "a"),
    (["--exclude-authors", "Ada", "--tags", "plant"], "b"),
    (["--exclude-session-ids", "s1", "--exclude-tags", "oil"], "b c new"),
    (["--exclude-sources", "hook", "--pinned"], "b"),
    (["--metadata", "level=1", "--roles", "USER"], "a"),
    (["--since", "2026-01-01", "--until", "2026-03-01"], "a b"),
    (["--statuses", "superseded,archived"], "old hidden"),
    (["--entities", "ada lovelace", "--message-ids", "msg-1"], "a"),
]


@pytest.mark.parametrize(("flags", "names"), FLAGS, ids=lambda value: str(value)[:60])
def test_the_flags_of_a_command_say_the_same(
    filled: dict[str, Any],
    flags: list[str],
    names: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    store: vestig.Vestig = filled["store"]
    store.admin.backup(tmp_path / "copy")
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: hashing, dimension: 64}\n", encoding="utf-8")
    place = ["--store", str(tmp_path / "copy"), "--config", str(config), "--json"]

    def answer(*words: str) -> dict[str, Any]:
        capfd.readouterr()
        assert run([*words, *flags, *place]) == 0
        found: dict[str, Any] = json.loads(capfd.readouterr().out)
        return found

    wanted = {filled[name] for name in names.split()}
    assert {one["id"] for one in answer("list")["memories"]} == wanted
    assert answer("count")["count"] == len(wanted)
    assert {one["id"] for one in answer("recall", QUERY, "--limit", "20")["results"]} == wanted


LISTS = tuple(name for name, row in FIELDS.items() if isinstance(row, Texts))
NOTHINGS: tuple[Any, ...] = (None, "", {}, [], (), set(), frozenset(), dict[str, str]().keys())


def test_a_field_without_a_value_is_absent_in_every_read(filled: dict[str, Any]) -> None:
    store: vestig.Vestig = filled["store"]
    for name in FIELDS:
        for nothing in (None,) if name in BOUNDS else (None, "", {}):
            where: Any = {name: nothing}
            assert store.count(where) == len(CURRENT), where
            assert len(store.list(where)) == len(CURRENT)
            assert len(store.recall(QUERY, where=where, limit=20)) == len(CURRENT)
            assert store.graph.search(QUERY, where=where).results
    for name in KEYWORDS:
        given: dict[str, Any] = {name: None}
        other: Any = {name: "2026-01-01"}
        assert store.count(other, **given) == store.count({**other})
        assert store.count({name: None}, **other) == store.count({**other})
    with pytest.raises(TypeError):
        store.forget(tags="plant")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        store.export(io.StringIO(), scope="lab")  # type: ignore[call-arg]


@each("nothing", ["", " ", ["lab", ""], {}], ids=str)
@each("name", BOUNDS)
def test_an_empty_scope_is_refused_by_every_call_that_selects(
    filled: dict[str, Any], name: str, nothing: Any
) -> None:
    """It stands for a user whom nobody knows, and never for all of them."""
    store: vestig.Vestig = filled["store"]
    where: Any = {name: nothing}
    calls = [
        lambda: store.recall(QUERY, where=where),
        lambda: store.recall_many([QUERY], where=where),
        lambda: store.retrieve([{"content": QUERY}], where=where),
        lambda: store.graph.search(QUERY, where=where),
        lambda: store.list(where),
        lambda: store.count(where),
        lambda: store.export(io.StringIO(), where=where),
        lambda: store.forget(where=where),
        lambda: store.deprecate(where=where),
        lambda: store.admin.prune(where=where),
    ]
    if name == "scope":
        calls += [
            lambda: store.search(QUERY, scope=nothing),
            lambda: store.list(scope=nothing),
            lambda: store.count(scope=nothing),
            lambda: store.keys(scope=nothing),
            lambda: store.retrieve([{"content": QUERY}], scope=nothing),
            lambda: store.anchors.stale(scope=nothing),
            lambda: store.count(Filter(scope=nothing)),
        ]
    for call in calls:
        with pytest.raises(vestig.ValidationError, match=rf"^(where\.)?{name}(\[1\])?: expected"):
            call()


@each("name", LISTS)
@each("beside", [{}, {"pinned": False}], ids=str)
def test_an_empty_list_selects_nothing_in_every_read(
    filled: dict[str, Any], name: str, beside: dict[str, Any]
) -> None:
    store: vestig.Vestig = filled["store"]
    rest: Any = beside
    wanted = store.count(rest) if name.startswith("exclude_") else 0
    for empty in ([], (), set(), iter(())):
        where: Any = {name: empty, **beside}
        assert store.count(where) == wanted
    for empty in ([], set()):
        where = {name: empty, **beside}
        assert store.count(Filter(**where)) == wanted
        assert store.list(where).total == wanted
        assert len(store.recall(QUERY, where=where, limit=20)) == wanted
        searched: Any = {"kinds": "MEMORY"} | where
        assert len(store.graph.search(QUERY, "vector", where=searched, limit=20)) == wanted
        # nothing stands beside what a hit is linked with either
        assert bool(store.graph.search(QUERY, where=where, limit=20).results) == bool(wanted)
        found = store.retrieve([{"content": QUERY}], where=where)
        assert bool(found.facts) == bool(wanted)
        assert bool(found.messages) <= bool(wanted)
        assert store.export(io.StringIO(), where=where).records.get("memory", 0) == wanted
        if name in KEYWORDS:
            given: Any = {name: empty}
            assert store.count(rest, **given) == store.list(rest, **given).total == wanted
            assert len(store.recall(QUERY, where=rest, limit=20, **given)) == wanted


def test_no_scope_beside_those_without_one_are_the_latter(filled: dict[str, Any]) -> None:
    store: vestig.Vestig = filled["store"]
    assert store.count({"scope": [], "unscoped": True}) == store.count({"unscoped": True}) == 3


@each("name", FIELDS)
def test_forget_refuses_a_field_without_a_value(filled: dict[str, Any], name: str) -> None:
    store: vestig.Vestig = filled["store"]
    before, refused = store.count(), rf"^(where\.)?{name}: expected"
    for nothing in NOTHINGS:
        for beside in ({}, {"authors": "Ada"}, {"tags": ["plant"]}, {"ids": [filled["a"]]}):
            where: Any = {**beside, name: nothing}
            for given in (where, Filter(**where)):
                for every in (False, True):
                    with pytest.raises(vestig.ValidationError, match=refused):
                        store.forget(where=given, all=every)
            with pytest.raises(vestig.ValidationError, match=refused):
                store.forget([filled["a"]], where=where)
    assert store.count() == before


def test_no_ids_beside_a_filter_select_nothing(filled: dict[str, Any]) -> None:
    store: vestig.Vestig = filled["store"]
    before = store.count()
    for nothing in ([], "", (), set()):
        with pytest.raises(vestig.ValidationError, match="ids"):
            store.forget(nothing, where={"tags": "plant"})
        with pytest.raises(vestig.ValidationError, match="ids"):
            store.forget(nothing)
    assert store.count() == before


@pytest.mark.parametrize(
    "flags",
    [["--tags", ""], ["--tags", " , "], ["--session-ids", ""], ["--since", ""], ["--kinds", ""]],
    ids=str,
)
def test_forget_of_the_command_line_refuses_a_flag_without_a_value(
    filled: dict[str, Any], flags: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store: vestig.Vestig = filled["store"]
    store.admin.backup(tmp_path / "copy")
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: hashing, dimension: 64}\n", encoding="utf-8")
    place = ["--store", str(tmp_path / "copy"), "--config", str(config), "--yes"]
    assert run(["forget", "--authors", "Ada", *flags, *place]) == 2
    said = capfd.readouterr().err
    assert flags[0].removeprefix("--").replace("-", "_") in said


@pytest.mark.parametrize("flag", ["--scope", "--scope-prefix"])
@pytest.mark.parametrize("command", [["recall", QUERY], ["list"], ["count"], ["export", "x.jsonl"]])
def test_an_empty_scope_of_the_command_line_is_refused(
    filled: dict[str, Any],
    flag: str,
    command: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    filled["store"].admin.backup(tmp_path / "copy")
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: hashing, dimension: 64}\n", encoding="utf-8")
    place = ["--store", str(tmp_path / "copy"), "--config", str(config)]
    assert run([*command, flag, "", *place]) == 2
    assert f"{flag.removeprefix('--').replace('-', '_')}: expected" in capfd.readouterr().err
