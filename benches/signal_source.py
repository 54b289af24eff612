"""Where the terms of labelled questions come from: a folder is imported as any user would do it,
and the definitions in tests/core compute every term over the memories of a conversation.

`questions` is the whole interface: another source (a store's own raw signals) gives the same
`Question`s.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning import FOLDS, Question, Terms
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.engine.asking import Holdings, holdings
from vestig.engine.known_names import common_words, known_names
from vestig.engine.opening import MEMORY_PATH, OpenRequest, load_config, open_context
from vestig.engine.vestig import Vestig
from vestig.evaluation.benchmarks import Benchmark
from vestig.evaluation.benchmarks import Query as Labelled
from vestig.evaluation.vectors import RememberingEmbedder
from vestig.ids import repeatable_ids
from vestig.language import temporal
from vestig.language.gazetteer import best, read, resolve, single_words
from vestig.times import parse_time, to_us

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "core"))

from oracle_graph import Mentions, after
from oracle_late import LATE_TERMS, Late, Tokens, quantised, signs
from oracle_signals import AFTER_TERMS, FIRST_TERMS, Eligible, Memory, Query, normalised

QUERY_ENTITIES_MAX = 10
PAGE = 1_000
TERMS = Terms(first=FIRST_TERMS, after=AFTER_TERMS, late=("reply.late", *LATE_TERMS))


class TokenEmbedder(BuiltinEmbedder):
    """The built-in embedder with the token vectors of a text (Q-05)."""

    special = frozenset((101, 102))  # [CLS], [SEP]

    def tokens(self, text: str) -> Tokens:
        """Token vectors from the states that the text's own vector is the mean of."""
        ids = self._load_tokenizer().encode(text).ids
        row = np.array([ids], dtype=np.int64)
        feed = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        hidden = self._load_session().run(None, feed)[0][0]
        return quantised(ids, hidden, signs(hidden.shape[1]))


