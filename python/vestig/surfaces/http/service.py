"""One request on its way: read, admitted, run in a thread, answered, logged."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, BinaryIO, Final, TypeVar, cast

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from vestig.api.store import Vestig
from vestig.config.service_sections import ServeSettings
from vestig.errors import StoreDamagedError, VestigError
from vestig.firewall.secrets import masked_text
from vestig.ids import new_id
from vestig.session.session import Session
from vestig.store.records.values import RequestRecord
from vestig.surfaces import wire
from vestig.surfaces.http.access import header, is_loopback
from vestig.surfaces.http.admission import Admission, RateLimiter
from vestig.surfaces.http.bodies import Bodies, check_length
from vestig.surfaces.http.calls import Answer, CallInput, Calls
from vestig.surfaces.http.exposition import CONTENT_TYPE, metrics_text
from vestig.surfaces.http.health import health
from vestig.surfaces.http.refusals import ClientGone, Refusal, problem_of
from vestig.surfaces.http.request_log import RequestLog
from vestig.surfaces.http.routes import Route, from_query

_T = TypeVar("_T")
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
LINES: Final = "application/x-ndjson"
_PART_BYTES: Final = 256 * 1024
_RETRIEVALS: Final = 10
_RATE_WINDOW_S: Final = 60.0
# Bytes of a body: what a call takes fits many times over.
BODY_BYTES_MAX: Final = 1024 * 1024
# Codes of errors after which a store is unhealthy: damaged or lost, or SQLite cannot use its file.
_UNUSABLE: Final = (StoreDamagedError.code, VestigError.code)


def problem_response(error: BaseException, request_id: str) -> Response:
    """The problem object of an error as an answer."""
    status, shown, headers = problem_of(error, request_id)
    return Response(wire.encode(shown), status, headers, media_type=_PROBLEM)


class Service:
    """Parts that the routes of one server share: the open store, places for requests, threads,
    log."""

    def __init__(self, store: Vestig, session: Session, settings: ServeSettings) -> None:
        self.store, self.session, self.settings = store, session, settings
        places = self.settings.max_concurrent
        self.admission = Admission(
            places, self.settings.max_waiting, self.settings.max_wait_ms / 1000
        )
        requests = self.settings.rate_limit.requests or _RETRIEVALS
        self._limiter = RateLimiter(requests, _RATE_WINDOW_S)
        self._calls = Calls(store, session)
        self._workers = ThreadPoolExecutor(places, thread_name_prefix="vestig-request")
        # health and metrics answer while every place is taken
        self._lookers = ThreadPoolExecutor(1, thread_name_prefix="vestig-health")
        self._log = RequestLog(session) if self.settings.audit else None
        self.running = 0
        self._bodies = Bodies()
        # what the last read and the last write met
        self._damage: dict[bool, VestigError] = {}

    def close(self) -> None:
        """Ends the threads that nothing runs in, and writes the log."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._lookers.shutdown(wait=False, cancel_futures=True)
        if self._log is not None:
            self._log.close()

    # --- the routes --------------------------------------------------------------------------

    async def answer(self, route: Route, request: Request) -> Response:
        """Answers an operation's route. No exception leaves it but that the client is gone."""
        request_id: str = request.scope["state"]["request_id"]
        began_s, began_us = time.perf_counter(), self.session.now_us()
        given, answer, began_seq = CallInput(), Answer(status=500, body=b""), 0
        try:
            if self._logs_texts:
                began_seq = await self.look(self._newest_seq)
            self._check_rate(route, request)
            given = await self._given(route, request)
            limit_s = None if route.unlimited else self.settings.request_timeout_s
            answer = await self.admitted(lambda: self._calls.run(route, given), limit_s)
            self._damage.pop(route.operation.writes, None)
            response = Response(answer.body, answer.status, media_type=_JSON)
            if answer.replayed:
                response.headers["Idempotency-Replayed"] = "true"
        except ClientGone:
            raise
        except Exception as error:  # whatever happens, the client is answered
            if isinstance(error, VestigError) and error.code in _UNUSABLE:
                self._damage[route.operation.writes] = error
            response = self.problem(error, request_id)
        times = (began_us, time.perf_counter() - began_s)
        payload = self._payload(response, given) if self._logs_texts else None
        self.log(route.name, response, answer, times, payload=payload, began_seq=began_seq)
        return response

    async def export(self, route: Route, request: Request) -> Response:
        """Answers an export: its lines, from a file without a name."""
        request_id: str = request.scope["state"]["request_id"]
        began_s, began_us = time.perf_counter(), self.session.now_us()
        given = CallInput()
        file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - kept
        try:
            given = await self._given(route, request)
            await self.admitted(lambda: self._calls.export(route, given, file))
            response: Response = StreamingResponse(_lines(file), media_type=LINES)
        except ClientGone:
            file.close()
            raise
        except Exception as error:  # whatever happens, the client is answered
            file.close()
            response = self.problem(error, request_id)
        answer = Answer(status=response.status_code, body=b"")
        self.log(route.name, response, answer, (began_us, time.perf_counter() - began_s))
        return response

    @property
    def _logs_texts(self) -> bool:
        return self._log is not None and self.settings.audit_payloads

    def _newest_seq(self) -> int:
        with self.session.ledger.read() as view:
            return view.seq

    def _payload(self, response: Response, given: CallInput) -> str:
        asked = (given.body or wire.encode(given.beside)).decode(errors="replace")
        if self.session.config.settings.firewall.secrets != "off":
            asked, _ = masked_text(asked)
        return wire.encode({"request": asked, "response": bytes(response.body).decode()}).decode()

    def log(
        self,
        name: str,
        response: Response,
        answer: Answer,
        times: tuple[int, float],
        *,
        payload: str | None = None,
        began_seq: int = 0,
    ) -> None:
        """One entry in the log of requests.

        Args:
            times: when it began in µs, how long it took in s.
            began_seq: the newest transaction when it began; without a payload any.
        """
        if self._log is None:
            return
        self._log.add(
            RequestRecord(
                id=new_id("req"),
                namespace=self.session.namespace,
                route=name,
                began_us=times[0],
                duration_us=round(times[1] * 1_000_000),
                status=response.status_code,
                counts=answer.counts,
                confidence=answer.confidence,
                reason=answer.reason,
                payload=payload,
                began_seq=began_seq,
            )
        )

    async def health(self, request: Request) -> Response:
        """Answers without a place, a token or a body."""
        status, document = await self.look(self.state)
        if status == 200:
            return Response(wire.encode(document), media_type=_JSON)
        shown = wire.plain_problem(
            "not-ready",
            "the store is damaged, lost or moved",
            instance=request.scope["state"]["request_id"],
        )
        return Response(wire.encode(shown | document), status, media_type=_PROBLEM)

    def state(self) -> tuple[int, dict[str, Any]]:
        """(status, document) of the health of the store and of this server."""
        return health(self.session, next(iter(self._damage.values()), None))

    async def metrics(self, request: Request) -> Response:
        """The counters as text."""
        try:
            text = await self.look(lambda: metrics_text(self.store.admin.metrics()))
        except Exception as error:  # whatever happens, the client is answered
            return self.problem(error, request.scope["state"]["request_id"])
        return Response(text, media_type=CONTENT_TYPE)

    def problem(self, error: BaseException, request_id: str) -> Response:
        """An error as an answer that does not say where the store lies."""
        status, shown, headers = self.problem_of(error, request_id)
        return Response(wire.encode(shown), status, headers, media_type=_PROBLEM)

    def problem_of(
        self, error: BaseException, request_id: str
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        """(status, problem object, further headers) of an error in the store."""
        path = self.session.ledger.path
        return problem_of(error, request_id, None if path is None else path.parent)

    # --- steps -------------------------------------------------------------------------------

    async def admitted(self, run: Callable[[], _T], limit_s: float | None = None) -> _T:
        """Return what `run` gives, in a thread, in one of the places for requests. A place is given
        back when the thread is done, also after the answer was given up. `limit_s`: None waits for
        the end.

        Raises:
            Refusal: no place, or not done in time.
        """
        await self.admission.enter()
        self.running += 1
        try:
            work = asyncio.get_running_loop().run_in_executor(self._workers, run)
        except BaseException:
            self._done(None)
            raise
        work.add_done_callback(self._done)
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(work)
        except TimeoutError:
            if work.done():
                return await work
            raise Refusal(
                "not-ready",
                f"expected an end within {limit_s:g} s; a write may still be done",
                headers={"Retry-After": "1"},
            ) from None

    def _done(self, work: asyncio.Future[Any] | None) -> None:
        self.running -= 1
        self.admission.leave()
        if work is not None and not work.cancelled():
            work.exception()  # it was answered, or nobody waits for it any more

    async def look(self, run: Callable[[], _T]) -> _T:
        """Return what `run` gives, in the thread of those that need no place."""
        return await asyncio.get_running_loop().run_in_executor(self._lookers, run)

    def _check_rate(self, route: Route, request: Request) -> None:
        if not route.limited:
            return
        client = "" if request.client is None else request.client.host
        if self.settings.rate_limit.requests is None and is_loopback(client):
            return
        self._limiter.check(client, time.monotonic())

    async def _given(self, route: Route, request: Request) -> CallInput:
        headers = request.scope["headers"]
        key = header(headers, b"idempotency-key")
        beside = from_query(route.parameters, request.query_params.multi_items())
        if route.method == "GET":
            for name, text in request.path_params.items():
                if name in beside:
                    raise Refusal("validation", f"{name}: expected only in the path")
                beside[name] = text
            return CallInput(beside=beside, key=key)
        for name in beside:
            raise Refusal("validation", f"{name}: expected in the body, not in the query")
        check_media_type(headers, (_JSON,))
        check_length(headers, BODY_BYTES_MAX)
        return CallInput(body=await self._bodies.read(request.receive, BODY_BYTES_MAX), key=key)


async def _lines(file: IO[str]) -> AsyncIterator[bytes]:
    """The bytes of an export that was written to a file, which is closed behind them."""
    with file:
        await asyncio.to_thread(file.seek, 0)
        raw = cast("BinaryIO", getattr(file, "buffer"))  # noqa: B009 - of a text file
        while part := await asyncio.to_thread(raw.read, _PART_BYTES):
            yield part


def check_media_type(headers: Any, allowed: tuple[str, ...]) -> None:
    """Check that a body is of a type, in UTF-8 and not packed.

    Raises:
        Refusal: 415.
    """
    kind, _, rest = (header(headers, b"content-type") or "").partition(";")
    charset = rest.strip().lower().removeprefix("charset=").strip('"')
    packed = header(headers, b"content-encoding") not in (None, "identity")
    if kind.strip().lower() not in allowed or charset not in ("", "utf-8", "utf8") or packed:
        raise Refusal(
            "validation",
            f"Content-Type: expected {' or '.join(allowed)} in UTF-8, without Content-Encoding",
            status=415,
        )
