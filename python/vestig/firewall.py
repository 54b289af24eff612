"""The gate for texts that come in: secrets are kept out.

Every text that may be stored, embedded, logged or sent to a model passes `without_secrets` (the
arguments of a call) or `masked_text` (one text) before anything else looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestig._core import SECRET_RULES, SECRETS_VERSION, mask_secrets
from vestig.errors import ValidationError
from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern
from vestig.types import MaskedSecret

__all__ = [
    "RULES",
    "SECRETS_VERSION",
    "Cleaned",
    "Mode",
    "Secret",
    "SecretError",
    "counted",
    "holds_marker",
    "masked_text",
    "values_of_secrets",
    "without_secrets",
]


Mode = Literal["mask", "reject", "off"]
RULES: Final = tuple(SECRET_RULES)
# Names by which memories are found again: with another text in their place nobody would find them.
_REFUSED: Final = frozenset(("key", "tags"))
# Names of things: refused where a secret is beyond doubt, for ids may look as if they were random.
_LABELS: Final = frozenset(
    ("scope", "source", "actor", "agent", "session_id", "namespace", "channel_id")
)
_DOUBTFUL: Final = frozenset(("random", "password", "key", "token", "secret", "credential", "pin"))
# Values that are no text, or the id of something that is stored.
_UNREAD: Final = frozenset(
    word_list("id ids old new supersedes query_vector config profile on_commit anchor")
)
# What stands in the place of a secret begins so.
MARKER: Final = "[secret:"
# Deeper values are refused by the check of the argument.
_DEPTH_MAX: Final = 64
# A secret that no text holds by chance: it is known again where nothing says that it is one.
_UNMISTAKABLE: Final = lazy_pattern(r"(?=.*[^\W\d_])(?=.*[0-9!?#$%&*@^~+=])\S{6,}")


class Secret(NamedTuple):
    """A secret in an argument as it was given. `place`: the argument and the characters in it, such
    as `content[34:42]`."""

    rule: str
    place: str


class Cleaned(NamedTuple):
    """`arguments`: with markers in the place of secrets; `secrets`: those that were found, in
    order; `refused`: the rule of the first one in `content`, where secrets are refused."""

    arguments: dict[str, Any]
    secrets: tuple[Secret, ...] = ()
    refused: str | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule of each secret."""
        return tuple(one.rule for one in self.secrets)


def masked_text(text: str, known: Mapping[str, str] | None = None) -> tuple[str, tuple[str, ...]]:
    """A text with `[secret:RULE]` in the place of each secret, and the rule of each, in order.
    A text without one is returned itself; masking twice changes nothing.

    Args:
        known: secrets that are masked wherever they stand, as `values_of_secrets` has them.

    Example:
        >>> masked_text("the password of the router is Kx9!mmQ2")
        ('the password of the router is [secret:password]', ('password',))
        >>> masked_text("it takes Kx9!mmQ2", {"Kx9!mmQ2": "password"})
        ('it takes [secret:password]', ('password',))
    """
    masked, found = _Finder(known or {}).look(text)
    return masked, tuple(rule for rule, _, _ in found)


class _Finder:
    """Finds secrets: `found` has them in order, `values` the unmistakable ones with their rules.

    Args:
        known: secrets that are found wherever they stand, with their rules.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self.found: list[Secret] = []
        self.values: dict[str, str] = {}
        self._known = known
        any_of = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        whole = f"(?<![0-9A-Za-z])(?:{any_of})(?![0-9A-Za-z])"
        self._pattern = re.compile(whole) if known else None

    def look(self, text: str) -> tuple[str, list[tuple[str, int, int]]]:
        """A text with markers; the rule, the begin and the end of each secret."""
        try:
            masked, found = mask_secrets(text)
        except UnicodeEncodeError:
            # a lone surrogate, with which no text is taken
            return text, []
        for rule, start, end in found:
            if _UNMISTAKABLE.fullmatch(text[start:end]):
                self.values.setdefault(text[start:end], rule)
        more = [
            (self._known[one.group()], one.start(), one.end())
            for one in (self._pattern.finditer(text) if self._pattern else ())
            if not any(start < one.end() and one.start() < end for _, start, end in found)
        ]
        if not more:
            return masked, found
        found, parts, at = sorted([*found, *more], key=lambda one: one[1]), list[str](), 0
        for rule, start, end in found:
            parts += [text[at:start], f"{MARKER}{rule}]"]
            at = end
        return "".join([*parts, text[at:]]), found


def holds_marker(text: str) -> bool:
    """Return whether a text holds a marker of a secret, so that another one may have been another
    text before.

    Example:
        >>> holds_marker("the key is [secret:key]"), holds_marker("the key")
        (True, False)
    """
    return MARKER in text


def counted(secrets: Iterable[Secret]) -> tuple[MaskedSecret, ...]:
    """Secrets by rule, in the order of their first ones.

    Example:
        >>> counted((Secret("jwt", "content[0:9]"), Secret("jwt", "title[4:90]")))
        (MaskedSecret(rule='jwt', count=2, places=('content[0:9]', 'title[4:90]')),)
    """
    places: dict[str, list[str]] = {}
    for one in secrets:
        places.setdefault(one.rule, []).append(one.place)
    return tuple(
        MaskedSecret(rule=rule, count=len(found), places=tuple(found))
        for rule, found in places.items()
    )


def values_of_secrets(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The secrets in the arguments of a call that no text holds by chance, with their rules.

    Example:
        >>> values_of_secrets({"content": "password: Kx9!mmQ2", "title": "password: tulip"})
        {'Kx9!mmQ2': 'password'}
    """
    finder = _Finder({})
    for name, value in arguments.items():
        if name not in _UNREAD:
            _masked(value, finder, name, 0)
    return finder.values


