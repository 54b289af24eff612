"""Plots as inline SVG. Every text is escaped; colours are classes that the page defines."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

import msgspec

_CHAR: Final = 7.0
_LABEL_CHARS_MAX: Final = 48
_LINE: Final = 24
_BAR: Final = 12
_TOP: Final = 30
_BOTTOM: Final = 22
_PLOT: Final = 170
_VALUE: Final = 44
_GAP: Final = 10
# Half of an axis of differences, in points of per cent.
_SPANS: Final = (2.0, 4.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a plot, values in per cent. `look` is a class of the page."""

    label: str
    look: str
    value: float
    low: float
    high: float
    tooltip: str = ""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Points joined to one line, both coordinates from 0 to 1. `tooltips`: by point."""

    label: str
    look: str
    points: tuple[tuple[float, float], ...]
    tooltips: tuple[str, ...]


def _shown(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS_MAX else label[: _LABEL_CHARS_MAX - 1] + "…"


def _gutter(marks: Sequence[Mark]) -> int:
    return int(max(len(_shown(mark.label)) for mark in marks) * _CHAR) + _GAP


def _text(x: float, y: float, words: str, look: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"/>'


def _frame(title: str, width: float, height: float, body: Sequence[str]) -> str:
    inner = "\n".join(body)
    return (
        f'<svg role="img" aria-label="{escape(title, quote=True)}" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n{inner}\n</svg>'
    )


def _whisker(left: float, right: float, y: float) -> list[str]:
    ends = [_line(x, y - 3, x, y + 3, "whisker") for x in (left, right)]
    return [_line(left, y, right, y, "whisker"), *ends]


def bars(title: str, marks: Sequence[Mark]) -> str:
    """Bars from 0 to 100 per cent with their intervals, one under the other.

    Example:
        >>> mark = Mark(label="<a>", look="peer", value=47.5, low=44.0, high=51.0)
        >>> drawn = bars("R@10", [mark])
        >>> "&lt;a&gt;" in drawn, drawn.count("<rect")
        (True, 1)
    """
    gutter = _gutter(marks)
    bottom = _TOP + _LINE * len(marks)
    body = [_text(0, 14, title, "title")]
    for percent in (0, 25, 50, 75, 100):
        x = gutter + _PLOT * percent / 100
        body.append(_line(x, _TOP - 4, x, bottom, "grid" if percent else "axis"))
        if percent % 50 == 0:
            body.append(_text(x, bottom + 15, str(percent), "tick", "middle"))
    for number, mark in enumerate(marks):
        y = _TOP + _LINE * number + _LINE / 2
        length = max(1.0, _PLOT * mark.value / 100)
        left, right = (gutter + _PLOT * end / 100 for end in (mark.low, mark.high))
        body += [
            f"<g><title>{escape(f'{mark.label}: {mark.tooltip}')}</title>",
            f'<rect x="0" y="{y - _LINE / 2:.1f}" width="{gutter + _PLOT + _VALUE}"'
            f' height="{_LINE}" class="hit"/>'
            if mark.tooltip
            else "",
            _text(gutter - _GAP, y + 4, _shown(mark.label), "label", "end"),
            f'<rect x="{gutter}" y="{y - _BAR / 2:.1f}" width="{length:.1f}" height="{_BAR}"'
            f' rx="2" class="bar {escape(mark.look, quote=True)}"/>',
            *_whisker(left, right, y),
            _text(gutter + _PLOT + _VALUE, y + 4, f"{mark.value:.1f}", "value", "end"),
            "</g>",
        ]
    return _frame(title, gutter + _PLOT + _VALUE, bottom + _BOTTOM, [part for part in body if part])


def forest(title: str, marks: Sequence[Mark]) -> str:
    """Differences in points of per cent with their intervals around a line at 0."""
    gutter, width = _gutter(marks) + _GAP, 2 * _PLOT
    furthest = max(abs(end) for mark in marks for end in (mark.low, mark.high))
    span = next(span for span in _SPANS if span >= furthest or span == _SPANS[-1])
    bottom = _TOP + _LINE * len(marks)

    def place(value: float) -> float:
        return gutter + width * (value + span) / (2 * span)

    body = [_text(0, 14, title, "title")]
    for value in (-span, -span / 2, 0.0, span / 2, span):
        x = place(value)
        body.append(_line(x, _TOP - 4, x, bottom, "grid" if value else "axis"))
        body.append(_text(x, bottom + 15, f"{value:+.0f}" if value else "0", "tick", "middle"))
    for number, mark in enumerate(marks):
        y = _TOP + _LINE * number + _LINE / 2
        body += [
            f"<g><title>{escape(f'{mark.label}: {mark.tooltip}')}</title>",
            _text(gutter - 2 * _GAP, y + 4, _shown(mark.label), "label", "end"),
            *_whisker(place(mark.low), place(mark.high), y),
            f'<circle cx="{place(mark.value):.1f}" cy="{y:.1f}" r="4.5"'
            f' class="bar {escape(mark.look, quote=True)}"/>',
            _text(gutter + width + _VALUE + _GAP, y + 4, f"{mark.value:+.1f}", "value", "end"),
            "</g>",
        ]
    return _frame(title, gutter + width + _VALUE + _GAP, bottom + _BOTTOM, body)


_SQUARE: Final = 200
_LEFT: Final = 34
_LEGEND: Final = 150
# Room for the title and, under it, the name of the upright axis.
_HEAD: Final = 48
# More points than these would hide their line.
_DOTS_MOST: Final = 25


def lines(title: str, axes: tuple[str, str], drawn: Sequence[Line], *, even: bool = False) -> str:
    """Lines over a square from 0 to 1; `even`: with the diagonal, where both coordinates agree.

    Example:
        >>> points, texts = ((0.0, 0.0), (1.0, 0.5)), ("", "x")
        >>> line = Line(label="a<b", look="peer", points=points, tooltips=texts)
        >>> drawn = lines("Risk", ("coverage", "risk"), [line], even=True)
        >>> drawn.count("<polyline"), "a&lt;b" in drawn
        (1, True)
    """
    bottom, right = _HEAD + _SQUARE, _LEFT + _SQUARE

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + _SQUARE * point[0], bottom - _SQUARE * point[1]

    body = [_text(0, 14, title, "title")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at((share, share))
        look = "grid" if share else "axis"
        body += [_line(x, _HEAD, x, bottom, look), _line(_LEFT, y, right, y, look)]
        if share in (0.0, 0.5, 1.0):
            body.append(_text(x, bottom + 15, f"{share:g}", "tick", "middle"))
            body.append(_text(_LEFT - 6, y + 4, f"{share:g}", "tick", "end"))
    if even:
        body.append(_line(_LEFT, bottom, right, _HEAD, "axis even"))
    for number, one in enumerate(drawn):
        places = [at(point) for point in one.points]
        look = escape(one.look, quote=True)
        dot = f"bar {look}" if len(places) <= _DOTS_MOST else "hit"
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{joined}" class="curve {look}"/>')
        for (x, y), tooltip in zip(places, one.tooltips, strict=True):
            inner = f"<title>{escape(f'{one.label}: {tooltip}')}</title>" if tooltip else ""
            body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{dot}">{inner}</circle>')
        y = _HEAD + 10 + 18 * number
        body.append(_line(right + 14, y, right + 30, y, f"curve {look}"))
        body.append(_text(right + 36, y + 4, _shown(one.label), "label"))
    body.append(_text(_LEFT + _SQUARE / 2, bottom + 32, axes[0], "tick", "middle"))
    body.append(_text(0, _HEAD - 12, axes[1], "tick"))
    return _frame(title, right + _LEGEND, bottom + 40, body)
