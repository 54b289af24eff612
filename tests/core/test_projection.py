"""The projection: recall against its definition, filters, time travel, files."""

from __future__ import annotations

import random
import threading
from array import array
from collections import namedtuple
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import oracle
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rows import (
    DAY,
    HEAD,
    NOW,
    STORE,
    Given,
    core_query,
    everything,
    expected,
    id_of,
    indexed,
    make,
    opened,
    ranking,
    recall,
    signals,
    vector,
    words_scores,
)

from tables import each
from vestig import _core
from vestig.ports import SPECIAL_PIECE, ProjectionRow
from vestig.store.records.projection_rows import sections_of
from vestig.types import EventType

# of similar(): near, related, known
WANTED = ((0.9, 1), (0.6, 1), (0.5, 1))
WEIGHTS = {"bias": 0.2, "words": 1.5, "topic": 2.0}
COSINE, WORDS = (_core.SIGNALS.index(name) for name in ("topic", "words"))
BASES = {
    "linear": lambda s, c: _core.logistic(s),
    "semantic": lambda s, c: max(0.0, c),
    "cosine": lambda s, c: c,
}


def found(scan: _core.Scan) -> list[tuple[bytes, float, float, float]]:
    return [(r.id, r.final_score, r.start_score, r.similarity) for r in scan.rows]


def ids(scan: _core.Scan) -> set[bytes]:
    return {row.id for row in scan.rows}


@each("base", BASES)
@each(("pool", "limit"), [(20, 7), (3, 9), (None, 5)])
@each("power", [0.0, 0.5])
def test_recall_is_its_definition(base: str, pool: int | None, limit: int, power: float) -> None:
    dice = random.Random(f"{base}{pool}{power}")
    rows = make(dice, 60, 70)
    projection = opened(rows, 70)
    query = vector(*(dice.uniform(-1, 1) for _ in range(70)))
    text = "the night cache at cache v2.1 unheard"
    rank = ranking(base=base, weights=WEIGHTS, pool=pool, limit=limit, tracerank_power=power)
    scan = recall(projection, 60, core_query(query, text), everything(), rank)
    assert found(scan) == expected(
        rows,
        query,
        text,
        weights=WEIGHTS,
        pool=pool,
        limit=limit,
        base=BASES[base],
        start=base,
        power=power,
    )
    assert (scan.stored, scan.eligible, scan.scored) == (60, 60, 60)
    assert scan.unembedded == sum(row.embedding is None for row in rows)
    by_id = {row.id: row for row in rows}
    for i, row in enumerate(scan.rows):
        given = by_id[row.id]
        assert [scan.terms[n] for n in row.matched_terms] == [
            term for term in scan.terms if term in indexed(given)
        ]
        assert (row.origin, row.stability) == (given.origin, given.stability)
        assert row.embedded == (given.embedding is not None)
        assert row.filled == (pool is not None and i >= pool)
        assert row.semantic_score == row.similarity
        if base == "linear":
            assert signals(row)[COSINE] == row.similarity


def test_bounded_pass_is_the_exact_scan() -> None:
    dice = random.Random(20)
    rows = make(dice, 4_300, 16)
    projection = opened(rows, 16)
    for text in ("coffee in Berlin", "zzz"):
        query = vector(*(dice.uniform(-1, 1) for _ in range(16)))
        scan = recall(
            projection,
            4_300,
            core_query(query, text),
            everything(),
            ranking(weights=WEIGHTS),
        )
        assert found(scan) == expected(
            rows,
            query,
            text,
            weights=WEIGHTS,
            pool=50,
            limit=10,
            base=BASES["linear"],
            start="linear",
            power=0.5,
        )


def test_threads_change_nothing() -> None:
    dice = random.Random(9)
    rows = make(dice, 20_000, 8)
    projection = opened(rows, 8)
    query = vector(*(dice.uniform(-1, 1) for _ in range(8)))
    one, eight = (
        recall(projection, 20_000, core_query(query, "the night"), everything(), ranking(), threads)
        for threads in (1, 8)
    )
    assert found(one) == found(eight)


