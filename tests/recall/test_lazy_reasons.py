"""Reasons and memories are made when they are looked at, once, without the store."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import vestig
from scripted import Opener
from vestig.answers import Reason, RecallHit
from vestig.config.weights import learned
from vestig.errors import StoreDamagedError
from vestig.ids import id_text
from vestig.recall.reason import Explainer
from vestig.store.records import rows

QUERY = "Who keeps the red key?"


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    made = opener()
    for text in ("Ada keeps the red key", "The pump needs oil", "Tomatoes need water"):
        made.commit(text)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the memories whose reasons were made."""
    ids: list[str] = []
    reason = Explainer.reason

    def counted(self: Explainer, row: Any, memory: Any, *rest: Any, **named: Any) -> Reason:
        ids.append(id_text("mem", row.id))
        return reason(self, row, memory, *rest, **named)

    monkeypatch.setattr(Explainer, "reason", counted)
    return ids


def test_scores_are_there_without_reasons(store: vestig.Vestig, made: list[str]) -> None:
    found = store.recall(QUERY, touch=True, context=True)
    for hit in found:
        assert hit.score > hit.final > 0
        assert hit.similarity is not None
        assert hit.content
    assert made == []


def test_a_reason_is_made_once(store: vestig.Vestig, made: list[str]) -> None:
    first, second, _ = store.recall(QUERY)
    reason = first.reason
    assert first.reason is reason
    assert reason.final_score == first.final
    assert reason.similarity == first.similarity
    assert made == [first.id]
    assert second.reason.explanation
    assert made == [first.id, second.id]


def test_reasons_say_what_state_a_memory_is_in(opener: Opener) -> None:
    store = opener()
    names = ("plain", "pinned", "archived", "withdrawn", "later")
    ids = {name: store.commit(f"The {name} key is red").memory_id for name in names}
    store.pin(ids["pinned"])
    store.archive(ids["archived"])
    store.deprecate(ids["withdrawn"])
    store.update(ids["later"], t_valid="2090-01-01")
    ended = store.commit("The ended key is red").memory_id
    store.update(ended, t_valid="2020-01-01", t_invalid="2021-01-01")
    where = vestig.Filter(include_expired=True, include_archived=True)
    for query in ("Which key is red?", "Which key is red in 2020?"):
        found = {hit.id: hit for hit in store.recall(query, limit=9, where=where)}
        flags = {name: found[id].reason.flags for name, id in ids.items()}
        assert flags == {
            "plain": (),
            "pinned": ("pinned",),
            "archived": ("archived",),
            "withdrawn": ("expired",),
            "later": ("not_yet_valid",),
        }
        [hit] = store.recall(query, valid_at="2020-06-01")
        assert (hit.id, hit.reason.flags) == (ended, ("no_longer_valid",))


def test_a_reason_makes_no_memory_without_need(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("no memory is made")

    monkeypatch.setattr(rows, "_memory", never)
    assert [hit.reason.flags for hit in store.recall(QUERY)] == [()] * 3
    with pytest.raises(AssertionError, match="no memory is made"):
        store.recall("Who had the red key in 2020?")[0].reason.flags  # noqa: B018


def test_threads_get_one_and_the_same_reason(store: vestig.Vestig) -> None:
    hit = store.recall(QUERY)[0]
    start, reasons = threading.Barrier(8), list[Reason]()

    def read() -> None:
        start.wait()
        reasons.append(hit.reason)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reasons) == 8
    assert {id(one) for one in reasons} == {id(hit.reason)}


def test_a_reason_outlives_its_store_and_what_was_forgotten(store: vestig.Vestig) -> None:
    expected = [hit.reason for hit in store.recall(QUERY, seed=1)]
    found = store.recall(QUERY, seed=1)
    store.forget([hit.id for hit in found])
    store.close()
    assert [hit.reason for hit in found] == expected


def test_a_memory_outlives_its_store_and_what_was_changed(store: vestig.Vestig) -> None:
    expected = [hit.memory for hit in store.recall(QUERY)]
    first, second, third = found = store.recall(QUERY)
    assert "_memory" not in first.__dict__
    store.update(first.id, metadata={"ticket": 7})
    store.pin(first.id)
    store.deprecate(second.id, reason="gone")
    store.forget([third.id])
    store.close()
    assert [hit.memory for hit in found] == expected
    assert [(hit.id, hit.content) for hit in found] == [(one.id, one.content) for one in expected]
    assert first.memory is first.memory


