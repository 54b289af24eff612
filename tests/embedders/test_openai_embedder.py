"""The OpenAI-compatible embedder against a server on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from vestig.config.schema import EmbeddingSettings
from vestig.embedders import openai
from vestig.errors import ConfigError, ProviderError, ProviderTimeoutError
from vestig.ports import Embedder
from vestig.registry import make_embedder
from vestig.testing import EmbedderContract, HashingEmbedder

Answer = Callable[[dict[str, Any]], bytes]


def good(question: dict[str, Any]) -> bytes:
    vectors = HashingEmbedder(8).embed(question["input"])
    data = [
        {"index": number, "embedding": memoryview(vector).cast("f").tolist()}
        for number, vector in enumerate(vectors)
    ]
    return json.dumps({"data": data[::-1], "model": "m"}).encode()


class Server:
    """Answers as `answer` says; keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.status = 200
        self.stall = threading.Event()
        self.drip = False
        self.questions: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                outer.questions.append(json.loads(self.rfile.read(length)))
                outer.headers.append(dict(self.headers))
                outer.paths.append(self.path)
                body = outer.answer(outer.questions[-1])
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if outer.drip:
                    self._drip()
                else:
                    self.wfile.write(body)

            def _drip(self) -> None:
                # a byte now and then: no single read ever waits long
                try:
                    while not outer.stall.wait(0.02):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                except OSError:
                    return

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.stall.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(running: Server) -> Server:
    running.answer, running.status, running.drip = good, 200, False
    running.questions.clear()
    running.headers.clear()
    running.paths.clear()
    return running


def embedder(server: Server, **settings: Any) -> Embedder:
    given = {"model": "m", "base_url": server.url, **settings}
    return make_embedder(EmbeddingSettings(provider="openai", **given))


class TestContract(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: Server) -> None:
        self.server = server

    def embedder(self) -> Embedder:
        return embedder(self.server)


def test_the_request_and_its_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sesame")
    made = embedder(server, dimension=8, api_key_env="MY_KEY", base_url=server.url + "/")
    vectors = made.embed(["one", "two"])
    assert vectors == HashingEmbedder(8).embed(["one", "two"])
    assert server.paths == ["/v1/embeddings"]
    assert server.questions == [{"model": "m", "input": ["one", "two"], "encoding_format": "float"}]
    assert server.headers[0]["Authorization"] == "Bearer sesame"


def test_without_a_key_no_header(server: Server) -> None:
    embedder(server).embed(["one"])
    assert "Authorization" not in server.headers[0]


def test_an_unset_key_is_a_configuration_error(server: Server) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.api_key_env: .*NO_SUCH_KEY"):
        embedder(server, api_key_env="NO_SUCH_KEY")


def test_dimension_is_learnt_once(server: Server) -> None:
    made = embedder(server)
    assert [made.dimensions, made.dimensions] == [8, 8]
    assert len(server.questions) == 1


def test_dimensions_of_known_models_need_no_request(server: Server) -> None:
    assert embedder(server, model="nomic-embed-text:v1.5").dimensions == 768
    assert server.questions == []


def test_dimensions_are_sent_only_to_models_that_can_shorten(server: Server) -> None:
    embedder(server, model="text-embedding-3-small", dimension=8).embed(["one"])
    assert server.questions[0]["dimensions"] == 8


def test_batch_size_bounds_a_request(server: Server) -> None:
    assert len(embedder(server, batch_size=2).embed(list("abcde"))) == 5
    assert [len(question["input"]) for question in server.questions] == [2, 2, 1]


def test_normalize(server: Server) -> None:
    server.answer = lambda _: b'{"data": [{"embedding": [3, 4]}]}'
    (unit,) = embedder(server).embed(["one"])
    (raw,) = embedder(server, normalize=False).embed(["one"])
    assert memoryview(unit).cast("f").tolist() == pytest.approx([0.6, 0.8])
    assert memoryview(raw).cast("f").tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        (b"", "not the JSON of an embedding"),
        (b"<html>", "not the JSON of an embedding"),
        (b"[]", "not the JSON of an embedding"),
        (b'{"data": [{"embedding": [1, NaN]}]}', "not the JSON of an embedding"),
        (b'{"data": [{"embedding": [1, null]}]}', "not the JSON of an embedding"),
        (b'{"data": [{"embedding": "AAAA"}]}', "not the JSON of an embedding"),
        (b'{"data": []}', "expected 1 vectors, the answer has 0"),
        (b'{"data": [{"embedding": [1, 2], "index": 3}]}', "number its vectors"),
        (b'{"data": [{"embedding": [1]}]}', "expected 2 dimensions, vector 0 of the call has 1"),
        (b'{"data": [{"embedding": [1e300, 1]}]}', "NaN or infinity"),
    ],
)
def test_malformed_answers(server: Server, body: bytes, fact: str) -> None:
    server.answer = lambda _: body
    with pytest.raises(ProviderError, match=fact):
        embedder(server, dimension=2, normalize=False).embed(["one"])


@pytest.mark.parametrize("status", [301, 400, 401, 429, 500, 503])
def test_other_statuses_are_errors_after_one_attempt(server: Server, status: int) -> None:
    server.status = status
    with pytest.raises(ProviderError, match=rf"status {status} \(attempts: 1\)"):
        embedder(server, dimension=8).embed(["marker-text"])
    assert len(server.questions) == 1


def test_the_deadline_bounds_a_dripping_answer(server: Server) -> None:
    server.drip = True
    with pytest.raises(ProviderTimeoutError, match=r"no whole answer within 0\.3 s"):
        embedder(server, dimension=8, timeout_s=0.3).embed(["one"])


def test_the_deadline_bounds_a_silent_server() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        made = make_embedder(
            EmbeddingSettings(
                provider="openai", model="m", dimension=8, base_url=url, timeout_s=0.2
            )
        )
        with pytest.raises(ProviderTimeoutError):
            made.embed(["one"])


def test_a_refused_connection_is_a_provider_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    made = make_embedder(
        EmbeddingSettings(
            provider="openai", model="m", dimension=8, base_url=f"http://127.0.0.1:{port}"
        )
    )
    with pytest.raises(ProviderError, match="ConnectionRefusedError") as caught:
        made.embed(["one"])
    assert not isinstance(caught.value, ProviderTimeoutError)


def test_an_endless_answer_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "ANSWER_BYTES_MAX", 100)
    server.answer = lambda _: b" " * 1000
    with pytest.raises(ProviderError, match="the call failed"):
        embedder(server, dimension=8).embed(["one"])


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/", "http://", "http://h:port/", ""])
def test_bad_urls(url: str) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.base_url"):
        make_embedder(EmbeddingSettings(provider="openai", model="m", base_url=url))


def test_a_model_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"embedding\.model"):
        make_embedder(EmbeddingSettings(provider="openai"))
