"""Types of arguments that name a scope, or several; as those of `argument`."""

from __future__ import annotations

from typing import Any, Final
from unicodedata import normalize

from vestig.calls.argument import NO_FACTS, Argument, Facts, Label, Schema
from vestig.errors import ValidationError

# Before a pattern: no white space at the ends.
_NO_OUTER_SPACE: Final = r"^(?![\s\u001c-\u001f\u0085])(?![\s\S]*[\s\u001c-\u001f\u0085]$)"

# Stands for the project of a folder where a surface or `scoped` says so, and is no scope itself.
AUTO: Final = "auto"


def check_scope(field: str, value: Any) -> None:
    """Refuses `auto`, in any case, where nothing puts a project in its place.

    Raises:
        ValidationError: it is that.
    """
    if isinstance(value, str) and value.casefold() == AUTO:
        raise ValidationError(
            field,
            value,
            "the name of a scope",
            "auto is the project of the folder for --scope of the command line and for scoped() of"
            " Python alone",
        )


def scope_name(field: str, name: str) -> str:
    """Return the name of a scope as filters compare it, in NFC.

    Raises:
        ValidationError: it has white space at its ends, which no filter tells from none.

    Example:
        >>> scope_name("scope", "cafe\u0301")
        'caf\xe9'
    """
    if name.strip() != name:
        raise ValidationError(field, name, "a name without white space at its ends")
    return normalize("NFC", name)


class OfScopes(Argument, frozen=True, kw_only=True):
    """Names a scope, or several; before the argument that says in which form. `auto`: it is no
    scope."""

    takes_auto = True

    def check(self, field: str, value: Any) -> Any:
        found = super().check(field, value)
        several = isinstance(found, tuple)
        names = [self._name(field, one) for one in (found if several else (found,))]
        return tuple(names) if several else names[0]

    def _name(self, field: str, name: Any) -> Any:
        if name is None:
            return None
        check_scope(field, name)
        return scope_name(field, name)

    def schema(self, facts: Facts = NO_FACTS) -> Schema:
        made: Schema = _without_outer_space(super().schema(facts))
        return made


def _without_outer_space(schema: Any) -> Any:
    """The schema of texts, of those without white space at their ends."""
    if isinstance(schema, dict):
        made = {name: _without_outer_space(value) for name, value in schema.items()}
        if "pattern" in made:
            made["pattern"] = f"{_NO_OUTER_SPACE}{made['pattern'].removeprefix('^')}"
        return made
    return [_without_outer_space(one) for one in schema] if isinstance(schema, list) else schema


class ScopeName(OfScopes, Label, frozen=True, kw_only=True):
    """The name of a scope, which is not blank: no filter names such a one."""

    blank: bool = False


class ScopeRange(ScopeName, frozen=True, kw_only=True):
    """The name of a scope for all that lies below it too."""

    takes_auto = False


class ViewScope(ScopeName, frozen=True, kw_only=True):
    """The scope of a view; `auto` is the project of the working folder."""

    def _name(self, field: str, name: Any) -> Any:
        return name if name == AUTO else super()._name(field, name)
