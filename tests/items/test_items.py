"""Values by key: what is put comes back, and what is deleted is gone."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vestig
from vestig.errors import ConflictError, StoreDamagedError, ValidationError
from vestig.firewall import SecretError
from vestig.items.put import extend
from vestig.testing import FrozenClock, HashingEmbedder

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as opened:
        yield opened


def on_disk(place: Path, **options: Any) -> vestig.Vestig:
    return vestig.open(place, embedder=HashingEmbedder(32), **options)


def sound(store: vestig.Vestig) -> None:
    assert store._session.ledger.verify_all() == []
    assert not [one for one in store.admin.doctor().findings if one.level == "damage"]


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_json_comes_back_as_it_is(value: Any) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        store.items.put("k", value)
        found = store.items.get("k")
        assert found is not None
        assert json.dumps(found.value) == json.dumps(value)
        assert [one.value for one in store.items.list()] == [value]
        assert found.to_dict()["value"] == value


@pytest.mark.parametrize(
    "value",
    [float("nan"), {1: 2}, {"a": {3}}, b"bytes", "\ud800", object(), "x" * (1 << 20)],
    ids=["nan", "name", "set", "bytes", "surrogate", "object", "large"],
)
def test_what_is_no_json_is_refused(store: vestig.Vestig, value: Any) -> None:
    with pytest.raises(ValidationError, match="value"):
        store.items.put("k", value)
    assert store.items.get("k") is None


def test_the_largest_value_and_the_deepest(store: vestig.Vestig) -> None:
    store.items.put("large", "x" * ((1 << 20) - 2))
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    store.items.put("deep", deep)
    assert store.items.get("deep").value == deep  # type: ignore[union-attr]
    with pytest.raises(ValidationError, match="64 levels"):
        store.items.put("deep", [deep])


@pytest.mark.parametrize("field", ["key", "scope"])
def test_keys_and_scopes_have_1_to_512_characters(store: vestig.Vestig, field: str) -> None:
    rest = {"key": "k", "scope": "s"}
    kept = (" spaces ",) if field == "key" else ()
    for text in ("é", "x" * 512, *kept, "line\nbreak", "mem_1", "a%2Fb/c"):
        store.items.put(value=text, **(rest | {field: text}), text=f"text of {text[:9]}")
        assert store.items.get(**(rest | {field: text})).value == text  # type: ignore[union-attr]
    for text in ("", "x" * 513, "a\0b", "\ud800", "a\x1f2", 7):
        with pytest.raises(ValidationError, match=field):
            store.items.put(value=1, **(rest | {field: text}))  # type: ignore[arg-type]


def test_an_equal_value_is_no_event_and_another_supersedes_the_text(store: vestig.Vestig) -> None:
    first = store.items.put("theme", {"dark": True}, text="Ada likes the dark theme")
    seq = store.admin.stats().seq
    again = store.items.put("theme", {"dark": True}, text="Ada likes the dark theme")
    assert (again.version, again.changed, again.seq) == (1, False, seq)
    assert again.memory_ids == first.memory_ids
    assert len(store.events(first.memory_ids[0])) == 1
    other = store.items.put("theme", {"dark": False}, text="Ada likes the light theme")
    assert (other.version, other.changed) == (2, True)
    old = store.show(first.memory_ids[0], include_expired=True).memory
    assert old.superseded_by == other.memory_ids[0]
    # the value alone: the text stays as it is
    third = store.items.put("theme", {"dark": None}, text="Ada likes the light theme")
    assert (third.version, third.memory_ids) == (3, other.memory_ids)
    assert len(store.events(other.memory_ids[0])) == 1
    # the text alone
    fourth = store.items.put("theme", {"dark": None}, text="Ada dims the lamp")
    assert (fourth.version, fourth.changed) == (4, True)
    # no text any more
    fifth = store.items.put("theme", {"dark": None})
    assert (fifth.version, fifth.memory_ids, store.count()) == (5, (), 0)
    sound(store)


def test_white_space_of_a_text_is_another_text_in_quotes_and_named_elsewhere(
    store: vestig.Vestig,
) -> None:
    store.items.put("sep", "\t", text="fields are parted by '\t'")
    other = store.items.put("sep", " ", text="fields are parted by ' '")
    assert store.get("sep").content == "fields are parted by ' '"
    assert other.warnings == ()
    wrapped = store.items.put("sep", " ", text="fields are\nparted by ' '")
    assert [one for one in wrapped.warnings if "other white space" in one]
    assert store.get("sep").content == "fields are parted by ' '"


def test_old_texts_are_read_at_their_times(tmp_path: Path) -> None:

    clock = FrozenClock("2026-01-01")
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        store.items.put("city", "Porto", text="Maria lives in Porto")
        clock.set("2026-02-01")
        store.items.put("city", "Lisbon", text="Maria lives in Lisbon")
        then = store.list(where={"keys": "city"}, as_of="2026-01-15")
        assert [one.content for one in then] == ["Maria lives in Porto"]
        # a clock that goes back stores no history: the last put is what holds
        clock.set("2025-06-01")
        store.items.put("city", "Faro", text="Maria lives in Faro")
        assert store.get("city").content == "Maria lives in Faro"
        store.items.put("city", "Faro")
        clock.set("2025-05-01")
        store.items.put("city", "Braga", text="Maria lives in Braga")
        assert store.get("city").content == "Maria lives in Braga"
        assert store.get("city").t_invalid is None


def test_no_text_is_refused_and_two_keys_with_one_text_stay_two(store: vestig.Vestig) -> None:
    texts = ["{}", "ok", "a", "!!!", "  hm \x07", "7"]
    for number, text in enumerate(texts):
        for key in ("a", "b"):
            assert len(store.items.put(f"{key}{number}", text, text=text).memory_ids) == 1
    assert store.count() == 2 * len(texts)
    for blank in ("", "  ", "\x00\x07"):
        assert store.items.put("blank", 1, text=blank).memory_ids == ()
    assert store.items.put("off", 1, text="words", index=False).memory_ids == ()
    assert store.count() == 2 * len(texts)


def test_a_long_text_is_found_by_each_of_its_parts(store: vestig.Vestig) -> None:
    words = [f"word{number:04}" for number in range(2_000)]
    text = " ".join(words)
    ids = store.items.put("long", 1, scope="s", text=text).memory_ids
    assert len(ids) > 3
    for word in ("word0003", "word0999", "word1998"):
        assert store.recall(word, limit=1)[0].memory.id in ids
    assert store.count(where={"key_prefix": "long"}) == len(ids)
    # fewer parts: those that are left over are withdrawn
    short = store.items.put("long", 1, scope="s", text=" ".join(words[:600])).memory_ids
    assert len(short) == 2
    assert store.count() == 2
    # a longer key that goes on like the first is another item
    store.items.put("long2", 1, scope="s", text="another item")
    assert store.items.delete("long", scope="s").rows_removed["items"] == 1
    assert [one.key for one in store.list(where={"include_expired": True})] == ["long2"]
    sound(store)


def test_expected_versions(store: vestig.Vestig) -> None:
    put = store.items.put
    with pytest.raises(ConflictError, match="has version 0, not 1"):
        put("k", 1, expected=1)
    assert put("k", 1, expected=0).version == 1
    with pytest.raises(ConflictError, match="'k' has version 1, not 0"):
        put("k", 2, expected=0)
    assert put("k", 2, expected=1).version == 2
    with pytest.raises(ConflictError):
        store.items.put_many(
            [{"key": "other", "value": 1}, {"key": "k", "value": 3, "expected": 1}]
        )
    assert store.items.get("other") is None
    found = store.items.put_many(
        [{"key": "k", "value": 3, "expected": 2}, {"key": "k", "value": 4, "expected": 3}]
    )
    assert [one.version for one in found] == [3, 4]
    assert store.items.get("k").value == 4  # type: ignore[union-attr]
    store.items.delete("k")
    assert put("k", 1, expected=0).version == 1


def test_a_pinned_text_is_kept(store: vestig.Vestig) -> None:
    (id,) = store.items.put("k", 1, text="the first words").memory_ids
    store.pin(id)
    for change in ({"text": "other words"}, {}):
        with pytest.raises(ConflictError, match="pinned"):
            store.items.put("k", 2, **change)  # type: ignore[arg-type]
    with pytest.raises(ConflictError, match="pinned"):
        store.items.delete("k")
    assert store.items.get("k").version == 1  # type: ignore[union-attr]
    store.items.delete("k", force=True)
    assert store.items.get("k") is None


def test_past_its_end_nothing_shows_an_item_and_gc_removes_it() -> None:

    clock = FrozenClock("2026-01-01")
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        ends = {"expires": "2026-01-02"}
        (id,) = store.items.put("k", 1, scope="a/b", text="the lantern is lit", **ends).memory_ids
        store.items.put("rest", 1, scope="a", text="the harbour is calm")
        assert store.count() == 2
        clock.set("2026-01-03")
        assert store.items.get("k", scope="a/b") is None
        assert [one.key for one in store.items.list("a")] == ["rest"]
        assert store.items.scopes() == ["a"]
        assert [hit.memory.key for hit in store.recall("is the lantern lit?")] == ["rest"]
        assert [one.key for one in store.list()] == ["rest"]
        assert store.count() == 1
        assert [hit.id for hit in store.graph.search("lantern") if hit.id == id] == []
        for read in (lambda: store.show(id), lambda: store.get("k", scope="a/b")):
            with pytest.raises(vestig.NotFoundError):
                read()
        with pytest.raises(ConflictError, match="has version 0"):
            store.items.put("k", 2, scope="a/b", expected=1)
        assert store.admin.gc(dry_run=True).items_removed == 1
        assert store.admin.gc().items_removed == 1
        assert store.admin.gc().items_removed == 0
        assert store.admin.stats().memories == 1
        # an end that moves is no new version; an item that is put again after its end has one
        store.items.put("k", 1, scope="a/b", expires="2026-02-01")
        assert store.items.put("k", 1, scope="a/b", expires="2026-03-01").version == 1
        clock.set("2026-03-02")
        assert store.items.put("k", 1, scope="a/b").version == 2
        assert store.items.get("k", scope="a/b").expires_at is None  # type: ignore[union-attr]
        sound(store)


def test_scopes_and_the_filter_select_whole_parts(store: vestig.Vestig) -> None:
    scopes = [None, "a", "a/b", "a/b/c", "a/bc", "a b", "ab", "a%2Fb", "a0"]
    for scope in scopes:
        store.items.put("k", scope, scope=scope, text=f"item of {scope}")
        store.commit(f"A note without a key in {scope}", scope=scope)
    below = ["a", "a/b", "a/b/c", "a/bc"]
    assert sorted(one.scope for one in store.items.list("a")) == below  # type: ignore[type-var]
    assert store.items.list().total == len(scopes)
    assert store.items.scopes("a") == below
    assert store.items.scopes("a", depth=2) == ["a", "a/b", "a/bc"]
    assert store.items.scopes(depth=1) == ["a", "a b", "a%2Fb", "a0", "ab"]
    for where, found in (
        ({"scope_prefix": "a"}, below),
        ({"scope_prefix": "a/b"}, ["a/b", "a/b/c"]),
        ({"scope_prefix": "a", "scope": ["a/bc", "ab"]}, ["a/bc"]),
        ({"scope_prefix": "a", "scope": ["ab"]}, []),
        ({"scope_prefix": "nobody"}, []),
        ({"scope_prefix": "a/b", "unscoped": True}, ["a/b", "a/b/c", None]),
    ):
        listed = {one.scope for one in store.list(where=where, limit=100)}
        assert listed == set(found), where
        recalled = store.recall("note or item", where=where, limit=100)
        assert {hit.memory.scope for hit in recalled} == set(found), where
        assert store.count(where=where) == 2 * len(found), where
    report = store.forget(where={"scope_prefix": "a/b"})
    assert report.rows_removed["items"] == 2
    assert len(report.memory_ids) == 4
    assert store.items.scopes("a") == ["a", "a/bc"]
    pages = [store.items.list(offset=at, limit=2) for at in range(0, 8, 2)]
    assert [one.key for page in pages for one in page] == ["k"] * 7


def test_delete_selects_and_an_unknown_key_is_none(store: vestig.Vestig) -> None:
    for scope in (None, "a", "a/b"):
        store.items.put_many([{"key": key, "value": 1, "scope": scope} for key in "xyz"])
    plan = store.items.delete(["x", "nobody"], scope="a", dry_run=True)
    assert plan.dry_run
    assert plan.rows_removed["items"] == 1
    assert store.items.list().total == 9
    assert store.items.delete("nobody").rows_removed.get("items", 0) == 0
    assert store.items.delete("x", scope="a").rows_removed["items"] == 1
    assert store.items.delete(scope="a").rows_removed["items"] == 2
    assert store.items.delete(scope_prefix="a").rows_removed["items"] == 3
    assert [one.scope for one in store.items.list()] == [None] * 3
    for nothing in ({}, {"keys": []}, {"keys": "x", "scope_prefix": "a"}):
        with pytest.raises(ValidationError):
            store.items.delete(**nothing)  # type: ignore[arg-type]
    sound(store)


SECRETS = [
    "nobody knows where the seventh lantern of the harbour is hidden",
    "the password hint of the lighthouse keeper is his first boat",
    "only the third version names the colour of the second door",
]


def bytes_of(place: Path) -> bytes:
    return b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("indexed", [True, False], ids=["text", "value"])
def test_no_byte_of_any_version_stays(tmp_path: Path, indexed: bool) -> None:
    place = tmp_path / "store"
    with on_disk(place) as store:
        store.items.put("rest", SECRETS[0][:12] + " stays", text="what stays")
        for text in SECRETS:
            value = {"said": text, "number": 123_456_789_012_345}
            store.items.put("key-of-the-harbour", value, text=text if indexed else None)
        report = store.items.delete("key-of-the-harbour")
        assert report.residues == 0
        assert report.rows_removed["items"] == 1
        sound(store)
        found = bytes_of(place)
        for text in (*SECRETS, "key-of-the-harbour", "123456789012345"):
            assert text[:24].encode() not in found, text
        # a residue is found
        store.items.put("again", SECRETS[1])
        copied = place / "projection" / "copy.txt"
        copied.parent.mkdir(exist_ok=True)
        copied.write_text(SECRETS[1])
        with pytest.raises(vestig.ForgetIncompleteError, match=r"copy\.txt"):
            store.items.delete("again")
        copied.unlink()
        assert store.admin.forget_finish().residues == 0
        assert store.items.get("rest") is not None


def test_a_memory_that_is_the_text_goes_with_its_item(store: vestig.Vestig) -> None:
    old = store.items.put("k", SECRETS[0], text=SECRETS[0]).memory_ids[0]
    new = store.items.put("k", SECRETS[1], text=SECRETS[1]).memory_ids[0]
    store.forget([old])
    assert store.items.get("k").value == SECRETS[1]  # type: ignore[union-attr]
    report = store.forget([new])
    assert report.rows_removed["items"] == 1
    assert store.items.get("k") is None
    store.items.put("silent", 1, scope="s")
    assert store.forget(where={"scope": "s"}).rows_removed["items"] == 1
    store.items.put("silent", 1, scope="s")
    store.commit("A note with a tag", scope="s", tags=["t"])
    assert store.forget(where={"scope": "s", "tags": "t"}).rows_removed.get("items", 0) == 0
    assert store.items.get("silent", scope="s") is not None


def test_secrets_are_masked_or_refused() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        done = store.items.put("k", {"token": token}, text=f"the token is {token}")
        assert done.masked
        assert token not in json.dumps(store.items.get("k").to_dict())  # type: ignore[union-attr]
        assert token not in store.get("k").content
        assert store.items.put("k", {"token": token}, text=f"the token is {token}").changed
        with pytest.raises(SecretError, match="key"):
            store.items.put(token, 1)
    options = {"config": {"firewall": {"secrets": "reject"}}}
    with vestig.open(":memory:", embedder=HashingEmbedder(32), **options) as store:  # type: ignore[arg-type]
        with pytest.raises(SecretError, match="value"):
            store.items.put("k", {"token": token})
        assert store.items.get("k") is None


def test_items_travel_in_exports_and_merges(tmp_path: Path) -> None:
    with on_disk(tmp_path / "a") as store:
        store.items.put("k", {"v": [1, 2.5, None]}, scope="s/t", text="the first words")
        store.items.put(
            "k", {"v": 2**70}, scope="s/t", text="the second words", expires="2100-01-01"
        )
        store.items.put("gone", SECRETS[0], text="words that go")
        store.items.put("x" * 512, 1, scope="y" * 512, text=" ".join(f"n{n}" for n in range(2_000)))
        store.export(tmp_path / "before.jsonl")
        store.items.delete("gone")
        store.export(tmp_path / "all.jsonl")
        kept = [one.to_dict() for one in store.items.list()]
        # an export from before the deletion brings nothing back
        store.import_(tmp_path / "before.jsonl", merge=True)
        assert [one.to_dict() for one in store.items.list()] == kept
        store.export(tmp_path / "part.jsonl", where={"scope": "s/t"})
    with on_disk(tmp_path / "b") as store:
        store.import_(tmp_path / "all.jsonl")
        assert [one.to_dict() for one in store.items.list()] == kept
        store.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
        assert store.import_(tmp_path / "all.jsonl", merge=True).imported == 0
        sound(store)
        store.admin.backup(tmp_path / "copy")
    with on_disk(tmp_path / "copy", read_only=True) as store:
        assert [one.to_dict() for one in store.items.list()] == kept
    with on_disk(tmp_path / "c") as store:
        store.import_(tmp_path / "part.jsonl")
        assert [one.key for one in store.items.list()] == ["k"]
    # of two stores that hold a key each keeps its own, whichever was put later
    with on_disk(tmp_path / "d") as store:
        store.items.put("k", "later", scope="s/t", text="the latest words")
        store.items.put("gone", "here it stays")
        store.export(tmp_path / "later.jsonl")
        report = store.import_(tmp_path / "all.jsonl", merge=True)
        assert store.items.get("k", scope="s/t").value == "later"  # type: ignore[union-attr]
        assert store.get("k", scope="s/t").content == "the latest words"
        assert store.items.get("gone") is not None
        assert report.errors == ()
        assert [one for one in report.warnings if one.endswith("here: k of s/t")]
        sound(store)
    with on_disk(tmp_path / "b") as store:
        report = store.import_(tmp_path / "later.jsonl", merge=True)
        assert [one.to_dict() for one in store.items.list(limit=2)][1] == kept[0]
        assert store.get("k", scope="s/t").content == "the second words"
        assert store.items.get("gone") is not None
        assert [one for one in report.warnings if one.endswith("here: k of s/t")]
        sound(store)


def test_a_merge_replaces_no_item_that_is_shown(tmp_path: Path) -> None:
    clock = FrozenClock()
    words = " ".join(f"n{n}" for n in range(2_000))

    def opened(name: str) -> vestig.Vestig:
        return vestig.open(tmp_path / name, embedder=HashingEmbedder(32), clock=clock)

    with opened("mine") as mine, opened("theirs") as theirs:
        for number in range(3):
            mine.items.put("prefs", number, text="the short words")
        mine.items.put("same", 1, text="the same words")
        mine.items.put("old", 1, text="words that end", expires=clock.move(hours=1))
        mine.items.put("old", 2, text="words that end", expires=clock.move(hours=1))
        mine.items.put("deleted", 1)
        mine.export(tmp_path / "mine.jsonl", where={"keys": ["nothing"]})
        clock.move(days=1)
        theirs.items.put("prefs", "other", text=words)
        theirs.items.put("same", 1, text="the same words")
        theirs.items.put("old", "new", text="words that hold")
        theirs.export(tmp_path / "theirs.jsonl")
        report = mine.import_(tmp_path / "theirs.jsonl", merge=True)
        kept = mine.items.get("prefs")
        assert kept is not None
        assert (kept.value, kept.version) == (2, 3)
        assert mine.get("prefs").content == "the short words"
        assert mine.keys(prefix="prefs") == ["prefs"]
        taken = mine.items.get("old")
        assert taken is not None
        assert (taken.value, taken.version) == ("new", 3)
        assert mine.get("old").content == "words that hold"
        assert list(report.warnings) == [
            "1 item of the file stayed out, for each has another value here: prefs"
        ]
        again = mine.import_(tmp_path / "theirs.jsonl", merge=True)
        assert (again.imported, again.warnings) == (0, report.warnings)
        sound(mine)


def test_a_changed_line_of_an_item_is_refused(tmp_path: Path) -> None:
    import hashlib

    with on_disk(tmp_path / "a") as store:
        store.items.put("k", {"v": 1}, scope="s")
        store.export(tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    place = next(at for at, line in enumerate(lines) if line["record"] == "item")
    for member, value in (
        ("key", None), ("key", ""), ("key", "x" * 600), ("version", 0),
        ("version", -1), ("scope", "\0"), ("id", "item_1"), ("updated_at", "never"),
    ):  # fmt: skip
        changed = [dict(line) for line in lines]
        changed[place][member] = value
        text = "".join(json.dumps(line) + "\n" for line in changed[:-1])
        changed[-1]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "changed.jsonl").write_text(text + json.dumps(changed[-1]) + "\n")
        with on_disk(tmp_path / "b") as store, pytest.raises(ValidationError, match="line"):
            store.import_(tmp_path / "changed.jsonl")


def test_an_altered_row_is_found_at_the_read(tmp_path: Path) -> None:
    import apsw

    with on_disk(tmp_path / "a") as store:
        store.items.put("k", {"v": 1})
    conn = apsw.Connection(str(tmp_path / "a" / "ledger.sqlite"))
    conn.execute("UPDATE items SET value = '{\"v\":2}'")
    conn.close()
    with on_disk(tmp_path / "a") as store:
        with pytest.raises(StoreDamagedError, match="items"):
            store.items.get("k")
        with pytest.raises(StoreDamagedError, match="items"):
            store.items.list()


def _race(place: str, number: int, rounds: int, queue: Any) -> None:
    won = 0
    with on_disk(Path(place)) as store:
        for turn in range(rounds):
            try:
                store.items.put("k", [number, turn], text=f"{number} {turn}", expected=turn)
                won += 1
            except ConflictError:
                pass
            while True:
                found = store.items.get("k")
                if found is not None and found.version > turn:
                    break
    queue.put(won)


def test_of_two_processes_one_wins_each_version(tmp_path: Path) -> None:
    place, rounds = str(tmp_path / "store"), 12
    with on_disk(tmp_path / "store") as store:
        store.items.put("other", 1)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    both = [context.Process(target=_race, args=(place, n, rounds, queue)) for n in (1, 2)]
    for one in both:
        one.start()
    won = [queue.get(timeout=120) for _ in both]
    for one in both:
        one.join(60)
    assert sum(won) == rounds
    with on_disk(tmp_path / "store") as store:
        assert store.items.get("k").version == rounds  # type: ignore[union-attr]
        assert store.count(where={"keys": "k"}) == 1
        sound(store)


def test_a_store_that_is_not_there_has_no_items(tmp_path: Path) -> None:
    with on_disk(tmp_path / "none") as store:
        assert store.items.get("k") is None
        assert store.items.list().total == 0
        assert store.items.scopes() == []
        assert store.items.delete("k").rows_removed.get("items", 0) == 0
        assert store.items.put_many([]) == []
        assert not (tmp_path / "none").exists()
        store.items.put("k", 1)
    assert (tmp_path / "none").exists()


def test_other_namespaces_are_apart(store: vestig.Vestig) -> None:
    store.items.put("k", 1, namespace="one")
    store.items.put("k", 2, namespace="two", text="words")
    assert store.items.get("k") is None
    assert store.items.get("k", namespace="one").value == 1  # type: ignore[union-attr]
    store.items.delete("k", namespace="one")
    assert store.items.get("k", namespace="two").value == 2  # type: ignore[union-attr]


def test_an_end_moves_by_as_much_as_was_left_when_it_was_put() -> None:
    clock = FrozenClock()
    with vestig.open(":memory:", embedder=HashingEmbedder(32), clock=clock) as store:
        clock.set("2026-04-01")
        store.items.put("hour", 1, expires="2026-04-11")
        store.items.put("changed", 1, expires="2026-04-11")
        store.items.put("endless", 1)
        read = [store.items.get(key) for key in ("hour", "changed", "endless")]
        store.items.put("changed", 2, expires="2026-04-12")
        clock.set("2026-04-06")
        extend(store._session, [one for one in read if one is not None])
        ends = {one.key: one.expires_at for one in store.items.list().items}
        assert ends == {
            "hour": datetime(2026, 4, 16, tzinfo=UTC),
            "changed": datetime(2026, 4, 12, tzinfo=UTC),
            "endless": None,
        }


def test_a_key_finds_the_text_of_its_own_item(store: vestig.Vestig) -> None:
    keys = {"café": "oak", "cafe\u0301": "elm", "a  b": "ash", "a b": "fir"}
    for key, tree in keys.items():
        store.items.put(key, tree, text=f"The bench is made of {tree} wood")
    assert store.keys() == sorted(keys)
    for key, tree in keys.items():
        wanted = f"The bench is made of {tree} wood"
        assert store.get(key).content == wanted
        assert [one.content for one in store.history(key)] == [wanted]
        assert [one.content for one in store.list({"keys": key})] == [wanted]
    assert len(store.forget(where={"keys": "cafe\u0301"}).memory_ids) == 1
    assert store.items.get("café") is not None
    # a key that no item has is its normal form
    assert store.get("cafe\u0301").content == "The bench is made of oak wood"
    assert store.get("cafe\u0301", valid_at=store.get("café").t_valid).key == "café"
    store.forget(where={"keys": "cafe\u0301"})
    assert store.items.get("café") is None


def test_a_key_selects_every_part_of_a_long_text(tmp_path: Path) -> None:
    words = " ".join(f"Step {number}: part {7 * number} goes to its box." for number in range(400))
    keys = ("returns", " odd ")
    with on_disk(tmp_path / "a") as store:
        store.commit("A dot divides parts of a key", key="returns.other")
        for key in keys:
            ids = store.items.put(key, 1, text=words).memory_ids
            assert store.count(where={"keys": key}) == len(ids) > 2
            assert {
                one.memory_id for one in store.recall("box", where={"keys": key}, all=True)
            } <= {*ids}
        assert store.get("returns", valid_at="2100-01-01") == store.get("returns")
        store.export(tmp_path / "part.jsonl", where={"keys": list(keys)})
        assert store.deprecate(where={"keys": list(keys)}).memory_ids
        assert store.count() == 1
    with on_disk(tmp_path / "b") as store:
        store.import_(tmp_path / "part.jsonl")
        for key in keys:
            assert store.count(where={"keys": key}) > 2


def test_a_put_says_where_its_key_is_not_taken(tmp_path: Path) -> None:
    with on_disk(tmp_path / "a") as store:
        for key in ("k" * 201, "mem_k", "a\nb", " k "):
            assert "get and history" in store.items.put(key, 1, text="Ada sails").warnings[0]
            assert store.items.put(key, 2, text="Ada sails", index=False).warnings == ()
            with pytest.raises(ValidationError):
                store.get(key)
        assert store.items.put("plain", 1, text="Ada sails").warnings == ()
        store.items.put("k", 1, scope="s" * 512, text="Ada rows")
        view = store.scoped("s" * 512)
        assert view.get("k").content == "Ada rows"
        assert view.items.get("k") is not None
