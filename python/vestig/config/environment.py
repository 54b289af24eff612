"""Settings by environment variable."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from vestig.config.aliases import current_name, old_name
from vestig.config.documents import parse_value
from vestig.config.problems import Problems
from vestig.config.schema import default_values, entry_specs, spec_of, stages
from vestig.hints import nearest

# Reserved variables and the key that each one sets; VESTIG_CONFIG names a file instead.
RESERVED: Final[Mapping[str, str | None]] = {
    "VESTIG_STORE": "store.path",
    "VESTIG_CONFIG": None,
    "VESTIG_PROFILE": "recall.profile",
    "VESTIG_NAMESPACE": "namespace",
}
# Short names of variables, and the key that each one sets.
SHORT_NAMES: Final[Mapping[str, str]] = {
    "VESTIG_EARLY_STOP_MIN_ITERATIONS": "retrieve.early_stop_min_iterations",
    "VESTIG_NOVELTY_MIN_NEW_FACTS": "retrieve.novelty_min_new_facts",
    "VESTIG_NOVELTY_PATIENCE": "retrieve.novelty_patience",
    "VESTIG_STOP_CONFIDENCE_REQUIRED": "retrieve.stop_confidence_required",
    "VESTIG_MAX_ITERATIONS": "retrieve.max_iterations",
    "VESTIG_MAX_FACTS": "retrieve.max_facts",
    "VESTIG_FALLBACK_MAX_QUERIES": "retrieve.fallback_max_queries",
    "VESTIG_FALLBACK_MAX_QUERY_LENGTH": "retrieve.fallback_max_query_length",
}
_PREFIX: Final = "VESTIG_"
_TEST_PREFIX: Final = "VESTIG_TEST_"


def read_scalar(text: str, key: str) -> Any:
    """A value written as one text: a YAML scalar, but text where the key takes only text."""
    spec = spec_of(key)
    if spec is not None and spec.takes_text and not spec.takes_other:
        return None if text in ("null", "~") else text
    return parse_value(text)


def _key_of(variable: str) -> str:
    parts = variable[len(_PREFIX) :].split("__")
    wanted = ".".join(parts).lower()
    return wanted if wanted in default_values() else _spellings().get(wanted, wanted)


@cache
def _spellings() -> Mapping[str, str]:
    """Every spelling of a key, by itself in small letters."""
    names = (*stages(), *default_values(), *entry_specs())
    old = (name for key in names if (name := old_name(key)) is not None)
    return {key.lower(): key for key in (*names, *old)}


def _variable_of(key: str) -> str:
    return _PREFIX + key.replace(".", "__").upper()


def _nearest_variable(variable: str) -> str:
    names = {_variable_of(name): current_name(name) for name in _spellings().values()}
    found = nearest(variable, (*RESERVED, *SHORT_NAMES, *names))
    return _variable_of(names[found]) if found in names else found


def environment_settings(
    environ: Mapping[str, str], problems: Problems
) -> list[tuple[str, Any, str]]:
    """(key, value, variable) for every `VESTIG_*` that sets a key; unknown ones are noted.

    Example:
        >>> environment_settings({"VESTIG_HYGIENE__MIN_CHARS": "3"}, Problems())
        [('hygiene.min_chars', 3, 'VESTIG_HYGIENE__MIN_CHARS')]
    """
    found: list[tuple[str, Any, str]] = []
    for variable in sorted(environ):
        if not variable.startswith(_PREFIX) or variable.startswith(_TEST_PREFIX):
            continue
        if variable in RESERVED:
            key = RESERVED[variable]
            if key is not None:
                found.append((key, environ[variable], variable))
            continue
        key = SHORT_NAMES.get(variable) or _key_of(variable)
        if variable in SHORT_NAMES and _variable_of(key) in environ:
            other = _variable_of(key)
            problems.add(
                "environment", variable, f"{other} sets the same key, and both are given; keep one"
            )
            continue
        if spec_of(current_name(key)) is None and key not in stages():
            problems.add(
                "environment",
                variable,
                f"unknown variable; the nearest valid one is {_nearest_variable(variable)}",
            )
            continue
        try:
            value = read_scalar(environ[variable], current_name(key))
        except ValueError as error:
            problems.add("environment", variable, f"expected one YAML value: {error}")
            continue
        found.append((key, value, variable))
    return found
