"""How the server of `LoopbackMessages` answers a request, and how it fails as told."""

from __future__ import annotations

import email.utils
import gzip
import json
import socket
import struct
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final

from loopback_messages import LoopbackRequest
from vestig.ports import ANSWER_BYTES_MAX

if TYPE_CHECKING:
    from loopback_messages import LoopbackMessages

__all__ = ["Handler"]

_SECRET_HEADERS: Final = frozenset(("authorization", "x-api-key"))


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

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
