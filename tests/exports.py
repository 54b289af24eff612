"""Exports as lists of records, to change and to seal again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

Line = dict[str, Any]


def parsed(raw: bytes) -> list[Line]:
    """Header, records and trailer."""
    return [json.loads(line) for line in raw.splitlines()]


def records(raw: bytes) -> list[Line]:
    """Header and records, without the trailer."""
    return [line for line in parsed(raw) if line["record"] != "end"]


def of(lines: list[Line], kind: str) -> Line:
    """The first record of a kind."""
    return next(line for line in lines if line["record"] == kind)


def sealed(lines: list[Line], **trailer: Any) -> list[bytes]:
    """The lines with a trailer that fits them: what an attacker, or a careful editor, would write.
    Fields of the trailer as given."""
    body = [_line(line) for line in lines if line["record"] != "end"]
    counts = Counter(line["record"] for line in lines if line["record"] not in ("header", "end"))
    end = next((line for line in lines if line["record"] == "end"), {})
    fields = {
        "record": "end",
        "counts": dict(sorted(counts.items())),
        "sha256": hashlib.sha256(b"".join(body)).hexdigest(),
        "cut_references": end.get("cut_references", 0),
        "zero_vectors": end.get("zero_vectors", 0),
        "unscaled_vectors": end.get("unscaled_vectors", 0),
    }
    return [*body, _line(fields | trailer)]


def _line(fields: Line) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
