"""Zero, empty, false and much too much in every option."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import vestig
from calls import selecting
from scripted import Opener
from tables import each
from vestig.calls.argument import Texts
from vestig.calls.filter import BOUNDS, FIELDS, KEYWORDS
from vestig.testing import HashingEmbedder

OFFICE = "The office of the team is in Oslo"
Call = Callable[[vestig.Vestig, str], Any]

REFUSED: dict[str, Call] = {
    "touch": lambda s, id: s.show(id, touch="no"),  # type: ignore[arg-type]
    "include_expired": lambda s, id: s.show(id, include_expired=0),  # type: ignore[arg-type]
    "retry_failed": lambda s, _: s.admin.enrich(retry_failed="no"),  # type: ignore[arg-type]
    "profile": lambda s, _: s.recall("office", profile=5),  # type: ignore[arg-type]
    "target": lambda s, _: s.export(5),  # type: ignore[arg-type]
    "files": lambda s, _: s.import_(5),  # type: ignore[arg-type]
    "scope": lambda s, _: s.import_("none.jsonl", scope=["a"]),  # type: ignore[arg-type]
    "limit": lambda s, _: s.list(limit=0),
    "offset": lambda s, _: s.list(offset=-1),
}


@each("field", REFUSED)
def test_wrong_values_name_their_field(store: vestig.Vestig, field: str) -> None:
    memory = store.commit(OFFICE).memory_id
    assert memory is not None
    with pytest.raises(vestig.ValidationError, match=f"^{field}:"):
        REFUSED[field](store, memory)


# Every place of the name of a scope, and of one above others.
OF_SCOPES: dict[str, Callable[[vestig.Vestig, str], object]] = {
    "commit": lambda s, scope: s.commit(OFFICE, scope=scope),
    "update": lambda s, scope: s.update(str(s.commit(OFFICE).memory_id), scope=scope),
    "get": lambda s, scope: s.get("a.key", scope=scope),
    "history": lambda s, scope: s.history("a.key", scope=scope),
    "keys": lambda s, scope: s.keys(scope=scope),
    "scoped": lambda s, scope: s.scoped(scope),
    "recall": lambda s, scope: s.recall("office", scope=scope),
    "where": lambda s, scope: s.count(where={"scope": ["b", scope]}),
    "scope_prefix": lambda s, scope: s.list(where={"scope_prefix": scope}),
    "forget": lambda s, scope: s.forget(where={"scope": scope}),
    "import_": lambda s, scope: s.import_(io.BytesIO(b'{"turn": 0, "text": "x"}'), scope=scope),
    "add_document": lambda s, scope: s.add_document(OFFICE, source="a", scope=scope),
    "items.put": lambda s, scope: s.items.put("a", 1, scope=scope),
    "items.put_many": lambda s, scope: s.items.put_many([{"key": "a", "value": 1, "scope": scope}]),
    "items.get": lambda s, scope: s.items.get("a", scope=scope),
    "items.list": lambda s, scope: s.items.list(scope),
    "items.scopes": lambda s, scope: s.items.scopes(scope),
    "items.delete": lambda s, scope: s.items.delete(scope=scope),
    "rules.list": lambda s, scope: s.rules.list(scope=scope),
}


@each("call", OF_SCOPES)
@pytest.mark.parametrize("scope", ["user/ada ", "user/ada\u00a0", " user/ada", "user/ada\n"])
def test_a_scope_has_no_white_space_at_its_ends(
    store: vestig.Vestig, call: str, scope: str
) -> None:
    """No filter tells it from the scope without."""
    with pytest.raises(vestig.ValidationError, match="without white space at its ends"):
        OF_SCOPES[call](store, scope)


def test_a_scope_is_one_however_its_letters_are_composed(store: vestig.Vestig) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    first = store.commit(OFFICE, key="office", scope=composed)
    second = store.commit("The office of the team is in Bergen", key="office", scope=apart)
    assert second.superseded == (first.memory_id,)
    store.items.put("theme", 1, scope=apart)
    assert [one.scope for one in store.items.list(composed)] == [composed]
    for scope in (composed, apart):
        assert store.items.get("theme", scope=scope) is not None
        assert store.scoped(scope).get("office").id == second.memory_id
        assert store.count(where={"scope_prefix": scope}) == 1


def test_an_author_and_a_session_lose_white_space_at_their_ends(store: vestig.Vestig) -> None:
    """A turn has one place, and a text one author, as filters see them."""
    one = store.commit(OFFICE, author="Ada", session_id="s1", sequence=0)
    again = store.commit(OFFICE, author=" Ada ", session_id="s1\u00a0", sequence=0)
    assert (again.outcome, again.matched_memory_id) == ("EXACT_DUPE", one.memory_id)


def test_the_scope_of_a_cell_has_no_white_space_at_its_ends(store: vestig.Vestig) -> None:
    rows = (
        b'text,scope,key\n"The bank is ING Nord",client/y,bank\n"The bank is DKB",client/y ,bank\n'
    )
    assert store.import_(io.BytesIO(rows), format="csv").imported == 2
    assert store.get("bank", scope="client/y").content == "The bank is DKB"
    assert len(store.history("bank", scope="client/y")) == 2


@pytest.mark.parametrize("much", [2**31, 2**63 - 1, 2**63, 2**64, 10**40])
def test_counts_above_every_store_are_fine(store: vestig.Vestig, much: int) -> None:
    """More than available is fine."""
    memory = store.commit(OFFICE).memory_id
    assert memory is not None
    assert [hit.id for hit in store.recall("office", limit=much)] == [memory]
    assert len(store.events(memory, limit=much)) == 1
    page = store.list(offset=much)
    assert (len(page), page.total) == (0, 1)
    assert store.admin.enrich(limit=much).taken == 0


@each("name", [name for name in FIELDS if name not in BOUNDS])
@each("empty", [None, "", {}], ids=repr)
def test_a_field_without_a_value_is_absent(store: vestig.Vestig, name: str, empty: Any) -> None:
    """In every operation that reads, as a field of `where` and as a keyword beside it."""
    store.commit(OFFICE, tags=["place"])
    assert _read({"where": {name: empty}}, store) == [1, 1, 1, 1]
    if name in KEYWORDS:
        assert _read(selecting({name: empty}), store) == [1, 1, 1, 1]
    where: Any = {name: empty}
    with pytest.raises(vestig.ValidationError, match=f"^where.{name}: expected a value"):
        store.forget(where=where)
    assert store.count() == 1


@each("name", FIELDS)
@each("empty", [[], (), frozenset()], ids=repr)
def test_an_empty_list_selects_nothing_and_leaves_nothing_out(
    store: vestig.Vestig, name: str, empty: Any
) -> None:
    """An agent whose allowed scopes come out empty sees nothing."""
    store.commit(OFFICE, tags=["place"])
    where: Any = {name: empty}
    if not isinstance(FIELDS[name], Texts):
        for read in (store.count, store.list):
            with pytest.raises(vestig.ValidationError, match=f"^{name}: expected"):
                read(where)
    else:
        found = [1, 1, 1, 1] if name.startswith("exclude_") else [0, 0, 0, 0]
        assert _read({"where": where}, store) == found
        if name in KEYWORDS:
            assert _read(selecting(where), store) == found
    with pytest.raises(vestig.ValidationError, match=name):
        store.forget(where=where)
    assert store.count() == 1


@pytest.mark.parametrize("name", ["\xad", "\u200b\u2060", "Nobody", "ent_00000000"])
def test_a_name_of_an_entity_that_nobody_has_matches_nothing(
    store: vestig.Vestig, name: str
) -> None:
    store.commit("the office of the team is loud")
    assert _read({"where": {"entities": [name]}}, store) == [0, 0, 0, 0]
    with pytest.raises(vestig.NotFoundError):
        store.graph.entity(name)


def _read(chosen: Any, store: vestig.Vestig) -> list[int]:
    """How many memories each operation finds that reads; search finds entities beside some."""
    recalled, searched = store.recall("office", **chosen), store.search("office", **chosen)
    memories = [hit for hit in searched if hit.id.startswith("mem_")]
    listed = store.list(**chosen)
    return [len(recalled), len(memories or searched), len(listed), store.count(**chosen)]


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_field_in_where_and_beside_it_is_refused(store: vestig.Vestig, name: str) -> None:
    value: Any = "2026-01-01" if name in ("since", "until") else "x"
    for call in (store.recall, store.search):
        with pytest.raises(vestig.ValidationError, match=f"^{name}: .*not both"):
            call("office", where={name: value}, **{name: value})
    for listing in (store.list, store.count):
        with pytest.raises(vestig.ValidationError, match=f"^{name}: .*not both"):
            listing({name: value}, **{name: value})


def test_null_limit_is_the_default(store: vestig.Vestig) -> None:
    """Null is absent, not unlimited."""
    store.commit_many([f"Sentence number {number} of the list" for number in range(25)])
    limit: Any = None
    assert len(store.list(limit=limit)) == 20
    assert store.count() == 25


@pytest.mark.parametrize("way", ["show", "recall"])
def test_touch_of_a_locked_store_is_dropped_with_a_warning(opener: Opener, way: str) -> None:
    store = opener()
    memory = store.commit(OFFICE).memory_id
    assert memory is not None
    store.close()
    reader = opener(read_only=True)
    result: Any = reader.show(memory, touch=True) if way == "show" else None
    result = reader.recall("office", touch=True) if result is None else result
    assert any("not counted" in warning for warning in result.warnings)
    assert reader.show(memory).memory.access_count == 0


MARK = "ZZMARKERZZ"
TELLING: dict[str, Call] = {
    "query list": lambda s, _: s.recall([MARK]),  # type: ignore[arg-type]
    "query object": lambda s, _: s.recall({MARK: 1}),  # type: ignore[arg-type]
    "authors": lambda s, _: s.recall("office", where={"authors": {"a": MARK}}),  # type: ignore[arg-type]
    "metadata": lambda s, _: s.recall("office", where={"metadata": MARK}),  # type: ignore[arg-type]
    "scope": lambda s, _: s.recall("office", scope={MARK: 1}),
    "recall tags": lambda s, _: s.recall("office", tags={MARK: 1}),  # type: ignore[arg-type]
    "list tags": lambda s, _: s.list(tags={MARK: 1}),  # type: ignore[arg-type]
    "reason": lambda s, id: s.deprecate(id, MARK * 60),
    "reason type": lambda s, id: s.pin(id, [MARK]),  # type: ignore[arg-type]
    "commit tags": lambda s, _: s.commit(OFFICE, tags={MARK}),  # type: ignore[arg-type]
    "metadata value": lambda s, _: s.commit(OFFICE, metadata={"k": {MARK}}),
    "surrogate": lambda s, _: s.commit(MARK + "\ud800"),
}


@each("call", TELLING)
def test_refusals_do_not_repeat_the_conversation(store: vestig.Vestig, call: str) -> None:
    memory = store.commit(OFFICE).memory_id
    assert memory is not None
    with pytest.raises(vestig.ValidationError) as caught:
        TELLING[call](store, memory)
    assert MARK not in str(caught.value)
    assert not [name for name in store.admin.metrics() if MARK in name]


def test_an_end_before_the_beginning_is_shown(store: vestig.Vestig) -> None:
    memory = store.commit(OFFICE).memory_id
    assert memory is not None
    with pytest.raises(vestig.ValidationError, match=r"got '1999-01-01T00:00:00\.000000Z'"):
        store.deprecate(memory, t_invalid="1999-01-01")


def test_an_archived_successor_is_refused_with_its_state(store: vestig.Vestig) -> None:
    old, new = store.commit(OFFICE).memory_id, store.commit("A second sentence").memory_id
    assert old is not None
    assert new is not None
    store.archive(new)
    with pytest.raises(vestig.ConflictError, match=f"{new}.*ARCHIVED; unarchive it first"):
        store.supersede(old, new)


def test_files_of_the_caller_stay_open(store: vestig.Vestig) -> None:
    """`import_` reads an open file and leaves it open."""
    store.commit(OFFICE)
    file = io.BytesIO()
    store.export(file)
    file.seek(0)
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as other:
        assert other.import_(file).memories == 1
    assert not file.closed
