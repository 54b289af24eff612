"""Keywords of public calls from one flat mapping, for tests that draw them from a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vestig.arguments import Provenance
from vestig.calls.filter import FIELDS

_WALK = ("mode", "order")


def selecting(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the filter in `where`, `mode` and `order` of the walk in `config`."""
    rest = {k: v for k, v in fields.items() if k not in FIELDS and k not in _WALK}
    where = {k: v for k, v in fields.items() if k in FIELDS} | dict(rest.pop("where", {}))
    walk = {f"walk.{k}": fields[k] for k in _WALK if k in fields}
    if not walk:
        return rest | ({"where": where} if where else {})
    config = {**walk, **(rest.pop("config", None) or {})}
    return rest | ({"where": where} if where else {}) | {"config": config}


def committing(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Agent, reference and origin in `provenance`."""
    inside = {k: v for k, v in fields.items() if k in Provenance.__annotations__}
    rest = {k: v for k, v in fields.items() if k not in inside}
    return rest | ({"provenance": inside} if inside else {})
