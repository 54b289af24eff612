"""The texts that are embedded, and of which model the vectors of a store are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vestig.config.signals import LATE_TERMS
from vestig.errors import EmbeddingMismatchError
from vestig.ports import EmbeddingIdentity, Pieces, TokenStates, gives_codes, gives_tokens
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.store_rows import same_model
from vestig.turns import give_way, in_steps
from vestig.types import Claim, Memory

# Sentences whose vectors stand for a model that has no fingerprint.
PROBES: Final = (
    "The harbour froze in the second week of January.",
    "Keys for the archive are kept in the lower drawer.",
    "Every release is tagged after the last test has passed.",
)


def with_author(text: str, author: str | None) -> str:
    """Return what is embedded: `author: text` when there is an author.

    Example:
        >>> with_author("The key is under the mat", "Ada")
        'Ada: The key is under the mat'
    """
    return text if author is None else f"{author}: {text}"


def embedded_text(text: str, author: str | None, claim: Claim | None) -> str:
    """Return what a memory with this normal form is embedded as: its claim, where it carries
    one."""
    if claim is None:
        return with_author(text, author)
    # imported here: most memories carry none
    from vestig.language.claim_text import claim_text

    return claim_text(claim)


def embedded_texts(view: LedgerView, memories: Sequence[Memory]) -> list[str]:
    """The texts of stored memories of one namespace as they are embedded."""
    if not memories:
        return []
    space, ids = memories[0].namespace, [memory.id for memory in memories]
    normal, claims = view.normal_texts(space, ids), view.claims(space, ids)
    return [embedded_text(normal[one.id], one.author, claims.get(one.id)) for one in memories]


def wants_codes(session: Session) -> bool:
    """Return whether memories get codes of their word pieces here: late interaction counts, and the
    embedder gives them."""
    return not session.counting_terms.isdisjoint(LATE_TERMS) and gives_codes(session.embedder)


def embed_memories(
    session: Session, texts: Sequence[str], others: Sequence[str] = ()
) -> tuple[list[tuple[bytes, Pieces | None]], list[bytes]]:
    """Vectors of memories' texts, with codes of their word pieces where these are wanted; then
    vectors of other texts. Each text is embedded once. Called where no lock is held, for others may
    have the place of this call meanwhile.

    Raises:
        ProviderError: the embedder failed.
        EmbeddingMismatchError: the store's vectors are of another model.
    """
    if wants_codes(session):
        made: list[tuple[bytes, Pieces | None]] = [*in_steps(texts, session.embed_codes)]
        if made and others:
            give_way()
        return made, in_steps(others, session.embed)
    vectors = in_steps([*texts, *others], session.embed)
    return [(vector, None) for vector in vectors[: len(texts)]], vectors[len(texts) :]


def query_vectors(
    session: Session, texts: Sequence[str], *, late: bool
) -> list[tuple[bytes, TokenStates | None]]:
    """The vector of each query, and where `late` says that late interaction counts and the embedder
    gives them, hidden states of its word pieces; all from one batch, both from one run of the
    model.

    Raises:
        ProviderError, EmbeddingMismatchError: as `embed_memories`.
    """
    if late and gives_tokens(session.embedder):
        return [*session.embed_tokens(list(texts))]
    return [(vector, None) for vector in session.embed(list(texts))]


def probed_identity(session: Session) -> EmbeddingIdentity:
    """The identity of the store's embedder; without a fingerprint, with its probes."""
    embedder = session.embedder
    identity = EmbeddingIdentity(
        model=embedder.model,
        dimensions=embedder.dimensions,
        normalized=session.config.settings.embedding.normalize,
        fingerprint=embedder.fingerprint,
    )
    if identity.fingerprint:
        return identity
    return msgspec.structs.replace(identity, probes=tuple(embedder.embed(list(PROBES))))


def check_identity(session: Session) -> None:
    """Before a query is compared with the store's vectors; writes nothing.

    Raises:
        EmbeddingMismatchError: the model of this name now gives other vectors.
    """
    if session.identity_known:
        return
    stored = session.ledger.embedding_identity()
    if stored is None:
        return
    if stored.probes and not same_model(stored, probed_identity(session)):
        raise EmbeddingMismatchError(
            f"the store's vectors were made by {stored.model} with {stored.dimensions}"
            f" dimensions, and {session.embedder.model} with {session.embedder.dimensions}"
            " dimensions now gives other vectors for the same sentences; configure the model"
            " they were made with, or run `vestig rebuild --embeddings`"
        )
    session.identity_known = True


def remember_identity(session: Session) -> None:
    """Before vectors are written: the model of the first writer stays that of the store.

    Raises:
        EmbeddingMismatchError: see `check_identity`.
    """
    check_identity(session)
    if not session.identity_known and not session.read_only:
        session.ledger.set_embedding_identity(probed_identity(session))
        session.identity_known = True
