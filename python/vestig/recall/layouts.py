"""The layouts of results, byte for byte. JSON is made by the surfaces."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Final

import msgspec
from msgspec import UNSET

from vestig.answers import (
    Certainty,
    Hypothetical,
    Reason,
    RecallHit,
    RecallResult,
    certainty_of,
)
from vestig.errors import ValidationError
from vestig.language.languages import differ, language_of
from vestig.language.text_forms import escaped_breaks, one_line
from vestig.printed import (
    LIST_CHARS,
    SEPARATOR,
    anchor_words,
    content_lines,
    none_here,
    note_line,
    said_by,
    state_words,
)
from vestig.times import age_words, to_us
from vestig.types import flags_of

NO_RESULTS: Final = "No memories found."
_FOREIGN: Final = ", in another language than the question"
_SEPARATOR: Final = f"\n\n{SEPARATOR}\n\n"


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How the hits of one result are shown; `render` says what the fields mean."""

    query_time: datetime
    explained: bool
    zone: str


def _day(hit: RecallHit, style: Style) -> str:
    """The day since which a memory's statement holds."""
    since = hit.memory.t_valid
    if style.zone == "UTC":
        return since.date().isoformat()
    from vestig.language.time.printed_dates import day_of

    return day_of(since, style.zone)


def _threshold(value: float) -> str:
    """Shortest decimal form.

    Example:
        >>> _threshold(0.5), _threshold(1.0), _threshold(1e-05)
        ('0.5', '1', '0.00001')
    """
    return format(Decimal(repr(value)).normalize(), "f")


def _rounded(value: float, below: float | None = None) -> str:
    """Two decimals, rounded; more where the value would otherwise not show as `below` another one
    that it is below.

    Example:
        >>> _rounded(0.127), _rounded(0.2996, below=0.3), _rounded(0.25)
        ('0.13', '0.2996', '0.25')
    """
    exact, places = Decimal(repr(value)), Decimal("0.01")
    shown = exact.quantize(places, rounding=ROUND_HALF_UP)
    while below is not None and value < below and shown >= Decimal(repr(below)):
        places /= 10
        shown = exact.quantize(places, rounding=ROUND_HALF_UP)
    return format(shown, "f")


def first_line(result: RecallResult) -> str | None:
    """How sure the store is; None where the profile has no confidence."""
    if result.confidence is None:
        return None
    foreign, least = _first_is_foreign(result), result.least_confidence
    return confidence_line(result.confidence, least, result.certainty, foreign=foreign)


def first_words(result: RecallResult) -> str | None:
    """Like `first_line`, without numbers."""
    certainty, foreign = result.certainty, _first_is_foreign(result)
    if certainty is None:
        return None
    if result.abstained or certainty is Certainty.NOTHING_CLOSE:
        return f"{_withheld(certainty)}{_nearest(foreign)}"
    return f"{certainty}{_FOREIGN}" if foreign else str(certainty)


def _withheld(certainty: Certainty) -> str:
    """The word for a confidence that was not enough."""
    none = certainty is Certainty.NOTHING_CLOSE
    return str(certainty) if none else f"too {Certainty.DOUBTFUL}"


def confidence_line(
    confidence: float,
    least: float | None = None,
    certainty: Certainty | None = None,
    *,
    foreign: bool = False,
) -> str:
    """How sure the store is of what follows.

    Args:
        confidence: that of the result.
        least: the one that was needed; None: whatever it is.
        certainty: the word that the result has for it; None: as `certainty_of`.
        foreign: what follows first is in another language than the question.

    Example:
        >>> confidence_line(0.947), confidence_line(0.061)
        ('likely (confidence 0.95)', 'nothing close (confidence 0.06); nearest:')
        >>> confidence_line(0.31, foreign=True)
        'doubtful (confidence 0.31), in another language than the question'
    """
    said = _confidence(confidence, least, certainty)
    withheld = least is not None and confidence < least
    if withheld or certainty_of(confidence) is Certainty.NOTHING_CLOSE:
        return f"{said}{_nearest(foreign)}"
    return f"{said}{_FOREIGN}" if foreign else said


