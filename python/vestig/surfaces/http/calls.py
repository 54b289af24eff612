"""Steps of a worker thread for one request: read the body, run the operation, write the answer.

A write with a key is done once, and answered alike each time the request comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import msgspec

from vestig.api.store import Vestig
from vestig.calls.filter import checked_filter
from vestig.errors import ConflictError, Description, HygieneError, ValidationError, kind_of
from vestig.lazy_pattern import lazy_pattern
from vestig.memories.states import selection_warnings
from vestig.session.kept_answers import KeptAnswer, KeptAnswers, RunningKeys, WriteKey, checked_key
from vestig.surfaces import wire
from vestig.surfaces.http.access import Refusal
from vestig.surfaces.http.routes import Route
from vestig.surfaces.json_schema import decoded, read_arguments
from vestig.surfaces.operation import Arguments
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError


def committed(outcome: CommitOutcome) -> tuple[int, dict[str, Any]]:
    """(status, document) of one commit: 201 for a new memory, 200 for one that is known.

    Raises:
        HygieneError: the text was refused.
    """
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    new = outcome.outcome is CommitOutcomeKind.INSERTED_NEW and outcome.seq is not None
    return (201 if new else 200), wire.document("outcome", outcome)


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """Several commits: `outcomes` has that of each, null for those that failed, which are in
    `errors`."""

    outcomes: tuple[CommitOutcome | None, ...]
    errors: tuple[ItemError, ...]


def outcomes_document(outcomes: list[CommitOutcome | ItemError]) -> dict[str, Any]:
    """Several commits as a document."""
    shown = Outcomes(
        outcomes=tuple(None if isinstance(one, ItemError) else one for one in outcomes),
        errors=tuple(one for one in outcomes if isinstance(one, ItemError)),
    )
    return wire.document("outcomes", shown)


ITEMS_MAX: Final = 1_000
_POSITION_DIGITS_MAX: Final = 18
_FOLDER: Final = lazy_pattern(r"(?!\.)[A-Za-z0-9._-]{1,64}")
# Done again, it leaves the same; what it returns is known only after its transactions.
_ANSWERED_LATER: Final = (
    "forget",
    "item-delete",
    "rule-add",
    "rule-edit",
    "rule-check",
    "anchor-refresh",
)


class CallInput(msgspec.Struct, frozen=True, kw_only=True):
    """Input of an operation from a request: its body as it came, or the arguments of its path and
    query, its Idempotency-Key and its X-Vestig-Position."""

    body: bytes | None = None
    beside: Mapping[str, Any] = {}
    key: str | None = None
    position: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `counts`, `confidence` and `reason` are what the log of requests says of it.
    `position`: of the tenant, after it."""

    status: int
    body: bytes
    replayed: bool = False
    position: int | None = None
    counts: dict[str, int] = {}
    confidence: float | None = None
    reason: str | None = None


