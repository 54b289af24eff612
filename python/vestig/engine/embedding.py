"""What is embedded, and whose vectors a store holds (C-06, B-26)."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.engine.context import Context
from vestig.errors import EmbeddingMismatchError
from vestig.ports import EmbeddingIdentity
from vestig.store.identity import same_model
from vestig.types import Memory

__all__ = [
    "PROBES",
    "check_identity",
    "embedded_text",
    "probed_identity",
    "remember_identity",
    "spoken",
]

# Sentences whose vectors stand for a model that has no fingerprint (STORE 2).
PROBES: Final = (
    "The harbour froze in the second week of January.",
    "Keys for the archive are kept in the lower drawer.",
    "Every release is tagged after the last test has passed.",
)


def spoken(text: str, author: str | None) -> str:
    """What is embedded: `author: text` when there is an author.

    Example:
        >>> spoken("The key is under the mat", "Ada")
        'Ada: The key is under the mat'
    """
    return text if author is None else f"{author}: {text}"


def embedded_text(memory: Memory) -> str:
    """The text of a stored memory as it is embedded."""
    return spoken(memory.content, memory.author)


def probed_identity(context: Context) -> EmbeddingIdentity:
    """The identity of the store's embedder; without a fingerprint, with its probes."""
    embedder = context.embedder
    identity = EmbeddingIdentity(
        model=embedder.model,
        dimensions=embedder.dimensions,
        normalized=context.config.settings.embedding.normalize,
        fingerprint=embedder.fingerprint,
    )
    if identity.fingerprint:
        return identity
    return msgspec.structs.replace(identity, probes=tuple(embedder.embed(list(PROBES))))


def check_identity(context: Context) -> None:
    """Before a query is compared with the store's vectors; writes nothing.

    Raises:
        EmbeddingMismatchError: the model of this name now gives other vectors.
    """
    if context.identity_known:
        return
    stored = context.ledger.embedding_identity()
    if stored is None:
        return
    if stored.probes and not same_model(stored, probed_identity(context)):
        raise EmbeddingMismatchError(
            f"the store's vectors were made by {stored.model} with {stored.dimensions}"
            f" dimensions, and {context.embedder.model} with {context.embedder.dimensions}"
            " dimensions now gives other vectors for the same sentences; configure the model"
            " they were made with, or run `vestig rebuild --embeddings`"
        )
    context.identity_known = True


def remember_identity(context: Context) -> None:
    """Before vectors are written: the first writer's model is the store's for ever after.

    Raises:
        EmbeddingMismatchError: see `check_identity`.
    """
    check_identity(context)
    if not context.identity_known and not context.read_only:
        context.ledger.set_embedding_identity(probed_identity(context))
        context.identity_known = True
