"""Names in a filter: compared without case and composition; scopes and sessions keep their case."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

import vestig
from scripted import Opener
from tables import each
from vestig.calls.filter import KEYWORDS
from vestig.errors import ValidationError
from vestig.testing import FrozenClock

QUERY = "what is known of the harbour"


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.fixture
def named(opener: Opener) -> dict[str, Any]:
    """Two memories that differ in every name, and a note without any."""
    store = opener("named", config={"hygiene.near_duplicate.enabled": False})

    def commit(text: str, **fields: Any) -> str:
        id = store.commit(f"{text} is known of the harbour", **fields).memory_id
        assert id is not None
        return id

    jose = commit(
        "The depth",
        author="José",
        tags=["Infra", "Straße"],
        source="Hôtel",
        actor="Bot-É",
        scope="Café",
        session_id="Été 1",
        sequence=0,
        metadata={"städte": {"name": "Köln"}},
    )
    lena = commit("The length", author=decomposed("Léna"), tags=["plant"], session_id="s2")
    return {"store": store, "jose": jose, "lena": lena, "note": commit("The name")}


CASES: list[tuple[dict[str, Any], str]] = [
    ({"authors": "JOSÉ"}, "jose"),
    ({"authors": decomposed("josé")}, "jose"),
    ({"authors": ["léna", " José "]}, "jose lena"),
    ({"authors": "Jose"}, ""),
    ({"tags": "STRASSE"}, "jose"),
    ({"tags": ["infra", "straße"], "tags_mode": "all"}, "jose"),
    ({"tags": ["infra", "plant"], "tags_mode": "all"}, ""),
    ({"sources": decomposed("HÔTEL")}, "jose"),
    ({"actors": "bot-é"}, "jose"),
    ({"scope": decomposed("Café")}, "jose"),
    ({"scope": "café"}, ""),
    ({"scope": decomposed("Café"), "unscoped": True}, "jose lena note"),
    ({"session_ids": decomposed("Été 1")}, "jose"),
    ({"session_ids": "été 1"}, ""),
    ({"metadata": {decomposed("städte"): {"name": decomposed("Köln")}}}, "jose"),
    ({"metadata": {"städte": {"name": "köln"}}}, ""),
    ({"exclude_authors": "LÉNA"}, "jose note"),
    ({"exclude_authors": ["léna", decomposed("josé")]}, "note"),
    ({"exclude_tags": "strasse"}, "lena note"),
    ({"exclude_sources": "hôtel"}, "lena note"),
    ({"exclude_session_ids": decomposed("Été 1")}, "lena note"),
    ({"exclude_session_ids": "été 1"}, "jose lena note"),
]


@pytest.fixture(params=[False, True], ids=["tail", "published"])
def either(request: pytest.FixtureRequest, named: dict[str, Any]) -> dict[str, Any]:
    """`named` as commits leave it, and as a rebuild does."""
    if request.param:
        named["store"].admin.rebuild()
    return named


@each(("where", "names"), CASES, ids=lambda value: str(value)[:60])
def test_names_are_compared_by_what_they_are(
    either: dict[str, Any], where: Any, names: str
) -> None:
    named, store = either, either["store"]
    wanted = {named[name] for name in names.split()}
    assert {hit.id for hit in store.recall(QUERY, where=where)} == wanted
    assert {memory.id for memory in store.list(where)} == wanted
    assert store.count(where) == len(wanted)
    narrowed: Any = {**where, "ids": [named[name] for name in ("jose", "lena", "note")]}
    assert set(store.forget(where=narrowed, dry_run=True).memory_ids) == wanted


def test_stored_names_keep_the_form_in_which_they_were_given(named: dict[str, Any]) -> None:
    store: vestig.Vestig = named["store"]
    assert store.show(named["lena"]).memory.author == decomposed("Léna")
    assert store.show(named["jose"]).memory.tags == ("Infra", "Straße")


def test_several_spellings_of_one_name_are_found_together(opener: Opener) -> None:
    store = opener("spellings", config={"hygiene.near_duplicate.enabled": False})
    spellings = ("Lena", "LENA", "lena")
    for spelling in spellings:
        store.commit(f"Turn of {spelling} at the wheel", author=spelling, tags=[spelling, "all"])
    assert store.count({"authors": "leNA"}) == len(spellings)
    both: Any = {"tags": ["lEna", "ALL"], "tags_mode": "all"}
    assert store.count(both) == len(spellings)
    assert store.count({"exclude_authors": "Lena"}) == 0


# --- names that nothing has --------------------------------------------------------------------


@pytest.fixture
def school(opener: Opener) -> vestig.Vestig:
    store = opener("school", config={"hygiene.near_duplicate.enabled": False})
    store.commit("Mia's level is A2", scope="user:mia", key="mia.level", tags=["level"])
    store.commit("Olga pays 48 euros", scope="user:olga", session_id="s1", author="Carla")
    store.commit("The school has a garden", tags=["house"])
    return store


UNKNOWN: list[tuple[dict[str, Any], list[str]]] = [
    ({"scope": "mia"}, ["scope: no memory has the scope 'mia'; known are 'user:mia'"]),
    (
        {"scope": ["user:mia", "user:ogla"]},
        ["scope: no memory has the scope 'user:ogla'; known are 'user:olga'"],
    ),
    (
        {"scope": "user:mia,user:olga"},
        [
            "scope: no memory has the scope 'user:mia,user:olga'; name each by itself:"
            " scope=['user:mia', 'user:olga']"
        ],
    ),
    (
        {"scope_prefix": "user:"},
        [
            "scope_prefix: no scope is 'user:' or goes on from it with a slash; known are"
            " 'user:mia', 'user:olga'"
        ],
    ),
    ({"tags": "lebel"}, ["tags: no memory has the tag 'lebel'"]),
    ({"tags": ["levels", "house"]}, ["tags: no memory has the tag 'levels'; known are 'level'"]),
    ({"authors": "Karla"}, ["authors: no memory has the author 'Karla'"]),
    ({"session_ids": "s2"}, ["session_ids: no memory has the session 's2'"]),
    ({"sources": "chat9"}, ["sources: no memory was stated by the source 'chat9'"]),
    ({"actors": "bot9"}, ["actors: no memory was committed by the actor 'bot9'"]),
    ({"message_ids": "m9"}, ["message_ids: no memory has the message id 'm9'"]),
    ({"keys": "mia"}, ["keys: no memory has the key 'mia'; known are 'mia.level'"]),
    (
        {"keys": "zzz"},
        ["keys: no memory has the key 'zzz'; all are in store.keys()"],
    ),
    ({"key_prefix": "zzz"}, ["key_prefix: no key begins with 'zzz'"]),
    # of a scope that is known, names of others are not told
    ({"scope": "user:mia", "tags": "hous"}, ["tags: no memory has the tag 'hous'"]),
    (
        {"scope": "zzz", "tags": "zzz"},
        ["scope: no memory has the scope 'zzz'; all are in store.admin"],
    ),
    # nothing is mistyped
    ({"authors": "carla"}, []),
    ({"scope": "user:new", "unscoped": True}, []),
    ({"scope": "user:mia", "since": "2990-01-01"}, []),
    ({"tags": ["level", "house"], "tags_mode": "all"}, []),
]


@each(("where", "warnings"), UNKNOWN, ids=lambda value: str(value)[:60])
def test_a_value_that_nothing_has_warns(
    school: vestig.Vestig, where: Any, warnings: list[str]
) -> None:
    for result in (
        school.recall("what is there?", where=where),
        school.list(where),
        school.forget(where=where, dry_run=True),
        school.graph.search("what is there?", where=where),
        school.retrieve([{"content": "what is there?"}], where=where).metadata,
    ):
        told = [one for one in result.warnings if ": no " in one]
        assert len(told) == len(warnings), (type(result), told)
        assert all(one.startswith(said) for one, said in zip(told, warnings, strict=True)), told
    if len(warnings) and not school.count(where):
        with pytest.warns(UserWarning, match="count: "):
            school.count(where)


def test_what_ended_still_has_its_names(school: vestig.Vestig) -> None:
    (olga,) = school.list(scope="user:olga")
    school.deprecate(olga.id)
    assert school.recall("what is there?", scope="user:olga").warnings == ()


def test_scopes_of_items_and_branches_may_have_no_memory(school: vestig.Vestig) -> None:
    school.items.put("city", "Bergen", scope="user:tom")
    for scope in ("user:tom", ["user:mia", "user:mia@fix/pump"]):
        assert school.recall("what is there?", scope=scope).warnings == ()
    assert school.recall("what is there?", where={"scope_prefix": "user:tom"}).warnings == ()
    school.commit("The pump is on a branch", scope="app@fix/pump")
    (warning,) = school.recall("what is there?", scope="app").warnings
    assert "known are" not in warning


def test_a_view_is_told_of_its_own_alone(school: vestig.Vestig) -> None:
    assert school.scoped("user:new").recall("what is there?").warnings == ()
    (warning,) = school.scoped("user:mia").recall("what?", tags=["hous"]).warnings
    assert warning == "tags: no memory has the tag 'hous'"


def test_an_empty_store_warns_of_no_names(opener: Opener) -> None:
    assert opener("empty").recall("what is there?", scope="user:mia", tags=["a"]).warnings == ()


# --- the running conversation ------------------------------------------------------------------


@pytest.fixture
def talk(opener: Opener, clock: FrozenClock) -> dict[str, Any]:
    """A running conversation, an earlier one, and a note; all about Ada Lovelace's pump."""
    store = opener("talk", config={"hygiene.near_duplicate.enabled": False})
    texts = {
        "r1": ("Ada Lovelace asks about the pump of the harbour", "running", 0),
        "r2": ("Ada Lovelace heard that the pump leaks oil", "running", 1),
        "e1": ("Ada Lovelace repaired the pump of the harbour in May", "earlier", 1),
        "e0": ("Ada Lovelace had ordered a gasket for the pump", "earlier", 0),
        "n": ("The pump of Ada Lovelace stands in the harbour", None, None),
    }
    ids = {}
    for name, (text, session_id, sequence) in texts.items():
        clock.move(seconds=1)
        author = "Ada" if session_id == "running" else "Omar"
        ids[name] = store.commit(
            text,
            session_id=session_id,
            sequence=sequence,
            author=author if session_id else None,
            tags=["now"] if session_id == "running" else (),
            source="chat" if session_id == "running" else "manual",
        ).memory_id
    return {"store": store, **ids}


