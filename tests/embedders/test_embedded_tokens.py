"""Hidden states and codes of word pieces: the built-in model, the checks, embedders for tests."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tables import each
from vestig._core import testing
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.embedders.checked import (
    CheckedEmbedder,
    CheckedTokenEmbedder,
    checked_embedder,
    piece_codes,
    query_codes,
)
from vestig.errors import ProviderError, ValidationError
from vestig.ports import (
    PIECES_MAX,
    SPECIAL_PIECE,
    STATE_DIMENSIONS,
    Pieces,
    TokenStates,
    are_states,
    gives_tokens,
)
from vestig.testing import (
    FailingEmbedder,
    HashingEmbedder,
    TokenHashingEmbedder,
    TokenScriptedEmbedder,
)

LONG = "the ferry leaves at nine " * 60


def unpacked(states: TokenStates) -> tuple[list[int], Any]:
    """Numbers, and states as rows."""
    rows = np.frombuffer(states.states, "<f4").reshape(-1, STATE_DIMENSIONS)
    return array("I", states.ids).tolist(), rows


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
        def __getattr__(self, name: str) -> Any:
            def run(*given: Any, **named: Any) -> Any:
                runs.append(name)
                return getattr(weights, name)(*given, **named)

            return run

    monkeypatch.setattr(builtin, "_weights", Counting())
    assert [vector for vector, _ in builtin.embed_tokens(texts)] == wanted
    assert [vector for vector, _ in builtin.embed_codes(texts)] == wanted
    assert runs == ["embed_tokens", "embed_codes"]


def test_codes_are_those_of_the_states(builtin: BuiltinEmbedder) -> None:
    texts = ["The office is in Oslo.", LONG, ""]
    wanted = [(vector, piece_codes(states)) for vector, states in builtin.embed_tokens(texts)]
    assert builtin.embed_codes(texts) == wanted


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

    def maxsim(one: TokenStates, other: TokenStates) -> float:
        pieces = piece_codes(other)
        values = testing.most_similar("portable", query_codes(one), (pieces.ids, pieces.codes))
        return float(np.mean(values))

    assert maxsim(query, near) > maxsim(query, far) + 0.1
    assert maxsim(query, query) == pytest.approx(2 / math.pi, abs=0.05)


# --- checks ----------------------------------------------------------------------------------


class Broken(TokenHashingEmbedder):
    """Hidden states that are not as they should be."""

    def __init__(self, how: str) -> None:
        super().__init__(16)
        self.how = how

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        answers = super().embed_tokens(texts)
        vector, states = answers[-1]
        wrong: dict[str, Any] = {
            "nan": (vector, states._replace(states=array("f", [math.nan] * 4 * 384).tobytes())),
            "states": (vector, states._replace(states=states.states[:-4])),
            "ids": (vector, states._replace(ids=states.ids[:-4])),
            "none": (vector, TokenStates(b"", b"")),
            "many": (vector, TokenStates(*(part * 41 for part in states))),
            "vector": (vector[:-4], states),
            "alone": vector,
        }
        return answers[:-1] if self.how == "count" else [*answers[:-1], wrong[self.how]]


class BrokenCodes(TokenHashingEmbedder):
    """Codes that are not as they should be."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(16)
        self.pieces = pieces

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        return [(vector, self.pieces) for vector in self.embed(texts)]


@each("how", ["nan", "states", "ids", "none", "many", "vector", "alone", "count"])
def test_other_states_are_the_providers_error(how: str) -> None:
    embedder = checked_embedder(Broken(how))
    assert isinstance(embedder, CheckedTokenEmbedder)
    for call in (embedder.embed_tokens, embedder.embed_codes):
        with pytest.raises(ProviderError, match="hashing-16-0") as caught:
            call(["secret words", "more secret"])
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "pieces",
    [
        Pieces(b"", b""),
        Pieces(bytes(4), bytes(33)),
        Pieces(bytes(4), bytes(33) + b"\x7c"),
        Pieces(bytes(4), bytes(33) + b"\x80"),
        Pieces(bytes(4 * 161), bytes(34 * 161)),
    ],
)
def test_other_codes_are_the_providers_error(pieces: Pieces) -> None:
    embedder = checked_embedder(BrokenCodes(pieces))
    assert isinstance(embedder, CheckedTokenEmbedder)
    with pytest.raises(ProviderError, match="codes of 1 to 160 word pieces"):
        embedder.embed_codes(["words"])


def test_texts_are_sent_in_batches() -> None:
    inner = TokenHashingEmbedder(16)
    embedder = checked_embedder(inner, batch_size=2)
    assert isinstance(embedder, CheckedTokenEmbedder)
    answers = embedder.embed_tokens(["one two three"] * 5)
    assert (len(answers), inner.call_count) == (5, 3)
    assert answers[0] == inner.embed_tokens(["one two three"])[0]
    assert embedder.embed_tokens([]) == []
    with pytest.raises(ValidationError):
        embedder.embed_tokens(["broken \ud800"])


def test_an_embedder_without_states_gets_no_call_for_them() -> None:
    for plain in (HashingEmbedder(), FailingEmbedder()):
        embedder = checked_embedder(plain)
        assert type(embedder) is CheckedEmbedder
        assert not gives_tokens(embedder)


# --- embedders for tests ---------------------------------------------------------------------


def test_embedders_for_tests_draw_from_words_and_seed() -> None:
    ((_, one), (_, other)) = TokenHashingEmbedder(16).embed_tokens(["Red barn", "a RED door"])
    ids, states = unpacked(one)
    more, others = unpacked(other)
    assert (ids[0], ids[-1], len(ids), len(more)) == (SPECIAL_PIECE, SPECIAL_PIECE, 4, 5)
    assert (ids[1], states[1].tolist()) == (more[2], others[2].tolist())
    assert one != TokenHashingEmbedder(16, seed=1).embed_tokens(["Red barn"])[0][1]
    scripted = TokenScriptedEmbedder({"Red barn": [1.0, 0.0]}, seed=0)
    assert scripted.embed_tokens(["Red barn"])[0][1] == one


@pytest.mark.parametrize("pieces", [3, 13, 40, PIECES_MAX])
def test_embedders_for_tests_give_the_wanted_number_of_pieces(pieces: int) -> None:
    embedder = TokenHashingEmbedder(16, pieces=pieces)
    for text in ("word", "two words", "many words " * 200, ""):
        ((_, made),) = embedder.embed_tokens([text])
        assert are_states(made)
        assert len(made.ids) == 4 * (pieces if text else 2)
    with pytest.raises(ValueError, match="pieces"):
        TokenHashingEmbedder(16, pieces=2)
