"""The native core: exact numbers and the memory-mapped projection.

A vector is any C-contiguous buffer of float32 (bytes, memoryview, numpy array). Times are
integers, microseconds since the epoch (UTC). Ids are 16 raw bytes. Codes are positions in the
enums of `vestig.types`. Nothing here reads a clock, a file name of the ledger or the environment.
"""

from collections.abc import Callable, Container, Mapping, Sequence, Set
from os import PathLike
from typing import Final, Protocol, Self, final

from typing_extensions import Buffer

from vestig._core import testing as testing
from vestig.store.projection.scan_objects import RankingFields

__all__ = [
    "ANALYSER_VERSION",
    "EVENT_TYPES",
    "FEATURES",
    "FORMAT_VERSION",
    "METADATA",
    "ROWS_READ",
    "ROW_FIELDS",
    "SECRETS_VERSION",
    "SECRET_RULES",
    "SIGNALS",
    "VERSION",
    "VERSION_SIGNALS",
    "AnalysedText",
    "ByteRuns",
    "ContentTerm",
    "ContentWords",
    "CrossEncoderWeights",
    "EntityRows",
    "Filter",
    "NameRules",
    "NameTable",
    "PackedWeights",
    "PieceAxes",
    "Projection",
    "ProjectionDamaged",
    "Query",
    "Ranking",
    "Row",
    "Scan",
    "SnapshotMoved",
    "Substrings",
    "WeightsUnusable",
    "WordPieces",
    "absent_names",
    "cased_name",
    "confidence_features",
    "entity_named",
    "find_marks",
    "first_mismatched_text",
    "id_bytes",
    "id_text",
    "is_specific",
    "keywords",
    "ln",
    "logistic",
    "lower_words",
    "mark",
    "mask_secrets",
    "normal_name",
    "placed_terms",
    "pow",
    "quotations",
    "random_id",
    "starts_sentence",
    "term_table",
    "terms",
    "terms_among",
    "testing",
    "text_flags",
    "tokens",
    "unit",
    "visible",
]

VERSION: str
FORMAT_VERSION: int
ROW_FIELDS: tuple[str, ...]
"""Names of the fields of a projection row, in order."""
EVENT_TYPES: tuple[str, ...]
"""Names of the types of events; a name's position is its code."""
SIGNALS: tuple[str, ...]
"""Signals in the order of their sum, the linear score L."""

METADATA: tuple[str, ...]
"""Terms of S_meta, in the order of `meta_weights`."""

def term_table() -> list[tuple[str, str, str, str, list[str]]]:
    """Name, group, what a weight of it is given to, what it measures, and the sentences of a reason
    about it: of the bias, of each of `SIGNALS`, of S_query and of each of `METADATA`."""

ANALYSER_VERSION: str

class SnapshotMoved(Exception):
    """The projection stands at another seq than the caller's ledger view."""

class ProjectionDamaged(Exception):
    """A projection file failed a check during a call; discard and rebuild."""

class WeightsUnusable(Exception):
    """The file of packed weights is damaged or of another layout; pack the weights again."""

# --- ids ---

def id_text(prefix: str, raw: bytes) -> str:
    """The text form of 16 id bytes: `mem_00000000-0000-0000-0000-000000000000`."""

def id_bytes(id: str) -> bytes:
    """The 16 bytes of a full id, which are in its last 36 characters. ValueError: no full id."""

def random_id(prefix: str, raw: bytes) -> str:
    """The text form of the UUIDv4 of 16 random bytes, whose version and variant are set."""

# --- the built-in embedder ---

@final
class WordPieces:
    """Word pieces of the model's vocabulary; ids are those of the package `tokenizers`."""

    def __new__(cls, vocabulary: str | PathLike[str], sha256: bytes) -> Self:
        """Reads a file of 30,522 lines. OSError: it cannot be read; ValueError: another file."""

    def ids(self, text: str) -> list[int]:
        """Ids of the first 256 pieces, with those that mark both ends."""

    def places(self, text: str) -> bytes:
        """Where these pieces stand, as `vestig.ports.TokenStates` has it."""

    def truncated(self, text: str) -> bool:
        """Return whether pieces stand behind the first 256."""

    def count(self, text: str) -> int:
        """Pieces of the whole text without marks; longer words are cut into 100 characters."""

@final
class PackedWeights:
    """The model's weights, mapped from a packed file or in memory."""

    LAYOUT: Final[int]
    """Version of the file's layout."""

    @staticmethod
    def map(
        path: str | PathLike[str], embeddings_sha256: bytes, layers_sha256: bytes
    ) -> PackedWeights:
        """Maps a packed file. WeightsUnusable: of another layout or model, or damaged; what is
        damaged behind the head is found by the call that reads it. OSError: cannot be opened, or
        is a link."""

    @staticmethod
    def pack(
        embeddings: str | PathLike[str],
        layers: str | PathLike[str],
        embeddings_sha256: bytes,
        layers_sha256: bytes,
    ) -> PackedWeights:
        """Packs in memory the embeddings of an ONNX file and a file of layers. OSError: one cannot
        be read; ValueError: another SHA-256, or not this model."""

    def write(self, path: str | PathLike[str]) -> bool:
        """Replaces the packed file, durably, mode 0600. False: another process is just writing
        it. OSError: it cannot be written."""

    def embed(
        self, pieces: WordPieces, texts: Sequence[str], *, normalize: bool, threads: int
    ) -> list[bytes]:
        """384 float32 of each text, little-endian. WeightsUnusable: the file is damaged."""

    def embed_tokens(
        self, pieces: WordPieces, texts: Sequence[str], *, normalize: bool, threads: int
    ) -> list[tuple[bytes, bytes, bytes]]:
        """The vector of each text; ids and last hidden states (384 float32 each) of its first 160
        word pieces, as `vestig.ports.TokenStates` has them."""

    def embed_codes(
        self,
        pieces: WordPieces,
        axes: PieceAxes,
        texts: Sequence[str],
        *,
        normalize: bool,
        threads: int,
    ) -> list[tuple[bytes, bytes, bytes]]:
        """The vector of each text; ids and codes (34 bytes each) of its first 160 word pieces, as
        `vestig.ports.Pieces` has them."""

