"""The exceptions of Vestig.

::

    VestigError
    ├── ValidationError        (ValueError)         bad argument
    ├── HygieneError           (ValueError)         refused commit with strict=True
    ├── NotFoundError          (LookupError)        unknown id, other namespace, forgotten, no store
    ├── ConflictError                               the state forbids it
    ├── ConfigError            (ValueError)         configuration
    │   ├── ConfigNotFoundError (FileNotFoundError) a named file is missing
    │   └── EmbeddingMismatchError                  model or dimension differs from the store
    ├── StoreLockedError                            no write lock in time
    │   └── OutcomeUnknownError                     perhaps stored: the database does not answer
    ├── StoreFullError                              no room left on the disk
    ├── SchemaVersionError                          a store of another schema version
    ├── StoreDamagedError                           an integrity check failed
    │   └── ForgetIncompleteError                   residue after a hard delete
    └── ProviderError                               a required model or remote embedder failed
        ├── ProviderTimeoutError
        ├── ModelCallError                      one try of a language model failed
        └── ModelBudgetError                    today's calls of a language model are used up

Every message says what was expected, what was given and what to do next. None
contains stored text.

Example:
    >>> import vestig.errors
    >>> raise vestig.errors.ValidationError("limit", 0, "an integer >= 1")
    Traceback (most recent call last):
        ...
    vestig.errors.ValidationError: limit: expected an integer >= 1, got 0
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from typing import NoReturn

    from vestig.types import CommitOutcome

__all__ = [
    "ConfigError",
    "ConfigNotFoundError",
    "ConflictError",
    "EmbeddingMismatchError",
    "ForgetIncompleteError",
    "HygieneError",
    "ModelBudgetError",
    "ModelCallError",
    "NotFoundError",
    "OutcomeUnknownError",
    "ProviderError",
    "ProviderTimeoutError",
    "SchemaVersionError",
    "StoreDamagedError",
    "StoreFullError",
    "StoreLockedError",
    "ValidationError",
    "VestigError",
]

if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        from vestig.module_words import missing_name

        raise missing_name(name, globals())


_SHOWN_LENGTH_MAX = 80


# Kinds of values → what a program that sends JSON calls them.
_KINDS_OF_JSON = {
    "str": "text",
    "dict": "an object",
    "list": "a list",
    "int": "a number",
    "float": "a number",
}
# Descriptions that are raised as plain words.
_IN_WORDS = frozenset(("both", "no file", "a larger one"))
# Of a bad value so many characters are looked at.
_READ_LENGTH_MAX = 4_000


class Description(str):
    """Words for what came instead of a value, which stand in a message without quotes: quoted is
    what somebody gave."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def kind_of(value: object) -> Description:
    """The kind of a bad value that no message shows.

    Example:
        >>> kind_of([]), kind_of(None), kind_of(7)
        (a list, None, an int)
    """
    from vestig.other_words import is_request

    kind = type(value).__name__
    if is_request():
        if value is None or isinstance(value, bool):
            return Description(_as_json(value))
        if kind in _KINDS_OF_JSON:
            return Description(_KINDS_OF_JSON[kind])
    if value is None:
        return Description("None")
    return Description(f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}")


def _masked(text: str) -> str:
    """A text with a marker in the place of each secret."""
    from vestig._core import mask_secrets

    try:
        return mask_secrets(text[:_READ_LENGTH_MAX])[0]
    except UnicodeEncodeError:
        return ascii(text[:_READ_LENGTH_MAX])


def _shown(value: object) -> str:
    """`repr` of a bad value without secrets, cut so that a message never carries a whole text."""
    if isinstance(value, str) and value in _IN_WORDS:
        return value
    try:
        text = _as_json(value) or repr(value)
    except Exception:  # a hostile __repr__ must not hide the real error
        text = f"<{type(value).__name__}>"
    return _cut(text)


def _as_json(value: object) -> str:
    """A value as the JSON that came in a request; "" for another caller, and of a text."""
    from vestig.other_words import is_request

    if isinstance(value, str) or not is_request():
        return ""
    from json import dumps

    return dumps(value, ensure_ascii=False, default=repr)


def _cut(text: str) -> str:
    text = _masked(text)
    return text if len(text) <= _SHOWN_LENGTH_MAX else text[: _SHOWN_LENGTH_MAX - 1] + "…"


class VestigError(Exception):
    """Base of every error that Vestig raises on purpose."""

    code = "internal"


class ValidationError(VestigError, ValueError):
    """A bad argument.

    Args:
        field: name of the argument as the caller wrote it, cut to 80 characters.
        value: the value given; shown cut to 80 characters.
        allowed: what is allowed, completing the sentence "expected …".
        hint: optional next step.
        message: stands in the place of "field: expected …, got …; hint".
        brief: stands in the place of "got …; hint", which says what is wrong beside `allowed`.
    """

    code = "validation"

    def __init__(
        self,
        field: str,
        value: object,
        allowed: str,
        hint: str = "",
        *,
        message: str = "",
        brief: str = "",
    ) -> None:
        self.field = _cut(field)
        self.value = value
        self.allowed = allowed
        came = f"got {_shown(value)}" + (f"; {hint}" if hint else "")
        self.brief = brief or message or came
        super().__init__(message or f"{self.field}: expected {allowed}, {came}")


