"""A server on this machine that speaks the Messages API, and fails as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

__all__ = ["FAULTS", "LoopbackMessages", "LoopbackRequest"]

_CHARS_PER_TOKEN: Final = 4

# What a server can do wrong, by name. `LoopbackMessages(failures=[…])` takes these names.
FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reset": "the connection is reset before the answer",
        "closed": "the connection is closed before the answer",
        "reset_midway": "it is reset in the middle of the answer",
        "closed_midway": "it is closed in the middle of the answer",
        "silence": "no byte comes",
        "drip": "the body comes byte by byte, for ever",
        "drip_headers": "the headers come byte by byte, for ever",
        "no_http": "the answer is no HTTP",
        "redirect": "the answer leads to another address",
        "status_400": "status 400",
        "status_401": "status 401",
        "status_403": "status 403",
        "status_404": "status 404",
        "status_408": "status 408",
        "status_413": "status 413",
        "status_429": "status 429",
        "status_429_seconds": "status 429 with Retry-After in seconds",
        "status_429_date": "status 429 with Retry-After as a date",
        "status_500": "status 500",
        "status_502": "status 502 with a page",
        "status_503": "status 503",
        "status_504": "status 504",
        "status_529": "status 529",
        "endless_error": "status 500 with a body that never ends",
        "empty_body": "status 200 without a body",
        "page": "status 200 with a page",
        "content_type": "the right answer under a wrong content type",
        "gzip": "a compressed body that nobody asked for",
        "cut_body": "the body's JSON is cut",
        "endless_body": "a body that never ends",
        "long_body": "a body over the limit of an answer",
        "invalid_utf8": "a body that is no UTF-8",
        "nan_body": "a body with NaN",
        "deep_body": "a body nested very deep",
        "wrong_types": "members of wrong types",
        "no_content": "a message without content",
        "empty_text": "a message with an empty text",
        "no_usage": "the right answer without usage",
        "absurd_usage": "the right answer with usage that cannot be",
        "unknown_stop": "the right answer with an unknown reason to stop",
        "max_tokens": "the text is cut at the most tokens",
        "refusal": "the model refuses",
        "fences": "code fences around the text",
        "prose": "prose around the text",
        "text_cut": "the JSON of the text is cut",
        "text_nan": "the JSON of the text holds NaN",
        "text_twice": "the JSON of the text has a member twice",
        "text_types": "the JSON of the text has another form",
        "text_lists": "each text in the JSON of the text is a list of one",
        "text_bad_item": "each list in the JSON of the text has a bad item more",
        "text_bad_items": "each item of each list in the JSON of the text is bad",
    }
)


class LoopbackRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came: method, path with query, headers in small letters (secret ones say
    only `set`), and the body as JSON (None = none)."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class LoopbackMessages:
    """A server on a free port of this machine, for tests of what a model does and of adapters.

    Use it with `with`. It answers `POST /v1/messages`, streamed too, and batches.

    Args:
        answer: the text of every answer, or a function of a request's body that gives it; what is
            no text is written as JSON.
        failures: the name in `FAULTS` of what each request in turn meets; None = nothing. When
            they are used up, every request is answered.
        polls: how often a batch says that it is still worked on.
        expired: own ids of requests that a batch does not get to.

    Attributes:
        requests: every `LoopbackRequest`, in order.
        retry_after_s: what `status_429_seconds` and `status_429_date` ask for.

    Example:
        >>> import http.client
        >>> with LoopbackMessages("static") as server:
        ...     talk = http.client.HTTPConnection(*server.address)
        ...     talk.request("POST", "/v1/messages", '{"model": "m", "messages": []}')
        ...     json.load(talk.getresponse())["content"]
        [{'type': 'text', 'text': 'static'}]
    """

    def __init__(
        self,
        answer: str | Callable[[dict[str, Any]], Any] = "{}",
        *,
        failures: Iterable[str | None] = (),
        polls: int = 0,
        expired: Iterable[str] = (),
    ) -> None:
        self._answer = answer
        self._failures: Iterator[str | None] = iter(failures)
        self._polls = polls
        self._expired = frozenset(expired)
        self._lock = threading.Lock()
        self._cached: set[str] = set()
        self._batches: dict[str, list[dict[str, Any]]] = {}
        self._polled: dict[str, int] = {}
        self._server: ThreadingHTTPServer | None = None
        self._ended = threading.Event()
        self.requests: list[LoopbackRequest] = []
        self.retry_after_s = 1

    def __enter__(self) -> LoopbackMessages:
        # a server's modules are loaded by those who start one
        from http.server import ThreadingHTTPServer

        from loopback_handler import Handler

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="vestig-loopback",
            daemon=True,
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        assert self._server is not None, "use it with `with`"
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    @property
    def base_url(self) -> str:
        """What `llm.base_url` is set to."""
        host, port = self.address
        return f"http://{host}:{port}"

    def next_failure(self) -> str | None:
        """The fault whose turn it is."""
        with self._lock:
            fault = next(self._failures, None)
        if fault is not None and fault not in FAULTS:
            raise ValueError(f"expected a name of FAULTS, got {fault!r}")
        return fault

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        """The message that answers a request, without a fault."""
        given = self._answer if isinstance(self._answer, str) else self._answer(body)
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": self._usage(body, text),
        }

    def _usage(self, body: dict[str, Any], text: str) -> dict[str, int]:
        system = body.get("system", [])
        parts = [{"text": system}] if isinstance(system, str) else system
        marked = "".join(part["text"] for part in parts if "cache_control" in part)
        plain = "".join(part["text"] for part in parts if "cache_control" not in part)
        sent = plain + json.dumps(body.get("messages", []))
        with self._lock:
            known = marked in self._cached
            if marked:
                self._cached.add(marked)
        return {
            "input_tokens": len(sent) // _CHARS_PER_TOKEN,
            "output_tokens": len(text) // _CHARS_PER_TOKEN,
            "cache_read_input_tokens": len(marked) // _CHARS_PER_TOKEN if known else 0,
            "cache_creation_input_tokens": 0 if known else len(marked) // _CHARS_PER_TOKEN,
        }

    def new_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        """A batch of these requests."""
        with self._lock:
            batch = f"msgbatch_{len(self._batches) + 1}"
            self._batches[batch] = list(body.get("requests", []))
        return self.batch(batch, poll=False) or {}

    def batch(self, batch: str, *, poll: bool) -> dict[str, Any] | None:
        """How a batch stands; None = there is none."""
        with self._lock:
            if batch not in self._batches:
                return None
            polled = self._polled.get(batch, 0)
            self._polled[batch] = polled + int(poll)
        ended = polled >= self._polls
        return {
            "id": batch,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "results_url": f"{self.base_url}/v1/messages/batches/{batch}/results"
            if ended
            else None,
        }

    def batches(self) -> dict[str, Any]:
        """All batches, the newest first."""
        rows = [self.batch(name, poll=False) for name in reversed(list(self._batches))]
        return {"data": rows, "has_more": False, "first_id": None, "last_id": None}

    def results(self, batch: str) -> str:
        """The lines of a batch's results, the last request first."""
        lines = []
        for request in reversed(self._batches.get(batch, [])):
            own = request["custom_id"]
            if own in self._expired:
                result: dict[str, Any] = {"type": "expired"}
            else:
                result = {"type": "succeeded", "message": self.message(request["params"])}
            lines.append(json.dumps({"custom_id": own, "result": result}))
        return "\n".join(lines) + "\n"

    def wait(self, seconds: float) -> bool:
        """Waits; True = the server has ended."""
        return self._ended.wait(seconds)
