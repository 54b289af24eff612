"""A write with a key is done once, whatever happens to its answer."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import vestig
from served import Site, serving
from vestig.session.session import Session
from vestig.testing import HashingEmbedder

KEY = {"Idempotency-Key": "order-17"}
TEXT = {"content": "Deploys run on Fridays at noon"}


def rows(session: Session) -> list[tuple[Any, ...]]:
    with session.ledger.read() as view:
        found = view.connection.execute("SELECT key, status, response FROM idempotency_keys")
        return [tuple(row) for row in found]


def test_the_same_request_gets_the_same_answer_and_is_done_once(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        first = site.post("commit", TEXT, KEY)
        again = site.post("commit", TEXT, KEY)
        assert (first.status, again.status) == (201, 201)
        assert again.body == first.body
        assert "idempotency-replayed" not in first.headers
        assert again.headers["idempotency-replayed"] == "true"
        events = site.store.events(first.document["memory_id"])
        assert len(events) == 1, "the repeat is no reinforcement"
    with serving(tmp_path / "store") as site:
        assert site.post("commit", TEXT, KEY).body == first.body


def test_a_key_stands_for_one_request(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        id = site.post("commit", TEXT, KEY).document["memory_id"]
        other = site.post("commit", {"content": "Deploys run on Mondays at noon"}, KEY)
        assert (other.status, other.code) == (422, "validation")
        route = site.post("deprecate", {"id": id}, KEY)
        assert (route.status, route.code) == (422, "validation")
        apart = site.post("commit", {**TEXT, "namespace": "other"}, KEY)
        assert apart.status == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 129, "é"])
def test_a_key_is_visible_ascii(site: Site, key: str) -> None:
    reply = site.post("commit", TEXT, {"Idempotency-Key": key})
    assert (reply.status, reply.code) == (422, "validation")


def test_answers_to_states_are_kept_in_their_transaction(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        old, new = site.commit("The office is in Bergen"), site.commit("The new office is in Oslo")
        pair = {"old": old, "new": new}
        first = site.post("supersede", pair, KEY)
        assert site.post("supersede", pair, KEY).body == first.body
        named = {"Idempotency-Key": "two"}
        done = site.post("deprecate", {"id": new}, named)
        assert (done.status, done.document["status"]) == (200, "DEPRECATED")
        again = site.post("deprecate", {"id": new}, named)
        assert (again.status, again.body) == (200, done.body)
        assert site.post("deprecate", {"id": new}).status == 409


def test_errors_are_not_kept(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        site.commit("A first fact of this store")
        assert site.post("commit", {"content": "ok"}, KEY).status == 422
        assert site.post("commit", TEXT, KEY).status == 201


def test_an_answer_exists_exactly_when_its_change_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the key cannot be written, nothing is: not even the memory."""
    from vestig.errors import StoreFullError
    from vestig.store.records.writes import WriteTransaction

    def full(*_: Any, **__: Any) -> None:
        raise StoreFullError("full")

    with serving(tmp_path / "store") as site:
        site.commit("A first fact of this store")
        with monkeypatch.context() as patch:
            patch.setattr(WriteTransaction, "keep_answer", full)
            assert site.post("commit", TEXT, KEY).status == 507
        assert site.store.count() == 1
        assert site.post("commit", TEXT, KEY).status == 201
        ((kept, status),) = [row[:2] for row in rows(site.store._session)]
        assert (len(kept), status) == (64, 201)


def test_a_key_is_kept_as_a_keyed_hash(tmp_path: Path) -> None:
    secret = {"Idempotency-Key": "ghp_" + "9fK2mQ7xLw3Zt8RbV5nYc1Hd6Js4Gp0A"}
    kept = []
    for name in ("one", "two"):
        with serving(tmp_path / name) as site:
            first = site.post("commit", TEXT, secret)
            assert site.post("commit", TEXT, secret).body == first.body
            kept.append(rows(site.store._session)[0][0])
            site.store.export(tmp_path / f"{name}.jsonl")
    assert kept[0] != kept[1]
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert secret["Idempotency-Key"].encode() not in path.read_bytes(), path
    with vestig.open(tmp_path / "copy", embedder=HashingEmbedder(256)) as copy:
        copy.import_(tmp_path / "one.jsonl")
    with serving(tmp_path / "copy") as site:
        again = site.post("commit", TEXT, secret)
        assert again.headers["idempotency-replayed"] == "true"


def test_a_request_in_progress_is_a_conflict(tmp_path: Path) -> None:
    with serving(tmp_path / "store", max_concurrent=4) as site:
        inside, go = threading.Event(), threading.Event()
        commit = site.store.commit

        def slow(*args: Any, **kwargs: Any) -> Any:
            inside.set()
            go.wait(10)
            return commit(*args, **kwargs)

        site.store.commit = slow  # type: ignore[method-assign]
        found: list[int] = []
        thread = threading.Thread(
            target=lambda: found.append(site.post("commit", TEXT, KEY).status)
        )
        thread.start()
        assert inside.wait(10)
        reply = site.post("commit", TEXT, KEY)
        assert (reply.status, reply.code) == (409, "conflict")
        go.set()
        thread.join(timeout=10)
        assert found == [201]


def test_forgetting_erases_answers_that_name_the_memory(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        id = site.post("commit", TEXT, KEY).document["memory_id"]
        assert site.post("forget", {"ids": id, "confirm": True}).status == 200
        assert [id in json.dumps(row) for row in rows(site.store._session)] == [False]
        reply = site.post("commit", TEXT, KEY)
        assert (reply.status, reply.code) == (409, "conflict")
        assert site.store.count() == 0


def test_items_and_forget_are_answered_again(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as site:
        body = {"items": [TEXT, {"content": "Deploys are announced in the morning"}]}
        first = site.post("commit", body, KEY)
        again = site.post("commit", body, KEY)
        assert (again.status, again.body) == (207, first.body)
        gone = {"ids": first.document["outcomes"][0]["memory_id"], "confirm": True}
        named = {"Idempotency-Key": "three"}
        done = site.post("forget", gone, named)
        assert site.post("forget", gone, named).body == done.body
