"""Doctor on memories whose words are more than the projection counts."""

from __future__ import annotations

from pathlib import Path

import vestig
from tables import each
from vestig.testing import HashingEmbedder


def projection_of(store: vestig.Vestig) -> tuple[str, str]:
    """What doctor finds of the projection."""
    (found,) = [one for one in store.admin.doctor().findings if one.check == "projection"]
    return found.level, found.detail


@each("count", [126, 127, 128, 255, 256, 300, 799, 65_536])
def test_a_word_that_is_repeated_is_no_damage(tmp_path: Path, count: int) -> None:
    config = {"hygiene": {"max_chars": 1_000_000}}
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(8), config=config) as store:
        assert store.commit("long " * count, on_near_dup="insert").memory_id
        assert store.commit(
            "Ferries go at noon",
            on_near_dup="insert",
            title="ferry " * min(count, 300),
            author="go " * 200,
        ).memory_id
        assert projection_of(store)[0] == "ok"
        store.admin.rebuild()
        level, detail = projection_of(store)
    assert (level, detail[:11]) == ("ok", "2 memories ")


@each("kept", [None, "store"], ids=["memory", "disk"])
@each("words", ["tide", "tide table4711", "tide-table.rs"])
def test_a_long_message_of_an_agent_is_no_damage(
    tmp_path: Path, words: str, kept: str | None
) -> None:
    path = ":memory:" if kept is None else tmp_path / kept
    with vestig.open(path, embedder=HashingEmbedder(8)) as store:
        for length in (1_190, 1_199, 1_200, 1_201, 3_000):
            text = f"{length} " + f"{words} harbour " * 300
            store.commit(text[:length] + " ends here", role="assistant", session_id="talk")
        assert projection_of(store)[0] == "ok"


def test_other_words_are_damage_still(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(8)) as store:
        id = store.commit("ferry " * 300 + "leaves at noon").memory_id
        store.admin.rebuild()
        with store._session.ledger.read() as view:
            (row,) = [one for one in view.projection_rows(0) if one.heading is None]
        other = row._replace(content="ferry " * 300 + "leaves at dusk")
        core = store._session.keeper.core
        core.apply([other], core.applied_seq, core.chain_head)
        core.publish()
        level, detail = projection_of(store)
    assert level == "damage"
    assert detail.endswith(f"{id} differs in terms, text_terms")