def test_words_of_title_and_author_are_words_of_the_memory() -> None:
    rows = [
        Given(id=id_of(0), seq=1, content="It opens at nine.", heading="Harbour plan"),
        Given(id=id_of(1), seq=2, content="It opens at nine.", author="Harbour Ada"),
        Given(id=id_of(2), seq=3, content="It opens at nine."),
    ]
    projection = opened(rows, 4)
    scan = recall(projection, 3, core_query(None, "harbour"), everything(), ranking())
    assert {row.id for row in scan.rows if row.signal("words")} == {id_of(0), id_of(1)}
    columns = projection.row(id_of(0))
    assert columns is not None
    assert columns["length"] == len(indexed(rows[0])) == 6


def test_no_text_no_words_no_vector() -> None:
    rows = make(random.Random(4), 20, 4)
    projection = opened(rows, 4)
    silent = recall(projection, 20, core_query(vector(1, 2, 3, 4), None), everything(), ranking())
    assert silent.terms == ()
    assert all(signals(row)[WORDS] is None for row in silent.rows)
    empty = recall(projection, 20, core_query(vector(1, 2, 3, 4), "?!"), everything(), ranking())
    assert found(empty) == found(silent)
    assert all(signals(row)[WORDS] is None for row in empty.rows)
    blind = recall(projection, 20, core_query(None, "coffee"), everything(), ranking())
    assert all(signals(row)[COSINE] is None for row in blind.rows)
    assert all(row.similarity == 0.0 for row in blind.rows)
    zero = recall(projection, 20, core_query(vector(0, 0, 0, 0), None), everything(), ranking())
    assert all(signals(row)[COSINE] == 0.0 for row in zero.rows)
    assert all(row.similarity == 0.0 for row in zero.rows)


def test_events_and_summaries_in_tracerank() -> None:
    late = NOW - DAY
    events = [(2, NOW - 9 * DAY, NOW - 9 * DAY, 1, 0), (2, NOW - 2 * DAY, late, 1, 1)]
    rows = [
        Given(id=id_of(n), seq=1, kind=n, events=events, embedding=vector(1, 1)) for n in range(2)
    ]
    projection = opened(rows, 2)
    now = recall(projection, 2, core_query(vector(1, 1), None), everything(), ranking())
    by_kind = {row.id: row for row in now.rows}
    assert by_kind[id_of(0)].events == 2
    assert by_kind[id_of(0)].tracerank > 1.0
    summary = by_kind[id_of(1)]
    assert (summary.tracerank, summary.events, summary.trace) == (1.0, 0, 0.0)
    then = everything(past=True, known_at_us=late - 1, include_expired=True)
    assert recall(projection, 2, core_query(None, None), then, ranking()).eligible == 0
    rows = [Given(id=id_of(0), seq=1, events=events, t_created_us=NOW - 10 * DAY)]
    past = recall(opened(rows, 2), 1, core_query(None, None), then, ranking())
    assert [row.events for row in past.rows] == [1]


def test_a_new_version_masks_the_old_one_and_ties_end_at_the_id(tmp_path: Path) -> None:
    rows = [Given(id=id_of(n), seq=n + 1, embedding=vector(1, 1)) for n in range(5)]
    projection = opened(rows, 2, str(tmp_path))
    projection.publish()
    changed = Given(id=id_of(1), seq=2, wseq=6, tags=["new"], content="other words")
    projection.apply([changed.row()], 6, HEAD)
    assert (projection.rows, projection.tail_rows, projection.segments) == (5, 1, 1)
    scan = recall(
        projection, 6, core_query(vector(1, 1), "rivers"), everything(), ranking(limit=50)
    )
    assert [row.id for row in scan.rows] == [*sorted(id_of(n) for n in (0, 2, 3, 4)), id_of(1)]
    assert scan.unembedded == 1
    assert ids(
        recall(projection, 6, core_query(None, None), everything(tags=["new"]), ranking())
    ) == {id_of(1)}
    assert projection.ids() == b"".join(sorted(id_of(n) for n in range(5)))


