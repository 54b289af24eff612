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


def observed(act: Act, folder: Path, overrides: dict[str, Any]) -> Any:
    folder.mkdir()
    (folder / "vestig.yaml").touch()
    with pytest.MonkeyPatch.context() as patch:
        world = World(folder, {**act.base, **overrides}, patch)
        try:
            return act.observe(world)
        finally:
            world.close()


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(ACTS))
def test_key_acts(key: str, tmp_path: Path) -> None:
    act = ACTS[key]
    first = observed(act, tmp_path / "first", {})
    assert observed(act, tmp_path / "changed", {key: act.changed}) != first


@pytest.mark.slow
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.torture)])
def test_no_observation_varies_by_itself(step: int, tmp_path: Path) -> None:
    for key in sorted(ACTS)[::step]:
        first, again = (
            observed(ACTS[key], tmp_path / f"{key} {time}", {}) for time in ("first", "again")
        )
        assert first == again, key