def without_secrets(
    arguments: Mapping[str, Any], mode: Mode, known: Mapping[str, str] = MappingProxyType({})
) -> Cleaned:
    """The arguments of a call, before they are checked, without secrets in any text of theirs.

    Every text is looked at, at any depth: of a mapping the names too, and each value as what its
    name says (`{"password": "tulip"}`). What is a secret in one text is one in the others, unless
    it may stand there by chance. Ids are not looked at.

    Args:
        arguments: by name, as the caller gave them.
        mode: `mask` puts a marker in the place of a secret; `reject` refuses it; `off` leaves all
            as it is.
        known: secrets that are masked wherever they stand, with their rules.

    Raises:
        SecretError: a secret in `key` or `tags`, or one beyond doubt in a name such as `scope`;
            with `reject`, in any argument but `content`.

    Example:
        >>> given = {"content": "see metadata", "metadata": {"password": "tulip"}}
        >>> without_secrets(given, "mask").arguments["metadata"]
        {'password': '[secret:password]'}
    """
    if mode == "off":
        return Cleaned(dict(arguments))
    cleaned, values = _cleaned(arguments, mode, known)
    if mode == "mask" and not values.keys() <= known.keys():
        cleaned, _ = _cleaned(arguments, mode, {**values, **known})
    return cleaned


def _cleaned(
    arguments: Mapping[str, Any], mode: Mode, known: Mapping[str, str]
) -> tuple[Cleaned, dict[str, str]]:
    """The arguments without secrets; and the unmistakable ones among these."""
    cleaned: dict[str, Any] = {}
    found: list[Secret] = []
    values: dict[str, str] = {}
    refused: str | None = None
    for name, value in arguments.items():
        finder = _Finder(known)
        cleaned[name] = value if name in _UNREAD else _masked(value, finder, name, 0)
        own, rules = finder.found, [one.rule for one in finder.found]
        if not own:
            continue
        if name in _LABELS:
            sure = [rule for rule in rules if rule not in _DOUBTFUL]
            cleaned[name] = value
            if sure:
                raise SecretError(name, sure[0])
        elif name in _REFUSED or (mode == "reject" and name != "content"):
            raise SecretError(name, rules[0])
        else:
            refused = rules[0] if mode == "reject" else refused
            found += own
            values |= finder.values
    return Cleaned(cleaned, tuple(found), refused), values


class SecretError(ValidationError):
    """A secret in an argument that may not hold one; `rule` is that by which it was found."""

    def __init__(self, field: str, rule: str) -> None:
        self.rule = rule
        super().__init__(
            field,
            None,
            "",
            message=f"{field}: expected text without a secret, got one ({rule}); leave it out",
        )


def _masked(value: Any, finder: _Finder, place: str, depth: int) -> Any:
    """The value itself where it holds no secret, else a copy with markers; adds the secrets.

    Args:
        place: what leads to the value: `metadata.login`.
    """
    if isinstance(value, str):
        text, secrets = finder.look(value)
        finder.found += (Secret(rule, f"{place}[{start}:{end}]") for rule, start, end in secrets)
        return text
    if depth > _DEPTH_MAX:
        return value
    before = len(finder.found)
    if isinstance(value, Mapping):
        inner: Any = {}
        for name, item in value.items():
            shown = _masked(name, finder, f"{place}.keys", depth)
            inner[shown] = _named(name, item, finder, f"{place}.{shown}", depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = [
            _masked(item, finder, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)
        ]
        inner = tuple(items) if isinstance(value, tuple) else items
    elif isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        masked = {
            name: _masked(item, finder, f"{place}.{name}", depth + 1)
            for name, item in fields.items()
        }
        return value if len(finder.found) == before else msgspec.structs.replace(value, **masked)
    else:
        return value
    return value if len(finder.found) == before else inner


def _named(name: Any, value: Any, finder: _Finder, place: str, depth: int) -> Any:
    """A value of a mapping, which may be a secret because of its name alone."""
    if not isinstance(name, str) or not isinstance(value, str) or '"' in value or "\n" in value:
        return _masked(value, finder, place, depth)
    head = f'"{name}": "'
    text, secrets = finder.look(f'{head}{value}"')
    if secrets and text.startswith(head) and text.endswith('"'):
        finder.found += (
            Secret(rule, f"{place}[{start - len(head)}:{end - len(head)}]")
            for rule, start, end in secrets
        )
        return text[len(head) : -1]
    return _masked(value, finder, place, depth)
