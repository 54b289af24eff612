"""The layouts of results, byte for byte. JSON is made by the surfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import UNSET

from vestig.answers import Hypothetical, Reason, RecallHit, RecallResult, SignalTrace
from vestig.errors import ValidationError
from vestig.times import age_words, to_us

__all__ = ["ABSTAINED", "FORMATS", "NO_RESULTS", "render", "timing_lines"]

NO_RESULTS: Final = "No memories found."
ABSTAINED: Final = "No memory answers this question."
_LIST_CHARS: Final = 100
_SEPARATOR: Final = "\n\n---\n\n"


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC").rjust(23, "0")


def _escaped(content: str) -> str:
    """A content line that is exactly `---` would end the block."""
    return "\n".join("\\---" if line == "---" else line for line in content.split("\n"))


def _header(hit: RecallHit) -> str:
    hops = hit.reason.hops
    walked = f", hops={hops}" if isinstance(hops, int) and hops >= 1 else ""
    return (
        f"[{hit.id}] (score={hit.score:.4f}, method={hit.reason.retrieval_method}{walked},"
        f" created={_written(hit.memory.t_created)})"
    )


def _reason(hit: RecallHit) -> list[str]:
    explanation = hit.reason.explanation
    return [] if explanation is UNSET else [f"Reason: {explanation}"]


def _text(hit: RecallHit, explained: bool) -> str:
    lines = [_header(hit), *(_reason(hit) if explained else [])]
    return "\n".join([*lines, f"Content: {_escaped(hit.content)}"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _share(signal: SignalTrace) -> float:
    """What a term adds to the score; 0 for one that is unavailable or without weight."""
    value = signal.raw if signal.normalised is None else signal.normalised
    return 0.0 if value is None or signal.weight is None else value * signal.weight


def _signals(reason: Reason) -> list[str]:
    """The terms that add something: those of the signal that adds most first."""
    if reason.signals is UNSET:
        return []
    shares = {name: _share(signal) for name, signal in reason.signals.items()}
    whole: dict[str, float] = {}
    for name, share in shares.items():
        signal, _, _ = name.partition(".")
        whole[signal] = whole.get(signal, 0.0) + share

    def order(name: str) -> tuple[bool, float, str, float]:
        signal, _, _ = name.partition(".")
        return name != "bias", -abs(whole[signal]), signal, -abs(shares[name])

    terms = [
        f"{name} {_number(one.raw if one.normalised is None else one.normalised)}"
        f" × {_number(one.weight)} (raw {_number(one.raw)})"
        for name in sorted((name for name, share in shares.items() if share != 0), key=order)
        for one in (reason.signals[name],)
    ]
    return ["Signals: " + "; ".join(terms)] if terms else []


def _scores(reason: Reason) -> list[str]:
    named = (
        ("start", reason.start_score),
        ("semantic", reason.semantic_score),
        ("metadata", reason.metadata_score),
        ("alpha", reason.alpha_used),
        ("base", reason.base),
        ("base of the start", reason.start_base),
    )
    shown = [f"{name} {value:.4f}" for name, value in named if isinstance(value, float)]
    lines = ["Score: " + "; ".join(shown)] if shown else []
    if isinstance(reason.hypothetical, Hypothetical):
        best = reason.hypothetical
        lines.append(f'Stored question: "{best.question}" ({best.cosine:.4f})')
    return lines


def _path(reason: Reason) -> list[str]:
    if reason.path is UNSET or reason.path_score is UNSET or reason.signal_strength is UNSET:
        return []
    lines = [
        f"Path: {' → '.join(reason.path)}; signal {reason.signal_strength:.4f};"
        f" path score {reason.path_score:.4f}"
    ]
    if reason.steps is not UNSET and reason.steps:
        steps = [
            f"{step.edge} (weight {step.weight:.4f}, p {step.p:.4f}, u {_number(step.u)})"
            for step in reason.steps
        ]
        lines.append("Steps: " + "; ".join(steps))
    return lines


def _boost(reason: Reason) -> list[str]:
    boost = reason.tracerank_boost
    if boost is UNSET:
        return []
    return [
        f"TraceRank: {boost.multiplier:.4f} (trace {boost.trace:.4f}, basic {boost.basic:.4f},"
        f" connectivity {boost.connectivity:.4f}, confidence {boost.confidence:.4f},"
        f" unclipped {boost.unclipped:.4f}, events {boost.events},"
        f" stability {boost.stability})"
    ]


def _explain(hit: RecallHit) -> str:
    """One line per group of the trace."""
    reason = hit.reason
    lines = [_header(hit), *_reason(hit)]
    for group in (_signals, _scores, _path, _boost):
        lines += group(reason)
    if reason.flags is not UNSET and reason.flags:
        lines.append(f"Flags: {', '.join(reason.flags)}")
    return "\n".join([*lines, f"Content: {_escaped(hit.content)}"])


def _compact(hit: RecallHit, query_time: datetime) -> str:
    age = age_words(to_us(query_time) - to_us(hit.memory.t_valid))
    stability = hit.memory.temporal_stability.value
    return f"(score={hit.score:.4f}, age={age}, stability={stability})\n{_escaped(hit.content)}"


def _list(hit: RecallHit) -> str:
    content = hit.content
    snippet = content if len(content) <= _LIST_CHARS else content[:_LIST_CHARS] + "..."
    return (
        f"ID: {hit.id}\nScore: {hit.score:.4f}\nCreated: {_written(hit.memory.t_created)}\n"
        f"Content: {snippet}"
    )


Layout = Callable[[RecallResult, bool], str]


def _blocks(blocks: Sequence[str]) -> str:
    return _SEPARATOR.join(blocks)


FORMATS: Final[dict[str, Layout]] = {
    "text": lambda result, explained: _blocks([_text(h, explained) for h in result.results]),
    "compact": lambda result, _: _blocks([_compact(h, result.query_time) for h in result.results]),
    "explain": lambda result, _: _blocks([_explain(h) for h in result.results]),
    "list": lambda result, _: "\n\n".join(_list(h) for h in result.results),
}


def render(result: RecallResult, format: str = "text", *, explained: bool = False) -> str:
    """A result in one of the layouts `text`, `compact`, `explain`, `list`.

    Raises:
        ValidationError: another format.
    """
    layout = FORMATS.get(format)
    if layout is None:
        raise ValidationError("format", format, "one of " + ", ".join([*FORMATS, "json"]))
    if result.abstained:
        return _abstained(result)
    return layout(result, explained) if result.results else NO_RESULTS


def _abstained(result: RecallResult) -> str:
    """That nothing answers, and what came nearest to it."""
    near = [f"[{hit.id}] (score={hit.score:.4f})" for hit in result.nearest_misses]
    lines = [f"{ABSTAINED} Confidence {result.confidence:.4f}."]
    return "\n".join([*lines, "Nearest: " + ", ".join(near)] if near else lines)


def timing_lines(result: RecallResult) -> str:
    """Stages in milliseconds and per cent of the total (`--timing`)."""
    total = result.timings_ms["total"]
    lines = []
    for stage, spent in result.timings_ms.items():
        share = 100.0 * spent / total if total > 0 else 0.0
        lines.append(f"{stage:<8} {spent:9.3f} ms {share:6.1f} %")
    return "\n".join(lines)