def test_row_gives_every_column() -> None:
    given = Given(
        id=id_of(7),
        seq=3,
        wseq=5,
        content="Rivers of rivers",
        author="Anna",
        scope="work",
        kind=1,
        status=2,
        role="user",
        session_id="s",
        sequence=0,
        origin=0,
        stability=1,
        pinned=True,
        t_invalid_us=NOW,
        t_expired_us=NOW + 1,
        embedding=vector(3, 4),
        tags=["b", "a"],
        actors=["cli"],
        events=[(0, 1, 2, 3, 4)],
    )
    projection = _core.Projection.open(None, STORE, 2, "test")
    projection.apply([given.row()], 5, HEAD)
    row = projection.row(id_of(7))
    assert row is not None
    terms = indexed(given)
    assert row.pop("terms") == {term: terms.count(term) for term in terms}
    assert row.pop("length") == len(terms)
    assert row.pop("text_terms") == [term for term in terms if term not in ("the", "of")]
    assert row.pop("unit") == _core.unit(vector(3, 4))
    names = [n for n in Given.__struct_fields__ if n not in ("content", "embedding", "heading")]
    assert row == {
        n: list(v) if isinstance(v := getattr(given, n), (list, tuple)) else v for n in names
    }
    assert projection.row(id_of(8)) is None


def test_a_word_counts_up_to_127_times_in_a_text() -> None:
    texts = ["ha " * often + "ho" for often in (126, 127, 128, 255, 256, 257)]
    given = [Given(id=id_of(n), seq=n, content=text) for n, text in enumerate(texts)]
    projection = opened(given, 2)
    for one in given:
        row = projection.row(one.id)
        assert row is not None
        often = one.content.count("ha")
        assert row["terms"] == {"ha": min(often, 127), "ho": 1}
        assert row["length"] == often + 1
    scan = recall(projection, len(given), core_query(None, "ha"), everything(), ranking())
    raw = {row.id: row.signal("words") for row in scan.rows}
    _, wanted = words_scores(given, "ha")
    for one, value in zip(given, wanted, strict=True):
        assert raw[one.id] == pytest.approx(value, rel=1e-12)


def test_numbers_of_word_pieces_are_kept_modulo_65535() -> None:
    given = array("I", [SPECIAL_PIECE, 7, 65_534, 65_535, 65_536, 200_000, SPECIAL_PIECE])
    kept = [SPECIAL_PIECE, 7, 65_534, 0, 1, 3_395, SPECIAL_PIECE]
    codes = bytes(34 * len(given))
    projection = opened([Given(id=id_of(0), seq=0, pieces=(given.tobytes(), codes))], 2)
    row = projection.row(id_of(0))
    assert row is not None
    assert row["pieces"] == (array("I", kept).tobytes(), codes)
    # as a search for what is left of a memory expects them
    assert array("H", sections_of(given.tobytes(), codes)[0]) == array(
        "H", [number & 0xFFFF for number in kept]
    )


def test_a_call_belongs_to_one_seq() -> None:
    projection = opened([Given(id=id_of(0), seq=1)], 2)
    with pytest.raises(_core.SnapshotMoved):
        recall(projection, 2, core_query(None, "x"), everything(), ranking())
    with pytest.raises(_core.SnapshotMoved):
        projection.similar(0, vector(1, 0), "default", [None], [None], [b""], *WANTED)


def test_types_of_events_have_one_code() -> None:
    assert tuple(EventType) == _core.EVENT_TYPES


def test_fields_of_rows_are_checked_by_name() -> None:
    assert ProjectionRow._fields == _core.ROW_FIELDS
    projection = opened([Given(id=id_of(0), seq=1)], 2)
    row = Given(id=id_of(1), seq=2).row()
    with pytest.raises(TypeError, match="expected rows as a named tuple, got tuple"):
        projection.apply([tuple(row)], 2, HEAD)
    swapped = namedtuple("swapped", ["id", "wseq", "seq", *ProjectionRow._fields[3:]])
    with pytest.raises(ValueError, match="expected field 2 of a row to be `seq`, got `wseq`"):
        projection.apply([swapped(*row)], 2, HEAD)
    short = namedtuple("short", ProjectionRow._fields[:-1])
    with pytest.raises(ValueError, match="expected field 35 of a row to be `undated`, got none"):
        projection.apply([short(*row[:-1])], 2, HEAD)
    assert (projection.rows, projection.applied_seq) == (1, 1)