class HygieneError(VestigError, ValueError):
    """A commit with `strict=True` was refused by a hygiene rule; `outcome` holds the reasons."""

    code = "hygiene-rejected"

    def __init__(self, outcome: CommitOutcome) -> None:
        self.outcome = outcome
        super().__init__("; ".join(outcome.hygiene_reasons))


class NotFoundError(VestigError, LookupError):
    """An id that is not in this namespace, or a path without a store. `message` stands in the
    place of "kind not found: id (detail)"."""

    code = "not-found"

    def __init__(self, kind: str, id: str, detail: str = "", *, message: str = "") -> None:
        self.kind = kind
        self.id = id
        # of a path the end says most
        shown = id if kind == "file" else _cut(id)
        plain = f"{kind} not found: {shown}"
        super().__init__(message or (f"{plain} ({detail})" if detail else plain))


class ConflictError(VestigError):
    """The state of a record forbids the call; names id, state, since when."""

    code = "conflict"


class ConfigError(VestigError, ValueError):
    """Configuration that cannot be used; names file, dotted key and what is allowed."""

    code = "config"


class ConfigNotFoundError(ConfigError, FileNotFoundError):
    """A configuration file that was named does not exist."""


class EmbeddingMismatchError(ConfigError):
    """The configured embedder is not the one that made the store's vectors."""

    code = "embedding-mismatch"


class StoreLockedError(VestigError):
    """No write lock within `store.lock_timeout_s`, or a store that cannot be written.

    Args:
        message: what happened; it may name paths and addresses.
        shown: what clients of a server are told of it; without it only that it is locked.
        retry_after_s: after how many seconds it may go; 0 = waiting does not help.
    """

    code = "store-locked"

    def __init__(self, message: str, *, shown: str = "", retry_after_s: int = 1) -> None:
        self.shown = shown
        self.retry_after_s = retry_after_s
        super().__init__(message)


def not_writable(message: str) -> StoreLockedError:
    """The error for a change of a store that this process may only read.

    Args:
        message: what was expected and came; it may name paths.
    """
    shown = (
        "expected a store that can be written, the server may only read it: changes are refused"
        " until it is started with the right to write"
    )
    return StoreLockedError(message, shown=shown, retry_after_s=0)


class OutcomeUnknownError(StoreLockedError):
    """The connection to PostgreSQL was lost while a change was committed there, and nobody answers:
    it is stored whole, or not at all. Repeat the call with the same Idempotency-Key."""

    code = "outcome-unknown"


class StoreFullError(VestigError):
    """No room is left on the disk; reading goes on. Nothing was changed, unless the message says
    where it is stored.

    Args:
        message: what happened; it may name paths.
        shown: what clients of a server are told of it; without it only that the disk is full.
    """

    code = "store-full"

    def __init__(self, message: str, *, shown: str = "") -> None:
        self.shown = shown
        super().__init__(message)


class SchemaVersionError(VestigError):
    """The store is whole, and of another schema version than this program reads; nothing was
    changed.

    Args:
        where: the ledger or the tenant.
        found: its version.
        expected: that of this program.
        advice: what to do.
        shown: clients of a server are told all of it; else only that the version is another.
    """

    code = "schema-version"

    def __init__(
        self, where: str, *, found: int, expected: int, advice: str, shown: bool = False
    ) -> None:
        self.found = found
        self.expected = expected
        message = (
            f"{where}: expected a ledger of schema version {expected}, found version {found};"
            f" {advice}"
        )
        self.shown = message if shown else ""
        super().__init__(message)


class StoreDamagedError(VestigError):
    """An integrity check failed, a link is in the place of a file, or the store of this path is
    lost, or was moved or replaced while it was open.

    `is_of_place`: it is over as soon as the store lies at its path again.
    """

    code = "store-damaged"
    is_of_place = False


class ForgetIncompleteError(StoreDamagedError):
    """Memories are deleted, and bytes of them remain in a file of the store, or may.

    Args:
        message: what happened; it may name files.
        shown: what clients of a server are told of it.
    """

    code = "forget-incomplete"

    def __init__(self, message: str, *, shown: str = "") -> None:
        self.shown = shown
        super().__init__(message)


class ProviderError(VestigError):
    """A required model or remote embedder failed."""

    code = "provider"


class ProviderTimeoutError(ProviderError):
    """A required model or remote embedder did not answer in time."""

    code = "provider-timeout"


class ModelCallError(ProviderError):
    """One try of a language model failed.

    Args:
        message: provider, what was expected, what came.
        status: the HTTP status that the provider answered with; None = no answer.
        retryable: whether the same request may succeed later: a broken connection, 429, 5xx, an
            empty or unreadable answer.
        retry_after_s: seconds to wait, where the provider said so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ModelBudgetError(ProviderError):
    """`llm.max_calls_per_day` is used up; no call was sent."""
