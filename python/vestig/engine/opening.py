"""Opening a store: configuration, ledger, embedder and projection introduced to each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vestig import config as configuration
from vestig.config import Config
from vestig.engine.context import Context, system_clock
from vestig.errors import EmbeddingMismatchError, ValidationError
from vestig.ports import Clock, CommitHook, Embedder, EmbeddingIdentity, Ledger
from vestig.recall.request import namespace_argument
from vestig.registry import make_embedder
from vestig.store import open_ledger
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


def check_identity(stored: EmbeddingIdentity, embedder: Embedder) -> None:
    """A store holds vectors of one model only (B-26)."""
    same = stored.model == embedder.model and stored.dimensions == embedder.dimensions
    if same and (not stored.fingerprint or not embedder.fingerprint):
        return
    if same and stored.fingerprint == embedder.fingerprint:
        return
    detail = "" if not same else ", with other weights"
    raise EmbeddingMismatchError(
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
    **options: Any,
) -> Context:
    """Everything one open store needs. `options`: `check_history=False` to take the ledger as
    it stands, `check_embedder=False` to change the model."""
    if on_commit is not None and not callable(on_commit):
        raise ValidationError("on_commit", on_commit, "a function that takes the outcome")
    if not isinstance(read_only, bool):
        raise ValidationError("read_only", read_only, "true or false")
    loaded = load_config(config, profile)
    settings = loaded.settings
    space = settings.namespace if namespace is None else namespace_argument(namespace)
    directory = store_directory(path, loaded)
    chosen = make_embedder(settings.embedding) if embedder is None else embedder
    ledger = open_ledger(
        directory,
        read_only=read_only,
        lock_timeout_s=settings.store.lock_timeout_s,
        durability=settings.store.durability,
        state_dir=configuration.state_directory(),
    )
    try:
        stored = ledger.embedding_identity()
        if stored is not None and options.get("check_embedder", True):
            check_identity(stored, chosen)
        known = stored or identity_of(chosen, loaded)
        keeper = keeper_for(ledger, directory, known, read_only=read_only)
        if options.get("check_history", True):
            keeper.check_history()
    except BaseException:
        ledger.close()
        raise
    return Context(
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
