"""Lists that the configuration and the core have in common stand in one order."""

from __future__ import annotations

from vestig import _core
from vestig.config.weights import SIGNALS
from vestig.recall.reason import META_SIGNALS


def test_terms_stand_as_the_core_has_them() -> None:
    assert tuple(_core.SIGNALS) == SIGNALS
    assert tuple(_core.METADATA) == META_SIGNALS
