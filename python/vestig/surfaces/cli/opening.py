"""The configuration and the open store of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from vestig.api.store import Vestig
    from vestig.config import Config
    from vestig.session.session import Session


def configuration(given: Mapping[str, Any], folder: Path | None = None) -> Config:
    """Defaults, files and environment, with the options `store`, `tenant`, `config`,
    `namespace` and `profile` on top.

    Args:
        folder: the working folder of whoever asks; None: that of this process.
    """
    from vestig.config import load

    overrides = {
        key: given[name]
        for name, key in (
            ("store", "store.path"),
            ("tenant", "store.tenant"),
            ("namespace", "namespace"),
        )
        if name in given
    }
    path, profile = given.get("config"), given.get("profile")
    return load(path, overrides=overrides, profile=profile, cwd=folder)


def plain_configuration(folder: Path) -> Config:
    """Built-in values and nothing else, with the store in `folder`: no file, no variable."""
    from vestig.config import load

    return load(
        environ={"XDG_CONFIG_HOME": str(folder)},
        cwd=folder,
        overrides={"store.path": str(folder / "store")},
    )


def open_store(config: Config, **options: Any) -> Vestig:
    """An open store; options are those of `open_session`."""
    from vestig.api.store import Vestig

    return Vestig(open_session(config, **options))


def open_session(config: Config, *, read_only: bool = False, **options: Any) -> Session:
    """Return what `open_store` wraps; options are those of `OpenRequest`.

    Args:
        config: which store, and how.
        read_only: change no file of a folder. The copy of a tenant follows PostgreSQL all the same.
        options: passed on.
    """
    from vestig.arguments import is_address
    from vestig.calls.opening import OpenRequest
    from vestig.registry import make_embedder
    from vestig.session import opening

    embedder = make_embedder(config.settings.embedding)
    return opening.open_session(
        OpenRequest(
            config=config,
            embedder=embedder,
            read_only=read_only and not is_address(config.settings.store.path),
            **options,
        )
    )
