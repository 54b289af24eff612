"""A store with texts that try to be more than text, under the inspector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import vestig
from served import Site, serving_store
from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.config import load
from vestig.session.opening import open_session
from vestig.surfaces.inspect import application, settings_of
from vestig.testing import HashingEmbedder

__all__ = ["HOSTILE", "filled", "inspecting"]

_SCRIPTS: Final = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror=window.hit=2>",
    "<svg onload=window.hit=3>",
    '"><iframe srcdoc="<script>parent.hit=4</script>">',
    "javascript:window.hit=5",
    "' onmouseover='window.hit=6",
    "</script><script>window.hit=7</script>",
    "<style>body{display:none}</style>",
    "<base href=//example.org/>",
    "<meta http-equiv=refresh content=0>",
    "<a href='javascript:window.hit=8'>x</a>",
    "{{constructor.constructor('window.hit=9')()}}",
    "${window.hit=10}",
    "<!-- --><b>bold</b>",
    "&lt;b&gt; &amp; &#60;i&#62;",
    "</textarea></title></style><h1>title</h1>",
    "\u202egnp.exe\u202c turned round",
    "\u2067\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd\u2069",
    "a\u0300\u0301\u0302\u0303\u0304 stacked",
    "long" * 300,
)
# Three places for each, in texts that say different things.
HOSTILE: Final = [
    f"The {what} of ward {number} reads {text} today"
    for what in ("gauge", "ledger", "lamp")
    for number, text in enumerate(_SCRIPTS)
]


def filled(folder: Path) -> list[str]:
    """A store of the hostile texts in every field that takes one; the ids of its memories."""
    with vestig.open(folder, init=True, embedder=HashingEmbedder()) as store:
        ids = []
        for number, text in enumerate(HOSTILE):
            name = text[:200].strip()
            fields: dict[str, Any] = {
                "author": name,
                "title": name,
                "session_id": name,
                "sequence": number,
                "scope": name,
                "tags": [name[:60].strip()],
                "metadata": {"note": text},
                "entities": [{"type": "CONCEPT", "name": name[:60].strip()}],
            }
            id = store.commit(text, on_near_dup="insert", **fields).memory_id
            assert id is not None
            ids.append(id)
        for a, b in pairwise(ids):
            store.graph.link(a, b, evidence=HOSTILE[0])
        store.deprecate(ids[-1], reason=HOSTILE[1])
    return ids


@contextmanager
def inspecting(folder: Path, **config: Any) -> Iterator[Site]:
    """The inspector of a store, as `vestig inspect` opens it."""
    environ = config.pop("environ", {})
    loaded = load(environ=environ, overrides={"store.path": str(folder), **config})
    asked = OpenRequest(config=loaded, embedder=HashingEmbedder(), read_only=True)
    settings = settings_of(loaded.settings.serve, 0)
    with (
        Vestig(open_session(asked)) as store,
        serving_store(store, settings, application) as site,
    ):
        yield site