class _ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read. `items`: the arguments of several calls, or what is wrong with
    them; else `arguments` are those of one."""

    arguments: dict[str, Any] = {}
    items: list[dict[str, Any] | ItemError] | None = None
    explain: bool = False


def _position(text: str) -> int:
    """The position that a client has seen."""
    if len(text) <= _POSITION_DIGITS_MAX and text.isascii() and text.isdigit():
        return int(text)
    raise ValidationError("X-Vestig-Position", text, "a position as an answer of a tenant has it")


class Calls:
    """Runs the operations of one open store.

    Args:
        running: the keys of all requests of the server.
    """

    def __init__(self, store: Vestig, running: RunningKeys) -> None:
        self._store = store
        self._session = store._session
        self._answers = KeptAnswers(self._session, store.fresh, running)

    def run(self, route: Route, given: CallInput) -> Answer:
        """The answer of a route.

        Raises:
            Refusal, VestigError: what is answered as a problem.
        """
        writes = route.operation.writes
        key = checked_key(given.key) if writes and given.key is not None else None
        asked = _read(route, given)
        self.follow(given.position)
        value: Any = None

        def run() -> object:
            nonlocal value
            if asked.items is not None:
                value = self._commit_items(asked.items)
            else:
                value = route.arguments.answer(self._store, self._placed(route, asked.arguments))
            return value

        def shown(result: object) -> KeptAnswer:
            status, document = _shown(route, asked, result)
            if route.operation.document == "count":
                document["warnings"] = self._warnings_of_count(asked.arguments, result)
            return KeptAnswer(status=status, body=wire.encode(document))

        kept = self._answered_once(route, asked, given, key, run, shown)
        return Answer(
            status=kept.status,
            body=kept.body,
            replayed=kept.replayed,
            position=self._store.position,
            **_logged(value),
        )

    def export(self, route: Route, given: CallInput, target: IO[str]) -> int | None:
        """Writes what an export selects to a file; the position of the tenant after it.

        Raises:
            Refusal, VestigError: what is answered as a problem.
        """
        asked = _read(route, given)
        self.follow(given.position)
        self._store.export(target, **asked.arguments)
        target.flush()
        return self._store.position

    def _warnings_of_count(self, given: Mapping[str, Any], count: object) -> tuple[str, ...]:
        """Warnings about names in a filter that nothing has: a number itself has none."""
        where = checked_filter(given.get("where"))
        if count or not where.given():
            return ()
        space = self._session.in_namespace(given.get("namespace"))
        return selection_warnings(self._session, space, where)

    def follow(self, position: str | None) -> None:
        """Reads at least what the client has seen of its tenant.

        Args:
            position: as the header has it.

        Raises:
            ValidationError: it is none. StoreLockedError: the tenant has not come so far.
        """
        if position is not None and self._session.tenant is not None:
            self._store.fresh(min_position=_position(position))

    def _placed(self, route: Route, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with a backup's place: beside the folder of the store."""
        if route.name != "backup":
            return arguments
        if self._session.tenant is not None:
            raise ConflictError(
                "a tenant has no folder beside which a backup could lie: PostgreSQL is backed up,"
                " and `vestig tenant down` makes a store of a tenant"
            )
        path = self._session.ledger.path
        if path is None:
            raise ConflictError("a store in memory has no folder beside which a backup could lie")
        name = arguments["dest"]
        if not _FOLDER.fullmatch(name):
            raise ValidationError(
                "dest", name, "1 to 64 characters of A-Z a-z 0-9 . _ -, the first no dot"
            )
        return {"dest": path.parent.parent / name}

    def _answered_once(
        self,
        route: Route,
        asked: _ReadArguments,
        given: CallInput,
        key: str | None,
        run: Callable[[], object],
        shown: Callable[[object], KeptAnswer],
    ) -> KeptAnswer:
        if key is None:
            return shown(run())
        namespace = self._session.in_namespace(asked.arguments.get("namespace"))
        write_key = WriteKey.of(namespace, key, route.path, given.body or b"")
        within = asked.items is None and route.name not in _ANSWERED_LATER
        return self._answers.answer(write_key, run, shown, within=within)

    def _commit_items(self, items: list[dict[str, Any] | ItemError]) -> list[Any]:
        """The outcome or the error of each, in order."""
        stored = iter(self._store.commit_many([one for one in items if isinstance(one, dict)]))
        found: list[Any] = []
        for place, item in enumerate(items):
            one = item if isinstance(item, ItemError) else next(stored)
            if isinstance(one, ItemError):
                one = msgspec.structs.replace(one, index=place)
            found.append(one)
        return found


def _logged(value: Any) -> dict[str, Any]:
    """Return what the log of requests says of a result: how many, how sure, why it ended."""
    about = getattr(value, "metadata", value)
    sure = getattr(about, "confidence_score", getattr(value, "confidence", None))
    lists = {name: getattr(value, name, None) for name in ("facts", "messages")}
    counts = {name: len(found) for name, found in lists.items() if isinstance(found, tuple)}
    return {
        "counts": {"results": len(value)} if hasattr(value, "__len__") else counts,
        "confidence": sure if isinstance(sure, float) else None,
        "reason": getattr(about, "stop_reason", None),
    }


def _shown(route: Route, asked: _ReadArguments, result: Any) -> tuple[int, dict[str, Any]]:
    if asked.items is not None:
        return 207, outcomes_document(result)
    if route.operation.document == "outcome":
        return committed(result)
    return 200, wire.document(route.operation.document, result, explain=asked.explain)


def _read(route: Route, given: CallInput) -> _ReadArguments:
    found: Any = dict(given.beside) if given.body is None else _body(given.body)
    if not isinstance(found, dict):
        return _ReadArguments(arguments=read_arguments(route.arguments, found, route.beside))
    if route.items and "items" in found:
        return _ReadArguments(items=_items(found, route.arguments))
    explain = found.pop("explain", None) if route.operation.ranked else None
    if explain is not None and not isinstance(explain, bool):
        raise ValidationError("explain", kind_of(explain), "true or false")
    arguments = {**read_arguments(route.arguments, found, route.beside), **route.fixed}
    return _ReadArguments(arguments=arguments, explain=bool(explain))


def _body(data: bytes) -> Any:
    try:
        return decoded(data)
    except ValidationError as error:
        raise Refusal("validation", str(error), status=400) from None


def _items(found: dict[str, Any], arguments: Arguments) -> list[dict[str, Any] | ItemError]:
    """The arguments of each item; one that cannot be read is an error of its own.

    Raises:
        ValidationError: something stands beside `items`, or it is no list.
    """
    for name, value in found.items():
        if name != "items":
            hint = "an item has it itself"
            raise ValidationError(name, kind_of(value), "nothing beside items", hint)
    items = found["items"]
    if not isinstance(items, list) or not 1 <= len(items) <= ITEMS_MAX:
        came = Description(f"{len(items)} items") if isinstance(items, list) else kind_of(items)
        raise ValidationError("items", came, f"a list of 1 to {ITEMS_MAX} objects of arguments")
    read: list[dict[str, Any] | ItemError] = []
    for place, item in enumerate(items):
        try:
            read.append(read_arguments(arguments, item))
        except ValidationError as error:
            read.append(ItemError(index=place, code=error.code, message=str(error)))
    return read