@final
class CrossEncoderWeights:
    """Weights of a cross-encoder without its word vectors, mapped from a packed file or in memory;
    outputs: 2 of a judge, 1 of a version reader."""

    @staticmethod
    def map(
        path: str | PathLike[str], layers: bytes, adapter: bytes, outputs: int
    ) -> CrossEncoderWeights:
        """Maps a packed file of the layers and the adapter with these hashes. WeightsUnusable: of
        another layout or other files, or damaged anywhere. OSError: cannot be opened, or is a
        link."""

    @staticmethod
    def pack(
        layers_file: str | PathLike[str],
        adapter_file: str | PathLike[str],
        layers: bytes,
        adapter: bytes,
        outputs: int,
    ) -> CrossEncoderWeights:
        """Packs in memory the layers with the adapter. OSError: a file cannot be read; ValueError:
        another SHA-256, or not this model."""

    def write(self, path: str | PathLike[str]) -> bool:
        """As `PackedWeights.write`."""

    def judge(
        self,
        words: PackedWeights,
        pieces: WordPieces,
        question: str,
        memories: Sequence[tuple[str, str, str, str]],
        *,
        threads: int,
    ) -> list[tuple[float, float]]:
        """Two logits of each memory (head, last words of the turn before, lead, text): whether it
        answers the question, and how well beside others. WeightsUnusable: the file of `words` is
        damaged; ValueError: not a judge."""

    def compare(
        self,
        words: PackedWeights,
        pieces: WordPieces,
        question: str,
        pairs: Sequence[tuple[tuple[str, str, str, str], tuple[str, str, str, str]]],
        *,
        threads: int,
    ) -> list[float]:
        """The logit of each pair of an older and a newer memory (head, last words of the turn
        before, lead, text) that the newer one takes the place of the older one. WeightsUnusable:
        the file of `words` is damaged; ValueError: not a version reader."""

@final
class PieceAxes:
    """Mean and axes of the codes of word pieces."""

    SHA256: Final[tuple[bytes, bytes]]
    """Of the file of the mean and of that of the axes."""

    def __new__(cls, mean: str | PathLike[str], axes: str | PathLike[str]) -> Self:
        """Reads both files. OSError: one cannot be read; ValueError: another SHA-256."""

    def codes(self, states: Buffer) -> bytes:
        """Codes (34 bytes each) of the first 160 rows of hidden states, 384 float32 each.
        ValueError: another number of values."""

    def query(self, ids: bytes, states: Buffer) -> tuple[bytes, bytes, bytes]:
        """Ids (u32), 4-bit codes (256 int8 each) and steps (float64) of the first 160 word pieces
        of a query. ValueError: no piece, or parts that do not fit."""

# --- numbers ---

def unit(v: Buffer) -> bytes:
    """v / |v| as float32 bytes; a zero vector stays zero."""

ROWS_READ: int
"""So many of the best rows of a scan make its features."""
VERSION_SIGNALS: tuple[str, ...]
"""Numbers that tell if the later of two memories that a model read together takes the place of the
earlier one: the model's logit (`reads`); their cosine (`alike`); the mean cosine of the other pairs
that a judge read, with three of 0.4 (`others_alike`); shared idf, as a part of that of the text
with more (`shared`); the logit by which the later one answers (`answers`)."""
FEATURES: tuple[str, ...]
"""Of the best direct rows: the largest L (`level`), and how far it is above the fifth or the last
of fewer (`margin`); the largest `late` and `topic`; `cover` the largest share of the idf of the
query's content terms that one of them holds, `together` that which they hold together, `absent`
that which no eligible memory holds; `names` the largest share of the query's names that one of them
mentions; `terms` the number of content terms, as a part of eight."""

# Terms of the scan, how many eligible memories hold each; number of eligible memories; content
# terms of the query; whether a memory meets a date of it; how many entities it names; its names of
# no entity.
_ConfidenceInput = tuple[
    Sequence[str],
    Sequence[int],
    int,
    Sequence[ContentTerm],
    bool,
    int,
    Sequence[str],
]

def confidence_features(rows: Sequence[Row], input: _ConfidenceInput) -> list[float]:
    """The features of the best rows of a scan, in the order of `FEATURES`."""

def absent_names(input: _ConfidenceInput) -> list[str]:
    """Those of the unknown names that hold a word that is in no eligible memory."""

