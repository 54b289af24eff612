"""How surfaces come to a configuration and an open store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["configuration", "open_store", "plain_configuration"]


def configuration(given: Mapping[str, Any]) -> Any:
    """The layers of K-01 under the options `store`, `config`, `namespace` and `profile`."""
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


def open_store(config: Any, *, one_shot: bool = False, clock: Any = None, **options: Any) -> Any:
    """An open store. `one_shot`: the process embeds one text and ends."""
    from vestig.engine import Vestig
    from vestig.engine.opening import open_context
    from vestig.registry import make_embedder

    return Vestig(
        open_context(
            None,
            config=config,
            profile=None,
            namespace=None,
            clock=clock,
            on_commit=None,
            embedder=make_embedder(config.settings.embedding, one_shot=one_shot),
            **{"read_only": False, **options},
        )
    )
