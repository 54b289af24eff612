"""Claude, by the package `anthropic` (extra `claude`)."""

from __future__ import annotations

import email.utils
import inspect
import logging
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, NoReturn

import msgspec

from vestig.config.environment import read_secret, service_url
from vestig.errors import ConfigError, ModelCallError, ProviderTimeoutError
from vestig.hints import missing_package
from vestig.json_text import is_too_deep
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import (
    ANSWER_BYTES_MAX,
    BatchAnswer,
    LanguageModelSettings,
    ModelAnswer,
    ModelRequest,
    ModelUsage,
    within,
)

_BASE_URL: Final = "https://api.anthropic.com"
_STATUS_WRONG: Final = 300
_STATUS_SERVER: Final = 500
# 408: the provider gave up waiting for the request; 429: too many requests
_RETRYABLE: Final = frozenset((408, 429))
_HINTS: Final[Mapping[int, str]] = {
    400: "check llm.model and the prompts",
    401: "check the key that llm.api_key_env names",
    403: "the key that llm.api_key_env names may not do this",
    404: "check llm.model and llm.base_url",
    413: "the request is too long",
}
# How much of an error's body is read for its type, which is a word of the interface.
_ERROR_BYTES_MAX: Final = 4096
_ERROR_TYPE: Final = lazy_pattern(rb'"type"\s*:\s*"([a-z_]{1,40}_error)"')
# A rough measure that needs no tokenizer.
_CHARS_PER_TOKEN: Final = 4
# Tokens from which instructions are sent to be cached: the provider ignores
# shorter ones, and bills what it writes into the cache.
_CACHED_FROM_TOKENS: Final = 4_096
# A batch has at most 100,000 requests; its results are read line by line.
_RESULTS_BYTES_MAX: Final = 1 << 30
_BATCHES_LISTED: Final = 100
# The SDK gives the unread response where a request has this header; `with_streaming_response` sets
# it for its own methods, and the results of a batch have none that asks nothing else before.
_UNREAD: Final = {"X-Stainless-Raw-Response": "stream"}
_CUTS: Final[Mapping[str, Any]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicModel:
    """Claude at `llm.base_url` (default: Anthropic).

    One request is one try: the SDK repeats nothing, follows no redirect, and an answer is read up
    to `ANSWER_BYTES_MAX`. Instructions of at least 4096 tokens are sent to be cached.

    Raises:
        ConfigError: a bad URL; from the first call, the package is missing, or `llm.api_key_env`
            names an unset variable.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._settings = settings
        self._base_url = _checked_url(settings.base_url)
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def provider(self) -> str:
        """`anthropic`."""
        return "anthropic"

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """One try.

        Raises:
            ConfigError: the package or the key is missing.
            ProviderTimeoutError, ModelCallError: as the port says.
        """
        client = self._loaded()
        name = f'language model "{request.model}" of anthropic'
        call = _Call(name, request.timeout_s)
        body = call.run(
            lambda: client.messages.with_streaming_response.create(
                **_parameters(request), timeout=request.timeout_s
            )
        )
        return _answer(name, _decoded(name, body), request.model)

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Sends a batch; its id."""
        client = self._loaded()
        sent = [{"custom_id": own, "params": _parameters(request)} for own, request in requests]
        batches = client.messages.batches.with_streaming_response
        call = self._batch_call()
        body = call.run(lambda: batches.create(requests=sent, timeout=self._settings.timeout_s))
        batch = _decoded(_BATCHES, body)
        if not isinstance(batch, dict) or not isinstance(batch.get("id"), str):
            raise ModelCallError(f"{_BATCHES}: the answer names no batch", retryable=True)
        return str(batch["id"])

    def find(self, own_id: str) -> str | None:
        """The batch that holds this request, among the 100 newest.

        Raises:
            ModelCallError: it cannot be asked, or a batch that is still worked on may hold it:
                what a batch holds is known when it has ended.
        """
        client = self._loaded()
        batches = client.messages.batches.with_streaming_response
        call = self._batch_call()
        body = call.run(
            lambda: batches.list(limit=_BATCHES_LISTED, timeout=self._settings.timeout_s)
        )
        listed = _decoded(_BATCHES, body)
        rows = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(rows, list):
            raise ModelCallError(f"{_BATCHES}: the answer is no list of batches", retryable=True)
        unknown = False
        for row in rows:
            if not isinstance(row, dict) or not isinstance(row.get("id"), str):
                continue
            if row.get("processing_status") != "ended":
                unknown = True
            elif any(outcome.id == own_id for outcome in self._results(client, row["id"])):
                return str(row["id"])
        if unknown:
            raise ModelCallError(
                f"{_BATCHES}: a batch that is still worked on may hold the request; ask later",
                retryable=True,
            )
        return None

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        """Outcomes of a batch; None while it is worked on."""
        client = self._loaded()
        batches = client.messages.batches.with_streaming_response
        call = self._batch_call()
        body = call.run(lambda: batches.retrieve(batch_id, timeout=self._settings.timeout_s))
        batch = _decoded(_BATCHES, body)
        if not isinstance(batch, dict) or "processing_status" not in batch:
            raise ModelCallError(f"{_BATCHES}: the answer is no batch", retryable=True)
        if batch["processing_status"] != "ended":
            return None
        return self._results(client, batch_id)

    def _results(self, client: Any, batch_id: str) -> list[BatchAnswer]:
        call = self._batch_call()
        path = f"/v1/messages/batches/{batch_id}/results"
        options = {"headers": _UNREAD, "timeout": self._settings.timeout_s}
        body = call.run(
            lambda: closing(client.get(path, cast_to=object, options=options)),
            bytes_max=_RESULTS_BYTES_MAX,
        )
        return [_outcome(line) for line in body.splitlines() if line.strip()]

    def _batch_call(self) -> _Call:
        return _Call(_BATCHES, self._settings.timeout_s)

    def _loaded(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _made(self._settings, self._base_url)
                weakref.finalize(self, self._client.close)
            return self._client


_BATCHES: Final = "batches of anthropic"


def _checked_url(given: str | None) -> str:
    if given is None:
        return _BASE_URL
    service_url("llm.base_url", given, _BASE_URL)
    return given


def _made(settings: LanguageModelSettings, base_url: str) -> Any:
    """The SDK's client."""
    try:
        import anthropic
    except ImportError:
        message = missing_package('llm.provider: "anthropic"', "anthropic", "claude")
        raise ConfigError(message) from None
    key = read_secret("llm.api_key_env", settings.api_key_env).strip()
    # what a header cannot hold would be printed by the error of the package that sends it
    if not key.isascii() or not key.isprintable() or " " in key or not key:
        raise ConfigError(
            f"llm.api_key_env: expected {settings.api_key_env} to hold a key, it holds characters"
            " that no key has; set it anew"
        )
    _silence()
    options: dict[str, Any] = {}
    if "open_telemetry" in inspect.signature(anthropic.Anthropic.__init__).parameters:
        options["open_telemetry"] = False
    return anthropic.Anthropic(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=anthropic.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"response": [_refuse_status]}
        ),
        **options,
    )


