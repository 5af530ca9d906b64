"""Charts: bars and curves as SVG that stands in a page, each with a legend. Colours are the page's `s0` to `s7`.

Curves differ in their dashes too, and every bar has its number beside it, so that no reader needs the colours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokenwire_server.tools.report.markup import Markup, element

MAX_SERIES = 8
"""More could not be told apart."""

_WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 64, 8, 24
_BAR, _BETWEEN_BARS, _BETWEEN_ROWS = 11, 2, 9
_CURVES_HEIGHT = 320
_DASHES = ("none", "7 3", "2 3", "10 3 2 3", "4 2", "12 4", "1 2", "8 2 1 2 1 2")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of bars: the value of each series, and how it is written."""

    label: str
    values: Sequence[float]
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of `curves`: how many texts have each length, lengths to mark by name, and a limit or None."""

    name: str
    lengths: Mapping[int, int]
    marks: Mapping[str, int]
    limit: int | None


def bars(title: str, rows: Sequence[Row], series: Sequence[str], unit: str = "") -> Markup:
    """Rows of horizontal bars from zero, one bar for each of the `series`; `unit` follows the axis' numbers."""
    most = max((value for row in rows for value in row.values), default=0) or 1
    step = _nice_step(most)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    row_height = len(series) * (_BAR + _BETWEEN_BARS) + _BETWEEN_ROWS
    height = _TOP + len(rows) * row_height + _BOTTOM
    shapes: list[Markup] = []
    for number in range(int(most / step) + 1):
        shapes += _vertical(_LEFT + number * step * scale, height, f"{number * step:g}{unit}")
    for index, row in enumerate(rows):
        top = _TOP + index * row_height + _BETWEEN_ROWS / 2
        middle = top + (row_height - _BETWEEN_ROWS) / 2 + 4
        shapes.append(element("text", row.label, class_="label", x=_LEFT - 8, y=middle, text_anchor="end"))
        for number, (value, words) in enumerate(zip(row.values, row.words, strict=True)):
            y, width = top + number * (_BAR + _BETWEEN_BARS), value * scale
            tip = element("title", f"{row.label}, {series[number]}: {words}")
            colour = f"fill s{number}"
            shapes += [
                element("rect", tip, class_=colour, x=_LEFT, y=y, width=max(width, 1.0), height=_BAR, rx=1.5),
                element("text", words, class_="value", x=_LEFT + width + 5, y=y + _BAR - 2),
            ]
    legend = [
        (name, element("rect", class_=f"fill s{number}", width=14, height=10, y=1))
        for number, name in enumerate(series)
    ]
    return Markup(_legend(legend) + _svg(title, height, shapes))


def curves(title: str, series: Sequence[Curve]) -> Markup:
    """The share of texts that have at most so many tokens, on a logarithmic axis, exact at every pixel."""
    ends = [length for each in series for length in each.lengths]
    ends += [each.limit for each in series if each.limit is not None]
    low = math.floor(math.log10(max(min(ends, default=1), 1)))
    high = max(math.ceil(math.log10(max(max(ends, default=1), 1))), low + 1)
    width, bottom = _WIDTH - _LEFT - _RIGHT, _CURVES_HEIGHT - _BOTTOM

    def x(length: int) -> float:
        return _LEFT + (math.log10(max(length, 1)) - low) / (high - low) * width

    def y(share: float) -> float:
        return _TOP + (1 - share) * (bottom - _TOP)

    shapes: list[Markup] = []
    for power in range(low, high + 1):
        shapes += _vertical(x(10**power), _CURVES_HEIGHT, _short(10**power))
    for quarter in range(5):
        level = y(quarter / 4)
        shapes += [
            element("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=level, y2=level),
            element("text", f"{quarter * 25}%", x=_LEFT - 8, y=level + 4, text_anchor="end"),
        ]
    shapes += _limits(series, x, bottom)
    for number, curve in enumerate(series):
        shares = _shares(curve.lengths)
        path = "".join(_steps([(x(length), y(share)) for length, share in shares.items()], bottom))
        shapes.append(element("path", class_=f"stroke s{number}", d=path, stroke_dasharray=_DASHES[number]))
        for name, length in curve.marks.items():
            tip = element("title", f"{curve.name}, {name}: {length:,} tokens")
            at_y = y(shares.get(length, 0.0))
            shapes.append(element("circle", tip, class_=f"fill s{number}", cx=x(length), cy=at_y, r=4))
    legend = [
        (each.name, element("line", class_=f"stroke s{n}", x2=26, y1=6, y2=6, stroke_dasharray=_DASHES[n]))
        for n, each in enumerate(series)
    ]
    return Markup(_legend(legend) + _svg(title, _CURVES_HEIGHT, shapes))


def _shares(lengths: Mapping[int, int]) -> dict[int, float]:
    """For each length, shortest first, the share of texts that are no longer."""
    n_texts = sum(lengths.values())
    ordered = sorted(lengths.items())
    sums = itertools.accumulate(n for _, n in ordered)
    return {length: n_so_far / n_texts for (length, _), n_so_far in zip(ordered, sums, strict=True)}


def _steps(points: Sequence[tuple[float, float]], bottom: float) -> Iterator[str]:
    """The path of a staircase up from the bottom; a step of less than half a pixel waits for the next."""
    before = (0.0, bottom)
    for number, (x, y) in enumerate(points):
        if number == 0:
            yield f"M{x:.1f} {bottom:.1f}V{y:.1f}"
        elif number == len(points) - 1 or x - before[0] + before[1] - y >= 0.5:
            yield f"H{x:.1f}V{y:.1f}"
        else:
            continue
        before = (x, y)


def _limits(series: Sequence[Curve], x: Callable[[int], float], bottom: float) -> Iterator[Markup]:
    """A line for each limit; where there are several, in the colour of the first curve that has it."""
    limits: dict[int, int] = {}
    for number, curve in enumerate(series):
        if curve.limit is not None:
            limits.setdefault(curve.limit, number)
    for index, (limit, number) in enumerate(sorted(limits.items())):
        colour = f"s{number}" if len(limits) > 1 else "ink"
        words, y = f"limit {limit:,}", bottom - 6 - 14 * index
        yield element("line", class_=f"limit {colour}", x1=x(limit), x2=x(limit), y1=_TOP, y2=bottom)
        yield element("text", words, class_="label", x=x(limit) - 5, y=y, text_anchor="end")


def _vertical(x: float, height: float, words: str) -> list[Markup]:
    """A line of the grid, and its number below."""
    return [
        element("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=height - _BOTTOM),
        element("text", words, x=x, y=height - 8, text_anchor="middle"),
    ]


def _svg(title: str, height: float, shapes: Sequence[Markup]) -> Markup:
    return element("svg", shapes, viewBox=f"0 0 {_WIDTH} {height:g}", role="img", aria_label=title)


def _legend(entries: Sequence[tuple[str, Markup]]) -> Markup:
    items = (
        element("li", element("svg", mark, viewBox="0 0 26 12", aria_hidden="true"), " ", name)
        for name, mark in entries
    )
    return element("ul", items, class_="legend")


def _nice_step(most: float) -> float:
    """1, 2 or 5 times a power of ten, for four to ten lines of a grid."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    return next(power * factor for factor in (5, 2, 1) if most / (power * factor) >= 4)


def _short(number: int) -> str:
    for suffix, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number // size}{suffix}"
    return str(number)
