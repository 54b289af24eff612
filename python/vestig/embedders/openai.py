"""Embeddings from any server with the API of OpenAI: OpenAI itself, Ollama, vLLM and others.

One POST to `<base_url>/embeddings` per batch, one attempt, and one deadline over the whole
call: name look-up, connection, headers and every byte of the answer.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestig.config.environment import read_secret, service_url
from vestig.decoders import decoded
from vestig.embedders.checked import EmbeddingSettings, float32_bytes, unit_bytes
from vestig.errors import ConfigError, ProviderError, ProviderTimeoutError

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024
_STATUS_OK: Final = 200

# Dimensions of well-known models, which need no request.
_DIMENSIONS: Final = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "text-embedding-3-large": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}
# Models that accept the parameter `dimensions`.
_SHORTENABLE: Final = frozenset({"text-embedding-3-large", "text-embedding-3-small"})


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Item]


class OpenAIEmbedder:
    """Vectors from `embedding.base_url` (default: OpenAI).

    The dimension is `embedding.dimension`, else that of a well-known model, else it is learnt
    by embedding one word at the first need.

    Raises:
        ConfigError: no model, a bad URL, or `embedding.api_key_env` names an unset variable.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        if settings.model is None:
            raise ConfigError(
                'embedding.model: expected the name of a model for the provider "openai",'
                " got nothing; set embedding.model"
            )
        self._model = settings.model
        self._url = _Url(DEFAULT_BASE_URL if settings.base_url is None else settings.base_url)
        self._timeout_s = settings.timeout_s
        self._normalize = settings.normalize
        self._configured = settings.dimension
        self._dimensions = settings.dimension or _DIMENSIONS.get(_family(settings.model))
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if settings.api_key_env is not None:
            key = read_secret("embedding.api_key_env", settings.api_key_env)
            self._headers["Authorization"] = f"Bearer {key}"

    @property
    def model(self) -> str:
        """The configured model."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of a vector; one request where neither settings nor the table know it.

        Raises:
            ProviderError: that request failed.
        """
        if self._dimensions is None:
            self._request(["dimension"])
        assert self._dimensions is not None
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """ "" : a server gives no hash of its weights."""
        return ""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector per text, in one request; [] for [].

        Raises:
            ProviderTimeoutError: no whole answer within `embedding.timeout_s` seconds.
            ProviderError: anything else than one list of numbers per text.
        """
        if not texts:
            return []
        pack = unit_bytes if self._normalize else float32_bytes
        return [pack(vector) for vector in self._request(list(texts))]

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False: it is not known what a server cuts."""
        return False

    def _request(self, texts: list[str]) -> list[list[float]]:
        body: dict[str, Any] = {
            "model": self._model,
            "input": texts,
            "encoding_format": "float",
        }
        if self._configured is not None and self._model in _SHORTENABLE:
            body["dimensions"] = self._configured
        call = _Call(self._url, msgspec.json.encode(body), self._headers)
        status, answer = call.within(self._timeout_s, self._model)
        if status != _STATUS_OK:
            raise self._error(f"the answer has status {status}")
        try:
            items = decoded(answer, _Answer).data
        except msgspec.DecodeError as error:
            raise self._error("the answer is not the JSON of an embedding") from error
        if len(items) != len(texts):
            raise self._error(f"expected {len(texts)} vectors, the answer has {len(items)}")
        places = [number if item.index is None else item.index for number, item in enumerate(items)]
        if sorted(places) != list(range(len(texts))):
            raise self._error("the answer does not number its vectors from 0")
        by_place = dict(zip(places, (item.embedding for item in items), strict=True))
        if self._dimensions is None:
            self._dimensions = len(by_place[0])
        return [by_place[place] for place in range(len(texts))]

    def _error(self, fact: str) -> ProviderError:
        return ProviderError(
            f'embedder "{self._model}" at {self._url.host}: {fact} (attempts: 1);'
            " check embedding.base_url, embedding.model and the server"
        )


def _family(model: str) -> str:
    """`nomic-embed-text:v1.5` → `nomic-embed-text`."""
    return model.partition(":")[0]


class _Url:
    def __init__(self, base_url: str) -> None:
        parts = service_url("embedding.base_url", base_url, DEFAULT_BASE_URL)
        self.secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port
        query = f"?{parts.query}" if parts.query else ""
        self.path = f"{parts.path.rstrip('/')}/embeddings{query}"


class _Call:
    """One request in a thread of its own, so that a deadline bounds all of it.

    Socket time limits bound single reads only, and a name look-up not at all.
    """

    def __init__(self, url: _Url, body: bytes, headers: dict[str, str]) -> None:
        self._url = url
        self._body = body
        self._headers = headers
        self._connection: http.client.HTTPConnection | None = None
        self._done = threading.Event()
        self._answer: tuple[int, bytes] | None = None
        self._failure: BaseException | None = None

    def within(self, timeout_s: float, model: str) -> tuple[int, bytes]:
        place = f'embedder "{model}" at {self._url.host}'
        started = time.monotonic()
        threading.Thread(
            target=self._run, args=(timeout_s,), name="vestig-embed-http", daemon=True
        ).start()
        finished = self._done.wait(timeout_s)
        if not finished or isinstance(self._failure, TimeoutError):
            self._abandon()
            raise ProviderTimeoutError(
                f"{place}: no whole answer within {timeout_s:g} s (attempts: 1, waited"
                f" {time.monotonic() - started:.1f} s); start the server or raise"
                " embedding.timeout_s"
            )
        if self._answer is None:
            cause = type(self._failure).__name__
            raise ProviderError(
                f"{place}: the call failed: {cause} (attempts: 1); check embedding.base_url"
                " and that the server runs"
            ) from self._failure
        return self._answer

    def _run(self, timeout_s: float) -> None:
        try:
            self._answer = self._talk(timeout_s)
        except (OSError, http.client.HTTPException, ValueError, _TooLong) as error:
            self._failure = error
        finally:
            self._close()
            self._done.set()

    def _talk(self, timeout_s: float) -> tuple[int, bytes]:
        url = self._url
        if url.secure:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                url.host, url.port, timeout=timeout_s, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(url.host, url.port, timeout=timeout_s)
        self._connection = connection
        connection.request("POST", url.path, body=self._body, headers=self._headers)
        response = connection.getresponse()
        received = bytearray()
        while piece := response.read(_READ_BYTES):
            received += piece
            if len(received) > ANSWER_BYTES_MAX:
                raise _TooLong(f"more than {ANSWER_BYTES_MAX} bytes")
        return response.status, bytes(received)

    def _abandon(self) -> None:
        """Wakes the thread from a blocked read; it closes the connection and ends."""
        connection = self._connection
        open_socket = None if connection is None else connection.sock
        if open_socket is not None:
            try:
                open_socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # already gone

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _TooLong(Exception):
    """The answer is longer than any embedding."""
