"""A folder of Markdown brings a generated store back, in all that is promised."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.errors import VestigError
from vestig.testing import FrozenClock, HashingEmbedder

STATUSES = ("active", "superseded", "archived", "deprecated")
THINGS = ("gate", "pump", "lock", "weir", "towpath", "barge", "crane", "buoy")
WOODS = ("larch", "elm", "oak", "alder", "ash", "pine")
TIMES = ("2019-03-04", "2021-05-06", "2023-07-08T09:10:11.123456Z", "2025-12-31")


def opened(folder: Path) -> vestig.Vestig:
    return vestig.open(folder, embedder=HashingEmbedder(16), clock=FrozenClock())


def fill(store: vestig.Vestig, seed: int) -> None:
    """Commits and changes of state by chance; those that are refused are passed over."""
    chance = random.Random(seed)
    ids: list[str] = []
    for number in range(40):
        try:
            if not ids or chance.random() < 0.55:
                ids.append(committed(store, chance, number, ids))
            else:
                change(store, chance, ids)
        except VestigError:
            continue


def committed(store: vestig.Vestig, chance: random.Random, number: int, ids: list[str]) -> str:
    some = lambda *values: chance.choice((None, None, *values))  # noqa: E731
    thing, wood = chance.choice(THINGS), chance.choice(WOODS)
    given: dict[str, Any] = {
        "content": f"The {thing} is of {wood}" + (some(f"\n\n    note {number}") or ""),
        "scope": some("harbour", "harbour/north"),
        "key": some(f"{thing}.wood"),
        "tags": some(["wood"], ["a: b", "wood"]),
        "author": some("Ada", "Berta"),
        "title": some('Of "wood"'),
        "t_valid": some(*TIMES),
        "t_invalid": some("2026-01-01", "2030-01-01"),
        "pinned": some(True),
        "retention_policy": some("permanent", "ephemeral"),
        "retention_until": some("2031-01-01"),
        "metadata": some({"shelf": {"row": number}}),
        "role": some("user", "assistant"),
        "session_id": some("s1"),
        "sequence": some(number),
        "supersedes": some([chance.choice(ids)] if ids else None),
    }
    plain = {name: value for name, value in given.items() if value is not None}
    return str(store.commit(**plain).memory_id)


def change(store: vestig.Vestig, chance: random.Random, ids: list[str]) -> None:
    id = chance.choice(ids)
    how = chance.randrange(6)
    if how == 0:
        store.archive(id)
    elif how == 1:
        store.deprecate(id, reason="wrong", t_invalid=chance.choice((None, "2027-01-01")))
    elif how in (2, 3):
        store.supersede(id, chance.choice(ids))
    elif how == 4:
        store.update(id, tags=["moved"])
    else:
        store.unpin(id)


def told(store: vestig.Vestig) -> list[tuple[Any, ...]]:
    """All that an export in Markdown promises to bring back."""
    listed = store.list(where={"statuses": list(STATUSES)}, limit=1000)
    texts = {one.id: one.content for one in listed}
    return sorted(
        (
            (one.content, one.scope, one.key, one.tags, one.author, str(one.role), one.session_id,
             one.sequence, one.title, one.t_valid, one.t_invalid, str(one.origin_type), one.pinned,
             str(one.retention_policy), one.retention_until, str(one.temporal_stability),
             one.metadata, one.status.word, texts.get(str(one.superseded_by)))
            for one in listed
        ),
        key=repr,
    )  # fmt: skip


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.torture) for n in range(8, 24))]
)
def test_markdown_brings_any_store_back(seed: int, tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store, opened(tmp_path / "copy") as copy:
        fill(store, seed)
        store.export(tmp_path / "notes", format="md", where={"statuses": list(STATUSES)})
        assert copy.import_(tmp_path / "notes").errors == ()
        assert told(copy) == told(store)
        current = [sorted(one.content for one in each.list(limit=1000)) for each in (store, copy)]
        assert current[0] == current[1]
        assert copy.admin.doctor().exit_code == 0
        assert copy._session.ledger.verify_all() == []
        # once more changes nothing, and neither does the folder in the store that it is of
        for each in (copy, store):
            before = told(each)
            report = each.import_(tmp_path / "notes")
            assert (report.skipped, report.warnings) == (report.lines, ())
            assert told(each) == before


def test_texts_of_items_come_back_under_their_keys(tmp_path: Path) -> None:
    """Those of a key that a memory may not have, and every part of a long one."""
    long = " ".join(
        f"Step {number}: part {7 * number} goes to box {number}." for number in range(400)
    )
    with opened(tmp_path / "store") as store, opened(tmp_path / "copy") as copy:
        for key in ("theme", "k" * 512, "mem_k", "a\nb", " k "):
            store.items.put(key, 1, text=f"Ada likes {key.strip()[:5]} most", scope="user/ada")
        for text in (long, long.replace("Step", "Stage"), long[:9_000]):
            store.items.put("returns", 1, text=text, scope="user/ada")
        store.export(tmp_path / "notes", format="md", where={"statuses": list(STATUSES)})
        report = copy.import_(tmp_path / "notes")
        assert (report.errors, report.failed) == ((), 0)
        assert told(copy) == told(store)
        assert copy.keys() == store.keys()
        for each in (copy, store):
            again = each.import_(tmp_path / "notes")
            assert (again.skipped, again.warnings) == (again.lines, ())
        # a put takes the place of all of them
        copy.items.put("returns", 2, text="There are no returns", scope="user/ada")
        assert copy.count(where={"key_prefix": "returns"}) == 1
        assert copy.admin.doctor().exit_code == 0
    edited = next((tmp_path / "notes").glob("*-returns-2.md"))
    edited.write_text(edited.read_text().replace("\\u001f2", "\\u001fx"))
    with opened(tmp_path / "other") as other:
        assert "U+001F" in other.import_(edited).errors[0].message


def test_a_superseded_fact_stays_superseded(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        old = store.commit("The lab partner is Synlab Nord").memory_id
        new = store.commit("The lab partner is Labor Ost", supersedes=[str(old)]).memory_id
        store.commit("The lab closes at noon", supersedes=[str(new)], t_valid="2020-01-01")
        store.export(tmp_path / "notes", format="md", where={"statuses": ["superseded"]})
        store.export(tmp_path / "all", format="md")
    with opened(tmp_path / "part") as part:
        part.import_(tmp_path / "notes")
        assert part.count() == 0
        # what superseded them comes later
        part.import_(tmp_path / "all")
        assert [one.content for one in part.list()] == ["The lab closes at noon"]
        named = {one.content: one.superseded_by for one in
                 part.list(where={"statuses": ["superseded"]})}  # fmt: skip
        assert None not in named.values()
        assert part.admin.doctor().exit_code == 0


def test_a_state_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("---\nvestig: memory/1\nstatus: gone\n---\nLarch floats well")
    with opened(tmp_path / "store") as store:
        report = store.import_(tmp_path / "note.md")
        assert "archived" in report.errors[0].message
        assert store.count() == 0


def test_the_times_of_an_imported_turn_count_from_when_it_was_said(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text(
        '{"role": "user", "content": "The pump arrives on 17 March.",'
        ' "timestamp": "2025-03-03T10:00:00Z"}\n'
        '{"role": "user", "content": "The dentist comes tomorrow.",'
        ' "timestamp": "2025-06-10T10:00:00Z"}\n'
    )

    def times(store: vestig.Vestig) -> dict[str, list[str]]:
        return {one.content: [str(time.start)[:10] for time in one.times] for one in store.list()}

    with opened(tmp_path / "store") as store:
        store.import_(chat)
        before = times(store)
        store.export(tmp_path / "notes", format="md")
    assert sorted(before.values()) == [["2025-03-17"], ["2025-06-11"]]
    with opened(tmp_path / "other") as other:
        other.import_(tmp_path / "notes")
        assert times(other) == before
