"""The generators of the benches: texts, vectors and chats as documented."""

from __future__ import annotations

import hashlib

import numpy as np

from chats import PIECES_OF_MEMORY, PIECES_OF_QUERY, ChatEmbedder, queries, turns
from generator import embedded_text, questions, records, texts, vectors
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.language.time.expressions import find_windows

NOW_US = 1_773_835_200_000_000


def test_texts_are_distinct_short_and_without_time() -> None:
    made = records(3_000)
    contents = [record["content"] for record in made]
    assert len({content.lower() for content in contents}) == len(contents)
    assert {record.get("author") is None for record in made} == {True, False}
    count = BuiltinEmbedder().count_pieces
    assert max(count(embedded_text(record)) for record in made) <= 198
    assert not any(find_windows(content, NOW_US) for content in contents)


def test_a_seed_is_a_world() -> None:
    digest = hashlib.sha256("\n".join(texts(100)).encode()).hexdigest()
    assert digest == "cd379b018f7c6e6f14bcfaf1aa2ce868a74a19c5466f3c79e866cb9f18b190fa"
    assert texts(10, seed=1) != texts(10)
    assert texts(20)[:10] == texts(10)
    assert questions(5) == questions(5)


def test_vectors_have_unit_length_and_groups() -> None:
    plain, grouped = vectors(100, 384), vectors(100, 384, group=10)
    np.testing.assert_allclose(np.linalg.norm(plain, axis=1), 1.0, atol=1e-6)
    assert np.abs(np.triu(plain @ plain.T, 1)).max() < 0.4
    assert 0.7 < float(grouped[0] @ grouped[9]) < 0.9
    assert abs(float(grouped[0] @ grouped[10])) < 0.4


def test_chats_are_sessions_of_two_with_questions_and_replies() -> None:
    made = turns(2_000)
    assert len({turn["content"] for turn in made}) == len(made)
    assert made[:100] == turns(100)
    speakers: dict[str, set[str]] = {}
    for turn in made:
        speakers.setdefault(turn["session_id"], set()).add(turn["author"])
    assert {len(two) for two in speakers.values()} == {2}
    asks = sum("?" in turn["content"] for turn in made)
    assert 0.1 < asks / len(made) < 0.4
    assert sum(bool(find_windows(t["content"], NOW_US)) for t in made) > 100


def test_chats_have_states_of_the_lengths_promised() -> None:
    questions = queries(3)
    embedder = ChatEmbedder(questions)
    made = [*(embedded_text(turn) for turn in turns(3)), *questions]
    lengths = [len(pieces.ids) // 4 for _, pieces in embedder.embed_tokens(made)]
    assert lengths == [PIECES_OF_MEMORY] * 3 + [PIECES_OF_QUERY] * 3
    # and the two that mark the ends
    count = BuiltinEmbedder().count_pieces
    meant = [count(embedded_text(turn)) + 2 for turn in turns(500)]
    assert abs(float(np.mean(meant)) - PIECES_OF_MEMORY) < 5