def test_rows_give_their_terms_greatest_first() -> None:
    rows = make(random.Random(3), 12, 4)
    weights = {"bias": -1.0, "topic": 2.0, "words": 3.0, "long": 0.0}
    query = core_query(vector(1, 2, 3, 4), "the night cache")
    projection = opened(rows, 4)
    scan = recall(projection, 12, query, everything(), ranking(weights=weights, limit=12))
    for row in scan.rows:
        values = {"bias": 1.0, "words": row.signal("words"), "topic": row.signal("topic")}
        terms = [(raw * weights[name], name, raw, weights[name]) for name, raw in values.items()]
        terms = [term for term in terms if term[0]]
        assert row.constant == -1.0
        assert row.terms({}) == sorted(terms, key=lambda term: -abs(term[0]))
    blended = ranking(base="blend", alpha=0.3, limit=12)
    query = core_query(vector(1, 2, 3, 4), None, keywords=["cache"])
    (first, *_) = recall(projection, 12, query, everything(), blended).rows
    raw = first.signal("keyword")
    assert first.terms({"keyword": 1.0}) == ([(raw, "keyword", raw, 1.0)] if raw else [])
    assert first.terms({}) == []
    assert scan.rows is scan.rows
    with pytest.raises(KeyError, match="expected a signal, got unheard"):
        scan.rows[0].signal("unheard")


def test_objects_of_a_scan_are_changed_by_copies() -> None:
    rows = make(random.Random(4), 12, 4)
    projection = opened(rows, 4)
    query = core_query(vector(1, 2, 3, 4), "the night cache")
    blind = query.without_vector()
    assert (query.vector, blind.vector) == (vector(1, 2, 3, 4), None)
    scan = recall(projection, 12, blind, everything(), ranking())
    same = recall(projection, 12, core_query(None, "the night cache"), everything(), ranking())
    assert [row.final_score for row in scan.rows] == [row.final_score for row in same.rows]
    chosen = everything().with_ids(rows[3].id)
    assert (everything().has_ids, chosen.has_ids) == (False, True)
    assert ids(recall(projection, 12, query, chosen, ranking())) <= {rows[3].id}


BAD_ROWS: list[dict[str, Any]] = [
    {"embedding": vector(1, 2, 3)},
    {"embedding": b"123"},
    {"embedding": vector(float("nan"), 1)},
    {"kind": 3},
    {"origin": 4},
    {"id": b"short"},
]


@each("bad", BAD_ROWS)
def test_a_refused_row_changes_nothing(bad: dict[str, Any]) -> None:
    projection = opened([Given(id=id_of(0), seq=1)], 2)
    good = Given(id=id_of(1), seq=2)
    refused = Given(**({"id": id_of(2), "seq": 2} | bad))
    with pytest.raises(ValueError, match="expected"):
        projection.apply([good.row(), refused.row()], 2, HEAD)
    assert (projection.rows, projection.applied_seq) == (1, 1)


def test_many_threads_read_while_one_writes(tmp_path: Path) -> None:
    rows = make(random.Random(2), 400, 4)
    projection = opened(rows[:100], 4, str(tmp_path))
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seq = projection.applied_seq
            try:
                scan = recall(
                    projection, seq, core_query(vector(1, 2, 3, 4), "the"), everything(), ranking()
                )
            except _core.SnapshotMoved:
                continue
            if scan.eligible != seq:
                problems.append((scan.eligible, seq))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    for seq in range(101, 401):
        projection.apply([rows[seq - 1].row()], seq, HEAD)
        if seq % 50 == 0:
            projection.publish(compact=seq % 100 == 0)
    done.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert projection.rows == 400


