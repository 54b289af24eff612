"""Token vectors: those of the built-in model, the checks, the embedders for tests."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from vestig.embedders.builtin import BuiltinEmbedder
from vestig.embedders.checked import CheckedEmbedder, CheckedTokenEmbedder, checked_embedder
from vestig.errors import ProviderError, ValidationError
from vestig.ports import (
    PIECE_DIMENSIONS,
    PIECES_MAX,
    SPECIAL_PIECE,
    Pieces,
    are_pieces,
    gives_tokens,
)
from vestig.testing import (
    FailingEmbedder,
    HashingEmbedder,
    TokenHashingEmbedder,
    TokenScriptedEmbedder,
)

LONG = "the ferry leaves at nine " * 60


def unpacked(pieces: Pieces) -> tuple[list[int], Any, Any]:
    """Numbers, codes as rows, scales."""
    codes = np.frombuffer(pieces.codes, np.int8).reshape(-1, PIECE_DIMENSIONS)
    return array("I", pieces.ids).tolist(), codes, np.frombuffer(pieces.scales, "<f4")


@pytest.fixture(scope="module")
def builtin() -> BuiltinEmbedder:
    return BuiltinEmbedder()


# --- the built-in model ----------------------------------------------------------------------


def test_one_run_gives_the_vector_of_embed_beside_them(
    builtin: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["The office is in Oslo.", LONG, "Where?"]
    wanted = builtin.embed(texts)
    weights, runs = builtin._weights, []

    class Counting:
        def embed_tokens(self, *given: Any, **named: Any) -> Any:
            runs.append(given)
            return weights.embed_tokens(*given, **named)

    monkeypatch.setattr(builtin, "_weights", Counting())
    assert [vector for vector, _ in builtin.embed_tokens(texts)] == wanted
    assert len(runs) == 1


def test_the_first_160_pieces_with_the_marks_of_both_ends(builtin: BuiltinEmbedder) -> None:
    (_, short), (_, long) = builtin.embed_tokens(["The office is in Oslo.", LONG])
    # [CLS] the office is in oslo . [SEP], in the model's vocabulary
    ids = unpacked(short)[0]
    assert ids == [SPECIAL_PIECE, 1996, 2436, 2003, 1999, 9977, 1012, SPECIAL_PIECE]
    ids = unpacked(long)[0]
    assert len(ids) == PIECES_MAX
    assert (ids[0], ids[1], SPECIAL_PIECE in ids[1:]) == (SPECIAL_PIECE, 1996, False)


def test_a_text_that_spells_a_mark_has_none(builtin: BuiltinEmbedder) -> None:
    ((_, pieces),) = builtin.embed_tokens(["[CLS] and [SEP]"])
    assert SPECIAL_PIECE not in unpacked(pieces)[0][1:-1]


def test_the_same_word_is_near_itself(builtin: BuiltinEmbedder) -> None:
    ((_, query), (_, near), (_, far)) = builtin.embed_tokens(
        ["When does the ferry leave?", "The ferry leaves at nine", "Bread is baked at the mill"]
    )

    def maxsim(one: Pieces, other: Pieces) -> float:
        _, mine, scales = unpacked(one)
        _, theirs, their_scales = unpacked(other)
        similar = (mine.astype(int) @ theirs.astype(int).T) * np.outer(scales, their_scales)
        return float(similar.max(1).mean())

    assert maxsim(query, near) > maxsim(query, far) + 0.1
    assert maxsim(query, query) == pytest.approx(1, abs=0.02)


# --- checks ----------------------------------------------------------------------------------


class Broken(TokenHashingEmbedder):
    """Token vectors that are not as they should be."""

    def __init__(self, how: str) -> None:
        super().__init__(16)
        self.how = how

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        answers = super().embed_tokens(texts)
        vector, pieces = answers[-1]
        wrong: dict[str, Any] = {
            "nan": (vector, pieces._replace(scales=array("f", [float("nan")] * 4).tobytes())),
            "negative": (vector, pieces._replace(scales=array("f", [-1.0] * 4).tobytes())),
            "codes": (vector, pieces._replace(codes=pieces.codes[:-1])),
            "least": (vector, pieces._replace(codes=b"\x80" * 256)),
            "ids": (vector, pieces._replace(ids=pieces.ids[:-4])),
            "none": (vector, Pieces(b"", b"", b"")),
            "many": (vector, Pieces(*(part * 41 for part in pieces))),
            "vector": (vector[:-4], pieces),
        }
        return answers[:-1] if self.how == "count" else [*answers[:-1], wrong[self.how]]


@pytest.mark.parametrize(
    "how", ["nan", "negative", "codes", "least", "ids", "none", "many", "vector", "count"]
)
def test_other_token_vectors_are_the_providers_error(how: str) -> None:
    embedder = checked_embedder(Broken(how))
    assert isinstance(embedder, CheckedTokenEmbedder)
    with pytest.raises(ProviderError, match="hashing-16-0") as caught:
        embedder.embed_tokens(["secret words", "more secret"])
    assert "secret" not in str(caught.value)


def test_texts_are_cut_and_sent_in_batches() -> None:
    inner = TokenHashingEmbedder(16)
    embedder = checked_embedder(inner, max_length=5, batch_size=2)
    assert isinstance(embedder, CheckedTokenEmbedder)
    answers = embedder.embed_tokens(["one two three"] * 5)
    assert (len(answers), inner.call_count) == (5, 3)
    assert answers[0] == inner.embed_tokens(["one t"])[0]
    assert embedder.embed_tokens([]) == []
    with pytest.raises(ValidationError):
        embedder.embed_tokens(["broken \ud800"])


def test_an_embedder_without_token_vectors_gets_no_call_for_them() -> None:
    for plain in (HashingEmbedder(), FailingEmbedder()):
        embedder = checked_embedder(plain)
        assert type(embedder) is CheckedEmbedder
        assert not gives_tokens(embedder)


# --- embedders for tests ---------------------------------------------------------------------


def test_embedders_for_tests_draw_from_words_and_seed() -> None:
    ((_, one), (_, other)) = TokenHashingEmbedder(16).embed_tokens(["Red barn", "a RED door"])
    ids, codes, _ = unpacked(one)
    more, others, _ = unpacked(other)
    assert (ids[0], ids[-1], len(ids), len(more)) == (SPECIAL_PIECE, SPECIAL_PIECE, 4, 5)
    assert (ids[1], codes[1].tolist()) == (more[2], others[2].tolist())
    assert one != TokenHashingEmbedder(16, seed=1).embed_tokens(["Red barn"])[0][1]
    scripted = TokenScriptedEmbedder({"Red barn": [1.0, 0.0]}, seed=0)
    assert scripted.embed_tokens(["Red barn"])[0][1] == one


@pytest.mark.parametrize("pieces", [3, 13, 40, PIECES_MAX])
def test_embedders_for_tests_give_the_wanted_number_of_pieces(pieces: int) -> None:
    embedder = TokenHashingEmbedder(16, pieces=pieces)
    for text in ("word", "two words", "many words " * 200, ""):
        ((_, made),) = embedder.embed_tokens([text])
        assert are_pieces(made)
        assert len(made.ids) == 4 * (pieces if text else 2)
    with pytest.raises(ValueError, match="pieces"):
        TokenHashingEmbedder(16, pieces=2)
