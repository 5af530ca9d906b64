"""What a run found, as Markdown: the README's small table, and docs/bench.md with every library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from tests.bench import worst
from tests.bench.board import Board, Place
from tests.bench.measure import WORKLOADS
from tests.bench.peers import OURS
from tests.bench.show import cell, present, unit, workloads_of

README_TOKENIZERS = ("cl100k_base", "o200k_base")
README_KINDS = ("English", "code", "mixed")

HEAD = """# How fast it is, beside its peers

`make bench` writes this page and the table of the [README](../README.md). Figures are of one thread and of CPU time, in
which helper threads count. Each library runs in a process of its own; the processes take turns at the same texts, in an
order that rotates. Ratios are of times in the same round, and medians over all rounds. What was timed is compared with
the ids of the reference, text by text: `~` marks a library that got any text of the kind wrong, which is no bar. The
fastest exact library beside ours is set in bold, and the last column is our figure as a multiple of its. A dash: the
library has no such call.

- Cold process: the first pass of a process that has only loaded the vocabulary and encoded one letter; the list of ids
  of libraries without a buffer.
- New text: documents that the process has not seen, when it has seen as many others.
- Repeated text: the same 16 documents again and again. Strings of 40 bytes are those of the same documents, each in a
  call of its own.
- Documents have 4 KB; mixed text is 2,000 characters of each language in turn.
- A buffer is what the library has for ids without an `int` object for each: an array, bytes or a memory view."""


def readme_table(board: Board, where: str) -> str:
    """Ours and the best exact peer at each workload, on English, code and mixed text."""
    columns = [(tokenizer, kind) for tokenizer in README_TOKENIZERS for kind in README_KINDS]
    columns = [column for column in columns if workloads_of(board, *column)]
    rows = []
    for workload in WORKLOADS:
        cells = []
        for tokenizer, kind in columns:
            place = Place(tokenizer, kind, workload.name)
            best = board.best_peer(place)
            ours = cell(board, place, OURS.name)
            cells.append(f"{ours} / {best.ratio:.1f}" if best else ours)
        rows.append([workload.name, *cells])
    head = ["ours / best exact peer", *(f"{tokenizer}, {kind}" for tokenizer, kind in columns)]
    return f"{_table(head, rows)}\n\n{where}.\n"


def page(board: Board, where: str, bases: dict[str, str], peers: Sequence[str]) -> str:
    """Every table; `bases` has the vocabulary of tiktoken's list of ids for each tokenizer."""
    sections = [HEAD, f"{where}.", "![Ours beside the best exact peer](bench.svg)"]
    places = dict.fromkeys((place.tokenizer, place.kind) for place, _ in board.rows)
    for tokenizer, kind in places:
        sections.append(f"## {unit(tokenizer, kind, bases[tokenizer])}")
        sections.append(_of_kind(board, tokenizer, kind, present(board, tokenizer, kind, peers)))
        sections.append("\n".join(f"- {remark}" for remark in board.remarks(tokenizer, kind)))
    sections += ["## Ready to encode: CPU time and resident memory of a fresh process", _loads(board, peers)]
    return "\n\n".join(filter(None, sections)) + "\n"


def _of_kind(board: Board, tokenizer: str, kind: str, peers: Sequence[str]) -> str:
    rows = []
    for workload in workloads_of(board, tokenizer, kind):
        place = Place(tokenizer, kind, workload)
        best = board.best_peer(place)
        cells = []
        for peer in peers:
            text = cell(board, place, peer)
            cells.append(f"**{text}**" if best and best.peer == peer else text)
        ratio = board.against_best(place)
        rows.append([workload, *cells, "" if ratio is None else f"{ratio:.2f}"])
    first = "case" if kind == worst.KIND else "workload"
    return _table([first, *peers, "ours to the best"], rows)


def _loads(board: Board, peers: Sequence[str]) -> str:
    tokenizers = list(dict.fromkeys(tokenizer for tokenizer, _ in board.loads))
    shown = [peer for peer in peers if any(name == peer for _, name in board.loads)]
    return _table(["tokenizer", *shown], [[name, *_loads_of(board, name, shown)] for name in tokenizers])


def _loads_of(board: Board, tokenizer: str, peers: Sequence[str]) -> Iterator[str]:
    for peer in peers:
        loads = board.loads.get((tokenizer, peer), [])
        sizes = [load.resident_bytes for load in loads if load.resident_bytes is not None]
        words = [f"{median(load.load_cpu_s for load in loads):.2f} s"] if loads else ["–"]
        words += [f"{median(sizes) / 1e6:.0f} MB"] if sizes else []
        yield ", ".join(words)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