class _OwnThread(threading.local):
    """Tells whether this thread is inside a call."""

    active = False


_OWN: Final = _OwnThread()


def _silence() -> None:
    """Keeps the SDK from warning, and from logging texts of calls made here."""
    warnings.filterwarnings("ignore", message=r"(?s)The model '.*' is deprecated")
    warnings.filterwarnings("ignore", message="Using Claude with")
    for name in list(logging.root.manager.loggerDict):
        if name == "anthropic" or name.startswith("anthropic."):
            logger = logging.getLogger(name)
            if _of_others not in logger.filters:
                logger.addFilter(_of_others)


def _of_others(_: logging.LogRecord) -> bool:
    return not _OWN.active


class _StatusError(Exception):
    """An answer that is an error, as its first line, its headers and its type say."""

    def __init__(self, status: int, retry_after_s: float | None, kind: str) -> None:
        self.status = status
        self.retry_after_s = retry_after_s
        self.kind = kind
        super().__init__(f"status {status}")


def _refuse_status(response: Any) -> None:
    """Ends a call whose answer is an error, before the SDK reads the whole of its body."""
    status = int(response.status_code)
    if status < _STATUS_WRONG:
        return
    head = b""
    try:
        for piece in response.iter_raw():
            head += piece
            if len(head) >= _ERROR_BYTES_MAX or _ERROR_TYPE.search(head):
                break
    except Exception:  # the status is known; the body adds a word to it
        head = b""
    found = _ERROR_TYPE.search(head[:_ERROR_BYTES_MAX])
    kind = found.group(1).decode() if found else ""
    raise _StatusError(status, _retry_after(response.headers), kind)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a number or from a date against the date of the answer."""
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            until = email.utils.parsedate_to_datetime(given)
            since = email.utils.parsedate_to_datetime(headers.get("date", ""))
            seconds = (until - since).total_seconds()
        except (TypeError, ValueError):
            return None
    return seconds if 0 <= seconds < float("inf") else None


class _Call:
    """One request with one deadline, from its start to the last byte."""

    def __init__(self, name: str, timeout_s: float) -> None:
        self._name = name
        self._timeout_s = timeout_s
        self._ends_at = time.monotonic() + timeout_s

    def run(self, send: Callable[[], Any], *, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        """The body of the answer.

        Raises:
            ProviderTimeoutError, ModelCallError.
        """
        try:
            return within(self._timeout_s, lambda: self._body(send, bytes_max))
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> ProviderTimeoutError:
        return ProviderTimeoutError(
            f"{self._name}: no whole answer within {self._timeout_s:g} s; raise llm.timeout_s"
        )

    def _body(self, send: Callable[[], Any], bytes_max: int) -> bytes:
        received = bytearray()
        _OWN.active = True
        try:
            with send() as response:
                for piece in response.http_response.iter_raw():
                    received += piece
                    if len(received) > bytes_max:
                        raise ModelCallError(
                            f"{self._name}: the answer has more than {bytes_max} bytes",
                            retryable=True,
                        )
                    # the SDK bounds single reads only
                    if time.monotonic() > self._ends_at:
                        raise self._late()
            return bytes(received)
        except (ModelCallError, ProviderTimeoutError):
            raise
        except Exception as error:  # of the SDK or of the transport below it
            self._explain(error)
        finally:
            _OWN.active = False

    def _explain(self, error: BaseException) -> NoReturn:
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, _StatusError):
                self._refuse(seen)
            if "Timeout" in type(seen).__name__:
                raise self._late() from None
            seen = seen.__cause__ or seen.__context__
        # its text may hold what was sent, so only its kind is told
        raise ModelCallError(
            f"{self._name}: the call failed: {_kind(error)}; check llm.base_url and the network",
            retryable=True,
        ) from None

    def _refuse(self, error: _StatusError) -> NoReturn:
        hint = _HINTS.get(error.status)
        kind = f" ({error.kind})" if error.kind else ""
        raise ModelCallError(
            f"{self._name}: the answer has status {error.status}{kind}"
            + (f"; {hint}" if hint else ""),
            status=error.status,
            retryable=error.status in _RETRYABLE or error.status >= _STATUS_SERVER,
            retry_after_s=error.retry_after_s,
        ) from None


def _kind(error: BaseException) -> str:
    inner = error.__cause__ or error
    return type(inner).__name__


def _parameters(request: ModelRequest) -> dict[str, Any]:
    system: dict[str, Any] = {"type": "text", "text": request.system}
    if len(request.system) >= _CACHED_FROM_TOKENS * _CHARS_PER_TOKEN:
        system["cache_control"] = {"type": "ephemeral"}
    found: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": "user", "content": request.user}],
    }
    if request.system:
        found["system"] = [system]
    if request.schema is not None:
        found["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    return found


def _decoded(name: str, body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
        if not is_too_deep(text):
            return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # said below
    raise ModelCallError(f"{name}: the answer is not JSON", retryable=True)


def _answer(name: str, message: Any, model: str) -> ModelAnswer:
    """Return what a message says; whatever is missing of it is empty."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        raise ModelCallError(f"{name}: the answer is no message", retryable=True)
    texts = [
        block["text"]
        for block in message["content"]
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    reason = message.get("stop_reason")
    return ModelAnswer(
        text="".join(texts),
        model=model,
        usage=_usage(message.get("usage")),
        cut=_CUTS.get(reason) if isinstance(reason, str) else None,
    )


def _usage(given: Any) -> ModelUsage:
    counts = given if isinstance(given, dict) else {}

    def count(name: str) -> int:
        value = counts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    return ModelUsage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_read_tokens=count("cache_read_input_tokens"),
        cache_write_tokens=count("cache_creation_input_tokens"),
    )


def _outcome(line: bytes) -> BatchAnswer:
    """One line of a batch's results."""
    row = _decoded(_BATCHES, line)
    result = row.get("result") if isinstance(row, dict) else None
    if not isinstance(result, dict) or not isinstance(row.get("custom_id"), str):
        raise ModelCallError(f"{_BATCHES}: a result names no request", retryable=True)
    own, kind = row["custom_id"], result.get("type")
    if kind == "succeeded":
        message = result.get("message")
        model = message.get("model") if isinstance(message, dict) else None
        try:
            answer = _answer(_BATCHES, message, model if isinstance(model, str) else "unknown")
        except ModelCallError as error:
            return BatchAnswer(id=own, state="failed", error=str(error))
        return BatchAnswer(id=own, state="succeeded", answer=answer)
    if kind in ("expired", "canceled"):
        return BatchAnswer(id=own, state="expired")
    found = _ERROR_TYPE.search(line)
    kind_text = found.group(1).decode() if found else "an unknown error"
    return BatchAnswer(id=own, state="failed", error=f"{_BATCHES}: the request failed: {kind_text}")