def logistic(x: float) -> float:
    """1 / (1 + e^-x)."""

def ln(x: float) -> float: ...
def pow(x: float, y: float) -> float: ...

# --- words ---

@final
class Substrings:
    """Short texts that are looked for at once; empty ones are in no text."""

    def __new__(cls, wanted: Sequence[str]) -> Self: ...
    def any_in(self, text: str) -> bool:
        """Return whether one of them is in the text."""

@final
class ContentTerm:
    """An index term of a query whose word is no function word and frames no question. `start`,
    `end`: its word, code points, half-open. `in_time`: whether the word lies inside an expression
    of time; it is no content where an eligible memory meets a date of the query."""

    def __new__(cls, term: str, start: int, end: int, *, in_time: bool = False) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @property
    def term(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def in_time(self) -> bool: ...

@final
class ContentWords:
    """Lower-cased words that are no content of a query."""

    def __new__(cls, left_out: Set[str]) -> Self: ...
    def terms(self, text: str, times: Sequence[tuple[int, int]]) -> list[ContentTerm]:
        """The index terms of all other words in order, repeats kept. `times`: its expressions of
        time, code points, half-open."""

def tokens(text: str) -> list[tuple[str, int, int, bool]]:
    """Word tokens of a text in order: (token lower-cased, start, end, is identifier); offsets in
    code points. Identifiers are whole; Han, Hiragana, Katakana and Thai runs give overlapping
    bigrams. Before stop words and caps."""

def keywords(text: str, limit: int, left_out: Set[str]) -> list[str]:
    """The tokens of a text without stop words, those of identifiers kept, and without `left_out`:
    most frequent first, then by first position."""

def lower_words(text: str) -> list[str]:
    """Words in order that have a lower-case letter and no other case, repeats kept; a word is a run
    of letters, numbers, `_`, hyphens and apostrophes."""

def terms(text: str, author: str | None = None) -> list[str]:
    """Index terms in order, repeats kept: author first, identifiers whole and in parts, `'s`
    cut, Snowball English stems."""

def terms_among(wanted: Set[str], texts: Sequence[str]) -> list[tuple[int, str]]:
    """(place of a text, term) for every index term of these texts that is wanted, in order, repeats
    kept."""

def placed_terms(text: str) -> list[tuple[str, int, int]]:
    """(term, start, end) of every index term in order: the word that it is made of, in code points
    [start, end); of an identifier the whole of it, then each part."""

# --- secrets ---

SECRET_RULES: Final[list[str]]
"""Rules by which secrets are found, words of small letters in order of the alphabet."""
SECRETS_VERSION: Final[str]
"""Version of the rows by which secrets are told."""

def mask_secrets(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """The text with `[secret:RULE]` in the place of each secret, and of each, in order, its rule,
    the place of its first character in the text as given, and that behind its last one. A text
    without one is returned itself. Linear in its length. UnicodeEncodeError: a lone surrogate."""

# --- marks: what to look for without keeping it ---

def visible(text: str) -> str:
    """The text without characters that are not seen, and with the letters of ligatures."""

def text_flags(text: str) -> int:
    """Flags of a text, below 2**18. Bits 0-10: its code points, at most 2000; bit 11: it ends with
    a question mark; bits 12-15: its words that are neither function words nor frame a question, at
    most 8; bit 16: it asks, and states nothing; bit 17: it neither asks nor states anything."""

_NameRow = tuple[str, int, int, str, float, bool]
_NameHit = tuple[int, int, str, str]

class _Entity(Protocol):
    """An entity; the oldest has the least `order`."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def order(self) -> tuple[int, str]: ...

@final
class NameRules:
    """The rules for names. stop_words: words in lower case that are no part of a name."""

    def __new__(cls, stop_words: Set[str]) -> Self: ...
    def find(self, text: str) -> list[_NameRow]:
        """(name, start, end, type, confidence, opens) in order of position, without overlaps.
        Offsets are code points; confidence 0 to 1; opens: several capitalised words begin a
        sentence."""

    def title_name(self, title: str) -> str | None:
        """A title as a name: of a path of headings the last part, without a final parenthesis;
        None where that is no name."""

    def analyse(
        self,
        texts: Sequence[tuple[str, str | None]],
        *,
        rules: bool = True,
        types: Mapping[str, str] | None = None,
    ) -> list[AnalysedText]:
        """Texts with their titles, taken apart. rules: false = no names by rule, and no title;
        types: type of a rule -> type of the store, None = unchanged."""

@final
class EntityRows:
    """Entities of one namespace as a ledger has them at one seq."""

    def __new__(cls) -> Self: ...
    def add(
        self,
        asked: Sequence[bytes],
        rows: Sequence[tuple[bytes, str, str, str, int, int | None, bytes | None]],
    ) -> None:
        """Adds what a ledger has of the entities with these ids; one without a row is in it no
        more. A row: id, the same as text, type, canonical name, seq, when it expired, id of the
        entity it was merged into."""

    def __len__(self) -> int:
        """How many entities were asked for."""

@final
class AnalysedText:
    """A text taken apart."""

    @property
    def title(self) -> str | None:
        """The title as a name; None where there is none or it is no name."""

    @property
    def openers(self) -> list[str]:
        """Lower-cased words that begin a sentence with a capital, each once."""

    @property
    def words(self) -> list[tuple[str, str, str, str]]:
        """Each word in lower case: as it stands, without punctuation in front, behind, on both
        sides; those of the title come last. ("", "", "", "") between runs of words."""

    @property
    def names(self) -> list[_NameRow]:
        """Names that the rules find, with overlaps; as `NameRules.find` gives them, in no order."""

    def __len__(self) -> int:
        """The number of words."""

    def resolve(
        self,
        hits: Sequence[_NameHit],
        known: Mapping[str, _Entity],
        common: Container[str],
        *,
        query: bool = False,
        rules_only: bool = False,
    ) -> list[tuple[str, str, float, int, int, str, str | None]]:
        """(name, type, confidence, start, end, as written, entity), in order of position, without
        overlaps; that of the title last, at -1. hits: (first word, number of words, entity, stored
        name), any overlap; known: their entities by id; common: words that occur in lower case;
        query: capitals matter less; rules_only: known names only resolve names of the rules."""

    def named_by_whole(self, hits: Sequence[_NameHit], known: Mapping[str, _Entity]) -> list[str]:
        """Ids of the entities that the whole text names, in any capitals."""

@final
class NameTable:
    """A small index of names by their words.

    Example:
        >>> table = NameTable()
        >>> table.add("ent_1", "Ada Lovelace")
        >>> [text] = NameRules(set()).analyse([("We met Ada Lovelace's sister.", None)])
        >>> table.find(text)
        [(2, 2, 'ent_1', 'Ada Lovelace')]
    """

    def add(self, id: str, *stored: str) -> None:
        """Adds names of an entity; those of more than 8 words are not found."""

    def find(self, text: AnalysedText) -> list[_NameHit]:
        """Every run of words that is one of the names, any overlap: (first word, number of words,
        entity, stored name)."""

    def __bool__(self) -> bool: ...

def entity_named(entities: Sequence[_Entity], name: str, type: str) -> str | None:
    """Id of the entity that a name of this type means, among those that have it: one of its type,
    rather by its canonical name than by an alias; an untyped name takes the type of the only typed
    one."""

def cased_name(name: str) -> str:
    """A name without outer punctuation, inner white space as one space, in its capitals; "" for
    mere white space."""

def normal_name(name: str) -> str:
    """The same in lower case, composed (NFC)."""

def is_specific(name: str) -> bool:
    """Return whether a name has at least two characters and a letter, or is a number with dots such
    as a version."""

def quotations(text: str) -> list[tuple[int, int]]:
    """Spans, in code points, of quoted terms of at most five words, without their marks."""

def starts_sentence(text: str, start: int) -> bool:
    """Return whether a word at this place, in code points, is the first of a sentence."""

def mark(key: int, run: bytes) -> int:
    """The mark of a run of bytes under a secret 64-bit key."""

def find_marks(
    key: int, data: bytes, seen: int, length: int, wanted: set[int]
) -> dict[int, tuple[int, int]]:
    """Mark → (how often, first offset) of the runs of `length` bytes with a wanted mark; runs that
    end within the first `seen` bytes are left out."""

@final
class ByteRuns:
    """Byte runs that are searched for together, compared as they are.

    Args:
        runs: each once, none empty.
    """

    def __new__(cls, runs: Sequence[bytes]) -> Self: ...
    def find(self, data: bytes, seen: int) -> dict[int, tuple[int, int]]:
        """Number of a run → how often it stands in the data, and the first offset; what ends within
        the first `seen` bytes is left out."""

    def find_in_file(
        self, read: Callable[[int, int], bytes]
    ) -> tuple[dict[int, tuple[int, int]], int]:
        """What `find` returns, of a whole file, and its length. `read` gives the bytes from an
        offset on, as many as asked or as there are."""

    def find_live(
        self,
        read: Callable[[int, int], bytes],
        size: int,
        roots: Sequence[int],
        offsets: Sequence[int] | None,
    ) -> list[int] | None:
        """Numbers of the runs that stand in a live row of an SQLite file; None where its pages
        cannot be followed, as while another process writes it.

        Args:
            read: gives the bytes from an offset on, as many as asked.
            size: of the file, in bytes.
            roots: pages of the b-trees.
            offsets: only rows that begin in a page that holds one of these are read; None = all.
        """

def first_mismatched_text(texts: Sequence[tuple[str, bytes]]) -> int | None:
    """Place of the first text whose SHA-256, of its UTF-8, is not the digest beside it; None = each
    is the one that was hashed."""

# --- projection ---

@final
class Filter:
    """Eligibility; everything absent = no restriction but the defaults named."""

    def __new__(
        cls,
        *,
        namespace: str,
        known_at_us: int,
        past: bool = False,
        valid_at_us: int | None = None,
        asked_at_us: int | None = None,
        scopes: Sequence[str | None] | None = None,
        kinds: Sequence[int] | None = None,
        tags: Sequence[str] | None = None,
        tags_all: bool = False,
        sources: Sequence[str] | None = None,
        actors: Sequence[str] | None = None,
        authors: Sequence[str] | None = None,
        roles: Sequence[str] | None = None,
        session_ids: Sequence[str] | None = None,
        exclude_authors: Sequence[str] = ...,
        exclude_session_ids: Sequence[str] = ...,
        exclude_tags: Sequence[str] = ...,
        exclude_sources: Sequence[str] = ...,
        origin_types: Sequence[int] | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        created_since_us: int | None = None,
        created_until_us: int | None = None,
        include_expired: bool = False,
        include_archived: bool = False,
        ids: bytes | None = None,
        exclude_ids: bytes | None = None,
        min_similarity: float | None = None,
        entities: bytes | None = None,
        ends: Sequence[tuple[bytes, int | None]] = ...,
    ) -> Self:
        """known_at_us: K, what the store knew then. past: K was given, so events recorded after K
        are ignored. ids: only these (16 bytes each; metadata equality comes this way). ends:
        `t_invalid` as known at K for memories whose end was written later. entities: only memories
        with an edge of type MENTIONS, unexpired at K, to one of these (16 bytes each)."""

    @property
    def has_ids(self) -> bool:
        """Return whether `ids` restricts it."""

    def with_ids(self, ids: bytes) -> Filter:
        """The same filter for these ids alone, 16 bytes each."""

@final
class Query:
    """A query, analysed; made once and used for every scan. What is given twice counts once."""

    def __new__(
        cls,
        *,
        vector: Buffer | None,
        text: str | None,
        query_time_us: int,
        keywords: Sequence[str] = ...,
        windows: Sequence[tuple[int | None, int | None]] = ...,
        entities: Sequence[tuple[bytes, float]] = ...,
        seed: int = 0,
        dates: Sequence[tuple[int | None, int | None, bool]] = ...,
        pieces: tuple[bytes, bytes, bytes] | None = None,
        rerank_scores: Sequence[tuple[bytes, float]] | None = None,
        names_text: str | None = None,
        content: Sequence[ContentTerm] = ...,
        topic: tuple[bytes, Sequence[Sequence[int]]] | None = None,
        pieces_in_time: Sequence[int] = ...,
    ) -> Self:
        """A query.

        Args:
            vector: of the embedder, need not have length 1; None = no cosine.
            text: for the index terms; None = no score by words.
            query_time_us: ages and recency count up to it.
            keywords: of the analysed text.
            windows: (start_us, end_us), None = open.
            entities: (16 bytes, match score in [0, 1]), merges resolved.
            seed: of the walk, below 2^53.
            dates: windows of explicit dates; True = of every year in which an eligible memory is
                valid or of which it states a day or a month, unless it is open.
            pieces: ids (u32), codes (256 int8 from -7 to 7 each) and steps (float64) of its word
                pieces; the id 0xFFFFFFFF belongs to no word.
            rerank_scores: of a cross-encoder for the best memories; the others have none.
            names_text: the text in which names of authors are looked for.
            content: index terms of the text that say what it is about, in order, repeats kept.
            topic: hidden states of word pieces, float32, and by piece the content terms of its
                word, as places in `content`; None = the topic is `vector`.
            pieces_in_time: places of word pieces inside an expression of time: they weigh nothing
                where an eligible memory meets one of `dates`.

        Raises:
            ValueError: a vector that is not finite, a window that ends before it starts.
        """

    @property
    def vector(self) -> bytes | None:
        """As it was given, float32."""

    def without_vector(self) -> Query:
        """The same query by words, keywords, times and entities alone."""

    def with_rerank_scores(self, given: Sequence[tuple[bytes, float]] | None) -> Query:
        """The same query with these scores of a cross-encoder; None = the signal is unavailable."""

@final
class Ranking:
    """How scores are made; one object for a configuration."""

    def __new__(cls, fields: RankingFields) -> Self:
        """A ranking.

        Raises:
            ValueError: an unknown word, a share outside [0, 1], a tau of 0.
        """

    def without_walk(self) -> Ranking:
        """The same ranking without a walk."""

@final
class Row:
    """One memory with every number that made its rank."""

    id: bytes
    memory_id: str
    """The id as text."""
    final_score: float
    similarity: float
    """Content cosine; 0 without a vector."""
    semantic_score: float
    """S_query."""
    start_score: float
    """S, or L where the base is linear; the content cosine without `start_enabled`."""
    constant: float
    """What L begins with where the base is linear: the bias, and for a memory whose word pieces
    were not compared the least that these add to one of the pool."""
    bias: float
    """The part of `constant` that every memory of its kind has; 0 where the base is not linear."""
    base: float
    """Before path and TraceRank, with the prior of a summary."""
    origin: int
    kind: int
    embedded: bool
    nearest_question: tuple[int, float] | None
    """The nearest stored question: its place and cosine."""
    metadata_score: float | None
    alpha_used: float | None
    """Share of the metadata signals in S; None where the base is linear or S is the cosine."""
    matched_terms: list[int]
    """Places in `Scan.terms`."""
    matched_keywords: list[str]
    matched_entities: list[bytes]
    filled: bool
    """Added in order of S because the pool was smaller than the limit."""
    direct: bool
    """A direct candidate: path score 1, and association does not apply. A watched row that is
    neither direct nor walked to has the score that it would have as a direct candidate."""
    start_rank: int | None
    """Rank by S among all eligible, from 0; None for walked rows outside of the best when nothing
    is watched."""
    pool_rank: int | None
    """Rank by final score in the pool, from 0; None = not in the pool."""
    path: tuple[tuple[int, bytes], ...]
    """(type code, id) of each place after START: memories, and before a memory the entity of a
    MENTIONS step. () for a start and for what the walk did not reach."""
    steps: tuple[tuple[str, float, float, float | None], ...]
    """(edge in hexadecimal, or both joined by `|`; weight; p; u, None where none was drawn)."""
    signal_strength: float
    """Signal of the walk; 1 for a start and for what the walk did not reach."""
    path_score: float
    start: bytes | None
    """Start node that the walk came from."""
    start_base: float | None
    """Its base."""
    trace: float
    basic: float
    connectivity: float
    confidence: float
    unclipped: float
    tracerank: float
    events: int
    stability: int
    own_final_score: float
    """That of the formula; `final_score` is that of its place where it was moved."""
    newer_than: bytes | None
    older_than: bytes | None
    in_place_of: bytes | None
    answers: bytes | None
    asks_the_same: bool

    def moved(
        self,
        final_score: float,
        newer_than: bytes | None = None,
        older_than: bytes | None = None,
    ) -> Row:
        """The same row in another place, with the final score of that."""

    def replacing(self, other: Row) -> Row:
        """The same row with the level and final score of a memory that it replaced; its signals
        stay its own."""

    def answering(self, question: Row) -> Row:
        """The same row with the level and final score of a question that it answers; its signals
        stay its own."""

    def asking(self, final_score: float) -> Row:
        """The row of a stored question that is like the query, at a place with this final
        score."""

    def terms(self, shares: dict[str, float]) -> list[tuple[float, str, float, float]]:
        """(contribution, name, raw, weight) of what L is the sum of, `bias` among it, without what
        adds nothing; of a base that is not linear the metadata signals with these shares. Greatest
        |contribution| first, equal ones in the order of the sum."""

    def signal(self, name: str) -> float | None:
        """Raw value of one of `SIGNALS` or `METADATA`, whatever its weight. None = unavailable or
        not computed. KeyError: no signal."""

@final
class Scan:
    """Result of one crossing."""

    rows: tuple[Row, ...]
    watched: tuple[Row, ...]
    """Eligible ones of `watch` that were not returned, in its order."""
    associated: tuple[Row, ...]
    """What the walk reached, where walked memories are not ranked with the others: by signal · base
    of the start, then by id. Some may be among `rows` too, there as direct candidates."""
    terms: tuple[str, ...]
    stored: int
    eligible: int
    scored: int
    walked: int
    """Memories that the walk admitted beyond its starts."""
    unembedded: int
    idfs: tuple[float, ...]
    """idf of each of `terms` over the eligible."""
    document_frequencies: tuple[int, ...]
    """How many eligible memories hold each of `terms`."""
    dates_met: bool
    """Whether an eligible memory meets a date of the query."""
    pool_means: dict[str, float]
    """Name → mean over the pool (direct candidates and what the walk reached): of what L is the sum
    of, where for a memory whose word pieces were not compared `late` is the least that these add;
    of a base that is not linear `semantic`, S_query, and the raw metadata signals, 0 for those
    without a part in S."""

@final
class Projection:
    """Segments, manifest and tail of one store; thread-safe, releases the interpreter."""

    @staticmethod
    def open(
        path: str | None, store_uuid: bytes, dimensions: int, model: str, read_only: bool = False
    ) -> Projection:
        """path: directory of the segments, made when absent; None = memory only. Damage never
        raises: the files are moved aside, the projection is empty and `discarded` says why."""

    @property
    def discarded(self) -> str | None: ...
    @property
    def applied_seq(self) -> int: ...
    @property
    def chain_head(self) -> bytes: ...
    @property
    def rows(self) -> int:
        """Live memories."""

    @property
    def entity_rows(self) -> int:
        """Live entities."""

    @property
    def tail_rows(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def generation(self) -> int: ...
    def sizes(self) -> list[tuple[str, int]]:
        """(section, bytes) over all segments, and ("tail", bytes held in memory)."""

    def refresh(self) -> bool:
        """One stat of the manifest; maps a newer set. True when something changed. Raises
        ProjectionDamaged."""

    def apply(
        self,
        rows: Sequence[tuple[object, ...]],
        upto_seq: int,
        chain_head: bytes,
        removed: Sequence[tuple[bytes, int]] = ...,
        revisions: Sequence[
            tuple[bytes, int, int, int | None, int | None, Sequence[tuple[int, int, int, int, int]]]
        ] = ...,
    ) -> None:
        """Row versions into the tail, named tuples with `ROW_FIELDS`; a known id is masked by its
        new version. Nothing changes when any row is refused (ValueError).

        Args:
            removed: (id, seq that forgot it); versions up to that seq count no more.
            revisions: (id, wseq, status, t_invalid, t_expired, more events) of known memories, of
                which all else stays as it is.

        Raises:
            SnapshotMoved: no version counts of a revised memory; nothing changes.
        """

    def close(self) -> None:
        """Lets go of every mapped file; afterwards it is empty."""

    def reset(self) -> None:
        """Empty, in memory and (when published next) on disk."""

    def publish(self, compact: bool = False) -> int:
        """Tail to a new segment (compact: everything to one; segments with forgotten memories are
        written again too) and manifest, durably, under the kernel lock. Bytes written; 0 when
        nothing was to do or another process was newer. SnapshotMoved when another process
        published since `reset`; what it published is taken over by the next `refresh`."""

    def merge(self, max_segments: int = 1, max_bytes: int = ..., wait: bool = False) -> int:
        """Makes one segment of several, once, without holding up any other call; bytes written. 0
        when few enough are there, when somebody else merges (`wait`: waits instead), or when what
        was merged has been replaced meanwhile. No result changes by a bit; `applied_seq` stays.
        More than `max_segments` stay where each is larger than all behind it together; 1 = always
        all. At most `max_bytes` are read."""

    def stop_merging(self) -> None:
        """Makes merges that run now end soon, without a result."""

    def sweep(self) -> int:
        """Removes segments that no manifest names; how many stay because somebody reads them."""

    def eligible(self, seq: int, filter: Filter) -> bytes:
        """Ids of the memories that a filter lets through, ascending, 16 bytes each. Raises
        SnapshotMoved unless applied_seq == seq. `min_similarity` is not looked at."""

    def eligible_count(self, seq: int, filter: Filter) -> int:
        """How many memories a filter lets through. Raises SnapshotMoved unless
        applied_seq == seq. `min_similarity` is not looked at."""

    def asked(
        self, seq: int, query: Query, filter: Filter, sittings: bool
    ) -> list[tuple[bytes, bytes | None]]:
        """Stored questions that are like the query, the latest first, each with the turn that
        answers it. `sittings`: as of the ranking. Raises SnapshotMoved unless
        applied_seq == seq."""

    def versions(
        self,
        seq: int,
        filter: Filter,
        rows: Sequence[tuple[bytes, float, float | None, bool, tuple[int, int] | None]],
        content: Sequence[str],
        of_present: bool,
        announced: bool,
        at_us: int,
        read: Sequence[tuple[int, int, float]],
        weights: Sequence[float],
        least: float,
    ) -> list[list[int]]:
        """Groups of memories that are versions of one statement: places among `rows` (id of 16
        bytes, L, the logit by which a judge that read it says that it answers, whether a model
        stated it and nobody confirmed it, and when it was said last that it holds, in µs, and the
        transaction that stored this; best first), the confirmed first, then the newest.
        `content`: content terms of the query; `of_present`: it has a word of the present;
        `announced`: what does not hold yet counts, behind what holds; `at_us`: when it is asked;
        `read`: of pairs that a model read together the places of the earlier and of the later one,
        and the logit that that takes its place; `weights`: of each of `VERSION_SIGNALS`, whose sum
        is at least `least` where it does. Raises SnapshotMoved unless applied_seq == seq."""

    def version_signals(
        self,
        seq: int,
        filter: Filter,
        rows: Sequence[tuple[bytes, float, float | None, bool, tuple[int, int] | None]],
        read: Sequence[tuple[int, int, float]],
        at_us: int,
    ) -> list[tuple[int, int, list[float]]]:
        """`VERSION_SIGNALS` of each of the pairs that a model read, unless it speaks against them,
        behind their places. Arguments and errors as of `versions`."""

    def version_pairs(
        self,
        seq: int,
        rows: Sequence[tuple[bytes, float, float | None, bool, tuple[int, int] | None]],
        at_us: int,
    ) -> list[tuple[int, int]]:
        """Pairs of rows that a judge read of which the one behind is the later one, of the same
        scope and as much confirmed, those next to the top first. Arguments and errors as of
        `versions`."""

    def versions_of(
        self, seq: int, filter: Filter, id: bytes, others: Sequence[bytes], at_us: int
    ) -> list[int]:
        """Which of these memories (ids of 16 bytes) state anew what a memory states, or are stated
        anew by it: places among `others`, the newest first. Raises SnapshotMoved unless
        applied_seq == seq."""

    def verify(self) -> list[str]:
        """Checks every checksum of every section again; findings, [] when clean."""

    def row(self, id: bytes) -> dict[str, object] | None:
        """All stored columns of a memory or entity, for comparison with the ledger (doctor)."""

    def ids(self) -> bytes:
        """Ids of all live memories, ascending, 16 bytes each."""

    def entity_ids(self) -> bytes:
        """Ids of all live entities, ascending, 16 bytes each."""

    def find_names(
        self,
        seq: int,
        namespace: str,
        texts: Sequence[AnalysedText],
        known_at_us: int,
    ) -> list[list[tuple[int, int, bytes, str]]]:
        """Names of unexpired entities in the words of each text, overlaps included: (first word,
        number of words, entity, name as stored), ascending. A name is there when its normal form
        equals 1 to 8 words joined by one space, stripped at the outer ends.
        Raises SnapshotMoved unless applied_seq == seq."""

    def query_names(
        self, seq: int, namespace: str, text: AnalysedText, known_at_us: int, rows: EntityRows
    ) -> tuple[list[bytes], list[tuple[str, str, str]], list[tuple[str, str]]]:
        """Return what the names in a query mean: ids that `rows` was not asked for, and then
        nothing else; else id, type and name of every entity that one of its names could mean, by
        the position of the name; and the other names with their types. Raises SnapshotMoved unless
        applied_seq == seq."""

    def entities_with_name(
        self, seq: int, namespace: str, norm: str, known_at_us: int | None = None
    ) -> bytes:
        """Ids (16 bytes each) of the entities with this name or alias, given in its normal form,
        whatever its case and composition. known_at_us: unexpired then; None: expired ones too."""

    def lowercase(self, seq: int, namespace: str, words: Sequence[str]) -> list[bool]:
        """Per word, whether a live memory of the namespace holds its index term written in lower
        case. Raises SnapshotMoved unless applied_seq == seq."""

    def recall(
        self,
        seq: int,
        query: Query,
        filter: Filter,
        ranking: Ranking,
        *,
        limit: int,
        pool: int | str | None = None,
        watch: bytes = ...,
        shown: int | None = None,
        threads: int = 1,
    ) -> Scan:
        """One query, one crossing.

        Args:
            limit: most results.
            pool: direct candidates; None = all, "starts" = the start nodes.
            watch: ids (16 bytes each) whose rows are wanted although they are not returned.
            shown: how many of them the caller shows, at most: the walk may admit as many; None =
                `limit`.

        Raises:
            SnapshotMoved: applied_seq != seq.
        """

    def recall_many(
        self,
        seq: int,
        queries: Sequence[Query],
        filter: Filter,
        ranking: Ranking,
        *,
        limit: int,
        pool: int | str | None = None,
        shown: int | None = None,
        threads: int = 1,
    ) -> list[Scan]:
        """Several queries, one crossing; the arrays are read once. Each scan equals that of
        `recall`, whose arguments these are.

        Raises:
            SnapshotMoved: applied_seq != seq.
        """

    def idfs(self, seq: int, text: str, filter: Filter) -> dict[str, float]:
        """Index term of a text → its idf over the memories that the filter lets through. Raises
        SnapshotMoved unless applied_seq == seq."""

    def search(
        self,
        seq: int,
        vector: Buffer,
        filter: Filter,
        memories: bool,
        entities: bool,
        limit: int,
    ) -> list[tuple[bytes, int, float]]:
        """(id, kind, cosine) of the nearest nodes with a vector, best first, ties by id. An
        entity is eligible by namespace, time and the lists of ids alone. Raises SnapshotMoved
        unless applied_seq == seq."""

    def neighbourhood(
        self,
        seq: int,
        seeds: bytes,
        depth: int,
        filter: Filter,
        memories: bool,
        entities: bool,
        max_degree: int = 1000,
        others: bool = False,
    ) -> tuple[list[tuple[bytes, int, int]], list[bytes]]:
        """Breadth-first from all seeds over unexpired RELATED, MENTIONS, SUMMARIZES and RELATION
        edges in both directions, through eligible nodes: ((id, kind, shortest depth) by depth, then
        id; entities with more than `max_degree` neighbours, which are not walked through). Kinds
        not asked for are walked through, but left out. others: a seed has the depth to the nearest
        other seed and is left out without one. Raises SnapshotMoved unless applied_seq == seq."""

    def entity_similar(
        self,
        seq: int,
        namespace: str,
        vectors: Buffer,
        types: Sequence[str],
        threshold: float,
    ) -> list[tuple[bytes, float] | None]:
        """Per vector the nearest unexpired entity of its type ("UNTYPED" = of any) with cosine >=
        threshold, ties by id. Raises SnapshotMoved unless applied_seq == seq."""

    def similar(
        self,
        seq: int,
        vectors: Buffer,
        namespace: str,
        scopes: Sequence[str | None],
        authors: Sequence[str | None],
        exclude: Sequence[bytes],
        near: tuple[float, int],
        related: tuple[float, int],
        known: tuple[float, int],
        threads: int = 1,
        unrelated: Sequence[bytes] | None = None,
        earlier: tuple[Sequence[int], float] | None = None,
    ) -> list[
        tuple[
            list[tuple[bytes, float]],
            list[tuple[bytes, float]],
            list[tuple[bytes, float]],
            list[tuple[int, float]],
        ]
    ]:
        """Per query vector (scopes, authors, exclude, unrelated one each) three lists, of each so
        many at most (0 = none) with a cosine of so much at least: near = active or archived MEMORY
        rows of the same namespace, scope and author, ids in `exclude` (16 bytes each) left out;
        related = active MEMORY rows of the namespace, ids in `unrelated` left out; known = active
        or archived MEMORY rows of the namespace and scope, both left out. Best first, ties by id.

        Args:
            earlier: the number of each vector's text, and a threshold. Last come then (place,
                cosine) of the vectors before it of another text with cosine >= threshold,
                ascending by place; [] without it.
        """

    def related(
        self,
        seq: int,
        namespace: str,
        first: int,
        count: int,
        threshold: float,
        limit: int,
        threads: int = 1,
        texts: Sequence[bytes] = ...,
    ) -> list[tuple[bytes, list[tuple[bytes, float]]]]:
        """The MEMORY rows of a namespace, in the order in which they were stored, from place
        `first` on: id, and of the memories stored earlier (also in the same transaction) and
        active when it was, the best `limit` with cosine >= threshold, best first, ties by id: what
        its commit linked. Without vector: none.

        Args:
            texts: ids (16 bytes each) of memories of one text, which are not linked with each
                other, for each such text.
        """
