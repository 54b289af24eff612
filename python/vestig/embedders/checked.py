"""Parts of every embedder: its settings, checks of its vectors (number, length, finite values), and
codes of word pieces for late interaction, made of its hidden states by fixed axes; and what runs a
model of a Python package in this process.

The mean and the axes are files of this package, pinned by their hashes; they are read when the
first code is made.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from vestig.errors import ConfigError, Description, ProviderError, ValidationError, VestigError
from vestig.hints import missing_package
from vestig.ports import (
    CODE_BYTES,
    PIECES_MAX,
    STATE_DIMENSIONS,
    Embedder,
    PieceCounter,
    Pieces,
    TokenEmbedder,
    TokenStates,
    are_pieces,
    are_states,
    gives_codes,
    gives_tokens,
    is_finite,
)
from vestig.telemetry import caused_by_interrupt

if TYPE_CHECKING:
    from vestig import _core


_T = TypeVar("_T")
_P = TypeVar("_P", TokenStates, Pieces)

FLOAT32_BYTES: Final = 4
DIMENSIONS_MAX: Final = 8192


class CheckedEmbedder:
    """An embedder whose vectors are checked before they are used.

    Args:
        inner: the provider's embedder.
        batch_size: at most this many texts go to the provider in one call.

    Example:
        >>> from vestig.testing import HashingEmbedder
        >>> embedder = CheckedEmbedder(HashingEmbedder(8), batch_size=5)
        >>> embedder.dimensions, len(embedder.embed(["a"] * 7))
        (8, 7)
    """

    def __init__(self, inner: Embedder, *, batch_size: int | None = None) -> None:
        self._inner = inner
        self._batch_size = batch_size

    @property
    def inner(self) -> Embedder:
        """The embedder behind the checks."""
        return self._inner

    @property
    def model(self) -> str:
        """Name of the model.

        Raises:
            ConfigError: it is no text.
        """
        model: object = self._inner.model
        if not isinstance(model, str):
            raise ConfigError(
                "embedder: expected the name of its model as text, its model is"
                f" {type(model).__name__}"
            )
        return model

    @property
    def dimensions(self) -> int:
        """Length of a vector.

        Raises:
            ConfigError: the provider's vectors are not of 1 to 8192 values.
        """
        dimensions: object = self._call(lambda: self._inner.dimensions)
        if not isinstance(dimensions, int) or not 1 <= dimensions <= DIMENSIONS_MAX:
            raise ConfigError(
                f'embedding.dimension: expected 1 to {DIMENSIONS_MAX}, embedder "{self.model}"'
                f" has {dimensions!r}; choose another model"
            )
        return dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, or ""."""
        return self._inner.fingerprint

    def truncated(self, text: str) -> bool:
        """Tell if the model reads only a beginning of the text."""
        return bool(self._call(lambda: self._inner.truncated(text)))

    def count_pieces(self, text: str) -> int | None:
        """Word pieces of a text (`ports.PieceCounter`); None when the embedder does not
        count them."""
        inner = self._inner
        if not isinstance(inner, PieceCounter):
            return None
        return self._call(lambda: inner.count_pieces(text))

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One checked float32 little-endian vector per text; [] for [].

        Raises:
            ProviderError: another number of vectors, another length, NaN or infinity.
            ValidationError: a text holds lone surrogates.
        """
        if not texts:
            return []
        vectors = self._in_batches(texts, self._inner.embed)
        dimensions = self.dimensions
        for number, vector in enumerate(vectors):
            self._check_vector(number, vector, dimensions)
        return vectors

    def _in_batches(self, texts: Sequence[str], call: Callable[[list[str]], list[_T]]) -> list[_T]:
        """Return one result of `call` for each text; texts are checked before."""
        for text in texts:
            _check_text(text)
        answers: list[_T] = []
        for batch in _slices(texts, self._batch_size):
            answer: object = self._call(partial(call, batch))
            if not isinstance(answer, (list, tuple)):
                raise ProviderError(
                    f'embedder "{self.model}": expected a list of {len(batch)} vectors, got'
                    f" {type(answer).__name__}; give a list with one for each text"
                )
            if len(answer) != len(batch):
                raise ProviderError(
                    f'embedder "{self.model}": expected {len(batch)} vectors for'
                    f" {len(batch)} texts, got {len(answer)}; check the provider"
                )
            answers.extend(answer)
        return answers

    def _call(self, call: Callable[[], _T]) -> _T:
        """Return what the provider's code gives.

        Raises:
            ProviderError: it raised an error that is none of ours.
        """
        try:
            return call()
        except VestigError:
            raise
        except Exception as error:  # code of another package may raise anything
            if caused_by_interrupt(error):
                raise KeyboardInterrupt from error
            raise ProviderError(
                f'embedder "{self.model}": it raised {type(error).__name__}; check the provider'
            ) from error

    def _check_vector(self, number: int, vector: object, dimensions: int) -> None:
        if not isinstance(vector, bytes):
            raise ProviderError(
                f'embedder "{self.model}": expected the float32 bytes of a vector, vector {number}'
                f" of the call is {type(vector).__name__}; numpy.asarray(vector, '<f4').tobytes()"
                " makes them"
            )
        if len(vector) != dimensions * FLOAT32_BYTES:
            twice = len(vector) == 2 * dimensions * FLOAT32_BYTES
            raise ProviderError(
                f'embedder "{self.model}": expected {dimensions} dimensions, vector {number} of'
                f" the call has {len(vector) / FLOAT32_BYTES:g}; set embedding.model and"
                " embedding.dimension to what the provider gives"
                + (", or give float32 where these are float64" if twice else "")
            )
        if not is_finite(vector):
            raise ProviderError(
                f'embedder "{self.model}": expected finite numbers, vector {number} of the call'
                " holds NaN or infinity; check the provider"
            )


class CheckedTokenEmbedder(CheckedEmbedder):
    """A `CheckedEmbedder` for a provider that gives hidden states of word pieces too."""

    def __init__(self, inner: TokenEmbedder, **limits: int | None) -> None:
        super().__init__(inner, **limits)
        self._tokens = inner.embed_tokens
        # the provider's own way to codes, where it has one
        self._codes = inner.embed_codes if gives_codes(inner) else None

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """One checked vector per text with the checked hidden states of its word pieces; [] for
        [].

        Raises:
            ProviderError: as `embed`, or states of another shape.
            ValidationError: a text holds lone surrogates.
        """
        expected = (
            f"hidden states of 1 to {PIECES_MAX} word pieces, each with a number and"
            f" {STATE_DIMENSIONS} finite values"
        )
        return self._with_pieces(
            texts,
            self._tokens,
            lambda states: isinstance(states, TokenStates) and are_states(states),
            expected,
        )

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """One checked vector per text with the codes of its word pieces; [] for [].

        Raises:
            ProviderError: as `embed_tokens`, or codes of another shape.
            ConfigError: the axes of codes are missing.
            ValidationError: a text holds lone surrogates.
        """
        if self._codes is None:
            made = self.embed_tokens(texts)
            return [(vector, piece_codes(states)) for vector, states in made]
        expected = (
            f"codes of 1 to {PIECES_MAX} word pieces, each with a number and {CODE_BYTES} bytes"
        )
        return self._with_pieces(
            texts,
            self._codes,
            lambda pieces: isinstance(pieces, Pieces) and are_pieces(pieces),
            expected,
        )

    def _with_pieces(
        self,
        texts: Sequence[str],
        call: Callable[[list[str]], list[tuple[bytes, _P]]],
        is_sound: Callable[[object], bool],
        expected: str,
    ) -> list[tuple[bytes, _P]]:
        """One checked vector per text with what stands beside it."""
        if not texts:
            return []
        answers = self._in_batches(texts, call)
        dimensions = self.dimensions
        for number, answer in enumerate(answers):
            vector, beside = _both(answer)
            self._check_vector(number, vector, dimensions)
            if not is_sound(beside):
                raise ProviderError(
                    f'embedder "{self.model}": expected {expected}, text {number} of the call has'
                    " something else; check the provider"
                )
        return answers


def _both(answer: object) -> tuple[object, object]:
    """A vector and what stands beside it, which a provider may have left out."""
    if isinstance(answer, tuple) and len(answer) == 2:
        return answer[0], answer[1]
    return answer, None


def checked_embedder(inner: Embedder, *, batch_size: int | None = None) -> CheckedEmbedder:
    """The embedder with its vectors checked; states of word pieces too where it gives them."""
    if gives_tokens(inner):
        return CheckedTokenEmbedder(inner, batch_size=batch_size)
    return CheckedEmbedder(inner, batch_size=batch_size)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"expected text to embed, got {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValidationError(
            "text",
            Description(f"a lone surrogate at {error.start}"),
            "text without lone surrogates",
        ) from None


def _slices(texts: Sequence[str], size: int | None) -> Iterator[list[str]]:
    step = len(texts) if size is None else size
    for start in range(0, len(texts), step):
        yield list(texts[start : start + step])


def float32_bytes(values: Sequence[float]) -> bytes:
    """Float32 little-endian bytes of numbers; too large ones become infinity.

    Example:
        >>> float32_bytes([1.0, 0.0]).hex()
        '0000803f00000000'
    """
    packed = array("f", values)
    if _BIG_ENDIAN:
        packed.byteswap()
    return packed.tobytes()


def unit_bytes(values: Sequence[float]) -> bytes:
    """Float32 bytes of the vector at length 1; a zero vector stays zero.

    Example:
        >>> unit_bytes([3.0, 4.0]) == float32_bytes([0.6, 0.8])
        True
    """
    length = math.sqrt(math.fsum(value * value for value in values))
    if length == 0.0 or not math.isfinite(length):
        return float32_bytes(values)
    return float32_bytes([value / length for value in values])


_BIG_ENDIAN: Final = array("H", [1]).tobytes() == b"\x00\x01"


class EmbeddingSettings(Protocol):
    """The settings from which an embedder is made. None = the default of the model."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    @property
    def dimension(self) -> int | None: ...
    @property
    def normalize(self) -> bool: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def api_key_env(self) -> str | None: ...


