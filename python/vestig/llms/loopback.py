"""A server on this machine that speaks the Messages API, and fails as told:
`vestig.testing.LoopbackMessages`."""

from __future__ import annotations

import email.utils
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Final

import msgspec

from vestig.ports import ANSWER_BYTES_MAX

__all__ = ["FAULTS", "LoopbackMessages", "LoopbackRequest"]

_SECRET_HEADERS: Final = frozenset(("authorization", "x-api-key"))
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
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, owner: LoopbackMessages, *connection: Any) -> None:
        self.owner = owner
        super().__init__(*connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """A batch, its results, or the list of batches."""
        self._handle(None)

    def do_POST(self) -> None:
        """A message or a batch."""
        length = int(self.headers.get("Content-Length") or 0)
        self._handle(self.rfile.read(length))

    def _handle(self, raw: bytes | None) -> None:
        body = json.loads(raw) if raw else None
        headers = {
            name.lower(): "set" if name.lower() in _SECRET_HEADERS else value
            for name, value in self.headers.items()
        }
        self.owner.requests.append(
            LoopbackRequest(method=self.command, path=self.path, headers=headers, body=body)
        )
        fault = self.owner.next_failure()
        try:
            if fault is None or not self._fail(fault, body):
                self._serve(body, fault)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _serve(self, body: Any, fault: str | None) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        parts = path.split("/")[3:]
        if path == "/v1/messages" and body is not None:
            message = _faulty(self.owner.message(body), fault)
            if body.get("stream") and fault is None:
                self._send(200, _events(message), "text/event-stream")
            else:
                self._send_json(message)
        elif parts == ["batches"]:
            owner = self.owner
            self._send_json(owner.batches() if body is None else owner.new_batch(body))
        elif len(parts) == 2:
            batch = self.owner.batch(parts[1], poll=True)
            self._error(404, "not_found_error") if batch is None else self._send_json(batch)
        elif len(parts) == 3:
            self._send(200, self.owner.results(parts[1]).encode(), "application/x-jsonl")
        else:
            self._error(404, "not_found_error")

    def _send_json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode())

    def _error(self, status: int, kind: str, **headers: str) -> None:
        error = {"type": "error", "error": {"type": kind, "message": "as told"}}
        self._send(status, json.dumps(error).encode(), **headers)

    def _send(
        self, status: int, body: bytes, kind: str = "application/json", **headers: str
    ) -> None:
        self._head(status, kind, str(len(body)), **headers)
        self.wfile.write(body)

    def _head(self, status: int, kind: str, length: str | None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", length)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _fail(self, fault: str, body: Any) -> bool:
        """Whether the fault is the whole answer."""
        if fault.startswith("status_"):
            self._fail_with_status(fault)
            return True
        act = getattr(self, f"_fail_{fault}", None)
        if act is None and fault in _BODIES:
            self._send(200, _BODIES[fault])
        elif act is None:
            return False
        else:
            act(body)
        if fault not in _KEPT_OPEN:
            self.close_connection = True
        return True

    def _fail_with_status(self, fault: str) -> None:
        status = int(fault.split("_")[1])
        if fault == "status_502":
            self._send(502, b"<html>Bad gateway</html>", "text/html")
        elif fault == "status_429_seconds":
            self._error(429, "rate_limit_error", Retry_After=str(self.owner.retry_after_s))
        elif fault == "status_429_date":
            now = email.utils.parsedate_to_datetime(self.date_time_string())
            until = now + timedelta(seconds=self.owner.retry_after_s)
            self._error(429, "rate_limit_error", Retry_After=email.utils.format_datetime(until))
        else:
            self._error(status, _KINDS.get(status, "api_error"))

    def _cut_off(self) -> None:
        """Resets the connection."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def _fail_reset(self, _: Any) -> None:
        self._cut_off()

    def _fail_closed(self, _: Any) -> None:
        self.close_connection = True

    def _fail_reset_midway(self, _: Any) -> None:
        self._head(200, "application/json", "1000")
        self.wfile.write(b'{"type": "mess')
        self.wfile.flush()
        self.owner.wait(0.05)
        self._cut_off()

    def _fail_closed_midway(self, _: Any) -> None:
        self._head(200, "application/json", "1000")
        self.wfile.write(b'{"type": "mess')

    def _fail_silence(self, _: Any) -> None:
        self.owner.wait(60)

    def _fail_drip(self, _: Any) -> None:
        self._head(200, "application/json", None)
        self._drip(b" ")

    def _fail_drip_headers(self, _: Any) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip(b"x")

    def _drip(self, byte: bytes) -> None:
        while not self.owner.wait(0.02):
            self.wfile.write(byte)
            self.wfile.flush()

    def _fail_no_http(self, _: Any) -> None:
        self.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")

    def _fail_redirect(self, _: Any) -> None:
        self._send(307, b"", Location=f"{self.owner.base_url}/elsewhere")

    def _fail_endless_error(self, _: Any) -> None:
        self._head(500, "application/json", None)
        self._pour()

    def _fail_endless_body(self, _: Any) -> None:
        self._head(200, "application/json", None)
        self._pour()

    def _pour(self) -> None:
        piece = b" " * 65536
        while not self.owner.wait(0):
            self.wfile.write(piece)

    def _fail_page(self, _: Any) -> None:
        self._send(200, b"<html>Sign in</html>", "text/html")

    def _fail_content_type(self, body: Any) -> None:
        self._send(200, json.dumps(self.owner.message(body or {})).encode(), "text/plain")

    def _fail_gzip(self, body: Any) -> None:
        import gzip

        message = json.dumps(self.owner.message(body or {})).encode()
        self._send(200, gzip.compress(message), Content_Encoding="gzip")

    def _fail_cut_body(self, body: Any) -> None:
        whole = json.dumps(self.owner.message(body or {})).encode()
        self._send(200, whole[: len(whole) // 2])


_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_BODIES: Final = {
    "empty_body": b"",
    "long_body": b'{"content": "' + b"x" * (ANSWER_BYTES_MAX + 1) + b'"}',
    "invalid_utf8": b'{"content": [{"type": "text", "text": "\xff\xfe"}]}',
    "nan_body": b'{"content": [], "usage": NaN}',
    "deep_body": b"[" * 200_000,
    "wrong_types": b'{"content": [5, {"type": "text", "text": 7}], "usage": [], "model": {}}',
    "no_content": b'{"type": "message", "role": "assistant"}',
}
_KEPT_OPEN: Final = frozenset(("redirect", "page", "content_type", "gzip", "cut_body", *_BODIES))


def _faulty(message: dict[str, Any], fault: str | None) -> dict[str, Any]:
    """A message with a fault that lies in it."""
    if fault is None:
        return message
    if fault == "no_usage":
        del message["usage"]
    elif fault == "absurd_usage":
        message["usage"] = {
            "input_tokens": -5,
            "output_tokens": 10**30,
            "cache_read_input_tokens": "9",
        }
    elif fault == "unknown_stop":
        message["stop_reason"] = "because"
    elif fault == "refusal":
        message["stop_reason"] = "refusal"
        message["content"] = []
    else:
        if fault == "max_tokens":
            message["stop_reason"] = "max_tokens"
        block = message["content"][0]
        block["text"] = _faulty_text(block["text"], fault)
    return message


def _faulty_text(text: str, fault: str) -> str:
    if fault == "empty_text":
        return ""
    if fault == "fences":
        return f"```json\n{text}\n```"
    if fault == "prose":
        return f"Here is the answer [as asked]:\n\n{text}\n\nIs there anything else?"
    if fault in ("text_cut", "max_tokens"):
        return text[: len(text) // 2]
    if fault == "text_nan":
        return text.replace("{", '{"extra": NaN, ', 1)
    if fault == "text_twice":
        return text.replace("{", '{"extra": 1, "extra": 2, ', 1)
    if fault == "text_types":
        return "[[1], 2, true]"
    change = {
        "text_lists": lambda value: [value] if isinstance(value, str) else value,
        "text_bad_item": lambda value: [*value, None] if isinstance(value, list) else value,
        "text_bad_items": lambda value: [None] * len(value) if isinstance(value, list) else value,
    }[fault]
    return json.dumps(_changed(json.loads(text), change))


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {name: _changed(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return change(
            [_changed(inner, change) if isinstance(inner, dict) else inner for inner in value]
        )
    return change(value)


def _events(message: dict[str, Any]) -> bytes:
    """The message as server-sent events."""
    [block] = message["content"]
    start: dict[str, Any] = {**message, "content": [], "stop_reason": None}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": block["text"]},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": message["usage"]},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
