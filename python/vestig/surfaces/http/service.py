"""One request on its way: read, admitted, run in a thread, answered, logged; and what a server says
of itself: its health and its counters.

Places bound how many requests run at once, and are shared among clients; a limit bounds how many
retrievals one client asks for. The log has routes, times, counts and codes.
"""

from __future__ import annotations

import asyncio
import queue
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeGuard, TypeVar, cast

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from vestig.api.store import Vestig
from vestig.changes import RequestRecord
from vestig.config.service_sections import ServeSettings
from vestig.errors import (
    SchemaVersionError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    VestigError,
)
from vestig.firewall import masked_text
from vestig.ids import new_id
from vestig.lazy_pattern import lazy_pattern
from vestig.session.kept_answers import RunningKeys
from vestig.session.observer import Metrics
from vestig.session.session import no_folder
from vestig.surfaces import wire
from vestig.surfaces.http.access import (
    Bodies,
    ClientGone,
    Headers,
    Refusal,
    check_length,
    client_in,
    header,
    is_loopback,
    problem_of,
    shown_values,
    values,
)
from vestig.surfaces.http.calls import Answer, CallInput, Calls
from vestig.surfaces.http.health import health
from vestig.surfaces.http.late import LateAnswer, LateAnswers
from vestig.surfaces.http.places import Place, Places, Progress
from vestig.surfaces.http.routes import Route, from_query, query_pairs
from vestig.surfaces.operation import Right
from vestig.turns import in_turn

if TYPE_CHECKING:
    from vestig.config import Config
    from vestig.fleet.tokens import Grant

_CLIENTS_MAX: Final = 10_000


