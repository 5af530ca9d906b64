"""What a run found, as a picture: ours beside the best exact peer at each workload, on each kind of text."""

from __future__ import annotations

from collections.abc import Iterator

from tokenwire_server.tools.report.markup import Markup, element

from tests.bench.board import Board, Place
from tests.bench.measure import WORKLOADS
from tests.bench.page import README_KINDS, README_TOKENIZERS
from tests.bench.peers import OURS

_LEFT, _TOP = 190, 54
_PANEL, _SCALE_WIDTH, _PANEL_GAP = 300, 180, 40
_BAR, _ROW = 11, 31
_PANEL_HEIGHT = len(WORKLOADS) * _ROW + _PANEL_GAP
_STYLE = """
text { font: 11px system-ui, sans-serif; fill: #6b7280 }
.title { font-weight: 600 }
.ours { fill: #2563eb }
.peer { fill: #9ca3af }
"""


def plot(board: Board) -> str:
    """An SVG with a panel for each tokenizer and kind of text."""
    shapes: list[Markup] = [element("style", Markup(_STYLE))]
    shapes += _legend()
    for row, tokenizer in enumerate(README_TOKENIZERS):
        top = _TOP + row * _PANEL_HEIGHT
        for number, workload in enumerate(WORKLOADS):
            shapes.append(_words(workload.name, _LEFT - 10, top + number * _ROW + 15, text_anchor="end"))
        for column, kind in enumerate(README_KINDS):
            shapes += _panel(board, tokenizer, kind, _LEFT + column * _PANEL, top)
    width = _LEFT + len(README_KINDS) * _PANEL
    height = _TOP + len(README_TOKENIZERS) * _PANEL_HEIGHT
    title = "Times as fast as tiktoken's list of ids: ours and the best exact peer"
    svg = element(
        "svg",
        shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=title,
    )
    return f"{svg}\n"


def _panel(board: Board, tokenizer: str, kind: str, left: float, top: float) -> Iterator[Markup]:
    """Two bars for each workload; a panel has a scale of its own."""
    yield _words(f"{tokenizer}, {kind}", left, top - 8, class_="title")
    places = [Place(tokenizer, kind, workload.name) for workload in WORKLOADS]
    pairs = [(board.rows.get((place, OURS.name)), board.best_peer(place)) for place in places]
    most = max((row.ratio for pair in pairs for row in pair if row), default=1.0)
    for number, pair in enumerate(pairs):
        for offset, (row, colour) in enumerate(zip(pair, ("ours", "peer"), strict=True)):
            if row is None:
                continue
            y, length = top + number * _ROW + offset * (_BAR + 1.5), row.ratio / most * _SCALE_WIDTH
            name = "" if row.peer == OURS.name else f" {row.peer}"
            yield element("rect", class_=colour, x=left, y=y, width=length, height=_BAR, rx=1.5)
            yield _words(f"{row.ratio:.1f}{name}", left + length + 4, y + _BAR - 1.5)


def _legend() -> Iterator[Markup]:
    words = "times as fast as tiktoken's list of ids, one thread"
    yield _words(words, _LEFT, 16, class_="title")
    for number, (colour, name) in enumerate((("ours", OURS.name), ("peer", "the best exact peer"))):
        x = _LEFT + 2 * _PANEL + number * 110
        yield element("rect", class_=colour, x=x, y=8, width=14, height=_BAR, rx=1.5)
        yield _words(name, x + 20, 16)


def _words(text: str, x: float, y: float, **attributes: str) -> Markup:
    return element("text", text, x=x, y=y, **attributes)