def test_similar_memories_are_those_over_the_threshold() -> None:
    near = float(np.float32(0.8))
    places: list[dict[str, Any]] = [
        {"embedding": vector(0, 1)},
        {"embedding": vector(3, 4), "status": 3},
        {"embedding": vector(3, 4), "scope": "work"},
        {"embedding": vector(3, 4), "author": "Anna"},
        {"embedding": vector(3, 4), "status": 1},
        {"embedding": vector(3, 4), "kind": 1},
        {"embedding": vector(3, 4), "namespace": "other"},
        {"embedding": vector(4, 3)},
        {},
    ]
    rows = [Given(id=id_of(n), seq=n + 1, **place) for n, place in enumerate(places)]
    projection = opened(rows, 2)
    query = vector(0, 1)

    def ask(scope: str | None, author: str | None, exclude: bytes, top: int) -> Any:
        return projection.similar(
            9, query, "default", [scope], [author], [exclude], (0.8, top), (0.6, top), (0.7, 0)
        )[0][:2]

    close, linked = ask(None, None, b"", 50)
    assert close == [(id_of(0), 1.0), (id_of(1), near)]
    tied = sorted(id_of(n) for n in (2, 3))
    last = float(np.float32(0.6))
    assert linked == [(id_of(0), 1.0), *((i, near) for i in tied), (id_of(7), last)]
    assert ask(None, None, id_of(0), 50)[0] == [(id_of(1), near)]
    assert ask("work", None, b"", 50)[0] == [(id_of(2), near)]
    assert ask(None, "Anna", b"", 50)[0] == [(id_of(3), near)]
    assert ask("work", "Anna", b"", 50)[0] == []
    assert ask(None, None, b"", 1) == ([(id_of(0), 1.0)], [(id_of(0), 1.0)])
    assert ask(None, None, b"", 0) == ([], [])
    both = projection.similar(
        9, query + query, "default", [None, "work"], [None, None], [b"", b""], (0.8, 50), (0.6, 0),
        (0.7, 50), 2, [id_of(1), b""],
    )  # fmt: skip
    known = [(id_of(0), 1.0), (id_of(3), near)]
    assert both == [(close, [], known, []), ([(id_of(2), near)], [], [(id_of(2), near)], [])]
    with pytest.raises(ValueError, match="one vector, scope"):
        projection.similar(9, query, "default", [], [None], [b""], *WANTED)
    with pytest.raises(ValueError, match="one text per query"):
        projection.similar(9, query, "default", [None], [None], [b""], *WANTED, earlier=([], 0.5))


def earlier_queries(
    batch: np.ndarray, texts: list[int], threshold: float
) -> list[list[tuple[int, float]]]:
    """Of each query the earlier ones of other texts that the threshold lets through."""
    count, dimensions = batch.shape
    none = [None] * count
    found = opened([], dimensions).similar(
        0, batch.tobytes(), "default", none, none, [b""] * count, *[(0.9, 0)] * 3,
        earlier=(texts, threshold),
    )  # fmt: skip
    return [earlier for _, _, _, earlier in found]


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.6, 0.95])
def test_the_same_call_compares_the_queries_with_each_other(threshold: float) -> None:
    """Blocks of probes (512) and chunks of them (64) change nothing; one text is no neighbour of
    itself."""
    rng = np.random.default_rng(4)
    batch = rng.standard_normal((1200, 6), dtype=np.float32)
    texts = [number % 1150 for number in range(1200)]
    assert earlier_queries(batch, texts, threshold) == [
        [(at, cosine) for at, cosine in earlier if texts[at] != texts[place]]
        for place, earlier in enumerate(oracle.within(batch, threshold))
    ]


@hypothesis.given(arrays(np.float32, (8, 5), elements=st.floats(-2, 2, width=32)), st.floats(-1, 1))
def test_any_queries_are_compared_with_each_other(batch: np.ndarray, threshold: float) -> None:
    assert earlier_queries(batch, list(range(8)), threshold) == oracle.within(batch, threshold)


def test_queries_are_compared_with_a_threshold_rounded_to_float32() -> None:
    """0.92 as float32 is what a cosine must reach."""
    batch = np.array([[1, 0], [0.92, (1 - 0.92**2) ** 0.5]], np.float32)
    (_, [(_, cosine)]) = earlier_queries(batch, [0, 1], -1.0)
    assert earlier_queries(batch, [0, 1], cosine) == [[], [(0, cosine)]]
    above = float(np.nextafter(np.float32(cosine), np.float32(2)))
    assert earlier_queries(batch, [0, 1], above) == [[], []]
