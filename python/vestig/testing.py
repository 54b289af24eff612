"""Test doubles and contract suites for code that uses Vestig or extends it.

Nothing here needs a model, a network or another package.

- Tests of an agent: `HashingEmbedder` (vectors from words), `ScriptedEmbedder` (vectors that the
  test gives), `FailingEmbedder` (errors), `FrozenClock` (a time that the test moves).
- Tests of what a language model does: `ScriptedModel` (answers that the test gives).
- Tests of an embedder, reranker or language model of your own: subclass `EmbedderContract`,
  `RerankerContract` or `LanguageModelContract`.
- Embedders named `Token…` also give a vector for each word, for late interaction.

Example:
    >>> import vestig
    >>> clock = FrozenClock("2026-03-18")
    >>> with vestig.open(":memory:", embedder=HashingEmbedder(), clock=clock) as store:
    ...     _ = store.commit("The office is in Oslo")
    ...     _ = clock.move(days=1)
    ...     hit = store.recall("where is the office?", limit=1).results[0]
    >>> hit.content
    'The office is in Oslo'
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from vestig.arguments import parse_time
from vestig.contracts import EmbedderContract, LanguageModelContract, RerankerContract
from vestig.embedders.checked import float32_bytes, unit_bytes
from vestig.errors import ModelCallError, ProviderError, ProviderTimeoutError
from vestig.lazy_pattern import lazy_pattern
from vestig.module_words import missing_name
from vestig.other_words import NamesMissing
from vestig.ports import (
    PIECES_MAX,
    SPECIAL_PIECE,
    STATE_DIMENSIONS,
    BatchAnswer,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    TokenStates,
)
from vestig.times import from_us


class HashedTokenStates:
    """Hidden states of texts, equal for equal words.

    Args:
        seed: another seed, other vectors.
        pieces: every text has this many; None = as many as its words, and its two ends.
    """

    def __init__(self, seed: int, pieces: int | None) -> None:
        if pieces is not None and not 3 <= pieces <= PIECES_MAX:
            raise ValueError(f"pieces: expected 3 to {PIECES_MAX}, got {pieces}")
        self._key = seed.to_bytes(8, "little", signed=True)
        self._pieces = pieces
        self._known: dict[str, tuple[bytes, bytes]] = {}

    def of(self, text: str) -> TokenStates:
        """The pieces of a text: one for each word, between two special pieces; words are repeated
        or cut to the number of pieces."""
        most = PIECES_MAX if self._pieces is None else self._pieces
        words = _WORD.findall(text.lower())
        if self._pieces is not None:
            words *= -(-most // max(1, len(words)))
        drawn = [self._word(word) for word in ("", *words[: most - 2], "")]
        return TokenStates(*(b"".join(parts) for parts in zip(*drawn, strict=True)))

    def _word(self, word: str) -> tuple[bytes, bytes]:
        known = self._known.get(word)
        if known is None:
            raw = hashlib.shake_128(self._key + word.encode()).digest(STATE_DIMENSIONS + 2)
            values = memoryview(raw[2:]).cast("b").tolist()
            number = int.from_bytes(raw[:2], "little") if word else SPECIAL_PIECE
            known = self._known[word] = (
                number.to_bytes(4, "little"),
                float32_bytes([float(value) for value in values]),
            )
        return known


__all__ = [
    "EmbedderContract",
    "FailingEmbedder",
    "FrozenClock",
    "HashingEmbedder",
    "LanguageModelContract",
    "RerankerContract",
    "ScriptedEmbedder",
    "ScriptedModel",
    "TokenHashingEmbedder",
    "TokenScriptedEmbedder",
    "WordReranker",
    "hashing_embedder",
    "vector_at",
]

_WORD: Final = lazy_pattern(r"\w+")
_FLOAT32_BYTES: Final = 4


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class HashingEmbedder:
    """Words and pairs of adjacent words hashed into a unit vector.

    Texts that share words are near each other; case is ignored. The vectors never change between
    versions: BLAKE2b of seed and word chooses dimension and sign (Weinberger and others, Feature
    hashing for large scale multitask learning, 2009).

    Args:
        dimensions: length of a vector.
        seed: another seed, another embedding.

    Example:
        >>> embedder = HashingEmbedder(64)
        >>> a, b = embedder.embed(["The office is in Oslo", "the OFFICE is in oslo"])
        >>> a == b, len(a)
        (True, 256)
    """

    def __init__(self, dimensions: int = 256, seed: int = 0) -> None:
        self._dimensions = dimensions
        self._key = seed.to_bytes(8, "little", signed=True)
        self._model = f"hashing-{dimensions}-{seed}"
        self._places: dict[str, tuple[int, float]] = {}
        self.call_count = 0

    @property
    def model(self) -> str:
        """Name with dimensions and seed, since both change the vectors."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the name: nothing else determines the vectors."""
        return hashlib.sha256(self._model.encode()).hexdigest()

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One unit vector per text; the zero vector for a text without words."""
        if texts:
            self.call_count += 1
        return [self._vector(text) for text in texts]

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False: every word is read."""
        return False

    def _vector(self, text: str) -> bytes:
        values = [0.0] * self._dimensions
        before = ""
        for word in _WORD.findall(text.lower()):
            for feature in (word, f"{before} {word}"):
                place, sign = self._place(feature)
                values[place] += sign
            before = word
        return unit_bytes(values)

    def _place(self, feature: str) -> tuple[int, float]:
        known = self._places.get(feature)
        if known is None:
            digest = hashlib.blake2b(feature.encode(), digest_size=8, key=self._key).digest()
            number = int.from_bytes(digest, "little")
            known = ((number >> 1) % self._dimensions, 1.0 if number & 1 else -1.0)
            if " " not in feature:  # pairs are too many to keep
                self._places[feature] = known
        return known


