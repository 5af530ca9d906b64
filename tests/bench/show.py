"""What a run found, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.bench.board import Board, Place, Row
from tests.bench.peers import OURS


def ratio_words(board: Board, row: Row | None) -> str:
    """The row's ratio; `~` after one that is not exact, a dash for a library without the call."""
    if row is None:
        return "–"
    return f"{row.ratio:.1f}{'' if board.is_exact(row) else '~'}"


def lines(
    board: Board, tokenizer: str, kind: str, workloads: Sequence[str], peers: Sequence[str]
) -> Iterator[str]:
    """One kind of text with one vocabulary: a line for each workload, a column for each library."""
    present = [
        peer
        for peer in peers
        if any(
            place.tokenizer == tokenizer and place.kind == kind and name == peer for place, name in board.rows
        )
    ]
    yield f"{tokenizer}, {kind}: times as fast as tiktoken's list of ids"
    yield f"  {'':26}" + "".join(f"{peer:>12}" for peer in present) + "   ours against the best exact peer"
    for workload in workloads:
        place = Place(tokenizer, kind, workload)
        cells = "".join(f"{ratio_words(board, board.rows.get((place, peer))):>12}" for peer in present)
        ours, best = board.rows.get((place, OURS.name)), board.best_peer(place)
        against = f"   {ours.ratio / best.ratio:.2f} of {best.peer}" if ours and best else ""
        yield f"  {workload:26}{cells}{against}"
    for (there, what, peer), share in board.shares_wrong.items():
        if (there, what) == (tokenizer, kind) and share:
            yield f"  ~ {peer}: {share:.1%} of documents have other ids"
    for (there, what, peer), reason in board.absences.items():
        if (there, what) == (tokenizer, kind):
            yield f"  {peer} is out: {reason}"
