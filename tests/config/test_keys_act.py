"""Every configuration key changes something that can be observed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acts_of_documents import DOCUMENTS
from acts_of_enrichment import ENRICHED
from acts_of_graph import GRAPH
from acts_of_hooks import HOOKED
from acts_of_mcp import MCP
from acts_of_models import MODELLED
from acts_of_recall import RECALL
from acts_of_retrieve import RETRIEVE
from acts_of_serving import SERVING
from acts_of_signals import OF_DOCUMENTS, SIGNALLED
from acts_of_telemetry import OBSERVED
from acts_of_writing import WRITING
from world import Act, World

from vestig.config.schema import MAPPINGS, entry_specs, key_specs

KEYS = tuple(key_specs())

ACTS: dict[str, Act] = {
    **WRITING,
    **DOCUMENTS,
    **OBSERVED,
    **RECALL,
    **GRAPH,
    **SIGNALLED,
    **MODELLED,
    **ENRICHED,
    **RETRIEVE,
    **SERVING,
    **MCP,
    **HOOKED,
}


def test_every_key_has_an_observation() -> None:
    # names say something of documents alone
    silent = {f"ranking.weights.chat_peer.{name}" for name in OF_DOCUMENTS}
    # of tenants, whose own tests need a server
    silent |= {key for key in KEYS if key == "store.tenant" or key.startswith("fleet.")}
    assert set(ACTS) == (set(KEYS) - set(MAPPINGS) | set(entry_specs())) - silent


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(ACTS))
def test_key_acts(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    act = ACTS[key]

    def observed(name: str, overrides: dict[str, Any]) -> Any:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "vestig.yaml").touch()
        with monkeypatch.context() as patch:
            world = World(folder, overrides, patch)
            try:
                return act.observe(world)
            finally:
                world.close()

    base = dict(act.base)
    first = observed("first", base)
    assert observed("again", base) == first, "an observation must not vary by itself"
    assert observed("changed", {**base, key: act.changed}) != first