def require_dimension(settings: EmbeddingSettings, model: str, own: int) -> None:
    """Refuses a configured dimension that the model does not have.

    Raises:
        ConfigError: `embedding.dimension` is set and is not `own`.
    """
    if settings.dimension is not None and settings.dimension != own:
        raise ConfigError(
            f"embedding.dimension: expected {own}, the dimension of {model},"
            f" got {settings.dimension}; remove embedding.dimension or choose another model"
        )


@cache
def piece_axes() -> _core.PieceAxes:
    """The axes of the codes, read once.

    Raises:
        ConfigError: a file is missing.
        ProviderError: a file is not the pinned one.
    """
    from vestig._core import PieceAxes

    data = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")
    try:
        return PieceAxes(os.path.join(data, "piece_mean.txt"), os.path.join(data, "piece_axes.txt"))
    except OSError as error:
        raise ConfigError(
            "late interaction: expected vestig/data/piece_mean.txt and piece_axes.txt in the"
            f" installation, reading them failed: {error.strerror}; install vestig again"
        ) from error
    except ValueError as error:
        raise ProviderError(f"late interaction: {error}; install vestig again") from error


def piece_codes(states: TokenStates) -> Pieces:
    """One-bit codes of the word pieces of a memory.

    Example:
        >>> from array import array
        >>> from vestig.ports import TokenStates
        >>> state = array("f", [1.0] + 383 * [0.0]).tobytes()
        >>> [len(part) for part in piece_codes(TokenStates(bytes(8), 2 * state))]
        [8, 68]
    """
    return Pieces(states.ids, piece_axes().codes(states.states))