class RememberedTokens:
    """Token vectors of texts, kept in a folder between runs."""

    def __init__(self, embedder: TokenEmbedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._folder = None if folder is None else folder / f"tokens-{embedder.fingerprint[:16]}"

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        key = hashlib.blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()
        file = None if self._folder is None else self._folder / f"{key}.npz"
        if file is not None and file.exists():
            kept = np.load(file)
            cuts = np.cumsum(kept["lengths"])[:-1]
            parts = (np.split(kept[name], cuts) for name in ("ids", "vectors", "scales"))
            return [Tokens(*one) for one in zip(*parts, strict=True)]
        made = [self._embedder.tokens(text) for text in texts]
        if file is not None and made:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(
                file,
                lengths=[len(one.ids) for one in made],
                ids=np.concatenate([one.ids for one in made]),
                vectors=np.concatenate([one.vectors for one in made]),
                scales=np.concatenate([one.scales for one in made]),
            )
        return made


def spoken(author: str | None, content: str) -> str:
    """What is embedded of a memory."""
    return f"{author}: {content}" if author else content


@dataclass(frozen=True)
class Imported:
    """What a benchmark became in a store: by conversation, its memories by seq."""

    memories: dict[str | None, list[Any]]
    definitions: dict[str, Memory]
    queries: dict[str, Query]
    held: Holdings


def _all(store: Vestig) -> Iterator[Any]:
    offset = 0
    while page := store.list(offset, PAGE).memories:
        yield from page
        offset += len(page)


def _windows(windows: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    return [
        (
            None if one.start is None else to_us(one.start),
            None if one.end is None else to_us(one.end),
        )
        for one in windows
    ]


def imported(benchmark: Benchmark, vectors: RememberingEmbedder) -> Imported:
    """Imports all conversations into one store in memory and reads back what signals need."""
    context = open_context(
        MEMORY_PATH, OpenRequest(config=load_config(None, None), embedder=vectors)
    )
    with Vestig(context) as store:
        with repeatable_ids(benchmark.digest):
            store.import_(benchmark.corpus, format="messages")
            while store.enrich().done:
                pass
        held = holdings(store, benchmark)
        rows = sorted(_all(store), key=lambda memory: (memory.seq, memory.id))

        def reading(view: Any, _core: Any) -> tuple[dict[str, Memory], dict[str, Query]]:
            return _definitions(view, rows), _queries(context, view, benchmark, held, vectors)

        definitions, queries = context.keeper.run(reading)
    memories: dict[str | None, list[Any]] = {}
    for row in rows:
        memories.setdefault(row.scope, []).append(row)
    return Imported(memories, definitions, queries, held)


def _definitions(view: Any, rows: Sequence[Any]) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    for start in range(0, len(rows), PAGE):
        part = rows[start : start + PAGE]
        ids, namespace = [row.id for row in part], part[0].namespace
        vectors = view.vectors(namespace, ids)
        mentions = view.mentions(namespace, ids)
        keys = _keys(view, namespace, {one.entity_id for one in mentions})
        of: dict[str, list[str]] = {}
        for one in mentions:
            of.setdefault(one.memory_id, []).append(keys[one.entity_id])
        for row in part:
            stored = vectors.get(row.id)
            found[row.id] = Memory(
                content=row.content,
                vector=None if stored is None else np.frombuffer(stored[1], "<f4").astype(float),
                author=row.author,
                role=None if row.role is None else str(row.role),
                session=row.session_id,
                sequence=row.sequence,
                title=row.title,
                origin=str(row.origin_type),
                t_valid_us=to_us(row.t_valid),
                times=_windows(row.times),
                entities=of.get(row.id, ()),
            )
    return found


def _keys(view: Any, namespace: str, ids: set[str]) -> Mapping[str, str]:
    return {one.id: one.norm_key for one in view.entities(namespace, sorted(ids))}


def _queries(
    context: Any,
    view: Any,
    benchmark: Benchmark,
    held: Holdings,
    vectors: RememberingEmbedder,
) -> dict[str, Query]:
    namespace = context.config.settings.namespace
    embedded = vectors.matrix([query.text for query in benchmark.queries])
    found = {}
    for query, vector in zip(benchmark.queries, embedded, strict=True):
        at = (
            to_us(held.ends[query.conversation])
            if query.date is None
            else parse_time(query.date, "date")
        )
        reading = read(query.text)
        hits, known = known_names(context, view, namespace, reading.words)
        asked = [*reading.openers, *single_words(reading, hits, known)]
        common = common_words(context, view, namespace, asked)
        meant = best(resolve(reading, hits, known, common=common, query=True), QUERY_ENTITIES_MAX)
        keys = _keys(view, namespace, {name.entity for name in meant if name.entity is not None})
        found[query.id] = Query(
            text=query.text,
            vector=vector.astype(float),
            windows=[
                (one.window_start_us, one.window_end_us, one.text)
                for one in temporal.find_windows(query.text, at)
            ],
            entities=[keys[name.entity] for name in meant if name.entity is not None],
        )
    return found


def questions(
    benchmark: Benchmark,
    vectors: RememberingEmbedder,
    tokens: RememberedTokens | None = None,
) -> list[Question]:
    """The questions of a benchmark; `tokens` None: without late interaction."""
    store = imported(benchmark, vectors)
    places = {name: place for place, name in enumerate(benchmark.units)}
    asked: dict[str | None, list[Labelled]] = {}
    for query in benchmark.queries:
        asked.setdefault(query.conversation, []).append(query)
    found: dict[str, Question] = {}
    for conversation, queries in asked.items():
        rows = store.memories[conversation]
        eligible = Eligible([store.definitions[row.id] for row in rows])
        mentions = Mentions([memory.entities for memory in eligible.memories])
        late = _late(eligible, tokens)
        texts = [query.text for query in queries]
        spoken_tokens = [None] * len(texts) if tokens is None else tokens.of(texts)
        for query, said in zip(queries, spoken_tokens, strict=True):
            number = list(benchmark.queries).index(query)
            fold = number if len(places) == 1 else places[conversation]
            found[query.id] = _question(
                benchmark, query, fold % FOLDS, [store.held.units_of[row.id] for row in rows],
                (eligible, mentions, store.queries[query.id]), (late, said),
            )  # fmt: skip
    return [found[query.id] for query in benchmark.queries]


def _late(eligible: Eligible, tokens: RememberedTokens | None) -> Late | None:
    if tokens is None:
        return None
    said = tokens.of([spoken(memory.author, memory.content) for memory in eligible.memories])
    return Late(said, eligible.places, TokenEmbedder.special)


def _question(
    benchmark: Benchmark,
    query: Labelled,
    fold: int,
    units: Sequence[Sequence[str]],
    of: tuple[Eligible, Mentions, Query],
    spoken_late: tuple[Late | None, Tokens | None],
) -> Question:
    eligible, mentions, asked = of
    late, said = spoken_late
    raw = eligible.raw(asked)

    def made_after(level: NDArray[np.float64]) -> NDArray[np.float64]:
        made = after(eligible, mentions, level, asked)
        return np.array([normalised(made[name]) for name in AFTER_TERMS]).T

    tokens = None
    if late is not None and said is not None:
        near = late.raw(said)
        reply = eligible.fixed["reply.question"] * eligible.most_beside(near["late.mean"], -1)
        tokens = np.array([reply, *(near[name] for name in LATE_TERMS)], np.float32).T
    origins = [memory.origin for memory in eligible.memories]
    return Question(
        id=query.id,
        set=benchmark.name,
        fold=fold,
        origin=max(sorted(set(origins)), key=origins.count),
        category=query.category,
        units=units,
        relevant=query.relevant,
        first=np.array([normalised(raw[name]) for name in FIRST_TERMS], np.float32).T,
        after=made_after,
        late=tokens,
    )
