"""Imports over HTTP: the file is taken in pieces, then read; progress may be told as it goes."""

from __future__ import annotations

import asyncio
import errno
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import IO, Any, Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from vestig.errors import StoreFullError
from vestig.results import ImportReport
from vestig.surfaces import wire
from vestig.surfaces.http.access import (
    ClientGone,
    Headers,
    Refusal,
    busy,
    check_length,
    header,
    pieces,
    too_large,
)
from vestig.surfaces.http.calls import Answer, Calls
from vestig.surfaces.http.places import Progress
from vestig.surfaces.http.routes import IMPORT_PARAMETERS, from_query, query_pairs
from vestig.surfaces.http.service import (
    LINES,
    Began,
    Service,
    check_media_type,
    check_right,
    grant_of,
    media_type,
    tell_position,
)
from vestig.surfaces.json_schema import read_object
from vestig.surfaces.operation import operation

# The types that are described. The body is read for what it holds, of whatever type it is said to
# be; a form has a file in a part, or text that is written otherwise.
IMPORT_TYPES: Final = (
    LINES,
    "application/jsonl",
    "application/json",
    "text/csv",
    "text/markdown",
    "text/plain",
    "message/rfc822",
    "application/octet-stream",
)
_FORMS: Final = ("multipart/form-data", "application/x-www-form-urlencoded")
# Beginnings of files whose size would be bounded only after they were unpacked.
_PACKED: Final = (b"\x1f\x8b", b"PK\x03\x04")
EVENTS: Final = "text/event-stream"
_QUEUED_MAX: Final = 100
# Bytes of one file: it lies on the disk while it is read.
IMPORT_BYTES_MAX: Final = 1024 * 1024 * 1024


class Imports:
    """The route of imports."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: set[asyncio.Task[None]] = set()
        self._taking = 0

    async def answer(self, request: Request) -> Response:
        """The report of an import, or events: progress, then done or error."""
        request_id: str = request.scope["state"]["request_id"]
        service, began = self._service, self._service.began()
        right = operation("import").needed_right
        # without a name: nothing of it is left, however the process ends
        file = tempfile.TemporaryFile()  # noqa: SIM115 - an import may outlive the request
        try:
            check_right(request, right)
            given = read_object(
                IMPORT_PARAMETERS,
                from_query(IMPORT_PARAMETERS, query_pairs(request.scope["query_string"])),
                operation="import",
            )
            _check_type(request.scope["headers"])
            await self._taken(request, file)
        except ClientGone:
            file.close()
            raise
        except Exception as error:  # whatever happens, the client is answered
            file.close()
            return self._logged(request, service.problem(error, request_id), began)
        run, progress = partial(self._run, request, file, given), Progress()
        if (header(request.scope["headers"], b"accept") or "").startswith(EVENTS):
            events = self._events(request, run, file, request_id)
            return self._logged(request, StreamingResponse(events, media_type=EVENTS), began)

        async def work() -> Response:
            try:
                with file:
                    report, position = await service.admitted(
                        request, lambda: run(progress.tell), long=True, progress=progress
                    )
            except Exception as error:  # whatever happens, the client is answered
                return self._logged(request, service.problem(error, request_id), began)
            response = Response(_document(report), media_type="application/json")
            tell_position(response, position)
            return self._logged(request, response, began)

        return await service.in_time(request, "import", right, work, progress)

    def _logged(self, request: Request, response: Response, began: Began) -> Response:
        answer = Answer(status=response.status_code, body=b"")
        self._service.log(request, "import", response, answer, began)
        return response

    async def _taken(self, request: Request, file: IO[bytes]) -> None:
        """Takes a file in; only so many come at once, for each may be large.

        Raises:
            Refusal: as many come already. StoreFullError: no room for it.
        """
        if self._taking >= self._service.settings.max_concurrent:
            raise busy()
        self._taking += 1
        try:
            await self._take(request, file)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise StoreFullError("full: no room to take in the file that is imported") from None
        finally:
            self._taking -= 1

    async def _take(self, request: Request, file: IO[bytes]) -> None:
        """Writes the body to a file.

        Raises:
            Refusal: 413. ClientGone: the client went away.
        """
        bytes_max = IMPORT_BYTES_MAX
        check_length(request.scope["headers"], bytes_max)
        taken = 0
        async for part in pieces(request.receive):
            if taken == 0 and part.startswith(_PACKED):
                kind = "ZIP" if part.startswith(_PACKED[1]) else "gzip"
                raise Refusal(
                    "validation", f"body: expected the unpacked file, got {kind}", status=415
                )
            taken += len(part)
            if taken > bytes_max:
                raise too_large(bytes_max, "more")
            await asyncio.to_thread(file.write, part)
        await asyncio.to_thread(file.flush)

    def _run(
        self, request: Request, file: Any, given: dict[str, Any], progress: Any
    ) -> tuple[ImportReport, int | None]:
        seen = header(request.scope["headers"], b"x-vestig-position")
        with self._service.stores.lease(grant_of(request)) as store:
            Calls(store, self._service.running_keys).follow(seen)
            report: ImportReport = store.import_(file, progress=progress, **given)
            return report, store.position

    async def _events(
        self,
        request: Request,
        run: Callable[[Any], tuple[ImportReport, int | None]],
        file: IO[bytes],
        request_id: str,
    ) -> AsyncIterator[bytes]:
        """Server-sent events. A client that goes away ends the stream, not the import."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue(_QUEUED_MAX)

        def tell(name: str, data: Any) -> None:
            # what nobody reads is left out; the end of the stream is not
            if name == "progress" and queue.qsize() >= _QUEUED_MAX - 1:
                return
            queue.put_nowait((name, data))

        def progress(done: int, total: int | None) -> None:
            loop.call_soon_threadsafe(tell, "progress", {"done": done, "total": total})

        async def work() -> None:
            try:
                report, _ = await self._service.admitted(request, lambda: run(progress), long=True)
                tell("done", wire.document("import", report))
            except Exception as error:  # whatever happens, the client is told
                tell("error", self._service.problem_of(error, request_id)[1])
            finally:
                file.close()

        task = asyncio.create_task(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        while True:
            name, data = await queue.get()
            yield b"event: " + name.encode() + b"\ndata: " + wire.encode(data) + b"\n\n"
            if name != "progress":
                return


def _check_type(headers: Headers) -> None:
    """Check that a body is a file.

    Raises:
        Refusal: 415.
    """
    kind = media_type(headers)
    if kind in _FORMS:
        raise Refusal(
            "validation",
            "Content-Type: expected the file as the body, of any type, such as"
            f" application/octet-stream, got the form {kind}",
            status=415,
        )
    check_media_type(headers, (kind,))


def _document(report: ImportReport) -> bytes:
    return wire.encode(wire.document("import", report))
