"""Secrets in items that were put while nothing masked them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import vestig
from vestig.errors import ConflictError
from vestig.testing import HashingEmbedder

SECRETS = ("Vq7!tidalMoor", "Harbor#4471z", "Anker_2093!x", "Lotse%88kelp")
OFF = {"firewall": {"secrets": "off"}}


def opened(path: Path | str, **options: Any) -> vestig.Vestig:
    return vestig.open(path, embedder=HashingEmbedder(32), **options)


def fill(store: vestig.Vestig) -> None:
    """Secrets in values, in a text of one part and in one of several, and none."""
    put = store.items.put
    put("login", {"user": "ada", "password": SECRETS[0], "note": "the pier lamp is green " * 9})
    put("note", f"The password of the boat is {SECRETS[1]}", scope="crew/omar")
    put("door", [1], text=f"The password of the door is {SECRETS[2]}")
    long = "the tide table says noon. " * 230 + f"The password of the crane is {SECRETS[3]}. "
    put("crane", None, text=long + "the ferry waits. " * 300)
    put("plain", {"password": None, "size": 2**70})


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_they_are_listed_by_key_without_a_value(tmp_path: Path) -> None:
    with opened(tmp_path / "store", config=OFF) as store:
        fill(store)
        report = store.admin.secrets()
        assert {(one.scope, one.key) for one in report if one.key is not None} == {
            (None, "login"),
            ("crew/omar", "note"),
        }
        assert [one.rules[0].rule for one in report] == ["password"] * len(report)
        assert (report.items_evaluated, report.items_fixed) == (5, 0)
        assert sum(one.memory_id is not None for one in report) == 2
        assert not any(secret in json.dumps(report.to_dict()) for secret in SECRETS)
        plan = store.admin.secrets(fix=True, dry_run=True)
        assert (plan.fixed, plan.items_fixed, len(plan)) == (0, 0, 4)
        assert store.items.get("login").value["password"] == SECRETS[0]  # type: ignore[union-attr]


def test_fix_masks_them_and_no_byte_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "store", config=OFF) as store:
        fill(store)
        ends = store.items.put("short", f"password: {SECRETS[1]}", expires="2900-01-01")
        report = store.admin.secrets(fix=True)
        assert (report.fixed, report.items_fixed, report.errors) == (2, 3, ())
        assert len(store.admin.secrets()) == 0
        login = store.items.get("login")
        assert login is not None
        assert login.value["password"] == "[secret:password]"
        assert login.value["note"] == "the pier lamp is green " * 9
        assert (login.version, login.created_at <= login.updated_at) == (2, True)
        assert store.items.get("short").expires_at is not None  # type: ignore[union-attr]
        assert store.items.get("door").value == [1]  # type: ignore[union-attr]
        assert store.items.get("plain").version == 1  # type: ignore[union-attr]
        assert store.get("door").content == "The password of the door is [secret:password]"
        crane = [one for one in store.list(limit=20) if (one.key or "").startswith("crane")]
        assert len(crane) == 3
        assert sum("[secret:password]" in one.content for one in crane) == 1
        try:
            store.items.put("short", "mine", expected=ends.version)
        except ConflictError:
            pass
        else:
            raise AssertionError("the version that was read is not the one that stands there")
        assert [one for one in store.admin.doctor().findings if one.level == "damage"] == []
    data = bytes_of(tmp_path)
    for secret in SECRETS:
        assert secret.encode() not in data


def test_a_key_that_holds_one_is_named_and_stays() -> None:
    with opened(":memory:", config=OFF) as store:
        store.items.put(f"password: {SECRETS[0]}", SECRETS[0], scope="s")
        store.items.put("other", f"password: {SECRETS[1]}")
        report = store.admin.secrets(fix=True)
        assert report.items_fixed == 1
        (error,) = report.errors
        assert error.message == (
            "item password: [secret:password]: its key holds a secret, and no marker can stand"
            " there; delete the item, and put its value under another key"
        )
        assert [one.key for one in report] == ["other", "password: [secret:password]"]
        assert len(store.admin.secrets()) == 1
        store.items.delete(scope="s")
        assert len(store.admin.secrets()) == 0


def test_items_of_an_export_are_masked_when_they_come_in(tmp_path: Path) -> None:
    with opened(tmp_path / "careless", config=OFF) as careless:
        fill(careless)
        careless.export(tmp_path / "out.jsonl")
    with opened(tmp_path / "careful") as store:
        report = store.import_(tmp_path / "out.jsonl")
        assert "the values of 2 items held secrets, which are masked" in report.warnings
        assert store.items.get("login").value["user"] == "ada"  # type: ignore[union-attr]
        again = store.import_(tmp_path / "out.jsonl", merge=True)
        assert (again.memories, len(store.admin.secrets())) == (0, 0)
    for secret in SECRETS:
        assert secret.encode() not in bytes_of(tmp_path / "careful")


def test_a_part_of_a_long_text_is_updated_as_any_memory() -> None:
    with opened(":memory:") as store:
        parts = store.items.put("log", 1, text="the tide table says noon. " * 400).memory_ids
        done = store.update(parts[1], content="The tide table says midnight from now on")
        assert done.changed
        assert store.show(done.memory_id).memory.key == "log\x1f2"
        assert store.items.get("log") is not None
