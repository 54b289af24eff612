"""Secrets in the arguments of a call, by the configuration of an open store, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from vestig.firewall import Cleaned, SecretError, counted, without_secrets
from vestig.session.session import Session


def cleaned(session: Session, arguments: Mapping[str, Any]) -> Cleaned:
    """The arguments without secrets, as `without_secrets` has them; refusals are counted.

    Raises:
        SecretError: an argument that may not hold a secret.
    """
    mode = session.config.settings.firewall.secrets
    try:
        return without_secrets(arguments, mode)
    except SecretError as error:
        count(session, [error.rule], "refused")
        raise


_R = TypeVar("_R", bound=msgspec.Struct)


def cleaned_query(session: Session, asked: _R) -> tuple[_R, tuple[str, ...]]:
    """A call that asks something, without secrets in its `query` and `messages`, and a warning
    where there were some.

    Raises:
        SecretError: secrets are rejected.
    """
    given = {name: getattr(asked, name, None) for name in ("query", "messages")}
    clean = cleaned(session, {name: one for name, one in given.items() if one is not None})
    if not clean.rules:
        return asked, ()
    count(session, clean.rules, "masked")
    found = ", ".join(f"{one.count} × {one.rule}" for one in counted(clean.rules))
    warning = f"secrets in the query were masked before it was used: {found}"
    return msgspec.structs.replace(asked, **clean.arguments), (warning,)


def count(session: Session, rules: Iterable[str], action: str) -> None:
    """Counts secrets by what became of them: masked, rejected with their text, or refused."""
    for rule in rules:
        session.metrics.add("vestig_secrets_total", rule=rule, action=action)
