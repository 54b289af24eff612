"""The core makes every term of L as the definitions do."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracle
import oracle_graph
import pytest
from oracle_signals import AFTER_TERMS, FIRST_TERMS, HOUR_US, MET, Eligible, Memory, Query
from oracle_texts import DAY_US, MONTH, YEAR
from rows import HEAD, NOW, STORE, Given, everything, id_of, ranking, recall, seats
from worlds import edge, unit_vector

from tables import each
from vestig import _core
from vestig.language.words import content_terms, text_flags
from vestig.ports import TokenStates
from vestig.recall.query import TopicPieces, topic_pieces

DIMENSIONS = 12
ORIGINS = ("chat_peer", "chat_agent", "document", "note")
AUTHORS = (None, "Anna", "Bob", "bo", "Eve Adams")
NAMES = ("Berlin Wall", "Ada Lovelace", "Project Atlas", "Oslo Harbour", "Blue Fox", "Red Sea")
WORDS = (
    *("cache", "token", "the", "deploy", "server", "paris", "coffee", "night", "river", "it"),
    *("I", "my", "seven", "3", "once", "Paris", "we", '"blue fox"', "yesterday", "walks?"),
    *("really?", "Ada,", "then"),
)
QUESTIONS = (
    ("When did Anna deploy the cache server?", ()),
    ("How many coffee tokens did Bob and Anna walk at night?", ()),
    ("what kind of river is in paris", ()),
    ("the coffee server of the cache: deploy server, coffee server", ()),
    ("Who met ANNA on 3 May", ((_May := NOW - 320 * DAY_US, _May + DAY_US, "3 May"),)),
    ("server in May or last week", ((_May, _May + 31 * DAY_US, "in May"), (None, NOW, "before"))),
    ("unheard words only", ()),
)
TERMS = (*FIRST_TERMS, *AFTER_TERMS)


class World(NamedTuple):
    """What the core gets and what the definitions get, in the same order."""

    given: list[Given]
    memories: list[Memory]
    entities: list[Given]


def make(dice: random.Random, count: int) -> World:
    """Sessions of several scopes with split parts, some rows that are not eligible."""
    entities = [
        Given(
            id=id_of(500_000 + n), seq=n + 1, kind=2, role="OTHER", content="", names=[(name, name)]
        )
        for n, name in enumerate(filter(None, map(oracle_graph.title_of, NAMES)))
    ]
    given, memories = [], []
    for number in range(count):
        session = dice.choice([None, "a", "b", "c", "c"])
        sequence = dice.choice([None, *[dice.randrange(count // 4)] * 9])
        scope, eligible = dice.choice([None, "x"]), dice.random() < 0.85
        content = " ".join(dice.choices(WORDS, k=dice.randrange(1, 12)))
        if dice.random() < 0.03:
            content += f" {dice.choice(WORDS)}" * dice.choice([126, 127, 128, 300])
        at = NOW - dice.choice([dice.randrange(1, 900) * DAY_US, dice.randrange(6) * HOUR_US // 2])
        source = dice.choice([None, 1, 2]) if session is None else None
        windows = [
            dice.choice(
                [
                    (at, at + DAY_US),
                    (at - 3 * DAY_US, at),
                    (at, at + 30 * DAY_US),
                    (at, at + 400 * DAY_US),
                    (None, at),
                    (at, None),
                ]
            )
            for _ in range(dice.choice([0, 0, 1, 2, 3]))
        ]
        own = dice.sample(entities, k=dice.choice([0, 0, 1, 2]))
        title = dice.choice([None, None, *NAMES])
        embedding = unit_vector(dice, DIMENSIONS) if dice.random() < 0.9 else None
        shared: dict[str, Any] = {
            "content": content,
            "author": dice.choice(AUTHORS),
            "role": dice.choice([None, "user", "assistant", "assistant"]),
            "sequence": sequence,
            "t_valid_us": at,
        }
        origin = dice.randrange(4)
        written = dice.choice([None, at, at + 5 * DAY_US, at + 300 * DAY_US])
        undated = dice.random() < 0.2
        given.append(
            Given(
                **shared,
                id=id_of(number),
                seq=number + 1,
                scope=scope,
                session_id=session,
                source_row=source,
                origin=origin,
                status=0 if eligible else 1,
                namespace="default" if dice.random() < 0.95 else "other",
                embedding=embedding,
                windows=windows,
                events=[] if written is None else [(0, written, NOW, number + 1, number + 1)],
                undated=undated,
                features=text_flags(content),
                title=oracle_graph.title_of(title),
                heading=title,
                edges=[
                    edge(10 * number + n, one.id, 0, confidence=0.9) for n, one in enumerate(own)
                ],
            )
        )
        if eligible and given[-1].namespace == "default":
            memories.append(
                Memory(
                    **shared,
                    vector=None if embedding is None else np.frombuffer(embedding, np.float32),
                    session=None if session is None else f"{scope}|{session}",
                    title=title,
                    origin=ORIGINS[origin],
                    times=windows,
                    written_us=written,
                    undated=undated,
                    entities=[f"OTHER:{one.names[0][0]}" for one in own],
                )
            )
    seated = seats(given)
    eligible = [row for row in given if row.status == 0 and row.namespace == "default"]
    memories = [
        dataclasses.replace(memory, sitting=seated.get(row.id))
        for row, memory in zip(eligible, memories, strict=True)
    ]
    return World(given, memories, entities)


def projected(dice: random.Random, world: World, path: Path | None) -> _core.Projection:
    """In several steps, which makes several parts: files and what is held in memory."""
    projection = _core.Projection.open(None if path is None else str(path), STORE, DIMENSIONS, "t")
    rows = [row.row() for row in [*world.entities, *world.given]]
    cuts = sorted(dice.sample(range(1, len(rows)), k=4))
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        projection.apply(rows[start:end], end, HEAD)
        if path is not None and dice.random() < 0.5:
            projection.publish()
    return projection


def pieces_of(dice: random.Random, text: str) -> list[tuple[Any, int, int]]:
    """Word pieces with random states: halves of long words, punctuation, special ones at both
    ends."""
    places = [(0, 0)]
    for word in re.finditer(r"\w+|[^\w\s]", text):
        start, end = word.span()
        cut = start + 4
        places += [(start, cut), (cut, end)] if end > cut else [(start, end)]
    places.append((0, 0))
    return [
        (np.array([dice.uniform(-1, 1) for _ in range(DIMENSIONS)], np.float32), *place)
        for place in places
    ]


def topic_of(
    text: str, times: Sequence[tuple[int, int]], pieces: Sequence[tuple[Any, int, int]]
) -> TopicPieces | None:
    """`topic` of a query."""
    numbers = [number for _, *place in pieces for number in place]
    ids, places = bytes(4 * len(pieces)), np.array(numbers, "<u4").tobytes()
    states = TokenStates(ids, b"".join(state.tobytes() for state, _, _ in pieces), places)
    return topic_pieces(text, content_terms(text, times), states)


def times_of(text: str, windows: Any) -> list[tuple[int, int]]:
    """Where the words of the windows stand."""
    places = [(text.find(words), words) for *_, words in windows]
    return [(at, at + len(words)) for at, words in places if at >= 0]


def raw_values(
    world: World,
    text: str,
    windows: Any,
    asked: Sequence[Given],
    vectors: tuple[bytes, Sequence[tuple[Any, int, int]]],
) -> tuple[Eligible, Query, dict[str, Any]]:
    """Raw values of L₁, those of cosines from float32 as the core has them."""
    vector, pieces = vectors
    query = Query(
        text=text,
        vector=oracle.unit(np.frombuffer(vector, np.float32)),
        windows=windows,
        times=times_of(text, windows),
        pieces=pieces,
        entities=[f"OTHER:{one.names[0][0]}" for one in asked],
    )
    eligible = Eligible(world.memories)
    raw = eligible.raw(query)
    own = [
        np.zeros(DIMENSIONS, np.float32) if m.vector is None else oracle.unit(m.vector)
        for m in world.memories
    ]
    topic = np.asarray(eligible.topic(query), np.float32)
    cosines = [max(-1.0, min(1.0, float(oracle.dot(topic, one)))) for one in own]
    return eligible, query, raw | {"topic": np.array(cosines)}


def summed(
    memories: Sequence[Memory], raw: Mapping[str, Any], weights: Sequence[Mapping[str, float]]
) -> list[float]:
    """L, terms that are not in `raw` left out."""
    found = []
    for row, memory in enumerate(memories):
        own = weights[memory.origin != "chat_peer"]
        total = own.get("bias", 0.0)
        for name in _core.SIGNALS:
            if name in own and name in raw:
                total += own[name] * float(raw[name][row])
        found.append(total)
    return found


def weighing(dice: random.Random) -> list[dict[str, float]]:
    """Meaning always counts: without it L₁ would have ties, which only ids decide."""
    share = dice.choice([0.15, 0.5, 1.0])
    drawn = [
        {n: dice.uniform(-1, 3) for n in ("bias", *TERMS) if dice.random() < share}
        for _ in range(2)
    ]
    return [own | {"topic": dice.choice([2.0, 2.0, -1.0])} for own in drawn]


@pytest.mark.slow
@each("seed", range(32))
def test_terms_are_their_definitions(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    world = make(dice, dice.choice([6, 40, 90]))
    projection = projected(dice, world, tmp_path if seed % 2 else None)
    weights = weighing(dice)
    for text, windows in QUESTIONS:
        vector = unit_vector(dice, DIMENSIONS)
        asked = dice.sample(world.entities, k=dice.choice([0, 1, 2]))
        pieces = pieces_of(dice, text) if dice.random() < 0.7 else []
        times = times_of(text, windows)
        eligible, query, raw = raw_values(world, text, windows, asked, (vector, pieces))
        scan = recall(
            projection,
            projection.applied_seq,
            _core.Query(
                query_time_us=NOW,
                vector=vector,
                text=text,
                names_text=text,
                content=content_terms(text, times),
                topic=topic_of(text, times, pieces) if pieces else None,
                entities=[(one.id, 1.0) for one in asked],
                dates=[
                    (start, end, bool(MONTH.search(words) and not YEAR.search(words)))
                    for start, end, words in windows
                ],
            ),
            everything(),
            ranking(
                sittings=True,
                weights=weights,
                tracerank_power=0.0,
                limit=3,
                watch=b"".join(row.id for row in world.given),
            ),
        )
        level = summed(world.memories, raw, weights)
        mentions = oracle_graph.Mentions([memory.entities for memory in world.memories])
        raw |= oracle_graph.after(eligible, mentions, np.array(level), query)
        check(world, scan, raw, weights)
        assert scan.dates_met == bool((raw["date"] >= MET).any())
        held = [eligible.words.idf(term) for term in scan.terms]
        assert scan.idfs == pytest.approx(held, abs=1e-12)
        rows = eligible.words.rows
        assert list(scan.document_frequencies) == [len(rows.get(t, ())) for t in scan.terms]


def check(
    world: World, scan: Any, raw: Mapping[str, Any], weights: Sequence[Mapping[str, float]]
) -> None:
    of = {row.id: row for row in [*scan.rows, *scan.watched]}
    ids = [row.id for row in world.given if row.status == 0 and row.namespace == "default"]
    assert set(of) == set(ids)
    for name in _core.SIGNALS:
        values = [of[id].signal(name) for id in ids]
        if name not in raw:
            assert all(value is None for value in values), name
        elif values[0] is None:
            optional = name in (*AFTER_TERMS, "reply", "words", "person")
            unweighed = optional and not any(own.get(name) for own in weights)
            assert unweighed or not raw[name].any(), f"{name} is not computed"
        else:
            assert values == pytest.approx(raw[name], abs=1e-9), name
    level = summed(world.memories, raw, weights)
    assert [of[id].start_score for id in ids] == pytest.approx(level, abs=1e-9)
    best = sorted(level, reverse=True)[: len(scan.rows)]
    assert [row.start_score for row in scan.rows] == pytest.approx(best, abs=1e-9)
