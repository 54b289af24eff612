"""A filter of nothing forgets nothing, and never more goes than what is left of it matches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from scripted import Opener
from tables import each
from vestig.calls.filter import FIELDS, NARROWING, SELECTORS
from vestig.testing import FrozenClock, HashingEmbedder

STATUSES = ("ACTIVE", "SUPERSEDED", "DEPRECATED", "ARCHIVED")
# Values that say nothing, for every field.
NOTHING: tuple[Any, ...] = (None, "", [], (), {}, set())
VALUES: dict[str, tuple[Any, ...]] = {
    "scope": ("lab", ["lab", "nowhere"]),
    "scope_prefix": ("lab", "la"),
    "unscoped": (True, False),
    "kinds": ("MEMORY", "SUMMARY"),
    "statuses": ("ACTIVE", ["SUPERSEDED", "ARCHIVED"]),
    "include_expired": (True, False),
    "include_archived": (True, False),
    "tags": ("even", ["even", "third"]),
    "tags_mode": ("any", "all"),
    "sources": ("manual", "hook"),
    "actors": ("bot",),
    "authors": ("Ada", ["ada", "Omar"]),
    "roles": ("user",),
    "session_ids": ("s0", ["s0", "s1"]),
    "origin_types": ("chat_agent", "note"),
    "exclude_authors": ("ada",),
    "exclude_session_ids": ("s1",),
    "exclude_tags": ("even",),
    "exclude_sources": ("hook",),
    "entities": ("Nobody Known",),
    "metadata": ({"level": 1},),
    "since": ("2026-01-02",),
    "until": ("2026-03-01",),
    "created_since": ("2020-01-01",),
    "created_until": ("2200-01-01",),
    "pinned": (False, True),
    "confirmed": (False, True),
    "retention_policies": ("standard",),
    "message_ids": ("msg-1",),
    "keys": ("lamp.3", "LAMP.3"),
    "key_prefix": ("lamp.", "1"),
}
# What needs an id of the store, and what needs a query.
LEFT_OUT = {"ids", "exclude_ids", "source_ids", "min_similarity"}


def filled(store: vestig.Vestig) -> set[str]:
    """Twelve memories that differ in most fields, two of each status but ACTIVE."""
    ids = []
    for n in range(12):
        outcome = store.commit(
            f"Fact number {n * 7919} about the harbour",
            scope="lab" if n % 3 == 0 else None,
            tags=[*(["even"] if n % 2 == 0 else []), *(["third"] if n % 3 == 0 else [])],
            author=("Ada", "Omar", None)[n % 3],
            role="user" if n % 4 == 0 else None,
            session_id=f"s{n % 3}" if n % 2 else None,
            sequence=n if n % 2 else None,
            source="hook" if n % 5 == 0 else "manual",
            actor="bot" if n % 4 == 1 else None,
            metadata={"level": n % 2},
            provenance={"artifact_ref": f"msg-{n}"},
            t_valid=f"2026-0{1 + n % 4}-01",
            key=f"lamp.{n}" if n % 3 == 0 else None,
        )
        assert outcome.memory_id is not None
        ids.append(outcome.memory_id)
    store.supersede(ids[0], ids[1])
    store.supersede(ids[3], ids[1])
    for id in (ids[5], ids[6]):
        store.deprecate(id)
    for id in (ids[7], ids[8]):
        store.archive(id)
    return set(ids)


def opened() -> vestig.Vestig:
    config = {"hygiene.near_duplicate.enabled": False}
    return vestig.open(":memory:", embedder=HashingEmbedder(16), clock=FrozenClock(), config=config)


def test_every_field_is_drawn() -> None:
    assert set(VALUES) | LEFT_OUT == set(FIELDS)
    assert not SELECTORS & NARROWING
    meant = {"include_expired", "include_archived", "tags_mode", "min_similarity"}
    assert SELECTORS | NARROWING | meant == set(FIELDS)


def drawn(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from((*VALUES[name], *NOTHING))


wheres = st.lists(st.sampled_from(sorted(VALUES)), max_size=5, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: drawn(name) for name in names})
)


def says(name: str, value: Any) -> bool:
    """Whether a field restricts anything."""
    return value not in NOTHING and (name != "unscoped" or bool(value))


@pytest.mark.slow
@given(wheres, st.booleans(), st.sampled_from((None, [], "", ())))
def test_never_more_goes_than_what_is_left_matches(where: Any, every: bool, ids: Any) -> None:
    store = opened()
    try:
        all_ids = filled(store)
        left = {name: value for name, value in where.items() if says(name, value)}
        selects = left.keys() & (SELECTORS | NARROWING if every else SELECTORS)
        unsaid = ids is not None or any(value in NOTHING for value in where.values())
        if unsaid or not selects:
            with pytest.raises(vestig.ValidationError):
                store.forget(ids, where=where, all=every)
            assert store.count({"statuses": STATUSES}) == len(all_ids)
            return
        meant: dict[str, Any] = {"include_expired": True, "include_archived": True} | left
        matched = {memory.id for memory in store.list(meant, limit=100)}
        report = store.forget(ids, where=where, all=every)
        assert set(report.memory_ids) == matched
        stays = {memory.id for memory in store.list({"statuses": STATUSES}, limit=100)}
        assert stays == all_ids - matched
    finally:
        store.close()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"where": {"session_ids": None}}, "where.session_ids: expected a value"),
        ({"where": {"authors": None, "tags": []}}, "where.authors: expected a value"),
        ({"where": {"metadata": {}}}, "where.metadata: expected a value"),
        ({"where": {"tags": [], "since": "2020-01-01"}}, "where.tags: expected a value"),
        ({"where": {}}, "no filter"),
        ({"ids": []}, "ids: expected an id or a list of ids"),
        ({}, "no filter"),
        ({"where": {"unscoped": False}}, "only unscoped"),
        ({"where": {"unscoped": False}, "all": True}, "only unscoped"),
        ({"where": {"include_archived": True}, "all": True}, "only include_archived"),
        ({"all": True}, "no filter"),
        ({"ids": "mem_00000000", "where": {"tags": "x"}}, "either ids or a filter"),
    ],
    ids=str,
)
def test_the_refusal_names_what_was_given(opener: Opener, given: Any, named: str) -> None:
    store = opener(embedder=HashingEmbedder(16))
    store.commit("The pump of the harbour leaks")
    with pytest.raises(vestig.ValidationError, match=named):
        store.forget(**given)
    assert store.count() == 1


def test_a_filter_object_of_nothing_is_refused(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder(16))
    store.commit("The pump of the harbour leaks")
    with pytest.raises(vestig.ValidationError, match=r"where\.tags: expected a value"):
        store.forget(where=vestig.Filter(tags=[], authors=None))
    assert store.count() == 1


NARROW: list[dict[str, Any]] = [
    {"since": "2026-04-01"},
    {"until": "2026-02-01"},
    {"kinds": "MEMORY"},
    {"statuses": "SUPERSEDED"},
    {"pinned": False},
    {"exclude_tags": "even"},
    {"exclude_ids": "first"},
    {"retention_policies": "standard"},
]


@each("where", NARROW, ids=str)
def test_what_only_narrows_needs_all(where: dict[str, Any]) -> None:
    store = opened()
    try:
        all_ids = filled(store)
        plain: Any = {
            name: sorted(all_ids)[:1] if value == "first" else value
            for name, value in where.items()
        }
        with pytest.raises(vestig.ValidationError, match="all=True"):
            store.forget(where=plain)
        assert store.count({"statuses": STATUSES}) == len(all_ids)
        report = store.forget(where=plain, all=True)
        assert report.memory_ids
        assert store.count({"statuses": STATUSES}) == len(all_ids) - len(report.memory_ids)
    finally:
        store.close()


def test_all_of_a_session_goes_whatever_its_status() -> None:
    store = opened()
    try:
        ids = {}
        for n, word in enumerate(("active", "superseded", "deprecated", "archived", "later")):
            ids[word] = store.commit(
                f"The {word} turn of the talk", session_id="s", sequence=n
            ).memory_id
        store.supersede(ids["superseded"], ids["later"])
        store.deprecate(ids["deprecated"])
        store.archive(ids["archived"])
        only: Any = {"session_ids": "s", "statuses": "ARCHIVED"}
        assert store.forget(where=only, dry_run=True).memory_ids == (ids["archived"],)
        current: Any = {"session_ids": "s", "include_expired": False, "include_archived": False}
        assert set(store.forget(where=current, dry_run=True).memory_ids) == {
            ids["active"],
            ids["later"],
        }
        report = store.forget(where={"session_ids": "s"})
        assert set(report.memory_ids) == set(ids.values())
        assert store.count({"statuses": STATUSES}) == 0
    finally:
        store.close()


def test_all_without_a_filter_says_what_selects_every_memory() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(8)) as store:
        store.commit("Ada has a red boat")
        with pytest.raises(vestig.ValidationError) as caught:
            store.forget(all=True)
        assert str(caught.value).endswith(
            "; with all=True, where={'kinds': ['MEMORY', 'SUMMARY']} selects every memory"
        )
        store.forget(where={"kinds": ["MEMORY", "SUMMARY"]}, all=True)
        assert store.count() == 0


def test_who_is_called_by_a_word_of_the_name_is_named(opener: Opener) -> None:
    """A name finds the memories that have it; what calls the same person shorter stays, and is no
    secret of the report."""
    store = opener()
    store.commit("Petra Lindqvist is the producer of the play.")
    shorter = store.commit("Ask Petra about the lights of the hall.").memory_id
    store.commit("Petrified wood stands in the foyer.")
    store.commit("Petra counts the chairs.", scope="ushers")
    where: Any = {"entities": ["Petra Lindqvist"], "unscoped": True}
    with pytest.warns(UserWarning, match="a word of the name stays in 2 memories"):
        planned = store.forget(where=where, dry_run=True)
    with pytest.warns(UserWarning, match=f"a word of the name stays in 2 memories.*{shorter}"):
        gone = store.forget(where=where)
    assert planned.also_named == gone.also_named
    assert shorter in gone.also_named
    assert len(gone.also_named) == 2
    assert store.forget(str(shorter)).also_named == ()


@each(
    ("name", "stays", "others"),
    [
        ("佐藤", ["佐藤様は魚が苦手です。"], ["佐々木様は魚が苦手です。"]),
        (
            "田中一郎",
            ["請求書は田中一郎様へ。", "田中さんは五号室です。"],
            ["中田さんは五号室です。"],
        ),
        ("王伟", ["1002号房的客人是王伟的朋友。"], ["王先生对花生过敏。"]),
        ("خالد", ["لخالد غرفة بالطابق الأول.", "وخالد يحب الشاي كثيرا."], ["خلود تحب الشاي."]),
        (
            "김민수",
            ["김민수는 생선을 못 먹습니다.", "민수 씨가 전화했습니다."],
            ["김영수는 5호실입니다."],
        ),
        (
            "Anna Berg",
            ["Annas Koffer ist im Keller.", "Bei Bergs gibt es Brot.", "write to aberg@harbor.org"],
            ["The train to Bergen is late.", "Write to joannah@harbor.org."],
        ),
        ("Jürgen Müller", ["Rechnung an juergen77@harbor.org", "Bei Muellers gibt es Brot."], []),
        ("Łucja Nowak", ["Write to ŁucjaNowak@harbor.org", "Lucja pays on Monday."], []),
    ],
)
def test_forms_of_the_name_are_told_and_stay(
    name: str, stays: list[str], others: list[str]
) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(8)) as store:
        gone = store.commit("The guest of room 5 pays in cash.", entities=[f"PERSON:{name}"])
        ids = {str(store.commit(text).memory_id): text for text in (*stays, *others)}
        selected = store.forget(where={"entities": [name]}, dry_run=True)
        assert gone.memory_id in selected.memory_ids
        told = {ids.get(id) for id in (*selected.also_named, *selected.memory_ids)}
        assert told >= set(stays), selected
        assert told.isdisjoint(others)


def test_documents_and_authors_with_the_name_are_told(opener: Opener, tmp_path: Path) -> None:
    people = tmp_path / "People"
    people.mkdir()
    (people / "Petra_Lindqvist.md").write_text("# Producer\n\nKeeps the keys of the hall.\n")
    (people / "hall.md").write_text("# The hall\n\nIt has nine rows of chairs.\n")
    store = opener()
    store.import_(tmp_path, recursive=True)
    store.commit("Petra Lindqvist is the producer of the play.")
    said = store.commit("The chairs are counted on Mondays.", author="Petra Lindqvist").memory_id
    where: Any = {"entities": ["Petra Lindqvist"]}
    with pytest.warns(UserWarning, match="word of the name"):
        planned = store.forget(where=where, dry_run=True)
    with pytest.warns(UserWarning, match="word of the name"):
        gone = store.forget(where=where)
    assert planned.warnings == gone.warnings
    of_documents, of_authors = gone.warnings
    (listed,) = [one for one in store.documents() if "Petra" in str(one.path)]
    assert "in title or path of 1 document" in of_documents
    assert f"{listed.id} {listed.path}" in of_documents
    assert "store.forget_document(id) deletes one" in of_documents
    assert "1 memory whose author has a word of the name (Petra Lindqvist)" in of_authors
    assert "where={\"authors\": 'Petra Lindqvist'} selects" in of_authors
    # both calls do what they are named for
    store.forget_document(listed.id)
    assert store.forget(where={"authors": "Petra Lindqvist"}).memory_ids == (said,)


def test_a_report_says_that_what_a_text_came_from_brings_it_back(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    file = tmp_path / "talk.jsonl"
    file.write_text('{"speaker": "Ann", "text": "The mast is in", "message_id": "1"}\n')
    note = tmp_path / "note.md"
    note.write_text("# The keel\n\nIt is of larch.\n")
    store.import_([file, note])
    own = store.commit("The tar is in the cellar").memory_id
    assert "brings them back" not in store.forget(str(own)).outside
    turn = store.list(where={"authors": "Ann"})[0]
    told = store.forget(turn.id).outside
    assert "what 1 memory came from, such as a file, holds the texts too" in told
    assert store.import_(file).imported == 1
    # a document whose passages were forgotten stays out, one that is forgotten comes again
    (document,) = store.documents()
    assert "1 document came from" in store.forget_document(document.id).outside
    assert store.import_(note).imported == 1
