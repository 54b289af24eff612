"""The tables of a replay, and of what else measures `retrieve`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vestig.evaluation.intervals import Difference, Estimate
from vestig.evaluation.replay import RetrievalFigures, RetrievalReplay
from vestig.evaluation.tables import NONE, Table, change, number, p_value, percent

# Differences that the tables show; the JSON holds all.
_TESTED: Final = (("recall@5", "R@5"), ("recall@10", "R@10"), ("recall@30", "R@30"))
_RANKED: Final = (*_TESTED, ("ndcg@5", "nDCG@5"), ("ndcg@10", "nDCG@10"), ("ndcg@30", "nDCG@30"))
_LABELS: Final = ("high", "medium", "low")


def replay_tables(replay: RetrievalReplay) -> Iterator[Table]:
    """Yield every table of a replay."""
    sides = (("old", replay.old.figures), ("new", replay.new.figures))
    yield ranks(
        [(name, figures.metrics) for name, figures in sides],
        "Macro means in per cent over the first K facts of the requests with labels.",
    )
    yield changes([("new", replay.new_against_old)], "New against old")
    yield searches(sides)
    yield stops(sides)
    yield confusion(sides)


def ranks(rows: Sequence[tuple[str, Mapping[str, Estimate]]], note: str) -> Table:
    """Return recall and nDCG of rows."""
    return Table(
        title="Results",
        note=note,
        columns=("row", *(label for _, label in _RANKED)),
        rows=tuple(
            (name, *(percent(metrics[metric].mean) for metric, _ in _RANKED))
            for name, metrics in rows
        ),
    )


def changes(rows: Sequence[tuple[str, Mapping[str, Difference]]], title: str) -> Table:
    """Return paired differences."""
    cells = []
    for name, found in rows:
        pairs = ((change(found[metric]), p_value(found[metric].p)) for metric, _ in _TESTED)
        cells.append((name, *(cell for pair in pairs for cell in pair)))
    columns = (part for _, label in _TESTED for part in (label, "p"))
    return Table(
        title=title,
        note="Points of per cent with 95 % intervals, paired by question.",
        columns=("row", *columns),
        rows=tuple(cells) if any(found["recall@5"].p is not None for _, found in rows) else (),
    )


def searches(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    """Return how much was searched, and how long it took."""
    return Table(
        title="Searches",
        note="Means of a retrieval; the share whose first round had six queries or more beside the"
        " message; relevant units found in all; milliseconds of a retrieval, queries embedded"
        " where they were not stored.",
        columns=("row", "retrievals", "rounds", "queries", "≥ 6", "found", "p50 ms", "p95 ms"),
        rows=tuple(
            (
                name,
                f"{one.retrievals:,}",
                number(one.iterations_mean, 2),
                number(one.queries_mean, 1),
                percent(one.enough_queries),
                f"{one.relevant_found:,}",
                number(one.latency_p50_ms, 1),
                number(one.latency_p95_ms, 1),
            )
            for name, one in rows
        ),
    )


def stops(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    """Return why searches ended."""
    reasons = sorted({reason for _, one in rows for reason in one.stop_reasons})
    return Table(
        title="Stop reasons",
        columns=("row", *reasons),
        rows=tuple(
            (name, *(f"{one.stop_reasons.get(reason, 0):,}" for reason in reasons))
            for name, one in rows
        ),
    )


def confusion(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    """Return labels by what was expected; the last line of each row counts all that came."""
    cells = []
    for name, one in rows:
        for expected, got in one.labels.items():
            cells.append((f"{name}: expected {expected}", *_counts(got)))
        cells.append((f"{name}: all", *_counts(one.got)))
    return Table(
        title="Confidence",
        note="How often each label came. Expected is high where all evidence is among the first ten"
        " facts, medium where some is, else low.",
        columns=("row", *_LABELS, "low, share"),
        rows=tuple(cells),
    )


def _counts(got: Mapping[str, int]) -> tuple[str, ...]:
    whole = sum(got.values())
    share = percent(got["low"] / whole) if whole else NONE
    return (*(f"{got[label]:,}" for label in _LABELS), share)
