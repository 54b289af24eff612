"""Why an expected memory is not among the results, as text for humans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vestig.times import to_plain

if TYPE_CHECKING:
    from vestig.answers import RecallResult, SignalTrace, WhyNot

_STAGES: Final = {
    "unknown": "no memory has this id",
    "other_namespace": "the id is not in this namespace",
    "filtered": "left out by filters",
    "not_in_pool": "not among the candidates",
    "ranked_below": "ranked below the last result",
    "below_min_score": "its score is too small",
    "abstained": "left out by min_confidence",
}


def json_line(value: Any) -> str:
    """A value as JSON on one line."""
    import json

    return json.dumps(to_plain(value), ensure_ascii=False)


def _stage(entry: WhyNot) -> str:
    words = _STAGES[entry.stage]
    if entry.filters:
        words += f": {', '.join(entry.filters)}"
    if entry.rank is not None:
        words += f"; rank {entry.rank}"
    if entry.score is not None:
        words += f", score {entry.score:.4f}"
    last = entry.last_returned
    if last is not None and entry.score is not None:
        words += f" (last result: rank {last.rank}, score {last.score:.4f})"
    return words


def _number(signal: SignalTrace | None) -> str:
    return "–" if signal is None else f"{signal.raw:.4f}"


def _silent(signal: SignalTrace | None) -> bool:
    """Return whether a term adds nothing: it was not weighed, or its value is 0."""
    return signal is None or signal.raw == 0


def _signals(entry: WhyNot) -> list[str]:
    """Each term that adds something to either score, beside that of the last result."""
    last = entry.last_returned
    if entry.signals is None or last is None:
        return []
    pairs = [
        f"{name} {_number(entry.signals.get(name))} / {_number(last.signals.get(name))}"
        for name in {**entry.signals, **last.signals}
        if name != "bias"
        and not (_silent(entry.signals.get(name)) and _silent(last.signals.get(name)))
    ]
    return [f"  Signals (its own / of the last result): {'; '.join(pairs)}"] if pairs else []


def _change(entry: WhyNot) -> list[str]:
    change = entry.change
    if change is None:
        return [f"  No change: {entry.no_change}"]
    what = change.kind if change.kind == change.key else f"{change.kind} {change.key}"
    return [
        f"  Change: {what} from {json_line(change.before)} to"
        f" {json_line(change.after)} brings it to rank {change.rank}"
    ]


def expectations(result: RecallResult) -> list[str]:
    """One block for each expected memory that is not among the results."""
    if result.why_not is None:
        return []
    return [
        "\n".join([f"Why not {entry.id}: {_stage(entry)}", *_signals(entry), *_change(entry)])
        for entry in result.why_not
    ]
