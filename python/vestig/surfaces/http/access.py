"""Who may ask, and what: the address that is listened on, Host, Origin and token of a request, and
its body, read as it comes in bounded memory. What is refused is a problem object.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from vestig.config.environment import read_secret
from vestig.config.service_sections import ServeSettings
from vestig.errors import (
    ConfigError,
    ForgetIncompleteError,
    SchemaVersionError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    VestigError,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces import wire
from vestig.telemetry import logger

if TYPE_CHECKING:
    from vestig.fleet.tokens import Grant

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


# what clients are told of faults of the store; the log says the rest
_DETAILS: Final = {
    "internal": "the store cannot be read or written: the log of the server says why",
    "store-locked": "another process writes to the store: expected the lock in time; ask again",
    "store-full": "the disk of the store is full: nothing was changed",
    "schema-version": "the store is of another schema version than the server reads: run `vestig"
    " doctor` where it lies",
    "store-damaged": "the store is damaged: run `vestig doctor` where it lies",
    "forget-incomplete": "what was to be forgotten is deleted, and no read returns it any more; not"
    " proved is that no byte of it is left in a file: the log of the server says why. Once that is"
    " mended, POST /api/memory/housekeeping/gc erases and searches again",
    "embedding-mismatch": "the server's embedder is not the one that made the store's vectors: run"
    " `vestig doctor` where it lies",
}
_NOT_AT_PLACE: Final = (
    "the store is no longer what lay at its path: once it is put back, it is used again, and the"
    " server has to be started again to use another one there; the log of the server says more"
)
# of these some tell clients more
_SHOWN: Final = (ForgetIncompleteError, SchemaVersionError, StoreFullError, StoreLockedError)


class ClientGone(Exception):
    """The client closed the connection: nobody waits for an answer."""


class Refusal(Exception):
    """A request that is answered without an operation.

    Args:
        code: of the problem.
        detail: what was expected and what came, without anything stored.
        status: where it is not the code's own.
        headers: further headers of the answer.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = wire.STATUS[code] if status is None else status
        self.headers = dict(headers or {})


def busy() -> Refusal:
    """Return what a request is told that finds no place."""
    return Refusal(
        "not-ready",
        "the server is busy: expected a free place, all are taken; ask again later",
        headers={"Retry-After": "1"},
    )


def client_in(scope: MutableMapping[str, Any]) -> str:
    """Return whose share of a server a request has: that of the tenant of its token, else of the
    address that it comes from."""
    grant: Grant | None = scope["state"].get("grant")
    if grant is not None and grant.tenant:
        return f"tenant {grant.tenant}"
    client = scope.get("client")
    return "" if client is None else str(client[0])


async def send_problem(send: Send, error: BaseException, request_id: str) -> None:
    """Answers a request with the problem object of an error."""
    status, shown, headers = problem_of(error, request_id)
    body = wire.encode(shown)
    named = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        **headers,
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def problem_of(
    error: BaseException, request_id: str, folder: Path | None = None
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """(status, problem object, further headers) of an error. What nobody raised on purpose says
    only the id of the request; what is wrong with the server's store, only of which kind it is.

    Args:
        folder: of the store, which no problem names.

    Example:
        >>> from vestig.errors import NotFoundError
        >>> problem_of(NotFoundError("Memory", "mem_1"), "req_1")[0]
        404
    """
    if isinstance(error, Refusal):
        shown = wire.plain_problem(error.code, error.detail, instance=request_id)
        return error.status, shown | {"status": error.status}, error.headers
    shown = wire.problem(error) | {"instance": request_id}
    if isinstance(error, VestigError) and error.code in _DETAILS:
        told = error.shown if isinstance(error, _SHOWN) else ""
        if isinstance(error, StoreDamagedError) and error.is_of_place:
            told = _NOT_AT_PLACE
        shown["detail"] = told or _DETAILS[error.code]
        shown["errors"] = []
        # of a store that is locked the client is told all, of a database that refuses not
        if error.code != StoreLockedError.code or told not in ("", str(error)):
            logger("vestig.http").error("request %s: %s", request_id, error)
    elif folder is not None:
        shown["detail"] = shown["detail"].replace(str(folder), "the store")
    headers = {}
    if isinstance(error, StoreLockedError) and error.retry_after_s:
        headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, ConfigError) and error.code == ConfigError.code:
        # keys and profiles that the request itself named; those of the server were read before
        shown["status"] = wire.STATUS["validation"]
    if not isinstance(error, VestigError):
        shown["detail"] = f"an internal error of request {request_id}"
        _report(error, request_id)
    return int(shown["status"]), shown, headers