def _confidence(
    confidence: float, least: float | None = None, certainty: Certainty | None = None
) -> str:
    """How sure the store is, as a word and a number; of what is not likely, or was not sure enough,
    also the confidence that was needed.

    Example:
        >>> _confidence(0.947), _confidence(0.061)
        ('likely (confidence 0.95)', 'nothing close (confidence 0.06)')
        >>> _confidence(0.5469, 0.5472), _confidence(0.31, 0.2)
        ('too doubtful (confidence 0.547, needed 0.55)', 'doubtful (confidence 0.31, needed 0.20)')
    """
    certainty = certainty or certainty_of(confidence)
    withheld = least is not None and confidence < least
    if least is None or (certainty is Certainty.LIKELY and not withheld):
        return f"{certainty} (confidence {_rounded(confidence)})"
    needed = _hundredths(least, ROUND_UP if withheld else ROUND_DOWN)
    shown = _rounded(confidence, float(needed))
    word = _withheld(certainty) if withheld else certainty
    return f"{word} (confidence {shown}, needed {needed})"


def _hundredths(value: float, rounding: str) -> Decimal:
    return Decimal(repr(value)).quantize(Decimal("0.01"), rounding=rounding)


def _nearest(foreign: bool) -> str:
    """The words before the nearest misses."""
    return f"; nearest{_FOREIGN if foreign else ''}:"


def _first_is_foreign(result: RecallResult) -> bool:
    """Return whether the first hit is certainly in another language than the query."""
    hits = result.nearest if result.abstained else result.results
    if not hits or result.query is None:
        return False
    return differ(language_of(hits[0].content), language_of(result.query))


def _header(hit: RecallHit, style: Style) -> str:
    hops = hit.reason.hops
    walked = f", hops={hops}" if isinstance(hops, int) and hops >= 1 else ""
    others = len(hit.repeats) + hit.repeats_more
    repeated = f", repeats={others}" if others else ""
    return (
        f"[{hit.id}] (score={hit.score:.4f}, method={hit.reason.retrieval_method}{walked},"
        f" date={_day(hit, style)}{_role(hit)}{_key(hit)}{repeated})"
    )


def _role(hit: RecallHit) -> str:
    said = said_by(hit.memory)
    return f", role={said}" if said else ""


def _key(hit: RecallHit) -> str:
    return "" if hit.memory.key is None else f", key={escaped_breaks(hit.memory.key)}"


def _reason(hit: RecallHit) -> list[str]:
    explanation = hit.reason.explanation
    return [] if explanation is UNSET else [f"Reason: {explanation}"]


def _note(hit: RecallHit, style: Style) -> list[str]:
    """Return what has become of it and of its sources, as a line."""
    states = state_words(hit.memory, flags_of(hit.memory, style.query_time), style.zone)
    note = note_line([*states, *anchor_words(hit.anchors, style.zone)])
    return [note] if note else []


