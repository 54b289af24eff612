"""Interfaces with more than one implementation: embedder, reranker, index of vectors, language
model, scan of the projection, clock; the values that pass through them, and the time that a call
of another package's code gets.

The meaning of every number of a scan stands in the core's own description of `Row` and `Scan`.
"""

from __future__ import annotations

import math
import sys
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

import msgspec

from vestig import _core
from vestig.types import CommitOutcome

# Word pieces of a text that count in late interaction, special ones included.
PIECES_MAX: Final = 160


# Numbers of a hidden state.
STATE_DIMENSIONS: Final = 384


# Bytes of the code of a word piece: 256 bits, then a binary16 scale.
CODE_BYTES: Final = 34


# The number of special pieces, which are in no text, such as the model's token for the beginning.
SPECIAL_PIECE: Final = 0xFFFFFFFF


# The upper byte of a binary16 number from which on it is infinite, no number or negative.
_NO_SCALE: Final = 0x7C


class EmbeddingIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which model made a store's vectors. `fingerprint` is a file hash, or "" when
    the provider has none; then `probes` (vectors of three fixed sentences, float32 bytes) are
    compared by cosine >= 0.999."""

    model: str
    dimensions: int
    normalized: bool
    fingerprint: str = ""
    probes: tuple[bytes, ...] = ()


class Pieces(NamedTuple):
    """One-bit codes of n word pieces, n from 1 to `PIECES_MAX`: piece i has the number ids[i]
    (u32 little-endian) and the code codes[34·i : 34·i + 34]: 256 bits, the lowest of a byte first,
    of which a set one stands for +1 and another for −1, and what they are multiplied by
    (binary16 little-endian)."""

    ids: bytes
    codes: bytes


class TokenStates(NamedTuple):
    """Hidden states of n word pieces, n from 1 to `PIECES_MAX`: ids as in `Pieces`, states of 384
    float32 numbers a piece, little-endian; and where each stands in the text, two u32 code points
    [start, end), [0, 0) for special pieces. Without places a query has no topic of its own."""

    ids: bytes
    states: bytes
    places: bytes = b""


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. Several threads may ask it at once."""

    @property
    def model(self) -> str:
        """Name of the model, stored with every vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector, 1 to 8192."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, or "" when the provider gives none."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector of `dimensions` values per text; [] for [].

        Raises:
            ProviderError: the model failed or gave something else than finite vectors.
        """
        ...

    def truncated(self, text: str) -> bool:
        """Return whether the model reads only a beginning of this text."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """An embedder that gives hidden states of word pieces as well."""

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """For each text its vector, the one of `embed`, and the last hidden states of its first
        160 word pieces, both from one run of the model; [] for []. Special pieces have the number
        `SPECIAL_PIECE`.

        Raises:
            ProviderError: as `embed`.
        """
        ...


class CodeEmbedder(TokenEmbedder, Protocol):
    """A `TokenEmbedder` that makes codes of its states by itself, the same as
    `embedders.checked.piece_codes` makes; it is asked for them where codes are stored."""

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """Like `embed_tokens`, with codes in the place of states.

        Raises:
            ProviderError: as `embed`.
        """
        ...


@runtime_checkable
class PieceCounter(Protocol):
    """An embedder that counts the word pieces of a text: the tokens of `recall(context=True)`.
    Without it they are estimated, and the result says so."""

    def count_pieces(self, text: str) -> int | None:
        """Pieces of the whole text, however long it is; None when they cannot be counted."""
        ...


def are_pieces(pieces: Pieces) -> bool:
    """Return whether both parts fit each other and every scale is finite and at least 0.

    Example:
        >>> are_pieces(Pieces(bytes(4), bytes(34))), are_pieces(Pieces(b"", b""))
        (True, False)
    """
    count, rest = divmod(len(pieces.ids), 4)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(pieces.codes) == count * CODE_BYTES
        and max(pieces.codes[CODE_BYTES - 1 :: CODE_BYTES]) < _NO_SCALE
    )


def are_states(states: TokenStates) -> bool:
    """Return whether both parts fit each other and every number is finite.

    Example:
        >>> are_states(TokenStates(bytes(4), bytes(1536))), are_states(TokenStates(b"", b""))
        (True, False)
    """
    count, rest = divmod(len(states.ids), 4)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(states.states) == count * STATE_DIMENSIONS * 4
        and len(states.places) in (0, count * 8)
        and is_finite(states.states)
    )


def is_finite(vector: bytes) -> bool:
    """Return whether float32 little-endian bytes hold neither NaN nor infinity.

    Example:
        >>> is_finite(bytes(8)), is_finite(b"\\0\\0\\x80\\x7f"), is_finite(b"\\xff" * 4)
        (True, False, False)
    """
    # Their exponents are all ones; so are seven bits of it in the last byte, which is rare.
    last = vector[3::4]
    if 0x7F not in last and 0xFF not in last:
        return True
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    # A sum of float32 in float64 overflows never, and NaN or infinity in it stay visible.
    return math.isfinite(sum(values))


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Return whether it has hidden states of word pieces. Asks for nothing that would load a
    model."""
    return callable(getattr(embedder, "embed_tokens", None))


