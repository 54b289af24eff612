"""The projection's files: shared between processes, damaged, of another store."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path

import pytest
from rows import (
    HEAD,
    STORE,
    Given,
    core_query,
    everything,
    id_of,
    make,
    opened,
    ranking,
    recall,
    vector,
)

from tables import each
from vestig import _core


def found(scan: _core.Scan) -> list[tuple[bytes, float, float, float]]:
    return [(r.id, r.final_score, r.start_score, r.similarity) for r in scan.rows]


def test_two_processes_share_publications(tmp_path: Path) -> None:
    writer = opened(make(random.Random(1), 50, 4), 4, str(tmp_path))
    reader = _core.Projection.open(str(tmp_path), STORE, 4, "test", read_only=True)
    assert (reader.rows, reader.generation) == (0, 0)
    assert writer.publish() > 0
    assert reader.refresh()
    assert not reader.refresh()
    assert (reader.rows, reader.applied_seq, reader.segments, reader.tail_rows) == (50, 50, 1, 0)
    query, text = vector(1, 2, 3, 4), "night coffee"
    before = found(recall(writer, 50, core_query(query, text), everything(), ranking()))
    assert found(recall(reader, 50, core_query(query, text), everything(), ranking())) == before
    writer.apply([Given(id=id_of(77), seq=51).row()], 51, HEAD)
    writer.publish(compact=True)
    assert found(recall(reader, 50, core_query(query, text), everything(), ranking())) == before
    assert reader.refresh()
    assert reader.rows == 51
    assert reader.publish() == 0
    assert writer.verify() == reader.verify() == []
    sizes = dict(writer.sizes())
    assert sizes["vectors"] == 51 * 64 * 4
    assert sizes["tail"] == 0


@each("victim", ["manifest", "seg-"])
@each("deed", ["flip", "cut", "empty", "foreign"])
def test_damage_never_raises_at_open(victim: str, deed: str, tmp_path: Path) -> None:
    rows = make(random.Random(3), 20, 4)
    opened(rows, 4, str(tmp_path)).publish()
    path = next(p for p in tmp_path.iterdir() if p.name.startswith(victim))
    held = path.read_bytes()
    middle = len(held) // 2
    spoilt = {
        "flip": held[:middle] + bytes([held[middle] ^ 1]) + held[middle + 1 :],
        "cut": held[:middle],
        "empty": b"",
        "foreign": b"\x89PNG" + held[4:],
    }[deed]
    path.unlink()
    path.write_bytes(spoilt)
    again = opened(rows, 4, str(tmp_path))
    assert again.discarded is not None
    assert any(".damaged-" in p.name for p in tmp_path.iterdir())
    assert again.publish() > 0
    third = _core.Projection.open(str(tmp_path), STORE, 4, "test")
    assert (third.discarded, third.rows) == (None, 20)


def test_files_of_another_model_or_store_are_discarded(tmp_path: Path) -> None:
    opened([Given(id=id_of(0), seq=1)], 4, str(tmp_path)).publish()
    for uuid, dimensions, model in (
        (bytes(16), 4, "test"),
        (STORE, 5, "test"),
        (STORE, 4, "other"),
    ):
        other = _core.Projection.open(str(tmp_path), uuid, dimensions, model, read_only=True)
        assert other.discarded is not None
        assert other.rows == 0


def test_refresh_raises_on_damage_and_reset_heals(tmp_path: Path) -> None:
    rows = make(random.Random(5), 20, 4)
    projection = opened(rows, 4, str(tmp_path))
    projection.publish()
    (tmp_path / "manifest").unlink()
    (tmp_path / "manifest").write_bytes(b"nothing")
    with pytest.raises(_core.ProjectionDamaged):
        projection.refresh()
    assert projection.rows == 20
    projection.reset()
    assert (projection.rows, projection.applied_seq) == (0, 0)
    projection.apply([row.row() for row in rows], 20, HEAD)
    assert projection.publish() > 0
    assert _core.Projection.open(str(tmp_path), STORE, 4, "test").discarded is None


def _share(path: str, seed: int, last: int) -> None:
    """One process of the test below: catches up with a common history and publishes."""
    dice = random.Random(seed)
    rows = make(random.Random(6), last, 4)
    projection = _core.Projection.open(path, STORE, 4, "test")
    while projection.applied_seq < last:
        projection.refresh()
        first = projection.applied_seq
        upto = min(last, first + dice.randrange(1, 9))
        projection.apply([row.row() for row in rows[first:upto]], upto, HEAD)
        projection.publish(compact=dice.random() < 0.2)
        if projection.discarded is not None or projection.rows != projection.applied_seq:
            raise SystemExit(3)


@pytest.mark.slow
def test_processes_that_publish_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_share, args=(str(tmp_path), n, 150)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    again = _core.Projection.open(str(tmp_path), STORE, 4, "test")
    assert (again.discarded, again.rows, again.applied_seq) == (None, 150, 150)
    assert not [p for p in tmp_path.iterdir() if ".damaged-" in p.name]
    assert again.verify() == []