def _text(hit: RecallHit, style: Style) -> str:
    lines = [_header(hit, style), *(_reason(hit) if style.explained else []), *_note(hit, style)]
    return "\n".join([*lines, f"Content: {content_lines(hit.content)}"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signals(reason: Reason) -> list[str]:
    """The terms that add something: the constant, then those that add most."""
    if reason.signals is UNSET:
        return []
    given = sorted(reason.signals.items(), key=lambda one: one[0] != "bias")
    terms = [f"{name} {_number(one.raw)} × {_number(one.weight)}" for name, one in given]
    return ["Signals: " + "; ".join(terms)] if terms else []


def _leads(reason: Reason) -> list[str]:
    """How far each group of terms lies above the mean of the pool."""
    if reason.leads is UNSET or not reason.leads:
        return []
    groups = [f"{group} {lead:+.4f}" for group, lead in reason.leads.items()]
    return ["Above the pool: " + "; ".join(groups)]


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


def _explain(hit: RecallHit, style: Style) -> str:
    """One line per group of the trace."""
    reason = hit.reason
    lines = [_header(hit, style), *_reason(hit)]
    for group in (_signals, _leads, _scores, _path, _boost):
        lines += group(reason)
    if reason.flags is not UNSET and reason.flags:
        lines.append(f"Flags: {', '.join(reason.flags)}")
    lines += _note(hit, style)
    return "\n".join([*lines, f"Content: {content_lines(hit.content)}"])


def _compact(hit: RecallHit, style: Style) -> str:
    age = age_words(to_us(style.query_time) - to_us(hit.memory.t_valid))
    stability = hit.memory.temporal_stability.value
    day = f"date={_day(hit, style)}{_role(hit)}{_key(hit)}"
    head = f"(score={hit.score:.4f}, age={age}, stability={stability}, {day})"
    return "\n".join([head, *_note(hit, style), content_lines(hit.content)])


def _related(hit: RecallHit, style: Style) -> str:
    """One line for a memory beside the results; stored text stands behind what Vestig writes."""
    line = one_line(hit.content, LIST_CHARS)
    reason, walk = hit.reason, ""
    if reason.signal_strength is not UNSET and reason.hops is not UNSET:
        walk = f"signal={reason.signal_strength:.4f}, hops={reason.hops}, "
    words = state_words(hit.memory, flags_of(hit.memory, style.query_time), style.zone)
    words += anchor_words(hit.anchors, style.zone)
    sources = "".join(f", {one}" for one in words)
    about = f"date={_day(hit, style)}{_role(hit)}{_key(hit)}{sources}"
    return f"Related: [{hit.id}] ({walk}{about}) {line}"


def _list(hit: RecallHit, style: Style) -> str:
    line = one_line(hit.content, LIST_CHARS)
    lines = [f"ID: {hit.id}", f"Score: {hit.score:.4f}", f"Date: {_day(hit, style)}"]
    if said := said_by(hit.memory):
        lines.append(f"Role: {said}")
    if hit.memory.key is not None:
        lines.append(f"Key: {escaped_breaks(hit.memory.key)}")
    lines += _note(hit, style)
    return "\n".join([*lines, f"Content: {line}"])


# format → (block of one hit, what stands between blocks)
FORMATS: Final[dict[str, tuple[Callable[[RecallHit, Style], str], str]]] = {
    "text": (_text, _SEPARATOR),
    "compact": (_compact, _SEPARATOR),
    "explain": (_explain, _SEPARATOR),
    "list": (_list, "\n\n"),
}


def render(
    result: RecallResult,
    format: str = "text",
    *,
    explained: bool = False,
    zone: str = "UTC",
) -> str:
    """A result in one of the layouts `text`, `compact`, `explain`, `list`: a line that says how
    sure the store is, then the results, or the nearest misses where recall abstained, then a line
    for each memory beside the results.

    Args:
        explained: with a line for the reason of each result, in `text`.
        zone: the time zone in which days begin.

    Raises:
        ValidationError: another format.
    """
    if format not in FORMATS:
        raise ValidationError("format", format, "one of " + ", ".join([*FORMATS, "json"]))
    layout, separator = FORMATS[format]
    hits = result.nearest if result.abstained else result.results
    if not hits:
        return line_without_results(result)
    style = Style(query_time=result.query_time, explained=explained, zone=zone)
    shown = separator.join(layout(hit, style) for hit in hits)
    if result.associated:
        shown += separator + "\n".join(_related(hit, style) for hit in result.associated)
    first = first_line(result)
    return shown if first is None else f"{first}\n\n{shown}"


def line_without_results(result: RecallResult) -> str:
    """Return what stands instead of results: which threshold left none, that the offset lies behind
    them, or that nothing was eligible."""
    if result.abstained and result.nearest and result.least_confidence is not None:
        return _confidence(result.confidence or 0.0, result.least_confidence, result.certainty)
    if result.before:
        return none_here("memories", result.before)
    if result.min_score is None or result.best_score is None:
        return NO_RESULTS
    least, best = _threshold(result.min_score), _rounded(result.best_score, result.min_score)
    return f"no score above {least} (best {best})"


def timing_lines(result: RecallResult) -> str:
    """Stages in milliseconds and per cent of the total (`--timing`)."""
    total = result.timings_ms["total"]
    lines = []
    for stage, spent in result.timings_ms.items():
        share = 100.0 * spent / total if total > 0 else 0.0
        lines.append(f"{stage:<8} {spent:9.3f} ms {share:6.1f} %")
    return "\n".join(lines)