@pytest.mark.parametrize(
    "change",
    [
        "content = 'altered'",
        "content_hash = x'00'",
        *(
            f"{column} = 'no such word'"
            for column in (
                "kind",
                "role",
                "origin_type",
                '"trigger"',
                "temporal_stability",
                "status",
                "retention_policy",
                "keywords",
                "times",
                "metadata",
            )
        ),
        """times = '[{"text": "x", "start_us": 253402300800000000, "end_us": null}]'""",
        "t_valid_us = 253402300800000000",
        "t_created_us = -62135596800000001",
        "last_seen_us = 253402300800000000",
    ],
)
def test_what_is_damaged_raises_inside_recall(change: str, opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path / "store")
    id = store.commit("Ada keeps the red key").memory_id
    assert [hit.id for hit in store.recall(QUERY)] == [id]
    conn = apsw.Connection(str(tmp_path / "store" / "ledger.sqlite"))
    conn.execute("PRAGMA foreign_keys = OFF")
    conn.execute("PRAGMA ignore_check_constraints = ON")
    conn.execute(f"UPDATE memories SET {change}")
    conn.close()
    with pytest.raises(StoreDamagedError, match=id):
        store.recall(QUERY)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("keywords", text) for text in ('["a"', '["a"],["b"]', '"a"', "", '["a],["b"]', "[[]]")),
        *(("metadata", text) for text in ('{"a":1', '{"a":1},{"b":2}', "", '{"a":[1,2}')),
        *(("times", text) for text in ('[{"text":"x"', "[],[]", "", '[{"start_us":"x"}]', "{}")),
    ],
)
def test_one_damaged_row_among_others_is_named(
    column: str, text: str, opener: Opener, tmp_path: Path
) -> None:
    store = opener(tmp_path / "store")
    texts = ("Ada had the red key today", "Omar had the blue key today", "Maria lost a key today")
    ids = [store.commit(text, metadata={"of": text}).memory_id for text in texts]
    conn = apsw.Connection(str(tmp_path / "store" / "ledger.sqlite"))
    ((times,),) = conn.execute("SELECT times FROM memories WHERE content LIKE 'Ada%'").fetchall()
    assert times != "[]"
    conn.execute(f"UPDATE memories SET {column} = ? WHERE content LIKE 'Omar%'", (text,))
    conn.close()
    with pytest.raises(StoreDamagedError, match=ids[1]):
        store.recall(QUERY)


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        ("keywords", '["zzq"],["b"', '"c"]'),
        ("keywords", '["b"', '"c"],["zzq"]'),
        ("metadata", '{"a":1},{"b":2', '"c":3}'),
    ],
)
def test_damage_of_two_rows_never_makes_up_for_each_other(
    column: str, first: str, second: str, opener: Opener, tmp_path: Path
) -> None:
    store = opener(tmp_path / "store")
    for text in ("Ada had the red key", "Omar had the blue key"):
        store.commit(text, metadata={"of": text})
    conn = apsw.Connection(str(tmp_path / "store" / "ledger.sqlite"))
    conn.execute(f"UPDATE memories SET {column} = ? WHERE content LIKE 'Ada%'", (first,))
    conn.execute(f"UPDATE memories SET {column} = ? WHERE content LIKE 'Omar%'", (second,))
    conn.close()
    for read in (store.recall, lambda query: store.retrieve([{"content": query}])):
        with pytest.raises(StoreDamagedError, match="never written"):
            read(QUERY)


def test_a_hit_refers_to_no_part_of_the_store(store: vestig.Vestig) -> None:
    hit = store.recall(QUERY)[0]
    seen, waiting = set[int](), [hit.__dict__]
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        module = type(one).__module__
        assert not module.startswith(("vestig.session", "vestig.store", "apsw")), type(one)
        assert type(one).__name__ not in ("Projection", "Scan"), type(one)
        # functions refer to the modules that they stand in
        if not callable(one) or hasattr(one, "func"):
            waiting += gc.get_referents(one)


def test_equality_copies_and_encodings_show_the_reason(store: vestig.Vestig) -> None:
    one, two = store.recall(QUERY, seed=1), store.recall(QUERY, seed=1)
    assert one.results == two.results
    hit = store.recall(QUERY, seed=1)[0]
    assert hit == one[0]
    assert hit != dataclasses.replace(hit, score=2.0)
    assert repr(store.recall(QUERY, seed=1)[0]) == repr(hit)
    for same in (copy.copy(hit), copy.deepcopy(hit), pickle.loads(pickle.dumps(hit))):
        assert same == hit
    encoded = msgspec.json.decode(msgspec.json.encode(store.recall(QUERY, seed=1)[0]))
    assert encoded["reason"] == msgspec.json.decode(msgspec.json.encode(hit.reason))
    assert "embedding" not in encoded
    shown = store.recall(QUERY, seed=1)[0].to_dict(explain=True)
    assert shown["reason"] == hit.reason.to_dict()
    assert (shown["score"], shown["final"]) == (hit.score, hit.reason.final_score)
    assert "embedding" not in shown
    with pytest.raises(dataclasses.FrozenInstanceError):
        hit.score = 1.0  # type: ignore[misc]


def test_a_hit_takes_a_reason_as_it_is(store: vestig.Vestig) -> None:
    hit = store.recall(QUERY)[0]
    values = {"memory": hit.memory, "score": 0.5, "final": 0.5, "similarity": None}
    assert RecallHit(**values, reason=hit.reason).reason is hit.reason
    with pytest.raises(TypeError, match="reason"):
        RecallHit(**values)  # type: ignore[call-arg]


def test_the_json_of_a_note_without_session_is_small(store: vestig.Vestig) -> None:
    text = "The boiler pump failed on the night of the storm, and Ada ordered a brass gasket."
    store.commit(text)
    found = store.recall("why did the boiler pump fail?")
    first = found.to_dict(explain=True)["results"][0]
    assert first["content"] == text
    assert set(first["reason"]["signals"]) <= set(learned()["all"])
    assert len(json.dumps(first, separators=(",", ":"), ensure_ascii=False).encode()) <= 2_400