def _report(error: BaseException, request_id: str) -> None:
    """Type and place only: the message of a foreign exception may hold stored text."""
    name = type(error).__name__
    logger("vestig.http").error("request %s: %s at %s", request_id, name, place_of(error))


def place_of(error: BaseException) -> str:
    """The function and line that raised an error; "" where nobody knows."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f"{step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"


Headers = Sequence[tuple[bytes, bytes]]
_LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
_REQUEST_ID: Final = lazy_pattern(r"[\x21-\x7e]{1,128}")
_PORT: Final = lazy_pattern(r"(?P<name>.*?)(?::(?P<port>[0-9]{0,5}))?")
_TOKEN: Final = lazy_pattern(r"[\x21-\x7e]+")
# characters of a header in a problem
_SHOWN_CHARS: Final = 100
# characters of a token that other machines may try
_TOKEN_CHARS_LEAST: Final = 16


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def values(headers: Headers, name: bytes) -> list[str]:
    """All values of a header, in order."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def shown_values(given: Sequence[str]) -> str:
    """The values of a header as a problem shows them, shortened.

    Example:
        >>> shown_values([]), shown_values(["evil.example"])
        ('nothing', "'evil.example'")
    """
    return " and ".join(f"{one!r:.{_SHOWN_CHARS}}" for one in given[:2]) or "nothing"


def header(headers: Headers, name: bytes) -> str | None:
    """The value of a header; None: it is not there.

    Raises:
        Refusal: it is there more than once: readers differ in which one counts.
    """
    found = values(headers, name)
    if len(found) > 1:
        shown = name.decode().title()
        raise Refusal(
            "validation", f"{shown}: expected once, got it {len(found)} times", status=400
        )
    return found[0] if found else None


# Headers by which other services tell callers apart → what does so here.
_APART: Final[Mapping[bytes, str]] = {
    b"x-namespace": "namespace",
    **dict.fromkeys((b"x-scope", b"x-user-id"), "scope of what is stored, where.scope of reads"),
    **dict.fromkeys(
        (b"x-tenant", b"x-tenant-id"),
        "namespace (each tenant of `vestig serve --fleet` has a token)",
    ),
}


def request_id_of(headers: Headers) -> str | None:
    """Return what the client calls its request; None: nothing that can be repeated in a header."""
    given = values(headers, b"x-request-id")
    return given[0] if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) else None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one server."""

    token: str | None
    hosts: frozenset[str]
    cors_origins: frozenset[str]
    # headers that choose among what is stored
    choosing: ClassVar[tuple[bytes, ...]] = ()
    of_tenants: ClassVar[bool] = False

    @property
    def needs_token(self) -> bool:
        """Return whether requests carry a token."""
        return self.of_tenants or self.token is not None

    @classmethod
    def of(cls, settings: ServeSettings, named_by: str = "serve.host") -> Access:
        """The rules that the configuration gives.

        Args:
            named_by: the key or the option that named the address.

        Raises:
            ConfigError: an address that others reach and no token, or a short one; a variable that
                is not set, or holds what no header can carry.
        """
        token = token_of(settings)
        if token is None and not is_loopback(settings.host):
            raise ConfigError(
                f"{named_by}: {settings.host} is reached by other machines: expected"
                " serve.token_env to name the variable of a token, or a loopback address"
            )
        return cls(
            token=token, hosts=hosts_of(settings), cors_origins=frozenset(settings.cors_origins)
        )

    def check_place(self, headers: Headers) -> None:
        """Check that a request names this server and comes from where it may.

        Raises:
            Refusal: a Host or an Origin of others: a page in a browser that was led here.
        """
        hosts = values(headers, b"host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        found = _PORT.fullmatch(host)
        if found is None or found["name"] not in self.hosts:
            raise Refusal(
                "unauthorized",
                f"Host: expected a name in serve.allowed_hosts, got {shown_values(hosts)}",
                status=403,
            )
        origins = values(headers, b"origin")
        known = {*self.cors_origins, f"http://{host}"}
        if len(origins) > 1 or (origins and origins[0] not in known):
            raise Refusal(
                "unauthorized",
                f"Origin: expected an origin in serve.cors_origins, got {shown_values(origins)}",
                status=403,
            )

    def check_choice(self, headers: Headers) -> None:
        """Refuse a header that means to choose among what is stored, and chooses nothing: who sends
        it takes all that is answered for a part.

        Raises:
            Refusal: 400.
        """
        for name, _ in headers:
            instead = _APART.get(name.replace(b"x-vestig-", b"x-", 1))
            if instead is not None and name not in self.choosing:
                shown = name.decode("latin-1").title()
                raise Refusal(
                    "validation",
                    f"{shown}: no header chooses among what is stored; leave it out, and give"
                    f" {instead}, in the body or the query",
                    status=400,
                )

    def check_token(self, headers: Headers) -> None:
        """Check that a request carries the token, compared in constant time.

        Raises:
            Refusal: it does not.
        """
        if self.token is None:
            return
        if not self.is_own(bearer_token(headers)):
            raise Refusal(
                "unauthorized",
                "Authorization: expected Bearer and the token of this server",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def is_own(self, given: str) -> bool:
        """Return whether a text is the token of this server, compared in constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    async def grant(self, headers: Headers) -> Grant | None:
        """Return what a request may do; None: all.

        Raises:
            Refusal: it carries no token of this server.
        """
        self.check_token(headers)
        return None


