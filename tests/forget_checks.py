"""Texts, and looks at the files of a store, for the tests of forgetting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import vestig
from calls import committing

SECRET = "The vault code of the harbour office is kept by Ximena Quartz"
OTHER = "Deploys to production happen on Tuesdays after the stand-up"
QUICK = {"store.lock_timeout_s": 0.2}


def folder_of(store: vestig.Vestig) -> Path:
    directory = store._session.directory
    assert directory is not None
    return directory


def raw_vector(store: vestig.Vestig, id: str) -> bytes:
    with store._session.ledger.read() as view:
        return view.vectors("default", [id])[id][1]


def commit(store: vestig.Vestig, text: str, **fields: Any) -> str:
    id = store.commit(text, **committing(fields)).memory_id
    assert id is not None
    return id


def clean(store: vestig.Vestig) -> None:
    """The chain closes over what is left, and no check finds anything."""
    assert store._session.ledger.verify_all() == []
    assert [f for f in store.admin.doctor().findings if f.level != "ok"] == []
