"""Calls of the language model: prompts filled in, tries repeated and bounded, answers read, and
what they cost."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec

from vestig.config.schema import Settings
from vestig.config.service_sections import ModelPrice
from vestig.errors import (
    ConfigError,
    ModelBudgetError,
    ModelCallError,
    ProviderError,
    ProviderTimeoutError,
)
from vestig.firewall import masked_text
from vestig.language.ontology import Ontology, read_ontology
from vestig.other_words import by_caller
from vestig.ports import (
    ANSWER_BYTES_MAX,
    BatchAnswer,
    BatchLanguageModel,
    LanguageModel,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    within,
)
from vestig.prompts import Rendered, rendered, written
from vestig.results import ModelCost
from vestig.session.model_answers import UnreadableAnswerError, read_answer, schema_of
from vestig.session.observer import Metrics
from vestig.telemetry import span
from vestig.turns import aside
from vestig.types import Degradation

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


_T = TypeVar("_T")

# Tokens of one answer: every schema of ours fits well into it, and a runaway answer ends there.
ANSWER_TOKENS_MAX: Final = 4_096
# Tries of one call, where the connection, the provider or the answer's form is at fault, and the
# seconds before the second one, doubled for each further one.
TRIES_MAX: Final = 3
RETRY_BASE_S: Final = 1.0
# Of English text; providers count otherwise, by up to a third.
_CHARS_PER_TOKEN: Final = 4
# Jobs from which a batch is worth its wait of up to a day.
BATCHED_FROM: Final = 100
# Seconds that an adapter gets beyond its own time limit to say so itself.
_GRACE_S: Final = 0.25
_JITTER: Final = (0.5, 1.5)
_LATENCY: Final = "vestig_llm_latency_seconds"


class ParsedAnswer(msgspec.Struct, Generic[_T], frozen=True, kw_only=True):
    """An answer of a model, read into the wanted form.

    Args:
        value: the answer.
        model: the model that was asked.
        calls: tries that were sent, >= 1.
        usage: tokens of all of them.
        dropped: bad items that were left out of `value`.
        prompt_version: name, version and hash of each prompt, for events.
    """

    value: _T
    model: str
    calls: int
    usage: ModelUsage
    prompt_version: str
    dropped: int = 0


class ModelCalls:
    """The language model of one open store; thread-safe.

    Args:
        settings: `llm`, `prompts` and `entities` are read.
        model: None = there is none, and nothing is ever called.
        metrics: takes `vestig_llm_calls_total` and `vestig_llm_latency_seconds`.
        reserve: takes this many calls out of today's budget; False = it does not hold them.
        chance: gives numbers from 0 to 1 for the jitter of delays.
        pause: waits; gives True where the wait was broken off.
    """

    def __init__(
        self,
        settings: Settings,
        model: LanguageModel | None,
        *,
        metrics: Metrics,
        reserve: Callable[[int], bool] = lambda _: True,
        chance: Callable[[], float] = random.random,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._settings = settings
        self._llm = settings.llm
        self._model = model
        self._metrics = metrics
        self._reserve = reserve
        self._chance = chance
        self._ended = threading.Event()
        self._pause = pause or self._ended.wait
        self._costs = Costs(settings.llm.prices)

    @property
    def provider(self) -> str | None:
        """Name of the provider; None = no model."""
        return None if self._model is None else self._model.provider

    def costs(self) -> tuple[ModelCost, ...]:
        """Return what all calls since open took, by model."""
        return self._costs.report()

    def meter(self) -> Costs:
        """An empty meter, which `ask(costs=…)` fills: what one operation took."""
        return Costs(self._llm.prices)

    def close(self) -> None:
        """Breaks off every wait between two tries; no further try is sent."""
        self._ended.set()

    def ask(
        self,
        prompt: str | Sequence[str],
        values: Mapping[str, str],
        *,
        answer: type[_T],
        model: str | None = None,
        ends_at: float | None = None,
        costs: Costs | None = None,
    ) -> ParsedAnswer[_T]:
        """Asks the model, repeating what may succeed later.

        Args:
            prompt: name of a prompt, or of several that one answer holds the members of.
            values: text for each placeholder; quoted as data, without secrets unless these are off.
            answer: a msgspec Struct, or `str` for plain text.
            model: default `llm.model`.
            ends_at: `time.monotonic()` at which there is no time left.
            costs: takes what this call took, whether it succeeds or not.

        Raises:
            ConfigError: the provider's package or key is missing, or a template is wrong.
            ModelBudgetError: `llm.max_calls_per_day` is used up.
            ProviderTimeoutError: the last try was not answered in time, or none is left.
            ModelCallError: the last try failed otherwise.
            ProviderError: there is no model, or it broke the port's rules.
        """
        if self._model is None:
            raise without_model()
        sent, label = self.request(prompt, values, answer=answer, model=model)
        own = self.meter()
        meters = [self._costs, own] if costs is None else [self._costs, own, costs]
        value, dropped, tries = self._repeated(sent, answer, ends_at=ends_at, meters=meters)
        [row] = own.report()
        usage = ModelUsage(
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cache_read_tokens=row.cache_read_tokens,
            cache_write_tokens=row.cache_write_tokens,
        )
        return ParsedAnswer(
            value=value,
            model=sent.model,
            calls=tries,
            usage=usage,
            prompt_version=label,
            dropped=dropped,
        )

    def request(
        self,
        prompt: str | Sequence[str],
        values: Mapping[str, str],
        *,
        answer: type[Any],
        model: str | None = None,
    ) -> tuple[ModelRequest, str]:
        """Return what `ask` would send, for a batch, and the versions of its prompts.

        Raises:
            ConfigError: a template is wrong.
        """
        shown = {name: self.cleaned(text) for name, text in values.items()}
        filled = self._filled([prompt] if isinstance(prompt, str) else prompt, shown)
        sent = ModelRequest(
            purpose=filled.purpose,
            model=self._llm.model if model is None else model,
            system=filled.system,
            user=filled.user,
            schema=schema_of(answer),
            max_tokens=ANSWER_TOKENS_MAX,
            timeout_s=self._llm.timeout_s,
        )
        return sent, filled.label

    def cleaned(self, text: str) -> str:
        """A text that goes to a model or comes from one, with markers in the place of secrets
        unless `firewall.secrets` is off: what is stored may be older than that."""
        if self._settings.firewall.secrets == "off":
            return text
        masked, rules = masked_text(text)
        for rule in rules:
            self._metrics.add("vestig_secrets_total", rule=rule, action="masked")
        return masked

    def expect(self, request: ModelRequest, costs: Costs) -> None:
        """Adds to `costs` what a request would send; a token is taken for four characters."""
        schema = b"" if request.schema is None else msgspec.json.encode(request.schema)
        chars = len(request.system) + len(request.user) + len(schema)
        costs.add(request.model, ModelUsage(input_tokens=-(-chars // _CHARS_PER_TOKEN)))

    def _filled(self, names: Sequence[str], values: Mapping[str, str]) -> Rendered:
        own = self._settings.prompts
        prompts = [written(name, own.get(name)) for name in names]
        return rendered(prompts, values, self._ontology)

    @cached_property
    def _ontology(self) -> Mapping[str, str]:
        types = read_ontology(msgspec.to_builtins(self._settings.entities))
        return {
            "entity_types": "\n".join(_type_lines(types)),
            "entity_type_list": ", ".join(types.names),
        }

    @property
    def has_batches(self) -> bool:
        """Return whether the model takes batches at all."""
        return isinstance(self._model, BatchLanguageModel)

    def takes_batches(self, jobs: int) -> bool:
        """Return whether this many jobs are sent as a batch: `llm.batch`, enough of them, and a
        model that can."""
        return self._llm.batch == "auto" and jobs >= BATCHED_FROM and self.has_batches

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Sends a batch of (own id, request) and gives its id; each counts as one call.

        Raises:
            ModelBudgetError, ProviderError, ConfigError: nothing is known to have been taken.
        """
        model = self._batch_model()
        if not self._reserve(len(requests)):
            raise self._spent()
        return self._counted("batch_submit", lambda: model.submit(requests))

    def find(self, own_id: str) -> str | None:
        """The batch that holds a request; None = none.

        Raises:
            ProviderError, ConfigError: the provider cannot be asked.
        """
        model = self._batch_model()
        return self._counted("batch_find", lambda: model.find(own_id))

    def answers(self, batch_id: str, costs: Costs | None = None) -> list[BatchAnswer] | None:
        """Outcomes of a batch; None while it is worked on. What they used is counted.

        Raises:
            ProviderError, ConfigError: the provider cannot be asked.
        """
        model = self._batch_model()
        found = self._counted("batch_answers", lambda: model.answers(batch_id))
        for outcome in found or ():
            if outcome.answer is not None:
                for meter in (self._costs, costs):
                    if meter is not None:
                        used = outcome.answer
                        meter.add(used.model, used.usage, in_batch=True)
        return found

    def read(self, given: ModelAnswer, answer: type[_T]) -> tuple[_T, int]:
        """The answer of a batch in the wanted form, and how many bad items were left out.

        Raises:
            ModelCallError: it cannot be read.
        """
        return _read(self._name(given.model), given, answer)

    def _batch_model(self) -> BatchLanguageModel:
        if isinstance(self._model, BatchLanguageModel):
            return self._model
        if self._model is None:
            raise without_model()
        raise ProviderError(
            f"{self._name(self._llm.model)}: expected one that takes batches; set llm.batch to off"
        )

    def _name(self, model: str) -> str:
        return f'language model "{model}" of {self.provider}'

    def _spent(self) -> ModelBudgetError:
        return ModelBudgetError(
            "expected calls left of llm.max_calls_per_day, today's are used up; wait until"
            " midnight UTC, or raise it"
        )

    @contextmanager
    def _measured(self, method: str) -> Iterator[None]:
        """Counts and times one try."""
        started = time.perf_counter()
        success = "false"
        try:
            yield
            success = "true"
        finally:
            self._metrics.add("vestig_llm_calls_total", method=method, success=success)
            self._metrics.latency(_LATENCY, time.perf_counter() - started)

    def _bounded(self, call: Callable[[], _T], seconds: float) -> _T:
        """Return what an adapter gives; whatever it raises becomes an error of its port.

        Raises:
            ProviderTimeoutError, ModelCallError, ProviderError, ConfigError.
        """
        with aside():
            try:
                return within(seconds + _GRACE_S, call)
            except TimeoutError as error:
                raise ProviderTimeoutError(
                    f"{self._name(self._llm.model)}: no whole answer within {seconds:g} s; raise"
                    " llm.timeout_s"
                ) from error
            except (ProviderError, ConfigError):
                raise
            except Exception as error:  # an adapter of another package may raise anything
                raise ProviderError(
                    f"{self._name(self._llm.model)}: it raised {type(error).__name__}; check the"
                    " provider's package"
                ) from error

    def _counted(self, method: str, call: Callable[[], _T]) -> _T:
        with self._measured(method):
            return self._bounded(call, self._llm.timeout_s)

    def _try(
        self, request: ModelRequest, answer: type[_T], meters: Sequence[Costs]
    ) -> tuple[_T, int]:
        """One try of `ask`: the value, and the items that were left out."""
        model = self._model
        assert model is not None, "ask looks first"
        usage, sent = ModelUsage(), True
        with span("model") as counts, self._measured(request.purpose):
            try:
                given = self._bounded(lambda: model.complete(request), request.timeout_s)
                if not isinstance(given, ModelAnswer):
                    raise ProviderError(
                        f"{self._name(request.model)}: expected a ModelAnswer, got"
                        f" {type(given).__name__}; check the provider's package"
                    )
                if isinstance(given.usage, ModelUsage):
                    usage = given.usage
                    counts.update(
                        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
                    )
                return _read(self._name(request.model), given, answer)
            except ConfigError:
                sent = False
                raise
            finally:
                for meter in meters if sent else ():
                    meter.add(request.model, usage)

    def _repeated(
        self,
        request: ModelRequest,
        answer: type[_T],
        *,
        ends_at: float | None,
        meters: Sequence[Costs],
    ) -> tuple[_T, int, int]:
        """Tries until one succeeds: the value, the items left out, and the number of tries."""
        tries = 0
        while True:
            limited = _limited(request, ends_at)
            if not self._reserve(1):
                raise self._spent()
            tries += 1
            try:
                value, dropped = self._try(limited, answer, meters)
            except ModelCallError as error:
                failure: ProviderError = ModelCallError(
                    f"{error} (tries: {tries})",
                    status=error.status,
                    retryable=error.retryable,
                    retry_after_s=error.retry_after_s,
                )
                failure.__cause__ = error
                again, wait_s = error.retryable, error.retry_after_s or 0.0
            except ProviderTimeoutError as error:
                failure = ProviderTimeoutError(f"{error} (tries: {tries})")
                failure.__cause__ = error
                again, wait_s = True, 0.0
            else:
                return value, dropped, tries
            if not again or tries >= TRIES_MAX:
                raise failure
            self._wait(tries, wait_s, ends_at, failure)

    def _wait(
        self, tries: int, asked_s: float, ends_at: float | None, failure: ProviderError
    ) -> None:
        """Waits before the next try, or raises the failure where no time is left for one."""
        low, high = _JITTER
        own_s = RETRY_BASE_S * 2 ** (tries - 1) * (low + (high - low) * self._chance())
        wait_s = max(own_s, asked_s)
        left_s = self._llm.timeout_s if ends_at is None else ends_at - time.monotonic()
        # a provider that asks for a longer rest than a call may take is asked later, by the caller
        if (asked_s and wait_s > left_s) or (ends_at is not None and wait_s >= left_s):
            raise failure
        if self._pause(wait_s):
            raise failure


