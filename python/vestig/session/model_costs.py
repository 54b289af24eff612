"""Costs of calls of language models: tries and tokens by model, and money by configured prices."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from vestig.config.model_sections import ModelPrice
from vestig.ports import ModelUsage
from vestig.results import ModelCost

_PER_TOKENS: Final = 1_000_000
# More tokens than any answer has: what is beyond is a mistake of the provider and not counted.
_TOKENS_MAX: Final = 1_000_000_000


class Costs:
    """Adds up calls; thread-safe.

    Args:
        prices: `llm.prices`.

    Example:
        >>> costs = Costs({"m": ModelPrice(input=3.0, output=15.0)})
        >>> costs.add("m", ModelUsage(input_tokens=1000, output_tokens=100))
        >>> costs.report()[0].money
        0.0045
    """

    def __init__(self, prices: Mapping[str, ModelPrice]) -> None:
        self._prices = prices
        self._lock = threading.Lock()
        # (model, whether in a batch) → calls, then tokens as `_FIELDS` names them
        self._sums: dict[tuple[str, bool], list[int]] = {}

    def add(self, model: str, usage: ModelUsage, *, calls: int = 1, in_batch: bool = False) -> None:
        """Adds tries of one model and what they used."""
        counted = [calls, *(_counted(getattr(usage, name)) for name in _FIELDS)]
        with self._lock:
            sums = self._sums.setdefault((model, in_batch), [0] * len(counted))
            for place, number in enumerate(counted):
                sums[place] += number

    def report(self) -> tuple[ModelCost, ...]:
        """One row for each model, by name. `money` is None where the model has no price."""
        with self._lock:
            sums = {key: tuple(numbers) for key, numbers in self._sums.items()}
        rows: dict[str, ModelCost] = {}
        for (model, in_batch), (calls, *tokens) in sorted(sums.items()):
            usage = ModelUsage(**dict(zip(_FIELDS, tokens, strict=True)))
            row = ModelCost(
                model=model,
                calls=calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                money=self._money(model, usage, in_batch=in_batch),
            )
            rows[model] = row if model not in rows else _sum(rows[model], row)
        return tuple(rows.values())

    def _price(self, model: str) -> ModelPrice | None:
        """Of the model, or of the longest name that it carries on with a version: providers answer
        for `a-model` as `a-model-20261001`."""
        found = [name for name in self._prices if model == name or model.startswith(f"{name}-")]
        return self._prices[max(found, key=len)] if found else None

    def _money(self, model: str, usage: ModelUsage, *, in_batch: bool) -> float | None:
        price = self._price(model)
        if price is None:
            return None
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        whole = (
            usage.input_tokens * price.input
            + usage.output_tokens * price.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        ) / _PER_TOKENS
        return whole * price.batch_factor if in_batch else whole


_FIELDS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def _counted(tokens: object) -> int:
    """Return what a provider says it used; 0 where that can be no number of tokens."""
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        return 0
    return tokens if 0 <= tokens <= _TOKENS_MAX else 0


def _sum(one: ModelCost, other: ModelCost) -> ModelCost:
    return ModelCost(
        model=one.model,
        calls=one.calls + other.calls,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        money=None if one.money is None or other.money is None else one.money + other.money,
    )
