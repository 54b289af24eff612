"""Opening a store: configuration, then embedder, ledger and projection, then the session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vestig import config as configuration
from vestig.arguments import is_address, path_argument
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.config.environment import temporary_folder
from vestig.config.files import without_tilde
from vestig.config.schema import Settings
from vestig.embedders.checked import checked_embedder
from vestig.errors import ConfigError, Description, EmbeddingMismatchError, ValidationError, kind_of
from vestig.hints import missing_package
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import (
    MEMBERS,
    Embedder,
    EmbeddingIdentity,
    LanguageModel,
    Reranker,
    lacking,
)
from vestig.registry import make_embedder, make_language_model, make_reranker
from vestig.session.observer import TRACE_BEGINS
from vestig.session.session import Session, system_clock
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.sqlite import files
from vestig.telemetry import TraceFile

if TYPE_CHECKING:
    from vestig.session.tenant import TenantCopy

MEMORY_PATH = ":memory:"
# How what the calls of a port give is made.
_GIVES: Final[Mapping[type, str]] = {
    Embedder: "each vector is bytes of float32: numpy.asarray(vector, '<f4').tobytes()",
    Reranker: "scores are bytes of float32: numpy.asarray(scores, '<f4').tobytes()",
}
_SCHEME: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://")


def load_config(config: object, profile: str | None) -> Config:
    """Configuration from a file's path, from overrides, or from the layers alone."""
    if config is None:
        return configuration.load(profile=profile)
    if isinstance(config, Config):
        return config.with_overrides({}, profile=profile) if profile is not None else config
    if isinstance(config, Mapping):
        return configuration.load(overrides=config, profile=profile)
    path = path_argument("config", config, "a file's path or an object of configuration keys")
    return configuration.load(path, profile=profile)


def store_directory(path: object, config: Config) -> Path | None:
    """The store's directory; None for a store in memory."""
    chosen = config.settings.store.path if path is None else path
    if not isinstance(chosen, (str, os.PathLike)):
        raise ValidationError("path", chosen, "a directory's path, or :memory:")
    text = os.fspath(chosen)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValidationError("path", chosen, "a directory's path, or :memory:")
    if text == MEMORY_PATH:
        return None
    if is_address(text):
        # not shown: it may name a password
        raise ValidationError("path", Description("an address of PostgreSQL"), "a directory's path")
    scheme = _SCHEME.match(text)
    if scheme is not None:
        hint = "of addresses, vestig.open takes postgresql://… alone"
        raise ValidationError(
            "path", Description(f"{scheme[0]}…"), "a directory's path, or :memory:", hint
        )
    try:
        text.encode()
        # resolved once: a link that leads elsewhere later does not move parts of an open store
        return Path(os.path.realpath(Path(text).expanduser()))
    except UnicodeEncodeError:
        raise ValidationError("path", chosen, "a directory's path in UTF-8") from None
    except RuntimeError:
        raise ValidationError(
            "path", chosen, "a directory's path, with ~ of a known user"
        ) from None
    except OSError:
        raise ValidationError(
            "path", chosen, "an absolute path, for the working folder cannot be used"
        ) from None


def state_folder(directory: Path | None) -> Path | None:
    """Where the user's folder remembers a store; None for one that is not meant to last, below
    the folder of temporary files."""
    temporary = Path(os.path.realpath(temporary_folder()))
    if directory is None or Path(os.path.realpath(directory)).is_relative_to(temporary):
        return None
    return configuration.state_directory()


def identity_of(embedder: Embedder, config: Config) -> EmbeddingIdentity:
    """Return what the store remembers of an embedder; probes are added when it has no
    fingerprint."""
    return EmbeddingIdentity(
        model=embedder.model,
        dimensions=embedder.dimensions,
        normalized=config.settings.embedding.normalize,
        fingerprint=embedder.fingerprint,
    )


