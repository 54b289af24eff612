"""Entities, edges, questions and names in the projection."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import oracle
import pytest
from rows import DAY, HEAD, NOW, STORE, Given, everything, id_of, make, opened, vector

from tables import each
from vestig import _core

NAN, MINUS_ONE = np.float16("nan").tobytes(), np.float16(-1).tobytes()
DIMENSIONS = 8
ENTITY = 2


def edge_id(number: int) -> bytes:
    """An edge's id."""
    return b"edge" + number.to_bytes(12, "big")


def entity(number: int, *names: tuple[str, str], **more: Any) -> Given:
    """An entity of the default namespace."""
    values: dict[str, Any] = {"seq": number, "content": "", "kind": ENTITY, "role": "PERSON"}
    return Given(id=id_of(number), names=names, sources=(), **(values | more))


def linked(dice: random.Random, count: int) -> list[Given]:
    """Memories and entities with random edges: expired, weighted, without confidence."""
    rows = make(dice, count, DIMENSIONS)
    rows += [
        entity(count + 1 + n, (f"name {n}", f"Name {n}"), embedding=vector(*[n + 1.0] * DIMENSIONS))
        for n in range(count // 3)
    ]
    number = 0
    nodes = []
    for row in rows:
        edges = []
        for other in dice.sample(rows, 4):
            number += 1
            kind = 0 if other.kind == ENTITY else 1
            if row.kind == ENTITY:
                kind = 3
            weight = 1.0 if kind == 0 and dice.random() < 0.9 else round(dice.random(), 3)
            confidence = dice.choice([None, weight, 0.5])
            created = dice.choice([row.t_created_us, row.t_created_us + DAY])
            expired = dice.choice([None, None, created + 3 * DAY])
            edges.append((edge_id(number), other.id, kind, weight, confidence, created, expired))
        nodes.append(
            msgspec.structs.replace(
                row,
                edges=edges,
                keywords=dice.sample(["cache", "Paris", "v2.1"], 2),
                windows=[(None, NOW), (NOW - DAY, None), (1, 2)][: dice.randrange(4)],
                questions=[vector(*[dice.uniform(-1, 1) for _ in range(DIMENSIONS)])]
                if row.kind != ENTITY
                else [],
                features=dice.randrange(1 << 18),
                source_row=dice.choice([None, 0, 7, 2**40]),
                title=dice.choice([None, "harbor plan", "name 1", ""]),
                pieces=pieces(dice, dice.choice([0, 0, 1, 2, 160])),
            )
        )
    return nodes


def pieces(dice: random.Random, count: int) -> tuple[bytes, bytes] | None:
    """Ids and codes of so many word pieces: of each 32 bytes of signs and a scale in float16."""
    if count == 0:
        return None
    ids = [dice.choice([7, 101, 2**32 - 1, dice.randrange(30_000)]) for _ in range(count)]
    codes = [dice.randbytes(32) + np.float16(dice.random()).tobytes() for _ in range(count)]
    return np.array(ids, "<u4").tobytes(), b"".join(codes)


def unit(given: bytes) -> bytes:
    """As the projection holds it."""
    return oracle.unit(np.frombuffer(given, np.float32))[:DIMENSIONS].tobytes()


def check(projection: _core.Projection, rows: list[Given]) -> None:
    """Every column of every node is as given."""
    memories = sorted(row.id for row in rows if row.kind != ENTITY)
    assert projection.ids() == b"".join(memories)
    assert projection.rows == len(memories)
    entities = sorted(row.id for row in rows if row.kind == ENTITY)
    assert projection.entity_ids() == b"".join(entities)
    assert projection.entity_rows == len(entities)
    for row in rows:
        held = projection.row(row.id)
        assert held is not None
        assert held["edges"] == sorted(row.edges)
        assert held["windows"] == list(row.windows)
        assert held["keywords"] == list(row.keywords)
        assert held["questions"] == [unit(question) for question in row.questions]
        assert held["names"] == list(row.names)
        assert (held["features"], held["title"]) == (row.features, row.title)
        assert held["pieces"] == row.pieces
        assert held["source_row"] == row.source_row


def test_nodes_are_held_as_given_through_files_and_merges(tmp_path: Path) -> None:
    dice = random.Random(5)
    rows = linked(dice, 60)
    projection = _core.Projection.open(str(tmp_path / "p"), STORE, DIMENSIONS, "test")
    for start in range(0, len(rows), 17):
        part = rows[start : start + 17]
        projection.apply([row.row() for row in part], start + 17, HEAD)
        if start % 2:
            projection.publish()
    check(projection, rows)
    newer = [msgspec.structs.replace(row, edges=list(row.edges)[:1], wseq=500) for row in rows[::5]]
    projection.apply([row.row() for row in newer], 500, HEAD)
    rows = [row for i, row in enumerate(rows) if i % 5] + newer
    check(projection, rows)
    projection.publish()
    projection.merge(1, wait=True)
    assert projection.segments == 1
    check(projection, rows)
    assert projection.verify() == []
    again = _core.Projection.open(str(tmp_path / "p"), STORE, DIMENSIONS, "test", True)
    check(again, rows)
    assert again.discarded is None


def test_entities_never_come_as_memories() -> None:
    rows = linked(random.Random(2), 30)
    projection = opened(rows, DIMENSIONS)
    memories = {row.id for row in rows if row.kind != ENTITY}
    found = projection.eligible(len(rows), everything())
    assert {found[i : i + 16] for i in range(0, len(found), 16)} == memories


def test_the_entity_filter_asks_for_unexpired_mentions() -> None:
    ada, bob = entity(10, ("ada", "Ada")), entity(11, ("bob", "Bob"))
    others = [
        (ada.id, None),
        (ada.id, NOW - 1),
        (bob.id, None),
    ]
    rows = [
        Given(
            id=id_of(n + 1),
            seq=n + 1,
            edges=[(edge_id(n), other, 0, 1.0, 0.9, NOW - DAY, expired)],
        )
        for n, (other, expired) in enumerate(others)
    ]
    for seen in ([*rows, ada, bob], [ada, bob, *rows]):
        projection = _core.Projection.open(None, STORE, DIMENSIONS, "test")
        for at, row in enumerate(seen):
            projection.apply([row.row()], at + 1, HEAD)

        def found(chosen: bytes, at: int = NOW, projection: Any = projection) -> bytes:
            filter = everything(entities=chosen, known_at_us=at, past=at < NOW)
            return bytes(projection.eligible(5, filter))

        assert found(ada.id) == rows[0].id
        assert found(ada.id, NOW - 10) == b"".join(sorted([rows[0].id, rows[1].id]))
        assert found(ada.id + bob.id) == b"".join(sorted([rows[0].id, rows[2].id]))
        assert found(id_of(99)) == b""


def read(text: str) -> _core.AnalysedText:
    """A text whose words are looked up."""
    return _core.NameRules(set()).analyse([(text, None)], rules=False)[0]


def test_names_are_found_as_runs_of_words() -> None:
    rows = [
        entity(1, ("ada lovelace", "Ada Lovelace"), ("ada", "Ada")),
        entity(2, ("dr. lovelace", "Dr. Lovelace")),
        entity(3, ("nato", "NATO"), t_expired_us=NOW - 5),
        entity(4, ("ada lovelace", "ADA Lovelace"), namespace="other"),
    ]
    projection = opened(rows, DIMENSIONS)

    def found(text: str, at: int = NOW) -> list[tuple[int, int, bytes, str]]:
        return projection.find_names(4, "default", [read(text)], at)[0]

    one, two, three = rows[0].id, rows[1].id, rows[2].id
    assert found('We met "Ada Lovelace", today') == [
        (2, 1, one, "Ada"),
        (2, 2, one, "Ada Lovelace"),
    ]
    assert found("Dr. Lovelace (Ada)") == [(0, 2, two, "Dr. Lovelace"), (2, 1, one, "Ada")]
    assert found("adamant lovelace") == []
    assert found("nato") == []
    assert found("nato", NOW - 10) == [(0, 1, three, "NATO")]
    both = projection.find_names(4, "default", [read("ada"), read("so Ada")], NOW)
    assert both == [[(0, 1, one, "Ada")], [(1, 1, one, "Ada")]]
    with pytest.raises(_core.SnapshotMoved):
        projection.find_names(3, "default", [read("ada")], NOW)


def test_every_run_of_up_to_eight_words_that_is_a_name_is_found() -> None:
    """However often words repeat, and in whichever segment a name lies."""
    dice = random.Random(11)
    forms = ["a", "b", "(a", "b)", "a.", "c", "|", "(b)"]
    for _ in range(20):
        names = {" ".join(dice.choices("abc", k=dice.randrange(1, 10))) for _ in range(12)}
        rows = [entity(n + 1, (name, name.title())) for n, name in enumerate(sorted(names))]
        projection = _core.Projection.open(None, STORE, DIMENSIONS, "test")
        for at, row in enumerate(rows):
            projection.apply([row.row()], at + 1, HEAD)
        text = read(" ".join(dice.choices(forms, k=60)))
        wanted, words = [], text.words
        for first, (_, left, _, bare) in enumerate(words):
            for count in range(1, min(8, len(words) - first) + 1):
                last = words[first + count - 1]
                between = [form[0] for form in words[first + 1 : first + count - 1]]
                run = bare if count == 1 else " ".join([left, *between, last[2]])
                wanted += [
                    (first, count, row.id, row.names[0][1])
                    for row in rows
                    if row.names[0][0] == run and left
                ]
        assert projection.find_names(len(rows), "default", [text], NOW) == [sorted(wanted)]


def test_lower_case_is_known_per_word_and_namespace() -> None:
    rows = [
        Given(id=id_of(1), seq=1, content="Paris has known banks, see src/Main.rs", author="stone"),
        Given(id=id_of(2), seq=2, content="First of all, STONE", namespace="other"),
        Given(id=id_of(3), seq=3, content="first steps", namespace="other"),
    ]
    projection = opened(rows, DIMENSIONS)
    asked = ["Paris", "Known", "Banks", "stone", "see", "First"]
    assert projection.lowercase(3, "default", asked) == [False, True, True, False, True, False]
    assert projection.lowercase(3, "other", ["First", "stone"]) == [True, False]
    gone = Given(id=id_of(3), seq=3, wseq=4, content="First Steps", namespace="other")
    projection.apply([gone.row()], 4, HEAD)
    assert projection.lowercase(4, "other", ["First"]) == [False]


@pytest.mark.parametrize(
    "edge",
    [
        (edge_id(1), id_of(2), 6, 1.0, None, 0, None),
        (edge_id(1), id_of(2), 1, float("nan"), None, 0, None),
        (edge_id(1), id_of(2), 1, -1.0, None, 0, None),
        (edge_id(1), id_of(2), 1, 1.0, float("inf"), 0, None),
    ],
)
def test_an_edge_that_cannot_be_walked_is_refused(edge: Any) -> None:
    with pytest.raises(ValueError, match="finite weights"):
        opened([Given(id=id_of(1), seq=1, edges=[edge])], DIMENSIONS)


@each(
    ("field", "value", "reason"),
    [
        ("features", 1 << 18, "features below 262144"),
        ("pieces", (b"", b""), "1 to 160 word pieces"),
        ("pieces", (bytes(4 * 161), bytes(34 * 161)), "1 to 160 word pieces"),
        ("pieces", (bytes(4), bytes(33)), "got 4 and 33 bytes"),
        ("pieces", (bytes(4), bytes(32) + NAN), "scales of word pieces that are finite"),
        ("pieces", (bytes(4), bytes(32) + MINUS_ONE), "scales of word pieces that are finite"),
    ],
)
def test_what_a_text_is_like_is_refused_when_it_cannot_be(
    field: str, value: Any, reason: str
) -> None:
    row = msgspec.structs.replace(Given(id=id_of(1), seq=1), **{field: value})
    with pytest.raises(ValueError, match=reason):
        opened([row], DIMENSIONS)
