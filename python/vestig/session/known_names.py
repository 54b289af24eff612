"""Knowledge of a store about the words of texts: names of its entities, and common words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from vestig.config.graph_sections import EntitySettings
from vestig.ids import id_bytes, id_text
from vestig.language.names.gazetteer import AnalysedText, EntityRows, KnownEntity, NameHit
from vestig.language.names.ontology import Ontology, read_ontology
from vestig.session.session import Session
from vestig.store.ledger.reads import LedgerView
from vestig.store.ledger.values import NamedEntity

# Later than every transaction.
LATEST_US: Final = 2**62
# A row takes about 300 bytes.
_ROWS_MAX: Final = 16_384
# The types that the patterns for names give.
_OF_RULES: Final = ("ORG", "PERSON", "FILE", "PLACE", "SYSTEM", "CONCEPT")


@cache
def types_of(section: EntitySettings) -> Ontology:
    """The types that `entities` configures."""
    return read_ontology(msgspec.to_builtins(section))


@cache
def types_of_rules(section: EntitySettings) -> dict[str, str] | None:
    """Return what the types of the patterns are called in this store; one that it does not have is
    left out, and None says that all are as they are."""
    types = types_of(section)
    found = {type: types.resolve(type) for type in _OF_RULES}
    if all(type == own for type, own in found.items()):
        return None
    return {type: own for type, own in found.items() if own is not None}


class _EntityRowsByNamespace:
    """Rows of entities as they are at one seq."""

    def __init__(self) -> None:
        self._state: tuple[int, dict[str, EntityRows]] = (-1, {})

    def drop(self, _seq: int, /) -> None:
        """Names of what was forgotten go, with all others."""
        self._state = (-1, {})

    def of(self, seq: int, namespace: str) -> EntityRows:
        """Those of one namespace that were read at this seq."""
        known, rows = self._state
        if known != seq or sum(map(len, list(rows.values()))) > _ROWS_MAX:
            rows = {}
            self._state = (seq, rows)
        # no copy: what another thread dropped meanwhile does not come back
        return rows.setdefault(namespace, EntityRows())


def query_names(
    session: Session, view: LedgerView, namespace: str, text: AnalysedText, known_at_us: int
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """The entities that a query names, each as id, type and name, by the position of the name; and
    its names that no entity has, with their types. Rows of entities that were read at this seq
    before are not read again. For a callback of `ProjectionKeeper.run`, or under `held`; never for
    a view of what a transaction is writing.

    Args:
        known_at_us: names as they were known then.
    """
    core, seq = session.keeper.core, view.seq
    rows = session.cache(_EntityRowsByNamespace).of(seq, namespace)
    missing, entities, unknown = core.query_names(seq, namespace, text, known_at_us, rows)
    if missing:
        found = view.named_entities(namespace, [id_text("ent", raw) for raw in missing])
        rows.add(missing, [_core_row(row) for row in found])
        _, entities, unknown = core.query_names(seq, namespace, text, known_at_us, rows)
    return entities, unknown


def _core_row(
    row: NamedEntity,
) -> tuple[bytes, str, str, str, int, int | None, bytes | None]:
    """A row as the core takes it."""
    id, type, name, seq, expired_us, merged_into = row
    into = None if merged_into is None else id_bytes(merged_into)
    return id_bytes(id), id, type, name, seq, expired_us, into


def known_names(
    session: Session,
    view: LedgerView,
    namespace: str,
    texts: Sequence[AnalysedText],
    known_at_us: int = LATEST_US,
) -> tuple[list[list[NameHit]], dict[str, KnownEntity]]:
    """Runs of the words of each text that are names of entities unexpired at K, by first word; and
    those entities. For a callback of `ProjectionKeeper.run`, or under `held`."""
    core = session.keeper.core
    found = core.find_names(view.seq, namespace, texts, known_at_us)
    ids = {raw: id_text("ent", raw) for raw in {hit[2] for own in found for hit in own}}
    if not ids:
        return [[] for _ in texts], {}
    hits = [
        sorted([(first, count, ids[raw], stored) for first, count, raw, stored in own])
        for own in found
    ]
    known: dict[str, KnownEntity] = {}
    merged: dict[str, str] = {}
    for id, type, name, seq, expired, into in view.named_entities(namespace, list(ids.values())):
        if expired is None or expired > known_at_us:
            known[id] = KnownEntity(id=id, type=type, name=name, order=(seq, name))
            if into is not None:
                merged[id] = into
    if merged:
        hits = [_before_merges(own, merged) for own in hits]
    return hits, known


def _before_merges(hits: list[NameHit], merged: Mapping[str, str]) -> list[NameHit]:
    """A name that an entity had before it was merged is not yet that of the other."""
    later = {(first, count, merged[id]) for first, count, id, _ in hits if id in merged}
    return [hit for hit in hits if hit[:3] not in later]


def common_words(
    session: Session, view: LedgerView, namespace: str, words: Iterable[str]
) -> set[str]:
    """Those of these words that a memory of the namespace holds in lower case. For a callback of
    `ProjectionKeeper.run`, or under `held`."""
    distinct = list(dict.fromkeys(words))
    if not distinct:
        return set()
    answers = session.keeper.core.lowercase(view.seq, namespace, distinct)
    return {word for word, common in zip(distinct, answers, strict=True) if common}


class KnownWords(msgspec.Struct, frozen=True, kw_only=True):
    """Knowledge of the store about some readings: the hits of each, the entities that they mean,
    and which first words of sentences are common ones."""

    hits: list[list[NameHit]]
    known: dict[str, KnownEntity]
    common: set[str]


def known_words(
    session: Session, view: LedgerView, namespace: str, readings: Sequence[AnalysedText]
) -> KnownWords:
    """Return what the store knows of all readings together. For a callback of
    `ProjectionKeeper.run`, or under `held`."""
    hits, known = known_names(session, view, namespace, readings)
    openers = (word for reading in readings for word in reading.openers)
    common = common_words(session, view, namespace, openers)
    return KnownWords(hits=hits, known=known, common=common)
