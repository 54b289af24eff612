"""One connection to PostgreSQL whose every exchange has a deadline."""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from vestig.errors import ConfigError, VestigError

_INTEGER: Final = 20
_BYTES: Final = 17
_TEXT: Final = 25
_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)

Value = int | bytes | str | None


class Binary(bytes):
    """A value as PostgreSQL sent it, for a column of the same type."""


class ConnectionLostError(VestigError):
    """PostgreSQL did not answer: nothing is known of the message that was sent last."""


class RefusedError(VestigError):
    """PostgreSQL refused a statement. `state` is its SQLSTATE."""

    def __init__(self, state: str, message: str) -> None:
        self.state = state
        super().__init__(message)


class Answer(NamedTuple):
    """The answer to one statement: how many rows it wrote or gave, and these rows."""

    affected: int
    rows: list[tuple[bytes | None, ...]]


class Address:
    """Where a database is. Its text names no password.

    Args:
        dsn: a URL `postgresql://…`, or a list of parameters as libpq takes them.

    Raises:
        ConfigError: it cannot be read; the message repeats nothing of it.

    Example:
        >>> str(Address("postgresql://me:secret@db.example/vestig"))
        'postgresql://me@db.example:5432/vestig'
        >>> str(Address("postgresql://a.example,b.example:5433/x?target_session_attrs=read-write"))
        'postgresql://a.example:5432,b.example:5433/x'
    """

    def __init__(self, dsn: str) -> None:
        parts = _parts(dsn)
        if parts is None:
            raise ConfigError(
                "path: expected an address of PostgreSQL,"
                " postgresql://user:password@host:port/database, got one that cannot be read"
            )
        self.dsn = make_conninfo(dsn, application_name=parts.get("application_name") or "vestig")
        user = f"{parts['user']}@" if parts.get("user") else ""
        hosts = str(parts.get("host") or "localhost").split(",")
        ports = str(parts.get("port") or 5432).split(",")
        # one port goes for all hosts
        ports *= len(hosts) if len(ports) == 1 else 1
        where = ",".join(f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=False))
        where = f"{where}/{parts.get('dbname') or ''}"
        self._text = f"postgresql://{user}{where}"
        # for all who use it, whatever user they log in as
        self.without_user = f"postgresql://{where}"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _parts(dsn: str) -> dict[str, Any] | None:
    """Its parameters; None where it cannot be read. The message of libpq goes no further: it quotes
    the password."""
    try:
        return conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return None


class Connection:
    """One connection. Not for several threads at once.

    Every message is sent and answered before its deadline (by `time.monotonic`), also where the
    server is stopped: then the connection is closed.

    Raises:
        ConnectionLostError: no answer to the attempt to connect.
        RefusedError: the server refused it.
    """

    def __init__(self, address: Address, deadline: float) -> None:
        left = max(1, math.ceil(deadline - time.monotonic()))
        try:
            self._conn = psycopg.connect(address.dsn, autocommit=True, connect_timeout=left)
        except psycopg.OperationalError as error:
            if error.sqlstate is not None:
                raise RefusedError(error.sqlstate, _plain(error)) from None
            raise ConnectionLostError(_plain(error)) from None
        self._pg = self._conn.pgconn
        self._pg.nonblocking = 1
        # details of what the server noted, where it gave any
        self.notices: list[str] = []
        self._conn.add_notice_handler(self._note)

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.message_detail:
            self.notices.append(notice.message_detail)

    @property
    def is_open(self) -> bool:
        """Return whether it may be used."""
        return not self._conn.closed

    @property
    def at_rest(self) -> bool:
        """Return whether no transaction is open."""
        return self.is_open and self._pg.transaction_status == pq.TransactionStatus.IDLE

    @property
    def is_quiet(self) -> bool:
        """Return whether the server has said nothing since the last answer: it says so when it
        ends the session."""
        poll = select.poll()
        poll.register(self._pg.socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Closes it; the server undoes what was not committed."""
        self._conn.close()

    def run(self, statements: str, deadline: float) -> list[Answer]:
        """The answers to statements that are sent as one message.

        Raises:
            RefusedError: by one of them; those after it did not run.
            ConnectionLostError: no answer before the deadline.
        """
        return self._exchange(lambda: self._pg.send_query(statements.encode()), deadline)

    def run_with(self, statement: str, values: Sequence[Value], deadline: float) -> Answer:
        """The answer to one statement whose parameters travel beside it; bytes of its rows come
        as they are, numbers as text must be cast in the statement.

        Raises:
            RefusedError, ConnectionLostError: see `run`.
        """
        raw = [_raw(value) for value in values]
        types = [_type(value) for value in values]
        formats = [
            pq.Format.BINARY if isinstance(value, bytes) else pq.Format.TEXT for value in values
        ]
        return self._exchange(
            lambda: self._pg.send_query_params(
                statement.encode(), raw, types, formats, pq.Format.BINARY
            ),
            deadline,
        )[0]

    def _exchange(self, send: Callable[[], None], deadline: float) -> list[Answer]:
        try:
            send()
            results = list(self._results(deadline))
        except psycopg.OperationalError as error:
            self.close()
            raise ConnectionLostError(_plain(error)) from None
        except BaseException:
            self.close()  # an answer that is not read would be taken for the next one
            raise
        for result in results:
            if result.status not in _OK:
                self._raise(result)
        return [_answer(result) for result in results]

    def _raise(self, result: pq.abc.PGresult) -> None:
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()
        # Shut down, crashed, or told to go: the session is over, whatever was under way with it.
        if state[:3] in ("57P", "08") or not self.is_open or state in ("25P03", "25P04"):
            self.close()
            raise ConnectionLostError(message)
        raise RefusedError(state, message)

    def _results(self, deadline: float) -> Iterable[pq.abc.PGresult]:
        while self._pg.flush():
            self._wait(deadline, writing=True)
            self._pg.consume_input()
        while True:
            while self._pg.is_busy():
                self._wait(deadline, writing=False)
                self._pg.consume_input()
            result = self._pg.get_result()
            if result is None:
                return
            yield result

    def _wait(self, deadline: float, *, writing: bool) -> None:
        left = deadline - time.monotonic()
        poll = select.poll()
        poll.register(self._pg.socket, select.POLLIN | (select.POLLOUT if writing else 0))
        if left <= 0 or not poll.poll(math.ceil(left * 1000)):
            self.close()
            raise ConnectionLostError("no answer before the deadline")


def _answer(result: pq.abc.PGresult) -> Answer:
    rows = [
        tuple(result.get_value(row, column) for column in range(result.nfields))
        for row in range(result.ntuples)
    ]
    return Answer(result.command_tuples or len(rows), rows)


def _raw(value: Value) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()


def _type(value: Value) -> int:
    known: Mapping[type, int] = {int: _INTEGER, bytes: _BYTES, str: _TEXT}
    return known.get(type(value), 0)


def _plain(error: psycopg.Error) -> str:
    """The first line of libpq's message; it names no password."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
