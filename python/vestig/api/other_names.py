"""Names of other libraries, and what has them here. They are named in the error, never called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

_STORE: Final[Mapping[str, str]] = {
    "commit": "add remember save store note insert write create learn add_memory memorize",
    "commit_many": "add_many add_all save_all insert_many bulk_add extend add_texts add_documents",
    "recall": "query ask find lookup retrieve_memories similarity_search",
    "list": "all get_all list_all memories keys values",
    "forget": "delete remove erase purge discard delete_all",
    "deprecate": "retract withdraw invalidate expire revoke",
    "supersede": "replace",
    "update": "edit modify set change",
    "events": "history log audit timeline",
    "import_": "load ingest",
    "export": "dump",
    "items.put": "put set_item kv",
    "admin.stats": "stats status info",
    "admin.doctor": "doctor check verify health",
    "admin.backup": "backup snapshot",
    "admin.rebuild": "rebuild reindex",
    "admin.compact": "compact vacuum optimize",
    "graph.entities": "entities",
    "graph.link": "link relate connect",
    "graph.edges": "edges links relations",
}


def no_attribute(name: str) -> NoReturn:
    """Raises the error of an attribute that a store does not have.

    Raises:
        AttributeError: always; with the method that does it, where there is one.

    Example:
        >>> no_attribute("remember")
        Traceback (most recent call last):
        ...
        AttributeError: a store has no attribute 'remember'; use store.commit
    """
    ours = next((ours for ours, others in _STORE.items() if name in others.split()), "")
    hint = f"; use store.{ours}" if ours else ""
    raise AttributeError(f"a store has no attribute {name!r}{hint}")