def query_codes(states: TokenStates) -> tuple[bytes, bytes, bytes]:
    """Ids, 4-bit codes (256 numbers from -7 to 7 a piece, int8) and steps (float64) of the word
    pieces of a query, as the core's `Query` takes them."""
    ids, codes, steps = piece_axes().query(states.ids, states.states)
    return ids, codes, steps


class LocalModelEmbedder(ABC):
    """A model of the package of `embedding.provider`, which is also its extra; loaded at first use.

    Args:
        settings: the `embedding` section.
        default: the model where `embedding.model` names none.

    Raises:
        ConfigError: the package is missing (at first use), or `embedding.dimension` is not the
            model's.
    """

    def __init__(self, settings: EmbeddingSettings, default: str) -> None:
        self._settings = settings
        self._name = default if settings.model is None else settings.model
        self._lock = threading.Lock()
        self._loaded: Any = None
        self._dimensions = settings.dimension

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of a vector; loads the model when `embedding.dimension` is not set."""
        if self._dimensions is None:
            (vector,) = self._encode(["dimension"])
            self._dimensions = len(vector)
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """ "" : the package gives no hash of its weights."""
        return ""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector per text; [] for [].

        Raises:
            ProviderError: the model failed.
        """
        if not texts:
            return []
        pack = unit_bytes if self._settings.normalize else float32_bytes
        vectors = self._encode(list(texts))
        if vectors:
            require_dimension(self._settings, self._name, len(vectors[0]))
            self._dimensions = len(vectors[0])
        return [pack(vector) for vector in vectors]

    @abstractmethod
    def _constructor(self) -> Callable[[str], Any]:
        """Return what makes a model from its name. ImportError: the package is not installed."""

    @abstractmethod
    def _rows(self, model: Any, texts: list[str]) -> Iterable[Iterable[Any]]:
        """The numbers of each text."""

    def _encode(self, texts: list[str]) -> list[list[float]]:
        model = self._load()
        try:
            rows = list(self._rows(model, texts))
        except (RuntimeError, ValueError, OSError) as error:
            raise ProviderError(
                f'embedder "{self._name}": the model failed: {type(error).__name__}'
                f" (attempts: 1); check the installation of {self._settings.provider}"
            ) from error
        return [[float(value) for value in row] for row in rows]

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                package = self._settings.provider
                try:
                    construct = self._constructor()
                except ImportError:
                    what = f'embedding.provider: "{package}"'
                    raise ConfigError(missing_package(what, package, package)) from None
                try:
                    self._loaded = construct(self._name)
                except (OSError, ValueError) as error:
                    raise ProviderError(
                        f'embedder "{self._name}": the model could not be loaded:'
                        f" {type(error).__name__} (attempts: 1); check embedding.model"
                    ) from error
            return self._loaded
