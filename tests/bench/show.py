"""What a run found, as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.bench import worst
from tests.bench.board import Board, Place, Row
from tests.bench.measure import WORKLOADS

NO_CALL = "–"


def cell(board: Board, place: Place, peer: str) -> str:
    """A library's figure in a place: MB/s of worst cases, else the ratio; `~` after what is not exact.

    Without a figure, what became of the library there in a word or two.
    """
    row = board.rows.get((place, peer))
    if row is None:
        return board.given_up.get((place, peer), NO_CALL).partition(":")[0]
    return figure(row) + ("" if board.is_exact(row) else "~")


def figure(row: Row) -> str:
    return f"{row.mb_per_s:.0f}" if row.place.kind == worst.KIND else f"{row.ratio:.1f}"


def unit(tokenizer: str, kind: str, base: str) -> str:
    """What the figures of a table are."""
    if kind == worst.KIND:
        return f"{tokenizer}, strings of 1 MB at the first call: MB/s"
    return f"{tokenizer}, {kind}: times as fast as tiktoken's list of ids with {base}"


def present(board: Board, tokenizer: str, kind: str, peers: Sequence[str]) -> list[str]:
    """Those of the peers that have a row there, or were given up."""
    found = [*board.rows, *board.given_up]
    there = {peer for place, peer in found if (place.tokenizer, place.kind) == (tokenizer, kind)}
    return [peer for peer in peers if peer in there]


def workloads_of(board: Board, tokenizer: str, kind: str) -> list[str]:
    """The workloads or cases that have a row there, in the order of their tables."""
    there = {place.workload for place, _ in board.rows if (place.tokenizer, place.kind) == (tokenizer, kind)}
    return [name for name in (*(workload.name for workload in WORKLOADS), *worst.CASES) if name in there]


def lines(board: Board, tokenizer: str, kind: str, base: str, peers: Sequence[str]) -> Iterator[str]:
    """A line for each workload, a column for each library, and what is to be said of them."""
    shown = present(board, tokenizer, kind, peers)
    widths = {peer: max(len(peer), len("over 5 s")) + 2 for peer in shown}
    yield f"{unit(tokenizer, kind, base)} ({NO_CALL} no such call, ~ not exact)"
    yield " " * 28 + "".join(f"{peer:>{widths[peer]}}" for peer in shown) + "   ours to the best exact peer"
    for workload in workloads_of(board, tokenizer, kind):
        place = Place(tokenizer, kind, workload)
        cells = "".join(f"{cell(board, place, peer):>{widths[peer]}}" for peer in shown)
        ratio, best = board.against_best(place), board.best_peer(place)
        against = f"   {ratio:.2f} of {best.peer}" if ratio is not None and best is not None else ""
        yield f"  {workload:26}{cells}{against}"
    for remark in board.remarks(tokenizer, kind):
        yield f"  {remark}"
