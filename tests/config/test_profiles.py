"""Lists that the configuration and the core have in common stand in one order."""

from __future__ import annotations

from vestig import _core
from vestig.config.signals import ORIGINS, SIGNALS
from vestig.recall.reason import META_SIGNALS
from vestig.types import OriginType


def test_terms_and_origins_stand_as_the_core_has_them() -> None:
    assert tuple(_core.SIGNALS) == SIGNALS
    assert SIGNALS[1:5] == META_SIGNALS
    assert tuple(OriginType) == ORIGINS