@pytest.mark.parametrize(
    "field",
    [
        {"exclude_session_ids": "running"},
        {"exclude_authors": "ada"},
        {"exclude_tags": "NOW"},
        {"exclude_sources": "Chat"},
    ],
    ids=str,
)
def test_what_is_excluded_is_nowhere_and_nothing_passes_through_it(
    talk: dict[str, Any], field: Any
) -> None:
    store: vestig.Vestig = talk["store"]
    stays = {talk[name] for name in ("e0", "e1", "n")}
    gone = {talk["r1"], talk["r2"]}
    found = store.recall("what about the pump of the harbour?", where=field, context=True, limit=5)
    assert {hit.id for hit in found} == stays
    assert found.context is not None
    assert not gone & set(found.context.ids)
    assert "leaks oil" not in found.context.text
    hits = store.graph.search("the pump", where=field, limit=50)
    assert not gone & {hit.node_id for hit in hits}
    # from the note over the entity only: what is excluded leads nowhere
    around = store.graph.search(None, "graph", seed_nodes=[talk["n"]], graph_depth=4, where=field)
    assert not gone & {hit.node_id for hit in around}
    assert {memory.id for memory in store.list(where=field)} == stays
    with_seed = store.graph.search(None, "graph", seed_nodes=[talk["r1"]], where=field)
    assert not with_seed.results
    assert with_seed.warnings