def mismatch_of(stored: EmbeddingIdentity, embedder: Embedder) -> EmbeddingMismatchError | None:
    """A store holds vectors of one model only."""
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


def _check_ports(asked: OpenRequest) -> None:
    """Refuses what stands in place of a configured model and is none."""
    for name, section, port in (
        ("embedder", "embedding", Embedder),
        ("reranker", "reranker", Reranker),
        ("llm", "llm", LanguageModel),
    ):
        value = getattr(asked, name)
        if value is None:
            continue
        expected = f"an object with the methods of vestig.ports.{port.__name__}"
        if isinstance(value, type):
            hint = f"{name}={value.__name__}() makes one"
            raise ValidationError(name, value, expected, hint)
        if missing := lacking(value, port):
            hints = [f"it lacks {', '.join(missing)}", *filter(None, [_GIVES.get(port)])]
            if len(missing) == len(MEMBERS[port]):
                hints.append(f"config={{'{section}.model': …}} names a model")
            hint = "; ".join(hints[-1:] if isinstance(value, str) else hints)
            raise ValidationError(name, kind_of(value), expected, hint)


def check_reranker(reranker: Reranker | None, settings: Settings) -> None:
    """The rerank signal needs a reranker.

    Raises:
        ConfigError: the signal is on, and there is none.
    """
    if reranker is None and settings.signals.rerank.enabled:
        raise ConfigError(
            "signals.rerank.enabled: expected a reranker where it is true, reranker.provider is"
            " null; name one (onnx reads a folder, reranker.model), or give open(reranker=…)"
        )


def _follow(
    ledger: Ledger, keeper: ProjectionKeeper, directory: Path | None, embedder: Embedder
) -> None:
    """Once a store is made where none was, by this process or another, the projection is that of
    its folder."""

    def follow() -> None:
        stored = ledger.embedding_identity()
        mismatch = None if stored is None else mismatch_of(stored, embedder)
        if mismatch is not None:
            raise mismatch
        if directory is not None:
            keeper.move_to(directory / "projection")
            files.keep_reserve(directory)
        if ledger.replaced:
            keeper.report("store_replaced", f"{ledger.replaced}; this is a new store")

    ledger.when_there(follow)


def _trace_file(config: Config, directory: Path | None) -> TraceFile | None:
    """The file of traces; None where none is configured.

    Args:
        directory: the folder of the store.

    Raises:
        ConfigError: it cannot be written, holds something else, or lies in a store.
    """
    telemetry = config.settings.telemetry
    key, name = "telemetry.trace_file", telemetry.trace_file
    if name is None:
        return None
    path = without_tilde(name, key)
    try:
        if (store := files.store_around(path, directory)) is not None:
            raise ConfigError(f"{key}: expected a file outside of the store {store}, got {path}")
        return TraceFile(path, begins=TRACE_BEGINS)
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{key}: expected a file that can be written, got {reason}") from None


def _open_tenant(
    request: OpenRequest, loaded: Config, embedder: Embedder, identity: bytes | None
) -> TenantCopy:
    """The copy of a tenant, not opened yet.

    Raises:
        ConfigError: the extra is not installed, or the address cannot be read.
        ValidationError: no name of a tenant, or an argument that concerns folders.
    """
    for name in ("accept_ledger", "init", "read_only"):
        if getattr(request, name):
            raise ValidationError(
                name, True, "false for a tenant", "the truth is in PostgreSQL, not in a folder"
            )
    try:
        from vestig.session.tenant import TenantCopy
    except ModuleNotFoundError as error:
        raise ConfigError(
            missing_package("path: a tenant in PostgreSQL", str(error.name), "fleet")
        ) from None

    def open_keeper(ledger: Ledger, directory: Path) -> ProjectionKeeper:
        stored = ledger.embedding_identity()
        mismatch = None if stored is None else mismatch_of(stored, embedder)
        if mismatch is not None and not request.change_embedder:
            raise mismatch
        return keeper_for(ledger, directory, stored or identity_of(embedder, loaded))

    path = loaded.settings.store.path if request.path is None else str(request.path)
    tenant = loaded.settings.store.tenant if request.tenant is None else request.tenant
    return TenantCopy(path, tenant, loaded.settings, open_keeper, identity)


