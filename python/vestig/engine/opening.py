"""Opening a store: configuration, ledger, embedder and projection introduced to each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from vestig import config as configuration
from vestig.config import Config
from vestig.embedders.checked import CheckedEmbedder
from vestig.engine.context import Context, system_clock
from vestig.errors import EmbeddingMismatchError, ValidationError
from vestig.ports import Clock, CommitHook, Embedder, EmbeddingIdentity, Ledger
from vestig.recall.request import namespace_argument
from vestig.registry import make_embedder
from vestig.store import JobRules, open_ledger
from vestig.store.projection import ProjectionKeeper

__all__ = ["identity_of", "keeper_for", "open_context"]

MEMORY_PATH = ":memory:"


def load_config(config: object, profile: str | None) -> Config:
    """Configuration from a file's path, from overrides, or from the layers alone."""
    if config is None:
        return configuration.load(profile=profile)
    if isinstance(config, Config):
        return config.with_overrides({}, profile=profile) if profile is not None else config
    if isinstance(config, Mapping):
        return configuration.load(overrides=config, profile=profile)
    if isinstance(config, (str, os.PathLike)):
        return configuration.load(Path(config), profile=profile)
    raise ValidationError("config", config, "a file's path or an object of configuration keys")


def store_directory(path: object, config: Config) -> Path | None:
    """The store's directory; None for a store in memory."""
    chosen = config.settings.store.path if path is None else path
    if not isinstance(chosen, (str, os.PathLike)):
        raise ValidationError("path", chosen, "a directory's path, or :memory:")
    text = os.fspath(chosen)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValidationError("path", chosen, "a directory's path, or :memory:")
    return None if text == MEMORY_PATH else Path(text).expanduser()


def identity_of(embedder: Embedder, config: Config) -> EmbeddingIdentity:
    """What the store remembers of an embedder; probes are added when it has no fingerprint."""
    return EmbeddingIdentity(
        model=embedder.model,
        dimensions=embedder.dimensions,
        normalized=config.settings.embedding.normalize,
        fingerprint=embedder.fingerprint,
    )


def mismatch_of(stored: EmbeddingIdentity, embedder: Embedder) -> EmbeddingMismatchError | None:
    """A store holds vectors of one model only (B-26)."""
    same = stored.model == embedder.model and stored.dimensions == embedder.dimensions
    unknown = not stored.fingerprint or not embedder.fingerprint
    if same and (unknown or stored.fingerprint == embedder.fingerprint):
        return None
    detail = " (of other weights)" if same else ""
    return EmbeddingMismatchError(
        f"the store's vectors were made by {stored.model} with {stored.dimensions} dimensions,"
        f" but {embedder.model} with {embedder.dimensions} dimensions is configured{detail}; set"
        " embedding.provider and embedding.model back, or run `vestig rebuild --embeddings`"
    )


def keeper_for(
    ledger: Ledger,
    directory: Path | None,
    identity: EmbeddingIdentity,
    *,
    read_only: bool = False,
) -> ProjectionKeeper:
    """The projection of vectors of this model."""
    return ProjectionKeeper(
        ledger,
        None if directory is None else directory / "projection",
        dimensions=identity.dimensions,
        model=identity.model,
        read_only=read_only,
    )


def open_context(
    path: object,
    *,
    config: object,
    profile: str | None,
    namespace: object,
    clock: Clock | None,
    on_commit: CommitHook | None,
    read_only: bool,
    embedder: Embedder | None,
    accept_ledger: bool,
    change_embedder: bool,
) -> Context:
    """Everything one open store needs."""
    if on_commit is not None and not callable(on_commit):
        raise ValidationError("on_commit", on_commit, "a function that takes the outcome")
    flags = {
        "read_only": read_only,
        "accept_ledger": accept_ledger,
        "change_embedder": change_embedder,
    }
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValidationError(name, value, "true or false")
    loaded = load_config(config, profile)
    settings = loaded.settings
    space = settings.namespace if namespace is None else namespace_argument(namespace)
    directory = store_directory(path, loaded)
    chosen = make_embedder(settings.embedding) if embedder is None else CheckedEmbedder(embedder)
    ledger = open_ledger(
        directory,
        read_only=read_only,
        lock_timeout_s=settings.store.lock_timeout_s,
        durability=settings.store.durability,
        state_dir=configuration.state_directory(),
        accept=accept_ledger,
        job_rules=JobRules(
            lease_s=settings.enrichment.lease_s,
            backoff_base_s=settings.enrichment.backoff_base_s,
            backoff_max_s=settings.enrichment.backoff_cap_s,
            max_attempts=settings.enrichment.max_attempts,
        ),
    )
    try:
        stored = ledger.embedding_identity()
        mismatch = None if stored is None else mismatch_of(stored, chosen)
        if mismatch is not None and not change_embedder:
            raise mismatch
        known = stored or identity_of(chosen, loaded)
        keeper = keeper_for(ledger, directory, known, read_only=read_only)
        if accept_ledger:
            keeper.accept_history()
        keeper.check_history()
    except BaseException:
        ledger.close()
        raise
    return Context(
        mismatch=mismatch,
        config=loaded,
        ledger=ledger,
        keeper=keeper,
        embedder=chosen,
        clock=clock or system_clock,
        namespace=space,
        directory=directory,
        hook=on_commit,
        read_only=read_only,
    )