def test_an_agent_leaves_out_the_running_conversation_by_one_argument(
    talk: dict[str, Any],
) -> None:
    store: vestig.Vestig = talk["store"]
    stays = {talk[name] for name in ("e0", "e1", "n")}
    assert "exclude_session_ids" in KEYWORDS
    assert {h.id for h in store.recall("the pump", exclude_session_ids="running")} == stays
    kinds: Any = {"kinds": "MEMORY"}
    found = store.graph.search("the pump", "vector", where=kinds, exclude_session_ids=["running"])
    assert {h.node_id for h in found} == stays
    assert {m.id for m in store.list(exclude_session_ids="running")} == stays
    assert store.count(exclude_session_ids="running") == len(stays)
    with pytest.raises(vestig.ValidationError, match="either the keyword or the field"):
        store.count({"exclude_session_ids": "x"}, exclude_session_ids="x")
    with pytest.raises(vestig.ValidationError, match="exclude_session_ids"):
        store.forget(where={"exclude_session_ids": "running"})


# --- the order of a listing --------------------------------------------------------------------


def test_named_conversations_are_listed_as_they_went(talk: dict[str, Any]) -> None:
    store: vestig.Vestig = talk["store"]

    def names(**fields: Any) -> list[str]:
        of = {id: name for name, id in talk.items() if name != "store"}
        return [of[memory.id] for memory in store.list(**fields)]

    assert names(session_ids=["running", "earlier"]) == ["e0", "e1", "r1", "r2"]
    assert names(where={"session_ids": "earlier"}) == ["e0", "e1"]
    assert names(session_ids="running", descending=True) == ["r2", "r1"]
    assert names(session_ids="running", order_by="created_at") == ["r2", "r1"]
    assert names(session_ids=[]) == []
    assert names(order_by="session") == ["e0", "e1", "r1", "r2", "n"]
    assert names(order_by="session", descending=True) == ["r2", "r1", "e1", "e0", "n"]
    page = store.list(session_ids=["running", "earlier"], offset=1, limit=2)
    assert page.total == 4
    assert [memory.id for memory in page] == [talk["e1"], talk["r1"]]
    with pytest.raises(vestig.ValidationError, match="session"):
        store.list(order_by="content")


