"""Receipts: all that makes a recall repeatable, and repeating it later."""

from __future__ import annotations

import base64
import copy
import hashlib
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn, cast

import msgspec
from msgspec import UNSET

from vestig.answers import QueryPieces, RecallResult, Receipt, ReplayReport, RerankedScores
from vestig.config import Config, built_in
from vestig.config.weights import changed_weights
from vestig.errors import ConflictError, ValidationError
from vestig.filters import checked_filter
from vestig.json_text import read_json
from vestig.language import words
from vestig.language.content_words import frame_words_version
from vestig.language.newer_words import newer_words_version
from vestig.ports import LedgerView, TokenStates, are_states
from vestig.recall.confidence import fit_version
from vestig.recall.query import BoundQuery, Query, Ranked, analyse, request_of
from vestig.recall.ranking import ranking_of_settings
from vestig.recall.request import RecallRequest
from vestig.recall.rerank import RerankScores
from vestig.session.session import Session
from vestig.store.ledger.reads import SqliteView
from vestig.store.projection.earlier_state import EarlierState, irreversible_changes
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.times import format_us, to_plain

__all__ = ["receipt_of", "replay"]

VERSION: Final = 4
# Keys that can change a recall.
_PREFIXES: Final = (
    "usage.", "entities.", "links.", "questions.", "walk.", "ranking.", "reference.", "signals.",
    "recall.", "index.", "keywords.", "time.", "hygiene.norm",
)  # fmt: skip
# Which profile gave the values does not matter once they stand there, nor whether recall abstains.
_NAMES: Final = ("recall.profile", "recall.profiles", "recall.min_confidence")
# Arguments that have a field of their own in a receipt, or change nothing of a ranking.
_NOT_REPEATED: Final = frozenset(
    ("query", "messages", "query_vector", "seed", "expect", "receipt", "touch", "include_vectors",
     "trace", "context", "budget", "min_confidence")
)  # fmt: skip


def receipt_of(session: Session, query: Query, result: RecallResult) -> Receipt:
    """The receipt of a recall."""
    vector, states = query.vector, query.states
    return Receipt(
        version=VERSION,
        store_uuid=session.ledger.store_uuid.hex(),
        seq=result.seq,
        namespace=result.namespace,
        profile=result.profile,
        config=_config(query.config),
        arguments=_arguments(query),
        seed=result.seed,
        query=result.query or "",
        query_vector=None if vector is None else _base64(vector),
        query_pieces=None
        if states is None
        else QueryPieces(**{name: _base64(part) for name, part in states._asdict().items()}),
        vector_hash=None if vector is None else _vector_hash(vector, states),
        analyser=_analyser(query.config),
        # the ranking is the same whether recall abstains or not
        ids_hash=_ids_hash((hit.id, hit.score) for hit in result.results or result.nearest_misses),
        reranked=_reranked(session, query),
        query_names=query.names,
    )


def _reranked(session: Session, query: Query) -> RerankedScores | None:
    known, reranker = query.rerank_scores, session.reranker
    if reranker is None or not known.scores:
        return None
    return RerankedScores(
        model=reranker.model, fingerprint=reranker.fingerprint, scores=dict(known.scores)
    )


def _analyser(config: Config) -> str:
    """Versions of the rules that make words of texts, of those that a term adds where it counts,
    and of the fit that makes scores."""
    ranking = ranking_of_settings(config.settings)
    versions = [words.ANALYSER_VERSION]
    if ranking.newer_first:
        versions.append(newer_words_version())
    if ranking.has_confidence:
        versions += [frame_words_version(), fit_version()]
    return " ".join(versions)


def _base64(part: bytes) -> str:
    return base64.b64encode(part).decode()


def _vector_hash(vector: bytes, states: TokenStates | None) -> str:
    return hashlib.sha256(b"".join((vector, *(states or ())))).hexdigest()


def _ids_hash(results: Iterable[tuple[str, float]]) -> str:
    """SHA-256 over each id in ASCII and the 8 bytes of its score, in order."""
    made = hashlib.sha256()
    for id, score in results:
        made.update(id.encode("ascii"))
        made.update(struct.pack("<d", score))
    return made.hexdigest()


def _config(config: Config) -> dict[str, Any]:
    """Values that differ from the built-in ones, of the keys that a recall reads."""
    plain = {key: entry.value for key, entry in config.effective().items()}
    plain["ranking.weights"] = changed_weights(config.settings)
    usual = {key: entry.value for key, entry in built_in({}).effective().items()}
    read = (key for key in plain if key.startswith(_PREFIXES) and key not in _NAMES)
    return {key: to_plain(plain[key]) for key in read if plain[key] != usual[key]}


def _arguments(query: Query) -> dict[str, Any]:
    """Every argument with its default resolved; times as text."""
    request = query.request
    given = {
        name: getattr(request.arguments, name)
        for name in RecallRequest.__struct_fields__
        if name not in _NOT_REPEATED
    }
    at = request.moments
    where = request.arguments.where.given()
    if "statuses" not in where:
        where["include_expired"] = request.filter.columns["include_expired"]
    given |= {
        "where": where,
        "limit": request.limit,
        "namespace": request.namespace,
        "query_time": format_us(at.query_time_us),
        "as_of": _time(at.as_of_given),
        "known_at": _time(at.known_at_given),
        "valid_at": _time(at.valid_at_given),
    }
    if not at.past:
        # a time in the future meant now
        known = "as_of" if at.as_of_given is not None else "known_at"
        if known == "as_of":
            given["valid_at"] = _time(at.as_of_given)
        given[known] = None
    return {name: to_plain(value) for name, value in given.items() if value is not UNSET}