class RateLimiter:
    """At most `requests` per client in each window of `window_s`, counted from the window's first
    request."""

    def __init__(self, requests: int, window_s: float) -> None:
        self._requests = requests
        self._window_s = window_s
        self._windows: dict[str, tuple[float, int]] = {}

    def check(self, client: str, now_s: float) -> None:
        """Counts one request.

        Raises:
            Refusal: the client has had its share; says when the window ends.
        """
        began, count = self._windows.get(client, (now_s, 0))
        if now_s - began >= self._window_s:
            began, count = now_s, 0
        if count >= self._requests:
            wait = max(1, round(began + self._window_s - now_s + 0.5))
            raise Refusal(
                "rate-limited",
                f"expected at most {self._requests} requests in {self._window_s:g} seconds",
                headers={"Retry-After": str(wait)},
            )
        if len(self._windows) >= _CLIENTS_MAX:
            self._drop_ended(now_s)
        self._windows[client] = (began, count + 1)

    def _drop_ended(self, now_s: float) -> None:
        ended = [name for name, (at, _) in self._windows.items() if now_s - at >= self._window_s]
        for name in ended or list(self._windows)[: _CLIENTS_MAX // 2]:
            del self._windows[name]


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


class Stores(Protocol):
    """The open stores that requests ask: one, or those of tenants."""

    @property
    def config(self) -> Config:
        """Return the configuration of all of them."""

    @property
    def dimensions(self) -> int:
        """Return the dimensions of their vectors."""

    @property
    def namespace(self) -> str:
        """Return the namespace of a request that names none."""

    @property
    def counters(self) -> Metrics:
        """Return where the server counts what it loses."""

    @property
    def folder(self) -> Path | None:
        """Return where they lie, which no problem names; None: in memory."""

    def now_us(self) -> int:
        """Return the time, in µs since the epoch."""

    def lease(self, grant: Grant | None, /) -> AbstractContextManager[Vestig]:
        """The open store that a request's token lets it ask, for the time of the request; None: of
        a server without tokens of tenants."""

    def health(self, damage: VestigError | None, /) -> tuple[int, dict[str, Any]]:
        """(status, document) of their health. `damage`: that the last read or the last write of the
        server met."""

    def metrics(self, grant: Grant | None, /) -> Mapping[str, float]:
        """The counters that a request is told."""


class OneStore:
    """The store of a server that has one."""

    def __init__(self, store: Vestig) -> None:
        self._store = store
        session = store._session
        session.folder = no_folder
        self._session = session
        self.config = session.config
        self.dimensions = session.embedder.dimensions
        self.namespace = session.namespace
        self.counters = session.metrics
        self.now_us = session.now_us

    @property
    def folder(self) -> Path | None:
        """See `Stores`."""
        path = self._session.ledger.path
        return None if path is None else path.parent

    @contextmanager
    def lease(self, _: Grant | None) -> Iterator[Vestig]:
        """See `Stores`."""
        yield self._store

    def health(self, damage: VestigError | None) -> tuple[int, dict[str, Any]]:
        """See `Stores`."""
        return health(self._session, damage)

    def metrics(self, _: Grant | None) -> Mapping[str, float]:
        """See `Stores`."""
        return self._store.admin.metrics()


_PENDING_MAX: Final = 10_000
_PAUSE_S: Final = 1.0


class RequestLog:
    """Takes entries at once and writes them together, at most a second later, in a thread of its
    own. What cannot be written is counted and lost: no request fails for its entry."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._entries: queue.Queue[tuple[Grant | None, RequestRecord]] = queue.Queue(_PENDING_MAX)
        self._ended = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vestig-request-log", daemon=True)
        self._thread.start()

    def add(self, grant: Grant | None, entry: RequestRecord) -> None:
        """Takes one entry."""
        try:
            self._entries.put_nowait((grant, entry))
        except queue.Full:
            self._lost(1)
            return
        self._woken.set()

    def close(self) -> None:
        """Writes what was taken."""
        self._ended.set()
        self._woken.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            self._woken.wait()
            ending = self._ended.wait(_PAUSE_S)
            self._woken.clear()
            self._write()
            if ending:
                return

    def _write(self) -> None:
        granted: dict[Grant | None, list[RequestRecord]] = {}
        while not self._entries.empty():
            grant, entry = self._entries.get_nowait()
            granted.setdefault(grant, []).append(entry)
        for grant, entries in granted.items():
            try:
                with self._stores.lease(grant) as store:
                    ledger = store._session.ledger
                    if ledger.missing is None:
                        ledger.log_requests(entries)
            except Exception:  # whatever it is, it is counted, and no request fails for it
                self._lost(len(entries))

    def _lost(self, count: int) -> None:
        self._stores.counters.add("vestig_request_log_failures_total", count)


_T = TypeVar("_T")
# When a request began, in µs since the epoch and by the clock that never goes back, in s.
Began = tuple[int, float]
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
LINES: Final = "application/x-ndjson"
_PART_BYTES: Final = 256 * 1024
_RETRIEVALS: Final = 10
_RATE_WINDOW_S: Final = 60.0
# Bytes of a body: what a call takes fits many times over.
BODY_BYTES_MAX: Final = 1024 * 1024
# Codes of errors after which a store is unhealthy: damaged, lost or of another version, or SQLite
# cannot use its file; where the disk is full, it is degraded.
_UNUSABLE: Final = (
    StoreDamagedError.code, SchemaVersionError.code, VestigError.code, StoreFullError.code,
)  # fmt: skip
_AWAY: Final = (
    "the database of the store does not answer: reads go on for a while, this needs more; nothing"
    " was done, ask again"
)


def _is_damage(error: Exception) -> TypeGuard[VestigError]:
    """Return whether a store stays unhealthy, or degraded, after an error until a request succeeds:
    health itself looks whether the store is at its path."""
    if isinstance(error, StoreDamagedError) and error.is_of_place:
        return False
    return isinstance(error, VestigError) and error.code in _UNUSABLE


def problem_response(error: BaseException, request_id: str) -> Response:
    """The problem object of an error as an answer."""
    status, shown, headers = problem_of(error, request_id)
    return Response(wire.encode(shown), status, headers, media_type=_PROBLEM)


def tell_position(response: Response, position: int | None) -> None:
    """Sets the header of an answer that says how far its tenant has come; None: it is of none."""
    if position is not None:
        response.headers["X-Vestig-Position"] = str(position)


def grant_of(request: Request) -> Grant | None:
    """Return what the token of a request lets it do; None: the server has no tokens of tenants."""
    found: Grant | None = request.scope["state"].get("grant")
    return found


def client_of(request: Request) -> str:
    """Return whose share of the places a request has: that of its tenant, or of its address."""
    return client_in(request.scope)


def check_right(request: Request, needed: Right) -> None:
    """Check that a request may do what needs this right.

    Raises:
        Refusal: 403.
        StoreLockedError: it needs more than to read, and PostgreSQL does not say what it may.
    """
    grant = grant_of(request)
    if grant is not None and not grant.allows(needed):
        if grant.from_memory:
            raise StoreLockedError(_AWAY, shown=_AWAY)
        raise Refusal(
            "unauthorized",
            f"Authorization: expected a token with the right {needed}, this one has {grant.rights}",
            status=403,
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{needed}"'},
        )


class Service:
    """Parts that the routes of one server share: the open stores, places for requests, threads,
    log."""

    def __init__(self, stores: Stores, settings: ServeSettings) -> None:
        self.stores, self.settings = stores, settings
        waiting, wait_s = self.settings.max_waiting, self.settings.max_wait_ms / 1000
        self.places = Places(self.settings.max_concurrent, waiting, wait_s)
        self.late_answers = LateAnswers(self.settings.request_timeout_s)
        requests = self.settings.rate_limit.requests or _RETRIEVALS
        self._limiter = RateLimiter(requests, _RATE_WINDOW_S)
        self.running_keys = RunningKeys()
        self._workers = ThreadPoolExecutor(
            self.places.threads_max, thread_name_prefix="vestig-request"
        )
        # health and metrics answer while every place is taken
        self._lookers = ThreadPoolExecutor(1, thread_name_prefix="vestig-health")
        self._log = RequestLog(stores) if self.settings.audit else None
        self.running = 0
        self._bodies = Bodies()
        # what the last read and the last write met
        self._damage: dict[bool, VestigError] = {}

    def close(self) -> None:
        """Ends the threads that nothing runs in, and writes the log."""
        self.places.close()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._lookers.shutdown(wait=False, cancel_futures=True)
        if self._log is not None:
            self._log.close()

    # --- the routes --------------------------------------------------------------------------

    async def answer(self, route: Route, request: Request) -> Response:
        """Answers an operation's route. No exception leaves it but that the client is gone."""
        began, began_seq, given = self.began(), 0, CallInput()
        grant = grant_of(request)
        try:
            check_right(request, route.operation.needed_right)
            if self._logs_texts:
                began_seq = await self._look_at(request, lambda: self._newest_seq(grant))
            self._check_rate(route, request)
            given = await self._given(route, request)
        except ClientGone:
            raise
        except Exception as error:  # whatever happens, the client is answered
            return self._ended(route, request, error, began, given, began_seq)
        progress = Progress()

        async def work() -> Response:
            limit_s = None if route.is_late else self.settings.request_timeout_s
            try:
                answer = await self.admitted(
                    request, lambda: self._run(grant, route, given), limit_s,
                    long=route.operation.slow, progress=progress,
                )  # fmt: skip
            except Exception as error:  # whatever happens, the client is answered
                return self._ended(route, request, error, began, given, began_seq)
            return self._ended(route, request, answer, began, given, began_seq)

        if not route.is_late:
            return await work()
        return await self.in_time(request, route.name, route.operation.needed_right, work, progress)

    def _ended(
        self,
        route: Route,
        request: Request,
        end: Answer | Exception,
        began: Began,
        given: CallInput,
        began_seq: int,
    ) -> Response:
        """The response of a request that has ended so, which is logged."""
        answer = Answer(status=500, body=b"")
        if isinstance(end, Answer):
            answer = end
            self._damage.pop(route.operation.writes, None)
            response = Response(answer.body, answer.status, media_type=_JSON)
            if answer.replayed:
                response.headers["Idempotency-Replayed"] = "true"
            tell_position(response, answer.position)
        else:
            if _is_damage(end):
                self._damage[route.operation.writes] = end
            response = self.problem(end, request.scope["state"]["request_id"])
        payload = self._payload(response, given) if self._logs_texts else None
        self.log(request, route.name, response, answer, began, payload=payload, began_seq=began_seq)
        return response

    async def in_time(
        self,
        request: Request,
        name: str,
        right: Right,
        work: Callable[[], Coroutine[Any, Any, Response]],
        progress: Progress,
    ) -> Response:
        """Return what `work` answers; where that is late, that it goes on, how far it has come,
        and where its answer will be."""
        late = LateAnswer(client_of(request), name, right, progress, work())
        return await self.late_answers.first(late)

    async def late(self, request: Request) -> Response:
        """The answer of a request that was told that it goes on."""
        try:
            late = self.late_answers.found(request.path_params["id"], client_of(request))
            check_right(request, late.right)
        except Exception as error:  # whatever happens, the client is answered
            return self.problem(error, request.scope["state"]["request_id"])
        return await self.late_answers.next(late)

    def began(self) -> Began:
        """The moment at which a request begins."""
        return self.stores.now_us(), time.perf_counter()

    def _run(self, grant: Grant | None, route: Route, given: CallInput) -> Answer:
        with self.stores.lease(grant) as store:
            return Calls(store, self.running_keys).run(route, given)

    def _export(
        self, grant: Grant | None, route: Route, given: CallInput, target: IO[str]
    ) -> int | None:
        with self.stores.lease(grant) as store:
            return Calls(store, self.running_keys).export(route, given, target)

    async def export(self, route: Route, request: Request) -> Response:
        """Answers an export: its lines, from a file without a name."""
        began, right = self.began(), route.operation.needed_right
        try:
            check_right(request, right)
            given = await self._given(route, request)
        except ClientGone:
            raise
        except Exception as error:  # whatever happens, the client is answered
            return self._exported(route, request, error, None, began)
        progress = Progress()

        async def work() -> Response:
            file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115
            run = partial(self._export, grant_of(request), route, given, file)
            try:
                position = await self.admitted(request, run, long=True, progress=progress)
            except Exception as error:  # whatever happens, the client is answered
                file.close()
                return self._exported(route, request, error, None, began)
            return self._exported(route, request, file, position, began)

        return await self.in_time(request, route.name, right, work, progress)

    def _exported(
        self,
        route: Route,
        request: Request,
        end: IO[str] | Exception,
        position: int | None,
        began: Began,
    ) -> Response:
        if isinstance(end, Exception):
            response = self.problem(end, request.scope["state"]["request_id"])
        else:
            response = StreamingResponse(_lines(end), media_type=LINES)
            tell_position(response, position)
        answer = Answer(status=response.status_code, body=b"")
        self.log(request, route.name, response, answer, began)
        return response

    @property
    def _logs_texts(self) -> bool:
        return self._log is not None and self.settings.audit_payloads

    def _newest_seq(self, grant: Grant | None) -> int:
        with self.stores.lease(grant) as store, store._session.ledger.read() as view:
            return view.seq

    def _payload(self, response: Response, given: CallInput) -> str:
        asked = (given.body or wire.encode(given.beside)).decode(errors="replace")
        if self.stores.config.settings.firewall.secrets != "off":
            asked, _ = masked_text(asked)
        return wire.encode({"request": asked, "response": bytes(response.body).decode()}).decode()

    def log(
        self,
        request: Request,
        name: str,
        response: Response,
        answer: Answer,
        began: Began,
        *,
        payload: str | None = None,
        began_seq: int = 0,
    ) -> None:
        """One entry in the log of requests.

        Args:
            began_seq: the newest transaction when it began; without a payload any.
        """
        counted = {"route": name, "status": str(response.status_code)}
        self.stores.counters.add("vestig_requests_total", **counted)
        if self._log is None:
            return
        self._log.add(
            grant_of(request),
            RequestRecord(
                id=new_id("req"),
                namespace=self.stores.namespace,
                route=name,
                began_us=began[0],
                duration_us=round((time.perf_counter() - began[1]) * 1_000_000),
                status=response.status_code,
                counts=answer.counts,
                confidence=answer.confidence,
                reason=answer.reason,
                payload=payload,
                began_seq=began_seq,
            ),
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
        shown["health"] = document
        return Response(wire.encode(shown), status, media_type=_PROBLEM)

    def state(self) -> tuple[int, dict[str, Any]]:
        """(status, document) of the health of the stores and of this server."""
        met = sorted(self._damage.values(), key=lambda one: isinstance(one, StoreFullError))
        return self.stores.health(next(iter(met), None))

    async def metrics(self, request: Request) -> Response:
        """The counters as text."""
        try:
            grant = grant_of(request)
            text = await self._look_at(request, lambda: metrics_text(self.stores.metrics(grant)))
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
        return problem_of(error, request_id, self.stores.folder)

    # --- steps -------------------------------------------------------------------------------

    async def admitted(
        self,
        request: Request,
        run: Callable[[], _T],
        limit_s: float | None = None,
        *,
        long: bool = False,
        progress: Progress | None = None,
    ) -> _T:
        """Return what `run` gives, in a thread, in one of the places for requests. A place is given
        back when the thread is done, also after the answer was given up.

        Args:
            limit_s: None waits for the end.
            long: it takes as long as what it is given is large.
            progress: is told how far it has come.

        Raises:
            Refusal: no place, or not done in time.
        """
        place = await self.places.enter(client_of(request), progress or Progress(), long=long)
        self.running += 1
        try:
            placed = partial(copy_context().run, _placed(place, run))
            work = asyncio.get_running_loop().run_in_executor(self._workers, placed)
        except BaseException:
            self._done(place, None)
            raise
        work.add_done_callback(partial(self._done, place))
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(work)
        except TimeoutError:
            if work.done():
                return await work
            raise Refusal(
                "not-ready",
                f"expected an end within {limit_s:g} s; ask again later",
                headers={"Retry-After": "1"},
            ) from None

    def _done(self, place: Place, work: asyncio.Future[Any] | None) -> None:
        self.running -= 1
        self.places.leave(place)
        if work is not None and not work.cancelled():
            work.exception()  # it was answered, or nobody waits for it any more

    async def look(self, run: Callable[[], _T]) -> _T:
        """Return what `run` gives, in the thread of those that need no place."""
        looked = partial(copy_context().run, run)
        return await asyncio.get_running_loop().run_in_executor(self._lookers, looked)

    async def _look_at(self, request: Request, run: Callable[[], _T]) -> _T:
        """Return what `run` gives; a tenant may have to be opened for it, which needs a place."""
        grant = grant_of(request)
        of_tenant = grant is not None and grant.tenant
        return await (self.admitted(request, run) if of_tenant else self.look(run))

    def _check_rate(self, route: Route, request: Request) -> None:
        if not route.operation.limited:
            return
        client = "" if request.client is None else request.client.host
        if self.settings.rate_limit.requests is None and is_loopback(client):
            return
        grant = grant_of(request)
        tenant = "" if grant is None else grant.tenant
        self._limiter.check(f"{tenant} {client}", time.monotonic())

    async def _given(self, route: Route, request: Request) -> CallInput:
        headers = request.scope["headers"]
        key = header(headers, b"idempotency-key")
        position = header(headers, b"x-vestig-position")
        beside = from_query(route.parameters, query_pairs(request.scope["query_string"]))
        if route.method == "GET":
            for name, text in request.path_params.items():
                if name in beside:
                    raise Refusal("validation", f"{name}: expected only in the path")
                beside[name] = text
            return CallInput(beside=beside, key=key, position=position)
        for name in beside:
            raise Refusal("validation", f"{name}: expected in the body, not in the query")
        check_media_type(headers, (_JSON,))
        check_length(headers, BODY_BYTES_MAX)
        body = await self._bodies.read(request.receive, BODY_BYTES_MAX)
        return CallInput(body=body, key=key, position=position)


def _placed(place: Place, run: Callable[[], _T]) -> Callable[[], _T]:
    """`run` in a thread that has this place."""

    def placed() -> _T:
        with in_turn(place):
            return run()

    return placed


async def _lines(file: IO[str]) -> AsyncIterator[bytes]:
    """The bytes of an export that was written to a file, which is closed behind them."""
    with file:
        await asyncio.to_thread(file.seek, 0)
        raw = cast("BinaryIO", getattr(file, "buffer"))  # noqa: B009 - of a text file
        while part := await asyncio.to_thread(raw.read, _PART_BYTES):
            yield part


def media_type(headers: Headers) -> str:
    """Return the type that a body is said to have, without its parameters; "" for none."""
    return (header(headers, b"content-type") or "").partition(";")[0].strip().lower()


def check_media_type(headers: Headers, allowed: tuple[str, ...]) -> None:
    """Check that a body is of a type, in UTF-8 and not packed.

    Raises:
        Refusal: 415.
    """
    kinds = values(headers, b"content-type")
    rest = (header(headers, b"content-type") or "").partition(";")[2]
    charset = rest.strip().lower().removeprefix("charset=").strip('"')
    coding = header(headers, b"content-encoding")
    packed = coding not in (None, "identity")
    if media_type(headers) not in allowed or charset not in ("", "utf-8", "utf8") or packed:
        with_coding = f" and Content-Encoding {shown_values([str(coding)])}" if packed else ""
        raise Refusal(
            "validation",
            f"Content-Type: expected {' or '.join(allowed)} in UTF-8, without Content-Encoding,"
            f" got {shown_values(kinds)}{with_coding}",
            status=415,
        )