def gives_codes(embedder: Embedder) -> TypeGuard[CodeEmbedder]:
    """Return whether it makes codes of word pieces by itself. Asks for nothing that would load a
    model."""
    return callable(getattr(embedder, "embed_codes", None))


class CandidateIndex(Protocol):
    """Approximate nearest vectors, numbered from 0 as given; the core compares them exactly."""

    @property
    def rows(self) -> int:
        """How many vectors it holds."""
        ...

    def nearest(self, vector: bytes, count: int) -> list[int]:
        """Numbers of about the nearest vectors, best first, at most `count`, each once."""
        ...

    def packed(self) -> bytes:
        """The index as bytes. The caller keeps them under a checksum: no others are ever loaded."""
        ...


class RerankerSettings(Protocol):
    """The section `reranker` of the configuration."""

    @property
    def provider(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well each answers a query."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        """One float32 little-endian number for each text, finite and at least 0, the greater the
        better: the largest of a call counts as 1. Limits its own time."""
        ...


# An answer is read up to this many bytes; what is longer has failed.
ANSWER_BYTES_MAX: Final = 1_048_576
_T = TypeVar("_T")


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one or more calls, as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a language model.

    Args:
        purpose: what the answer is for (`entities`, `plan_queries`, …): a label of counters and
            logs, no text.
        model: the provider's name of the model.
        system: instructions, the same for every request of a purpose: what a provider may cache.
        user: the material, stored text delimited as data.
        schema: JSON schema of the answer, None = plain text.
        max_tokens: most tokens of the answer, >= 1.
        timeout_s: seconds from start to last byte, > 0.
    """

    purpose: str
    model: str
    system: str
    user: str
    schema: Mapping[str, Any] | None
    max_tokens: int
    timeout_s: float


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model: the text as the model gave it, unread, and what it cost. `cut` says
    why it is not the whole answer: it reached `max_tokens`, or the model refused; None = it is
    whole."""

    text: str
    model: str
    usage: ModelUsage
    cut: Literal["length", "refusal"] | None = None


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one request of a batch. `answer` is None unless it succeeded; `error` says
    why, without stored text. An expired request was never worked on."""

    id: str
    state: Literal["succeeded", "failed", "expired"]
    answer: ModelAnswer | None = None
    error: str | None = None


class LanguageModelSettings(Protocol):
    """The section `llm` of the configuration, as an adapter reads it."""

    @property
    def provider(self) -> str: ...
    @property
    def api_key_env(self) -> str: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def timeout_s(self) -> float: ...


@runtime_checkable
class LanguageModel(Protocol):
    """Text in, text out. One call is one try: repeating, budgets and reading the answer are the
    caller's. Thread-safe. Nothing is imported or sent before the first call."""

    @property
    def provider(self) -> str:
        """Name of the provider, for messages and counters."""
        ...

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """One try.

        Raises:
            ProviderTimeoutError: no whole answer within `timeout_s`.
            ModelCallError: anything else; it says whether another try can help, after how many
                seconds, and with which status the provider answered.
        """
        ...


@runtime_checkable
class BatchLanguageModel(LanguageModel, Protocol):
    """A language model that also takes many requests at once, answered within a day."""

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Sends (own id, request) pairs; the id of the batch.

        Raises:
            ModelCallError: nothing is known to have been taken; `find` tells.
        """
        ...

    def find(self, own_id: str) -> str | None:
        """The batch that holds this request, among the provider's recent ones; None = none.

        Raises:
            ModelCallError: it cannot be told; retryable where a batch that is still worked on may
                hold it, for some providers say only at its end what a batch holds.
        """
        ...

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        """Outcomes of a batch in any order; None while it is worked on.

        Raises:
            ModelCallError: it cannot be asked, or is unknown.
        """
        ...


# What an object of a port has, as a message names it.
MEMBERS: Final[Mapping[type, Mapping[str, str]]] = {
    Embedder: {
        "model": "model: str",
        "dimensions": "dimensions: int",
        "fingerprint": 'fingerprint: str ("" where there is none)',
        "embed": "embed(texts) -> list[bytes]",
        "truncated": "truncated(text) -> bool",
    },
    Reranker: {"model": "model: str", "score": "score(query, texts) -> bytes"},
    LanguageModel: {
        "provider": "provider: str",
        "complete": "complete(request) -> vestig.ports.ModelAnswer",
    },
}


def lacking(value: object, port: type) -> list[str]:
    """Members of a port that an object does not have, each as a message names it. No property is
    read where its class has it, for that may load a model.

    Example:
        >>> class Half:
        ...     model = "half"
        >>> lacking(Half(), Reranker)
        ['score(query, texts) -> bytes']
    """
    found = {}
    for name in MEMBERS[port]:
        of_class = getattr(type(value), name, None)
        found[name] = getattr(value, name, None) if of_class is None else of_class
    return [
        shown
        for name, shown in MEMBERS[port].items()
        if found[name] is None or (shown.startswith(f"{name}(") and not callable(found[name]))
    ]


class ProjectionRow(NamedTuple):
    """One memory or entity as the projection takes it; the core checks the names of the fields.

    A code is the position of the member in its enum of `types`; times are microseconds.
    """

    # 16 bytes
    id: bytes
    # transactions: that inserted it, that wrote this version
    seq: int
    wseq: int
    content: str
    author: str | None
    namespace: str
    scope: str | None
    # code; 2 is an entity, whose type stands in `role`
    kind: int
    status: int
    role: str | None
    session_id: str | None
    sequence: int | None
    # codes
    origin: int
    stability: int
    pinned: bool
    t_valid_us: int
    t_invalid_us: int | None
    t_created_us: int
    t_expired_us: int | None
    # as the embedder gave it, float32
    embedding: bytes | None
    tags: Sequence[str]
    sources: Sequence[str]
    actors: Sequence[str]
    # (type code, occurred_us, recorded_us, seq, row number)
    events: Sequence[tuple[int, int, int, int, int]]
    keywords: Sequence[str]
    # (start_us, end_us), None = open
    windows: Sequence[tuple[int | None, int | None]]
    # that start here: (id, other end, type code, weight, confidence, created_us, expired_us)
    edges: Sequence[tuple[bytes, bytes, int, float, float | None, int, int | None]]
    # vectors of hypothetical questions
    questions: Sequence[bytes]
    # of an entity: (normal form, stored name), canonical first
    names: Sequence[tuple[str, str]]
    # of the content (`language.text_flags`)
    features: int
    # the name that the title is
    title: str | None
    # one-bit codes of at most 160 word pieces
    pieces: Pieces | None
    # row number in the ledger of the source that produced it first
    source_row: int | None
    # the title as it is given: its words are words of the memory
    heading: str | None
    # its time is only that of its file, which says nothing of its text
    undated: bool = False


# Objects of the core.
ScanQuery = _core.Query
ScanFilter = _core.Filter
ScanRanking = _core.Ranking
ScanRow = _core.Row


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One ranking scan of the projection: objects of the core, and which of the ranked memories are
    wanted.

    Args:
        limit: most results.
        pool: direct candidates; None = all, "starts" = the start nodes.
        watch: ids (16 bytes each) whose rows are wanted although they are not returned.
        shown: how many of them the caller shows, at most: the walk may admit as many.
    """

    query: ScanQuery
    filter: ScanFilter
    ranking: ScanRanking
    limit: int
    pool: int | str | None
    watch: bytes = b""
    shown: int


class AdjustedScan(msgspec.Struct, frozen=True, kw_only=True):
    """A scan of which something is not as the core gave it. `approximate`: the rows are the best of
    those that an index proposed."""

    rows: Sequence[ScanRow]
    watched: Sequence[ScanRow]
    associated: Sequence[ScanRow]
    terms: Sequence[str]
    stored: int
    eligible: int
    scored: int
    walked: int
    unembedded: int
    idfs: Sequence[float]
    document_frequencies: Sequence[int]
    dates_met: bool
    pool_means: Mapping[str, float]
    approximate: bool = False

    @classmethod
    def of(cls, scan: Scan, **changes: Any) -> AdjustedScan:
        """The scan with other values of these fields."""
        kept = {name: getattr(scan, name) for name in _OF_SCAN if name not in changes}
        return cls(**{"approximate": is_approximate(scan), **kept, **changes})


# Rows, best first, and what was counted on the way to them.
Scan = _core.Scan | AdjustedScan
_OF_SCAN: Final = tuple(name for name in AdjustedScan.__struct_fields__ if name != "approximate")


def is_approximate(scan: Scan) -> bool:
    """Return whether an index proposed what was scored."""
    return isinstance(scan, AdjustedScan) and scan.approximate


# seq, request → scan, of a projection that stands at that seq
ScanFunction = Callable[[int, ScanRequest], Scan]


# Called with the outcome of each commit.
CommitHook = Callable[[CommitOutcome], None]

# Called with (done, total or None).
Progress = Callable[[int, int | None], None]


class Clock(Protocol):
    """Gives the current time."""

    def __call__(self) -> datetime:
        """The current time. A naive one is UTC."""
        ...


def within(seconds: float, call: Callable[[], _T]) -> _T:
    """Return what a call returns or raises, if it ends in time.

    It runs in a thread of its own. What still runs after its time is left to end by itself, and
    does not keep the process from ending; its answer is not looked at.

    Args:
        seconds: 0 or less = no time is left, and nothing is called.

    Raises:
        TimeoutError: it did not end in time.

    Example:
        >>> within(5.0, lambda: 7)
        7
        >>> within(0.001, threading.Event().wait)
        Traceback (most recent call last):
        ...
        TimeoutError: no answer within 0.001 s
        >>> within(0.0, lambda: 7)
        Traceback (most recent call last):
        ...
        TimeoutError: no time is left
    """
    if seconds <= 0:
        raise TimeoutError("no time is left")
    answers: list[_T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # raised again in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="vestig-time-limit", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answers[0]
