"""Secrets in what a caller gives: masked, or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestig._core import SECRET_RULES, SECRETS_VERSION, mask_secrets
from vestig.errors import ValidationError
from vestig.types import MaskedSecret

__all__ = [
    "RULES",
    "SECRETS_VERSION",
    "Cleaned",
    "Mode",
    "SecretError",
    "counted",
    "masked_text",
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
    ("id", "ids", "old", "new", "supersedes", "query_vector", "config", "profile", "on_commit")
)
# Deeper values are refused by the check of the argument.
_DEPTH_MAX: Final = 64


class Cleaned(NamedTuple):
    """`arguments`: with markers in the place of secrets; `rules`: of each secret that was found,
    in order; `refused`: the rule of the first one in `content`, where secrets are refused."""

    arguments: dict[str, Any]
    rules: tuple[str, ...] = ()
    refused: str | None = None


def masked_text(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with `[secret:RULE]` in the place of each secret, and the rule of each, in order.
    A text without one is returned itself; masking twice changes nothing.

    Example:
        >>> masked_text("the password of the router is Kx9!mmQ2")
        ('the password of the router is [secret:password]', ('password',))
    """
    try:
        masked, rules = mask_secrets(text)
    except UnicodeEncodeError:
        # a lone surrogate, with which no text is taken
        return text, ()
    return masked, tuple(rules)


def counted(rules: Iterable[str]) -> tuple[MaskedSecret, ...]:
    """How often each rule found a secret, in the order of their first ones.

    Example:
        >>> [(one.rule, one.count) for one in counted(("jwt", "url", "jwt"))]
        [('jwt', 2), ('url', 1)]
    """
    return tuple(MaskedSecret(rule=rule, count=count) for rule, count in Counter(rules).items())


def without_secrets(arguments: Mapping[str, Any], mode: Mode) -> Cleaned:
    """The arguments of a call, before they are checked, without secrets in any text of theirs.

    Every text is looked at, at any depth: of a mapping the names too, and each value as what its
    name says (`{"password": "tulip"}`). Ids are not.

    Args:
        arguments: by name, as the caller gave them.
        mode: `mask` puts a marker in the place of a secret; `reject` refuses it; `off` leaves all
            as it is.

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
    cleaned: dict[str, Any] = {}
    found: list[str] = []
    refused: str | None = None
    for name, value in arguments.items():
        rules: list[str] = []
        cleaned[name] = value if name in _UNREAD else _masked(value, rules, 0)
        if not rules:
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
            found += rules
    return Cleaned(cleaned, tuple(found), refused)


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


def _masked(value: Any, rules: list[str], depth: int) -> Any:
    """The value itself where it holds no secret, else a copy with markers; adds the rules."""
    if isinstance(value, str):
        text, found = masked_text(value)
        rules += found
        return text
    if depth > _DEPTH_MAX:
        return value
    before = len(rules)
    if isinstance(value, Mapping):
        inner: Any = {
            _masked(name, rules, depth): _named(name, item, rules, depth + 1)
            for name, item in value.items()
        }
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = [_masked(item, rules, depth + 1) for item in value]
        inner = tuple(items) if isinstance(value, tuple) else items
    elif isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        masked = {name: _masked(item, rules, depth + 1) for name, item in fields.items()}
        return value if len(rules) == before else msgspec.structs.replace(value, **masked)
    else:
        return value
    return value if len(rules) == before else inner


def _named(name: Any, value: Any, rules: list[str], depth: int) -> Any:
    """A value of a mapping, which may be a secret because of its name alone."""
    if not isinstance(name, str) or not isinstance(value, str) or '"' in value or "\n" in value:
        return _masked(value, rules, depth)
    head = f'"{name}": "'
    text, found = masked_text(f'{head}{value}"')
    if found and text.startswith(head) and text.endswith('"'):
        rules += found
        return text[len(head) : -1]
    return _masked(value, rules, depth)