def _limited(request: ModelRequest, ends_at: float | None) -> ModelRequest:
    """The request with the time that is left.

    Raises:
        ProviderTimeoutError: none is left.
    """
    if ends_at is None:
        return request
    left_s = ends_at - time.monotonic()
    if left_s <= 0:
        raise ProviderTimeoutError(f'language model "{request.model}": no time was left for a call')
    return msgspec.structs.replace(request, timeout_s=min(request.timeout_s, left_s))


def _read(name: str, given: ModelAnswer, answer: type[_T]) -> tuple[_T, int]:
    if given.cut == "refusal":
        raise ModelCallError(f"{name}: it refused to answer")
    text = given.text if isinstance(given.text, str) else ""
    if len(text) > ANSWER_BYTES_MAX:
        raise ModelCallError(f"{name}: the answer is longer than {ANSWER_BYTES_MAX} characters")
    try:
        value, dropped = read_answer(text, answer)
    except UnreadableAnswerError as error:
        cut = f"; it was cut at {ANSWER_TOKENS_MAX} tokens" if given.cut == "length" else ""
        raise ModelCallError(f"{name}: {error}{cut}", retryable=True) from None
    return value, dropped


def _type_lines(types: Ontology) -> Iterator[str]:
    for type in types.types:
        synonyms = f"; also {', '.join(type.synonyms)}" if type.synonyms else ""
        examples = f"; for example {', '.join(type.examples)}" if type.examples else ""
        yield f"{type.name} (tier {type.tier}): {type.description}{synonyms}{examples}"


def without_model() -> ProviderError:
    """The error of a call whose very purpose is a model, where there is none."""
    how = by_caller(
        'config={"llm.provider": "anthropic", …}',
        "the file of --config",
        "the configuration of the server",
    )
    return ProviderError(
        f"needs a language model: set llm.provider and llm.model in {how}, as docs/models.md shows"
    )


def degradation_of(error: Exception) -> Degradation:
    """Return what a result says that was made by rules because the model failed in this way.

    Example:
        >>> degradation_of(ModelBudgetError("used up")).code
        'llm_budget'
    """
    if isinstance(error, ModelBudgetError):
        code = "llm_budget"
    elif isinstance(error, ConfigError):
        code = "llm_unavailable"
    else:
        code = "llm_failed"
    return Degradation(code=code, detail=str(error), count=1)
