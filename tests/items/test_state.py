"""Items against a dict: random calls, reopenings, exports, and the processes that are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import vestig
from vestig.errors import ConflictError
from vestig.testing import HashingEmbedder

SCOPES = [None, "a", "a/b", "ab", "é"]
KEYS = ["k", "k2", " k", "mem_1", "k\n"]
TEXTS = [None, "ok", "{}", "Ada likes tea", "Omar likes tea", "tea " * 1_500]
VALUES: list[Any] = [None, 1, "ok", {"a": [1.5, None]}, 2**70]


class ItemMachine(RuleBasedStateMachine):
    """`model`: (scope, key) → value, version, text."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name) / "store"
        self.model: dict[tuple[str | None, str], tuple[Any, int, str | None]] = {}
        self.store = self.opened()

    def opened(self) -> vestig.Vestig:
        return vestig.open(self.place, embedder=HashingEmbedder(8))

    @rule(scope=st.sampled_from(SCOPES), key=st.sampled_from(KEYS), value=st.sampled_from(VALUES),
          text=st.sampled_from(TEXTS), expected=st.sampled_from([None, None, 0, 1, 2]))  # fmt: skip
    def put(self, scope: Any, key: Any, value: Any, text: Any, expected: Any) -> None:
        value_of, version, old_text = self.model.get((scope, key), (None, 0, None))
        try:
            done = self.store.items.put(key, value, scope=scope, text=text, expected=expected)
        except ConflictError:
            assert expected is not None
            assert expected != version
            return
        assert expected in (None, version)
        same = version > 0 and repr(value_of) == repr(value) and old_text == text
        assert done.changed is not same
        assert done.version == (version if same else version + 1)
        self.model[scope, key] = value, done.version, text

    @rule(puts=st.lists(st.tuples(st.sampled_from(SCOPES), st.sampled_from(KEYS),
                                  st.sampled_from(VALUES)), max_size=5))  # fmt: skip
    def put_many(self, puts: Any) -> None:
        given = [{"scope": scope, "key": key, "value": value} for scope, key, value in puts]
        for (scope, key, value), done in zip(puts, self.store.items.put_many(given), strict=True):
            self.model[scope, key] = value, done.version, None

    @rule(scope=st.sampled_from(SCOPES), keys=st.lists(st.sampled_from(KEYS), min_size=1))
    def delete(self, scope: Any, keys: Any) -> None:
        gone = {key for key in keys if (scope, key) in self.model}
        report = self.store.items.delete(keys, scope=scope)
        assert report.rows_removed.get("items", 0) == len(gone)
        for key in gone:
            del self.model[scope, key]

    @rule(prefix=st.sampled_from(["a", "a/b", "none"]))
    def forget(self, prefix: str) -> None:
        self.store.forget(where={"scope_prefix": prefix})
        for scope, key in list(self.model):
            if scope is not None and f"{scope}/".startswith(f"{prefix}/"):
                del self.model[scope, key]

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.opened()

    @rule()
    def travel(self) -> None:
        """An export restores all of it, and merges into itself without a change."""
        file = Path(self.folder.name) / "all.jsonl"
        self.store.export(file)
        assert self.store.import_(file, merge=True).imported == 0
        with vestig.open(":memory:", embedder=HashingEmbedder(8)) as other:
            other.import_(file)
            self.check(other)

    @invariant()
    def agrees(self) -> None:
        self.check(self.store)

    def check(self, store: vestig.Vestig) -> None:
        listed = {
            (one.scope, one.key): (one.value, one.version) for one in store.items.list(limit=100)
        }
        assert repr(sorted(listed.items(), key=repr)) == repr(
            sorted(((place, one[:2]) for place, one in self.model.items()), key=repr)
        )
        parts = sum(
            0 if text is None else (1 if len(text) <= 4_000 else 2)
            for _, _, text in self.model.values()
        )
        assert store.count() == parts

    def teardown(self) -> None:
        assert self.store._session.ledger.verify_all() == []
        self.store.close()
        self.folder.cleanup()


TestItems = pytest.mark.slow(ItemMachine.TestCase)
# of fifty steps each
TestItems.settings = settings(max_examples=settings.default.max_examples // 4)


WRITER = """
import sys
import vestig
from vestig.testing import HashingEmbedder
with vestig.open(sys.argv[1], embedder=HashingEmbedder(8)) as store:
    for turn in range(int(sys.argv[2]), 10_000):
        both = [{"key": key, "value": turn, "text": f"{key} at turn {turn}"} for key in "xy"]
        store.items.put_many(both)
        if turn % 7 == 6:
            store.items.delete("z")
        store.items.put("z", turn, text=f"z at turn {turn}")
        print(turn, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_writer_leaves_whole_puts(tmp_path: Path, seed: int) -> None:
    rng, place, turn = random.Random(seed), tmp_path / "store", 0
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place), str(turn)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        acknowledged = -1
        for _ in range(rng.randint(2, 12)):
            acknowledged = int(writer.stdout.readline())
        writer.kill()
        rest = writer.stdout.read().split("\n")
        writer.wait()
        acknowledged = max([acknowledged, *(int(one) for one in rest[:-1] if one)])
        with vestig.open(place, embedder=HashingEmbedder(8)) as store:
            found = {one.key: one.value for one in store.items.list()}
            assert found["x"] == found["y"] >= acknowledged
            for key in "xy":
                assert store.get(key).content == f"{key} at turn {found[key]}"
            store.admin.forget_finish()
            assert store._session.ledger.verify_all() == []
            turn = found["x"] + 1
