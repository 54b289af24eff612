"""Configuration: layers, files, environment, validation, explanation.

The only place that reads the environment of the process. What explains (`explain`) is imported from
its module by those that need it: an open store does not. The names below are loaded when they are
first asked for: a module of this folder loads itself alone.
"""

from __future__ import annotations

# By this name a type checker knows what it is; the import of `typing` takes longer than the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from vestig.config.environment import read_secret, state_directory
    from vestig.config.files import InvalidConfigError, Problem
    from vestig.config.loader import Config, built_in, load
    from vestig.config.merge import Entry
    from vestig.config.schema import Settings

__all__ = [
    "Config",
    "Entry",
    "InvalidConfigError",
    "Problem",
    "Settings",
    "built_in",
    "load",
    "read_secret",
    "state_directory",
]

_HOME = {
    "Config": "vestig.config.loader",
    "Entry": "vestig.config.merge",
    "InvalidConfigError": "vestig.config.files",
    "Problem": "vestig.config.files",
    "Settings": "vestig.config.schema",
    "built_in": "vestig.config.loader",
    "load": "vestig.config.loader",
    "read_secret": "vestig.config.environment",
    "state_directory": "vestig.config.environment",
}


def __getattr__(name: str) -> object:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'vestig.config' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found