def hashing_embedder(settings: Any) -> HashingEmbedder:
    """A `HashingEmbedder` from the `embedding` section.

    For `embedding.provider: hashing`.
    `embedding.dimension` is honoured, 256 when absent.

    Example:
        >>> from vestig.config.schema import EmbeddingSettings
        >>> hashing_embedder(EmbeddingSettings(dimension=16)).dimensions
        16
    """
    return HashingEmbedder(256 if settings.dimension is None else settings.dimension)


class ScriptedEmbedder:
    """Vectors that the test gives, unchanged (not scaled to length 1).

    `calls`: the texts of each call. A store embeds `author: text` for a memory with an author.

    Args:
        vectors: text → numbers (or float32 bytes), all of one length.
        default: vector of every other text; without it an unknown text is an error.
        model: name of the model.

    Example:
        >>> embedder = ScriptedEmbedder({"a": [1.0, 0.0]}, default=[0.0, 1.0])
        >>> embedder.embed(["a", "b"]) == [float32_bytes([1, 0]), float32_bytes([0, 1])]
        True
        >>> embedder.calls
        [('a', 'b')]
    """

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float] | bytes],
        *,
        default: Sequence[float] | bytes | None = None,
        model: str = "scripted",
    ) -> None:
        self.vectors = {text: _packed(vector) for text, vector in vectors.items()}
        self._default = None if default is None else _packed(default)
        lengths = {len(vector) for vector in self.vectors.values()}
        if self._default is not None:
            lengths.add(len(self._default))
        if len(lengths) != 1:
            raise ValueError(f"expected vectors of one length, got lengths {sorted(lengths)}")
        self._dimensions = lengths.pop() // _FLOAT32_BYTES
        self._model = model
        self.calls: list[tuple[str, ...]] = []

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of name and dimensions: scripts of one name count as one model."""
        return hashlib.sha256(f"{self._model}-{self._dimensions}".encode()).hexdigest()

    @property
    def call_count(self) -> int:
        """Number of calls of `embed` with at least one text."""
        return len(self.calls)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The scripted vectors.

        Raises:
            ProviderError: a text without a vector, when there is no default.
        """
        if texts:
            self.calls.append(tuple(texts))
        return [self._vector(number, text) for number, text in enumerate(texts)]

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False: a script reads whole texts."""
        return False

    def _vector(self, number: int, text: str) -> bytes:
        vector = self.vectors.get(text, self._default)
        if vector is None:
            raise ProviderError(
                f'embedder "{self._model}": expected a scripted vector for text {number} of the'
                f" call ({len(text)} characters), there is none; add it or give a default"
            )
        return vector


class TokenHashingEmbedder(HashingEmbedder):
    """A `HashingEmbedder` that also gives hidden states of word pieces: one for each word, the same
    for the same word, with a special piece at both ends.

    Args:
        dimensions: length of a vector of a text.
        seed: another seed, another embedding.
        pieces: every text has this many, words repeated or cut; None = as many as its words.

    Example:
        >>> (vector, states), = TokenHashingEmbedder(8).embed_tokens(["The office is in Oslo"])
        >>> len(vector), [len(part) for part in states]
        (32, [28, 10752, 0])
    """

    def __init__(self, dimensions: int = 256, seed: int = 0, pieces: int | None = None) -> None:
        super().__init__(dimensions, seed)
        self._words = HashedTokenStates(seed, pieces)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """One call of `embed`, with the hidden states beside it."""
        states = map(self._words.of, texts)
        return list(zip(self.embed(texts), states, strict=True))


class TokenScriptedEmbedder(ScriptedEmbedder):
    """A `ScriptedEmbedder` that also gives states of word pieces, as a `TokenHashingEmbedder`.

    Example:
        >>> embedder = TokenScriptedEmbedder({"a": [1.0, 0.0]}, default=[0.0, 1.0])
        >>> [len(states.ids) for _, states in embedder.embed_tokens(["a", "b c"])], embedder.calls
        ([12, 16], [('a', 'b c')])
    """

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float] | bytes],
        *,
        default: Sequence[float] | bytes | None = None,
        model: str = "scripted",
        seed: int = 0,
        pieces: int | None = None,
    ) -> None:
        super().__init__(vectors, default=default, model=model)
        self._words = HashedTokenStates(seed, pieces)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """One call of `embed`, with the hidden states beside it."""
        states = map(self._words.of, texts)
        return list(zip(self.embed(texts), states, strict=True))


class FailingEmbedder:
    """An embedder that fails in a chosen way.

    Args:
        mode: "error", "timeout", "nan", "inf", "short", "long" or "count" (one vector too few).
        after: that many calls succeed first, with the vectors of a `HashingEmbedder`.
        dimensions: length that it reports.

    Example:
        >>> FailingEmbedder("timeout").embed(["a"])
        Traceback (most recent call last):
            ...
        vestig.errors.ProviderTimeoutError: embedder "failing": no answer (attempts: 1)
    """

    _VALUES: Final = {"nan": math.nan, "inf": math.inf}
    _LONGER: Final = {"short": -1, "long": 1}
    MODES: Final = ("error", "timeout", "nan", "inf", "short", "long", "count")

    def __init__(self, mode: str = "error", *, after: int = 0, dimensions: int = 256) -> None:
        if mode not in self.MODES:
            raise ValueError(f"mode: expected one of {', '.join(self.MODES)}, got {mode!r}")
        self.mode = mode
        self.after = after
        self.call_count = 0
        self._good = HashingEmbedder(dimensions)

    @property
    def model(self) -> str:
        """Name of the model."""
        return "failing"

    @property
    def dimensions(self) -> int:
        """The reported length of a vector."""
        return self._good.dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of name and dimensions."""
        return hashlib.sha256(f"failing-{self.dimensions}".encode()).hexdigest()

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Good vectors for the first `after` calls, then the failure."""
        if not texts:
            return []
        self.call_count += 1
        if self.call_count <= self.after:
            return self._good.embed(texts)
        if self.mode == "error":
            raise ProviderError('embedder "failing": the provider failed (attempts: 1)')
        if self.mode == "timeout":
            raise ProviderTimeoutError('embedder "failing": no answer (attempts: 1)')
        if self.mode == "count":
            return self._good.embed(texts)[:-1]
        length = self.dimensions + self._LONGER.get(self.mode, 0)
        return [float32_bytes([self._VALUES.get(self.mode, 0.5)] * length) for _ in texts]

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False."""
        return False


