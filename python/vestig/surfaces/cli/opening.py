"""The configuration and the open store of a command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["configuration", "open_store", "plain_configuration"]


def configuration(given: Mapping[str, Any]) -> Any:
    """Defaults, files and environment, with the options `store`, `config`, `namespace` and
    `profile` on top."""
    from vestig.config import load

    overrides = {
        key: given[name]
        for name, key in (("store", "store.path"), ("namespace", "namespace"))
        if name in given
    }
    return load(given.get("config"), overrides=overrides, profile=given.get("profile"))


def plain_configuration(folder: Path) -> Any:
    """Built-in values and nothing else, with the store in `folder`: no file, no variable."""
    from vestig.config import load

    return load(
        environ={"XDG_CONFIG_HOME": str(folder)},
        cwd=folder,
        overrides={"store.path": str(folder / "store")},
    )


def open_store(config: Any, *, one_shot: bool = False, **options: Any) -> Any:
    """An open store. `one_shot`: the process embeds one text and ends; other options are those
    of `vestig.open`."""
    import vestig
    from vestig.registry import make_embedder

    embedder = make_embedder(config.settings.embedding, one_shot=one_shot)
    return vestig.open(config=config, embedder=embedder, **options)