@pytest.mark.parametrize("value", [{"$gt": 3}, {"$gte": 1, "$lt": 5}])
def test_a_comparison_of_metadata_is_refused(opener: Opener, value: Any) -> None:
    store = opener()
    with pytest.raises(ValidationError, match=r"metadata\.n.*by equality alone"):
        store.count({"metadata": {"n": value}})
    # an object is a value like another
    store.commit("The crane lifts nine tons", metadata={"n": {"$ref": "a"}, "m": {"gt": 3}})
    assert store.count({"metadata": {"n": {"$ref": "a"}, "m": {"gt": 3}}}) == 1


def test_tags_in_one_text_are_several(opener: Opener) -> None:
    store = opener()
    assert store.commit("The bill is due", tags="billing, urgent").tags == ("billing", "urgent")
    assert store.commit("The crane is due", tags=["a,b"]).tags == ("a,b",)
    for named, count in (
        ("billing,crane", 1), ('["a,b"]', 1), (["a,b"], 1), (["billing,urgent"], 0),
    ):  # fmt: skip
        assert store.count(where={"tags": named}) == count, named
    assert store.count(where={"exclude_tags": "urgent,a"}) == 1
    assert store.count(where={"statuses": "active,archived"}) == 2
    # names may have commas
    store.commit("The boat is due", author="Lopez, Maria")
    assert store.count(where={"authors": "Lopez, Maria"}) == 1
