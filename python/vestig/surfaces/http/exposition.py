"""The counters of an open store as text for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from vestig.lazy_pattern import lazy_pattern

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_LABEL: Final = lazy_pattern(r'(\w+)="([^"]*)"')
_HISTOGRAM: Final = "vestig_operation_duration_seconds"


class _Counters(Collector):
    """Numbers as `store.admin.metrics()` names them, by family."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for shown, number in self._numbers.items():
            name, _, labels = shown.partition("{")
            family, kind = _family(name)
            found = families.get(family)
            if found is None:
                found = families[family] = Metric(family, _HELP.get(kind, ""), kind)
            found.add_sample(name, dict(_LABEL.findall(labels)), number)
        yield from families.values()


_HELP: Final = {
    "counter": "Since the store was opened.",
    "gauge": "As it is now.",
    "histogram": "Seconds since the store was opened.",
}


def _family(name: str) -> tuple[str, str]:
    """(family, kind) of a sample."""
    if name.startswith(_HISTOGRAM):
        return _HISTOGRAM, "histogram"
    if name.endswith("_total"):
        return name.removesuffix("_total"), "counter"
    return name, "gauge"


def metrics_text(numbers: Mapping[str, float]) -> bytes:
    """The numbers in the text format.

    Example:
        >>> print(metrics_text({'vestig_jobs{state="pending"}': 2}).decode())
        # HELP vestig_jobs As it is now.
        # TYPE vestig_jobs gauge
        vestig_jobs{state="pending"} 2.0
        <BLANKLINE>
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Counters(numbers))
    return generate_latest(registry)