def bearer_token(headers: Headers) -> str:
    """The token that a request carries; "" where it carries none."""
    kind, _, given = (header(headers, b"authorization") or "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def token_of(settings: ServeSettings) -> str | None:
    """The token that `serve.token_env` gives the server; None: it has none.

    Raises:
        ConfigError: a variable that is not set, or holds what no header can carry or others guess.
    """
    named = settings.token_env
    token = None if named is None else read_secret("serve.token_env", named)
    if token is not None:
        _check_token(token, named, is_loopback(settings.host))
    return token


def hosts_of(settings: ServeSettings) -> frozenset[str]:
    """The names that a request may call the server."""
    own = settings.host
    bracketed = f"[{own}]" if ":" in own and not own.startswith("[") else own
    return _LOOPBACK_NAMES | {bracketed.lower(), *map(str.lower, settings.allowed_hosts)}


def _check_token(token: str, variable: str | None, loopback: bool) -> None:
    """Refuses what no request could carry as it is, and what others could guess."""
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"serve.token_env: expected {variable} to hold visible ASCII characters without white"
            " space, as a header carries them; set another token"
        )
    if not loopback and len(token) < _TOKEN_CHARS_LEAST:
        raise ConfigError(
            f"serve.token_env: expected {variable} to hold at least {_TOKEN_CHARS_LEAST} characters"
            f" where other machines reach the server, got {len(token)}; set a longer token"
        )


Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_HELD_BYTES_MAX: Final = 64 * 1024 * 1024
# digits of a declared length in a problem
_DIGITS_MAX: Final = 20


class Bodies:
    """The bodies that are being read by one event loop. Where they would hold more than `held_max`
    bytes together, the one that has been coming longest is given up: slow clients make room for
    those that are quick."""

    def __init__(self, held_max: int = _HELD_BYTES_MAX) -> None:
        self._held_max = held_max
        self._held = 0
        # in the order in which they began
        self._reading: dict[asyncio.Timeout, None] = {}

    async def read(self, receive: Receive, bytes_max: int, *, cut: bool = False) -> bytes:
        """A whole body.

        Args:
            receive: gives its pieces.
            bytes_max: of the body.
            cut: of a longer one, its first `bytes_max` + 1 bytes are the answer.

        Raises:
            Refusal: 413, longer than `bytes_max`; 503, given up for others.
            ClientGone: the client went away.
        """
        parts = bytearray()
        try:
            async with asyncio.timeout(None) as own:
                self._reading[own] = None
                try:
                    async for part in pieces(receive):
                        taken = part[: max(0, bytes_max + 1 - len(parts))]
                        parts += taken
                        self._held += len(taken)
                        if len(parts) > bytes_max and not cut:
                            raise too_large(bytes_max, "more")
                        self._make_room()
                finally:
                    del self._reading[own]
                    self._held -= len(parts)
        except TimeoutError:
            raise busy() from None
        return bytes(parts)

    def _make_room(self) -> None:
        if self._held <= self._held_max:
            return
        longest = next(one for one in self._reading if one.when() is None)
        longest.reschedule(asyncio.get_running_loop().time())


async def pieces(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request as it comes.

    Raises:
        ClientGone: the client went away.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def check_length(headers: Headers, bytes_max: int) -> None:
    """Refuses a body whose declared length is too much before a byte of it is read."""
    declared = header(headers, b"content-length") or ""
    if declared.isdecimal() and int(declared) > bytes_max:
        raise too_large(bytes_max, declared[:_DIGITS_MAX])


def too_large(bytes_max: int, size: str) -> Refusal:
    """Return what a request with too long a body is told.

    Args:
        size: its declared length, or "more".
    """
    return Refusal(
        "too-large",
        f"body: expected at most {bytes_max} bytes, got {size}; send fewer texts or values at once,"
        " and a longer one in parts, or from Python or the command line on the machine of the"
        " store",
    )