def _time(us: int | None) -> str | None:
    return None if us is None else format_us(us)


def _read(given: object) -> Receipt:
    """A receipt as a value, an object or JSON."""
    if isinstance(given, Receipt):
        return _of_this_version(given)
    if isinstance(given, Mapping) and isinstance(given.get("receipt"), Mapping):
        given = given["receipt"]
    try:
        if isinstance(given, (str, bytes)):
            decoded = read_json(given)
            if not isinstance(decoded, dict):
                _refused(type(decoded).__name__)
            return _read(decoded)
        found = msgspec.convert(given, Receipt)
    except UnicodeEncodeError:
        _refused("text with a lone surrogate")
    except (msgspec.MsgspecError, RecursionError) as error:
        _refused(str(error)[:200])
    return _of_this_version(found)


def _of_this_version(found: Receipt) -> Receipt:
    if found.version != VERSION:
        raise ConflictError(
            f"the receipt has version {found.version}; this program replays version {VERSION}"
        )
    return found


def _refused(what: str) -> NoReturn:
    raise ValidationError("receipt", what, "a receipt as recall(receipt=True) gives it")


def replay(session: Session, given: object) -> ReplayReport:
    """Derives the ranking of a receipt again, at its seq of this store.

    Raises:
        ConflictError: the ranking is another one, or cannot be derived; says why.
        ValidationError: no receipt.
    """
    wanted = _read(given)
    _check_store(session, wanted)
    query = _query(session, wanted)
    with session.operation("replay_receipt"), session.ledger.read() as view:
        if wanted.seq > view.seq:
            raise ConflictError(
                f"the receipt is of transaction {wanted.seq}, and this copy of the store ends at"
                f" {view.seq}: replay it on the newer copy"
            )
        ranked = _ranked(session, view, wanted, query)
        rows = ranked.results
        found = _ids_hash((row.memory_id, ranked.score(row)) for row in rows)
        if found == wanted.ids_hash:
            return ReplayReport(
                equal=True,
                seq=wanted.seq,
                ledger_seq=view.seq,
                ids_hash=found,
                returned=len(rows),
            )
        changed = irreversible_changes(view, wanted.namespace, wanted.seq)
    reasons = "; ".join(changed) if changed else "the receipt itself was changed"
    raise ConflictError(
        f"the ranking of transaction {wanted.seq} cannot be derived again: {reasons}"
    )


def _ranked(session: Session, view: SqliteView, wanted: Receipt, query: Query) -> Ranked:
    """The ranking at the seq of the receipt."""
    identity = session.ledger.embedding_identity()
    past = EarlierState(view, wanted.seq, session.ledger.store_uuid, identity)
    # the past state stands in for the view and for the keeper
    then = copy.copy(session)
    then.keeper = cast("ProjectionKeeper", past)
    return BoundQuery(then, cast("LedgerView", past), query).ranked()


def _check_store(session: Session, wanted: Receipt) -> None:
    own = session.ledger.store_uuid.hex()
    if wanted.store_uuid != own:
        raise ConflictError(
            f"the receipt is of the store {wanted.store_uuid}, this one is {own}: open that store"
        )
    analyser = _analyser(built_in(wanted.config))
    if wanted.analyser != analyser:
        raise ConflictError(
            f"the receipt was made with {wanted.analyser}, this program has {analyser}: replay it"
            " with the version that made it"
        )


def _query(session: Session, wanted: Receipt) -> Query:
    """The query of a receipt, under the receipt's own configuration."""
    vector, states = _vectors(wanted)
    config = built_in(wanted.config)
    unknown = set(wanted.arguments) - set(RecallRequest.__struct_fields__) | (
        _NOT_REPEATED & set(wanted.arguments)
    )
    if unknown:
        _refused(f"arguments {', '.join(sorted(unknown))}")
    identity = session.ledger.embedding_identity()
    if vector is not None and identity is not None and len(vector) != 4 * identity.dimensions:
        raise ConflictError(
            f"the receipt's vector has {len(vector) // 4} values and the store's have"
            f" {identity.dimensions}: the store was embedded again"
        )
    rest = dict(wanted.arguments)
    where = checked_filter(rest.pop("where", None), query=True)
    arguments = RecallRequest(
        query=wanted.query or None, query_vector=vector, seed=wanted.seed, where=where, **rest
    )
    given = None if wanted.reranked is None else wanted.reranked.scores
    scores = RerankScores(given, of_receipt=True)
    request = request_of(session, config, arguments)
    return analyse(
        session, config, request, vector, states, names=wanted.query_names, rerank_scores=scores
    )


def _vectors(wanted: Receipt) -> tuple[bytes | None, TokenStates | None]:
    """The query's vector and those of its word pieces, as the receipt holds them."""
    if wanted.query_vector is None:
        return None, None
    vector, states = _decoded("query_vector", wanted.query_vector), None
    if wanted.query_pieces is not None:
        parts = wanted.query_pieces.to_dict()
        states = TokenStates(
            **{name: _decoded("query_pieces", part) for name, part in parts.items()}
        )
    if _vector_hash(vector, states) != wanted.vector_hash:
        raise ConflictError("the receipt's query_vector is not the one of its vector_hash")
    if states is not None and not are_states(states):
        _refused("query_pieces whose parts do not fit each other")
    return vector, states


def _decoded(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        _refused(f"a {name} that is no base64")
