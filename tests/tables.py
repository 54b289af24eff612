"""A property over a table as one test: every row is tried, and the failure lists each that fails.

`pytest.mark.parametrize` makes a test of every row, which costs more than most rows do."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest

__all__ = ["each"]

# The last frames of a failure, without those of this module and of pytest.
_FRAMES: Final = 3


def _name(place: int, row: Sequence[Any]) -> str:
    """The number of a row and its values, shortened."""
    shown = ", ".join(repr(value) for value in row)
    return f"{place}: {shown[:117] + '…' if len(shown) > 118 else shown}"


def _told(error: BaseException) -> str:
    """Where a row failed, and the reason."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    at = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-_FRAMES:]))
    text = str(error) or repr(error)
    return f"{type(error).__name__} at {at}\n    " + text.replace("\n", "\n    ")


def each(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make one test of the function over all rows, with the arguments of `parametrize`.

    A row has a `tmp_path` and a `monkeypatch` of its own and shares every other fixture: use it
    where a row leaves nothing behind. Rows that skip are left out; a test skips when all do.
    """
    fields = [names] if isinstance(names, str) else list(names)
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    if ids is None:
        titles = [_name(place, row) for place, row in enumerate(table)]
    elif callable(ids):
        titles = ["-".join(str(ids(value)) for value in row) for row in table]
    else:
        titles = [str(name) for name in ids]
    assert table, f"expected rows, got none: {names}"
    assert all(len(row) == len(fields) for row in table), f"expected {names} in every row"
    assert len(titles) == len(table), f"expected {len(table)} ids, got {len(titles)}"

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)
        assert set(fields) <= signature.parameters.keys(), f"{function.__name__} takes no {names}"

        @wraps(function)
        def test(**fixtures: Any) -> None:
            failed, skipped = [], []
            for place, (title, row) in enumerate(zip(titles, table, strict=True)):
                given = {**fixtures, **dict(zip(fields, row, strict=True))}
                with ExitStack() as stack:
                    if "tmp_path" in given:
                        given["tmp_path"] = given["tmp_path"] / f"row{place}"
                        given["tmp_path"].mkdir()
                    if "monkeypatch" in given:
                        given["monkeypatch"] = stack.enter_context(given["monkeypatch"].context())
                    try:
                        function(**given)
                    except pytest.skip.Exception as reason:
                        skipped.append(f"{title}: {reason}")
                    except (Exception, pytest.fail.Exception) as error:
                        failed.append(f"[{title}] {_told(error)}")
            if failed:
                found = "\n".join(failed)
                pytest.fail(f"{len(failed)} of {len(table)} rows:\n{found}", pytrace=False)
            if len(skipped) == len(table):
                pytest.skip("\n".join(skipped))

        kept = [one for name, one in signature.parameters.items() if name not in fields]
        test.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        del test.__wrapped__  # type: ignore[attr-defined]
        return test

    return decorated