def _open_folder(
    request: OpenRequest, loaded: Config, embedder: Embedder, directory: Path | None
) -> tuple[Ledger, ProjectionKeeper, EmbeddingMismatchError | None]:
    """Ledger and projection of a folder, or of a store in memory."""
    ledger = open_ledger(
        directory,
        read_only=request.read_only,
        lock_timeout_s=loaded.settings.store.lock_timeout_s,
        durability=loaded.settings.store.durability,
        state_dir=state_folder(directory),
        accept=request.accept_ledger,
        without_store="refuse" if request.must_exist else "empty",
        init=request.init,
    )
    try:
        stored = ledger.embedding_identity()
        mismatch = None if stored is None else mismatch_of(stored, embedder)
        if mismatch is not None and not request.change_embedder:
            raise mismatch
        known = stored or identity_of(embedder, loaded)
        if ledger.is_pending:
            keeper = keeper_for(ledger, None, known)
            _follow(ledger, keeper, directory, embedder)
        else:
            keeper = keeper_for(ledger, directory, known, read_only=ledger.read_only)
        if request.accept_ledger:
            keeper.accept_history()
        keeper.check_history()
    except BaseException:
        ledger.close()
        raise
    return ledger, keeper, mismatch


def _open_copy(
    tenant: TenantCopy, embedder: Embedder
) -> tuple[Ledger, ProjectionKeeper, EmbeddingMismatchError | None]:
    """Ledger and projection of a tenant's copy."""
    ledger, keeper = tenant.open()
    stored = ledger.embedding_identity()
    return ledger, keeper, None if stored is None else mismatch_of(stored, embedder)


def open_session(request: OpenRequest, *, identity: bytes | None = None) -> Session:
    """Everything one open store needs.

    Args:
        identity: of the tenant that is meant, where another one may have its name; by default any.
    """
    _check_ports(request)
    loaded = load_config(request.config, request.profile)
    settings, given = loaded.settings, request.embedder
    space = settings.namespace if request.namespace is None else request.namespace
    path = settings.store.path if request.path is None else request.path
    in_database = is_address(path)
    named = settings.store.tenant if request.path is None else None
    if not in_database and (request.tenant is not None or named is not None):
        # what is meant as an address may name a password
        is_path = isinstance(path, (str, os.PathLike))
        given = Description("another path") if is_path else kind_of(path)
        raise ValidationError("path", given, "postgresql://… where a tenant is named")
    directory = None if in_database else store_directory(request.path, loaded)
    embedder = make_embedder(settings.embedding) if given is None else checked_embedder(given)
    reranker = request.reranker
    if reranker is None:
        reranker = make_reranker(settings.reranker)
    language_model = request.llm
    if language_model is None:
        language_model = make_language_model(settings.llm)
    check_reranker(reranker, settings)
    tenant = _open_tenant(request, loaded, embedder, identity) if in_database else None
    if tenant is None:
        opened = _open_folder(request, loaded, embedder, directory)
    else:
        opened = _open_copy(tenant, embedder)
    ledger, keeper, mismatch = opened
    try:
        trace_file = _trace_file(loaded, directory)
    except BaseException:
        keeper.close()
        ledger.close()
        raise
    return Session(
        trace_file=trace_file,
        mismatch=mismatch,
        config=loaded,
        ledger=ledger,
        keeper=keeper,
        embedder=embedder,
        reranker=reranker,
        language_model=language_model,
        clock=request.clock or system_clock,
        namespace=space,
        directory=directory if tenant is None else tenant.directory,
        tenant=tenant,
        hook=request.on_commit,
        check_url=request.check_url,
        read_only=ledger.read_only,
    )