class WordReranker:
    """A reranker without a model: the share of a text's words that are also in the query, 0 to 1.

    Args:
        settings: names the model; None = "words".

    Example:
        >>> memoryview(WordReranker().score("Is Ada in Oslo?", ["Ada swims."])).cast("f")[0]
        0.5
    """

    def __init__(self, settings: Any = None) -> None:
        self._model = getattr(settings, "model", None) or "words"

    @property
    def model(self) -> str:
        """Name."""
        return self._model

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        """One number from 0 to 1 for each text."""
        query_words = set(_WORD.findall(query.lower()))
        words_of = [_WORD.findall(text.lower()) for text in texts]
        return float32_bytes(
            [sum(w in query_words for w in words) / max(1, len(words)) for words in words_of]
        )


class ScriptedModel:
    """Answers from a function or a table, and records what it is asked. It takes batches too.

    Args:
        answers: a function of the request, or a table by purpose (the name of the prompt; of a
            request with several prompts, their answers are put together). An answer is text, a
            whole `ModelAnswer`, or anything that JSON can hold.
        failures: what each call in turn does: an exception is raised, None answers. When they are
            used up, every call answers.
        polls: how often a batch says that it is still worked on.

    Attributes:
        requests: every request, those of batches too, in order.
        batches: own ids of the requests of every batch, by the batch's id.

    Raises:
        ModelCallError: from a call whose purpose the table does not have.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> model = ScriptedModel({"classify_stability": {"stability": "static"}})
        >>> with vestig.open(":memory:", embedder=HashingEmbedder(), llm=model) as store:
        ...     store.commit("Ada was born in London").outcome.value
        'INSERTED_NEW'
    """

    def __init__(
        self,
        answers: Callable[[ModelRequest], Any] | Mapping[str, Any],
        *,
        failures: Iterable[BaseException | None] = (),
        polls: int = 0,
    ) -> None:
        self._answers = answers
        self._failures: Iterator[BaseException | None] = iter(failures)
        self._polls = polls
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []
        self.batches: dict[str, tuple[str, ...]] = {}
        self._outcomes: dict[str, list[BatchAnswer]] = {}
        self._polled: dict[str, int] = {}

    @property
    def provider(self) -> str:
        """`scripted`."""
        return "scripted"

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """The answer that the test gives, or the failure whose turn it is."""
        with self._lock:
            self.requests.append(request)
            failure = next(self._failures, None)
        if failure is not None:
            raise failure
        return self._answer(request)

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Takes a batch, or the failure whose turn it is."""
        with self._lock:
            self.requests += [request for _, request in requests]
            failure = next(self._failures, None)
            if failure is not None:
                raise failure
            batch = f"batch_{len(self.batches) + 1}"
            self.batches[batch] = tuple(own for own, _ in requests)
        self._outcomes[batch] = [self._outcome(own, request) for own, request in requests]
        return batch

    def find(self, own_id: str) -> str | None:
        """The batch that holds this request."""
        return next((batch for batch, own in self.batches.items() if own_id in own), None)

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        """The outcomes, once it was asked `polls` times."""
        if batch_id not in self._outcomes:
            raise ModelCallError(f"scripted model: there is no batch {batch_id}", status=404)
        with self._lock:
            polled = self._polled.get(batch_id, 0)
            self._polled[batch_id] = polled + 1
        return None if polled < self._polls else self._outcomes[batch_id]

    def _outcome(self, own_id: str, request: ModelRequest) -> BatchAnswer:
        try:
            answer = self._answer(request)
        except ModelCallError as error:
            return BatchAnswer(id=own_id, state="failed", error=str(error))
        return BatchAnswer(id=own_id, state="succeeded", answer=answer)

    def _answer(self, request: ModelRequest) -> ModelAnswer:
        if callable(self._answers):
            given = self._answers(request)
        else:
            given = _together([self._of(purpose) for purpose in request.purpose.split("+")])
        if isinstance(given, ModelAnswer):
            return given
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        # four characters are about one token
        usage = ModelUsage(
            input_tokens=(len(request.system) + len(request.user)) // 4,
            output_tokens=len(text) // 4,
        )
        return ModelAnswer(text=text, model=request.model, usage=usage)

    def _of(self, purpose: str) -> Any:
        assert not callable(self._answers)
        if purpose not in self._answers:
            raise ModelCallError(f"scripted model: no answer for {purpose}; add one to the table")
        return self._answers[purpose]


def _together(answers: list[Any]) -> Any:
    if len(answers) == 1:
        return answers[0]
    return {name: value for answer in answers for name, value in dict(answer).items()}


class FrozenClock(NamesMissing):
    """A clock that only the test moves.

    Args:
        start: any accepted form of a time; 2026-03-18T12:00:00Z, a Wednesday, when absent.

    Example:
        >>> clock = FrozenClock()
        >>> clock.move(days=1).isoformat()
        '2026-03-19T12:00:00+00:00'
        >>> clock() == clock()
        True
    """

    def __init__(self, start: object = datetime(2026, 3, 18, 12, tzinfo=UTC)) -> None:
        self._now = from_us(parse_time(start, "start"))

    def __call__(self) -> datetime:
        """The current time of this clock."""
        return self._now

    def move(self, **step: float) -> datetime:
        """Moves by `timedelta(**step)`, backwards when negative; returns the new time."""
        self._now += timedelta(**step)
        return self._now

    def set(self, moment: object) -> datetime:
        """Moves to a time, in any accepted form; returns it."""
        self._now = from_us(parse_time(moment, "moment"))
        return self._now


def vector_at(cosine: float, dimensions: int = 8, axis: int = 1) -> list[float]:
    """A unit vector whose cosine to the first axis is `cosine`; the rest lies on axis `axis`.

    Example:
        >>> vector_at(0.6, 3)
        [0.6, 0.8, 0.0]
    """
    values = [0.0] * dimensions
    values[0] = cosine
    values[axis] = math.sqrt(1.0 - cosine * cosine)
    return values


def _packed(vector: Sequence[float] | bytes) -> bytes:
    return vector if isinstance(vector, bytes) else float32_bytes(vector)
