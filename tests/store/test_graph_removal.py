"""Forgetting, collecting and purging in the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ledger_rows as made
from filled_store import IDENTITY, doctor, keeper_of, levels
from vestig.changes import ChangeSet, EntityPatch
from vestig.errors import ConflictError, NotFoundError
from vestig.ids import id_bytes
from vestig.store import erasure
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records import erase_patterns
from vestig.store.records.rows import EntityListing
from vestig.types import EdgeType

NOW = made.NOW
EVERY = EntityListing(limit=None, include_expired=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with open_ledger(tmp_path / "store") as opened:
        opened.set_embedding_identity(IDENTITY)
        yield opened


def put(ledger: Ledger, **parts: Any) -> int:
    with ledger.write(NOW) as txn:
        return txn.apply(ChangeSet(namespace="default", **parts))


def remember(ledger: Ledger, text: str, *entities: Any, **fields: Any) -> str:
    """A memory that mentions these entities, with a question."""
    new = made.memory(text)
    changes = made.added(new)
    links = tuple(
        made.mention(new.id, e.id, evidence=f"{e.canonical_name} in it") for e in entities
    )
    asked = (made.question(new.id, text=f"Who is asked about {text}?"),)
    with ledger.write(NOW) as txn:
        txn.apply(
            structs.replace(
                changes,
                entities=tuple(entities),
                edges=(*changes.edges, *links, *fields.pop("edges", ())),
                questions=asked,
                **fields,
            )
        )
    return str(new.id)


def forget(ledger: Ledger, *ids: str) -> dict[str, int]:
    with ledger.write(NOW) as txn:
        return txn.forget("default", ids, actor=None).rows


def names(ledger: Ledger) -> set[str]:
    with ledger.read() as view:
        return {entity.canonical_name for entity, _n in view.list_entities("default", EVERY)}


def test_forget_removes_an_orphan_entity_and_keeps_a_shared_one(
    ledger: Ledger,
) -> None:
    shared, alone = made.entity("Ada Lovelace"), made.entity("Zaphod Beeblebrox")
    byhand = made.entity("Somebody by hand", origin="manual")
    put(ledger, entities=(byhand,))
    knows = made.edge(shared.id, alone.id, EdgeType.RELATION, relation="KNOWS")
    gone = remember(ledger, "first", shared, alone, byhand, edges=(knows,))
    stays = remember(ledger, "second", made.entity("Ada Lovelace"))
    keeper = keeper_of(ledger)
    keeper.rebuild()
    rows = forget(ledger, gone)
    assert (rows["entities"], rows["entity_vectors"], rows["questions"]) == (1, 1, 1)
    # three mentions, the relation and where the text came from
    assert rows["edges"] == 5
    assert names(ledger) == {"Ada Lovelace", "Somebody by hand"}
    with ledger.read() as view:
        assert view.entities("default", [alone.id]) == []
        assert view.edges("default", shared.id)[0].from_id == stays
        assert [e.edge_type for e in view.edges("default", shared.id)] == [EdgeType.MENTIONS]
        assert view.questions("default", [gone]) == {}
        assert view.forgotten_at("default", gone) == NOW
        assert view.forgotten_at("default", alone.id) is None
        gone_ids = {id for id, _seq in view.removed_after(view.seq - 1)}
        assert gone_ids == {id_bytes(gone), id_bytes(alone.id)}
        # who lost an edge is given to the projection again
        assert [row[0] for row in view.projection_rows(view.seq - 1)] == [id_bytes(shared.id)]
    assert ledger.verify_all() == []
    with ledger.read() as view:
        keeper.align(view)
    assert keeper.core.entity_rows == 2
    assert levels(doctor(ledger)).get("projection") is None


def test_forget_removes_the_summaries_that_quoted_it(ledger: Ledger) -> None:
    gone, stays = remember(ledger, "first"), remember(ledger, "second")
    sums = [remember(ledger, f"summary {n}") for n in range(3)]
    links = [
        made.edge(sums[0], gone, EdgeType.SUMMARIZES),
        made.edge(sums[0], stays, EdgeType.SUMMARIZES),
        made.edge(sums[1], sums[0], EdgeType.SUMMARIZES),
        made.edge(sums[1], gone, EdgeType.SUMMARIZES),
        made.edge(sums[2], stays, EdgeType.SUMMARIZES),
    ]
    put(ledger, edges=tuple(links))
    put(ledger, expired_edges=(links[0].id,))
    with ledger.write(NOW) as txn:
        removed = txn.forget("default", [gone], actor=None)
    assert removed.summaries == tuple(sorted(sums[:2]))
    assert removed.rows["memories"] == 3
    with ledger.read() as view:
        left = [m.id for m in view.memories("default", [gone, stays, *sums])]
        assert left == [stays, sums[2]]
        assert view.summaries_of("default", [stays]) == {stays: [sums[2]]}
        assert view.forgotten_at("default", sums[1]) == NOW
    assert ledger.verify_all() == []


def test_names_questions_and_evidence_are_in_no_file(ledger: Ledger, tmp_path: Path) -> None:
    entity = made.entity(
        "Zaphod Beeblebrox", aliases=("President of the Galaxy",), description="two heads, one hat"
    )
    gone = remember(ledger, "the hitchhiker", entity)
    remember(ledger, "another text", made.entity("Ada Lovelace"))
    keeper = keeper_of(ledger)
    keeper.rebuild()
    raw = (b"Zaphod Beeblebrox", b"President of the Galaxy", b"two heads, one hat",
           b"zaphod beeblebrox", b"asked about the hitchhiker", b"Beeblebrox in it")  # fmt: skip

    def found() -> set[bytes]:
        files = [p for p in (tmp_path / "store").rglob("*") if p.is_file()]
        return {text for text in raw for path in files if text in path.read_bytes()}

    assert found() == set(raw)
    forget(ledger, gone)
    assert erasure.finish(ledger, keeper, timeout_s=1.0).files_scanned > 0
    assert found() == set()
    assert doctor(ledger)["residues"].level == "ok"
    with ledger.read() as view:
        assert erase_patterns.unfinished(view.connection) == []


def test_a_name_that_a_live_text_holds_is_no_residue(ledger: Ledger) -> None:
    gone = remember(ledger, "one", made.entity("Zaphod Beeblebrox"))
    remember(ledger, "Zaphod Beeblebrox came by")
    keeper = keeper_of(ledger)
    keeper.rebuild()
    forget(ledger, gone)
    assert names(ledger) == set()
    assert erasure.finish(ledger, keeper, timeout_s=1.0).files_scanned > 0


def test_an_entity_merged_into_a_removed_one_stays_merged_into_none(ledger: Ledger) -> None:
    into, byhand = made.entity("Into"), made.entity("By hand", origin="manual")
    put(ledger, entities=(byhand,))
    gone = remember(ledger, "one", into)
    stays = remember(ledger, "two", byhand)
    put(
        ledger,
        entity_patches=(
            EntityPatch(entity_id=byhand.id, columns={"merged_into": into.id}, expired=True),
        ),
    )
    # Somebody's own entity points there: that keeps it.
    forget(ledger, gone)
    assert names(ledger) == {"Into", "By hand"}
    put(ledger, entity_patches=(EntityPatch(entity_id=into.id, expired=True),))
    with ledger.write(NOW) as txn:
        assert txn.purge_entities("default", [into.id]) == {"entities": 1, "edges": 0}
    with ledger.read() as view:
        (left,) = view.entities("default", [byhand.id])
        assert left.merged_into is None
        assert [m.id for m in view.memories("default", [stays])] == [stays]
    assert ledger.verify_all() == []


def test_gc_removes_what_nothing_supports_and_then_finds_nothing(
    ledger: Ledger,
) -> None:
    mentioned, byhand = made.entity("Mentioned"), made.entity("By hand", origin="manual")
    friend, loose = made.entity("Friend of it"), made.entity("Loose", embedding=None)
    knows = made.edge(byhand.id, friend.id, EdgeType.RELATION, relation="KNOWS")
    likes = made.edge(loose.id, mentioned.id, EdgeType.RELATION, relation="LIKES")
    remember(ledger, "one", mentioned)
    put(ledger, entities=(byhand, friend, loose), edges=(knows, likes))
    with ledger.write(NOW) as txn:
        assert txn.collect("default") == {"sources": 0, "entities": 1, "edges": 1}
    assert names(ledger) == {"Mentioned", "By hand", "Friend of it"}
    with ledger.read() as view:
        seq = view.seq
    with ledger.write(NOW) as txn:
        assert txn.collect("default") == {"sources": 0, "entities": 0, "edges": 0}
    with ledger.read() as view:
        assert view.seq == seq
    assert ledger.verify_all() == []


def test_purge_removes_expired_entities_only(ledger: Ledger) -> None:
    kept, old, older = made.entity("Kept"), made.entity("Old"), made.entity("Older")
    memory = remember(ledger, "one", kept, old, older)
    put(
        ledger,
        entity_patches=tuple(EntityPatch(entity_id=e.id, expired=True) for e in (old, older)),
    )
    with ledger.write(NOW) as txn, pytest.raises(ConflictError, match="expired"):
        txn.purge_entities("default", [old.id, kept.id])
    with ledger.write(NOW) as txn, pytest.raises(NotFoundError):
        txn.purge_entities("other", [old.id])
    with ledger.write(NOW) as txn:
        assert txn.purge_entities("default", [old.id]) == {"entities": 1, "edges": 1}
    with ledger.read() as view:
        rows = list(view.projection_rows(view.seq - 1))
        assert [row[0] for row in rows] == [id_bytes(memory)]
        assert len(rows[0][26]) == 2
        assert view.removed_after(view.seq - 1) == [(id_bytes(old.id), view.seq)]
    with ledger.write(NOW) as txn:
        assert txn.purge_entities("default") == {"entities": 1, "edges": 1}
    with ledger.write(NOW) as txn:
        assert txn.purge_entities("default") == {"entities": 0, "edges": 0}
        assert txn.applied is None
    assert names(ledger) == {"Kept"}
    assert ledger.verify_all() == []


def test_the_row_number_of_a_removed_entity_is_never_used_again(ledger: Ledger) -> None:
    gone = remember(ledger, "one", made.entity("Gone"))
    forget(ledger, gone)
    new = made.entity("New")
    put(ledger, entities=(new,))
    with ledger.read() as view:
        sql = 'SELECT (SELECT "row" FROM entities), MIN("row"), MAX("row") FROM tombstones'
        assert view.connection.execute(sql).fetchall() == [(2, -1, 1)]
    assert ledger.verify_all() == []


def test_forgetting_removes_new_vectors_of_a_stopped_re_embedding(ledger: Ledger) -> None:
    from test_reembedding import Killed, Recorder, identity_of

    from vestig.store.upkeep.reembed import reembed

    gone = remember(ledger, "one", made.entity("Zaphod Beeblebrox"))
    remember(ledger, "two", made.entity("Ada Lovelace"))
    stopped = Recorder(batches=5)
    with pytest.raises(Killed):
        reembed(ledger, stopped, identity_of(stopped), batch=1)
    forget(ledger, gone)
    with ledger.read() as view:
        sql = "SELECT memory FROM new_vectors ORDER BY memory"
        # The identity, the other memory and its entity: of the first nothing is left.
        assert view.connection.execute(sql).fetchall() == [(-4,), (0,), (2,)]
    embedder = Recorder()
    reembed(ledger, embedder, identity_of(embedder))
    assert ledger.verify_all() == []
