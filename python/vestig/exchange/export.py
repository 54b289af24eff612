"""`export`: the records of a namespace, or of all, as JSON lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from vestig.arguments import flag
from vestig.errors import ValidationError
from vestig.session.session import Session
from vestig.store.portable.export import export as write_export

__all__ = ["export"]


def export(
    session: Session, target: str | os.PathLike[str] | IO[str], *, all_namespaces: bool
) -> dict[str, Any]:
    """Writes the store's namespace, or all; how many records of each kind were written.

    Raises:
        ValidationError: a target that is neither a path nor an open file.
        StoreDamagedError: the ledger is not what was written.
    """
    flag("all_namespaces", all_namespaces)
    if not isinstance(target, (str, os.PathLike)) and not hasattr(target, "write"):
        raise ValidationError("target", type(target).__name__, "a file's path, or an open file")
    with session.operation("export"):
        namespace = None if all_namespaces else session.namespace
        place = Path(target) if isinstance(target, (str, os.PathLike)) else target
        return dict(write_export(session.ledger, place, namespace=namespace))
