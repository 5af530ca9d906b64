"""The benchmark itself: who is wrong is no bar, who is not in the race is named, and what is written says so."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import __main__ as command
from tests.bench import made_up, measure, page, plot, show, worst
from tests.bench.board import Board, Place
from tests.bench.made_up import RARE
from tests.bench.measure import WORKLOADS, Race, Workload, sit
from tests.bench.peers import OURS, PEERS, TIKTOKEN, Calls, Peer, Vocabulary
from tests.bench.texts import DOCUMENT_BYTES, SHORT_BYTES, documents, short_strings
from tests.bench.worker import LostError

ROOT = Path(__file__).parents[2]
N_DOCUMENTS = 8
KIND = "English"
LISTS = Place("bytes", KIND, "list of ids, repeated text")


def a_text() -> str:
    """Documents of which the last alone holds what is rare."""
    return "é" * (DOCUMENT_BYTES // 2 * (N_DOCUMENTS - 1)) + RARE + "b" + "é" * (DOCUMENT_BYTES // 2 - 2)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    """A rank file in which the id of a byte is the byte."""
    path = tmp_path_factory.mktemp("vocabulary") / "bytes.tiktoken"
    ranks = (base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    path.write_bytes(b"".join(ranks))
    return Vocabulary("bytes", "tiktoken", path, pattern=r"\S+|\s+")


@pytest.fixture(scope="module", autouse=True)
def short_rounds() -> Iterator[None]:
    """A sitting takes a few documents, and rounds are short and few."""
    with pytest.MonkeyPatch.context() as patch:
        for name, few in {"N_SAME": 1, "N_NEW": 1, "N_COLD": 2, "N_BEFORE_COLD": 4, "ROUND_S": 0.001}.items():
            patch.setattr(measure, name, few)
        patch.setattr(worst, "N_ROUNDS", 1)
        yield


def race_of(vocabulary: Vocabulary, *names: str) -> Race:
    """A race of ours, tiktoken and the made-up libraries of these names."""
    others = [Peer(name, getattr(made_up, name)) for name in names]
    return Race(vocabulary, (Peer(OURS.name, made_up.exact), TIKTOKEN, *others), TIKTOKEN, vocabulary)


@pytest.fixture(scope="module")
def board(vocabulary: Vocabulary) -> Board:
    """What a sitting of every made-up library that ends leaves."""
    board = Board()
    names = ("exact", "wrong", "rarely_wrong", "miscounting", "refusing", "failing", "dying")
    sit(race_of(vocabulary, *names), KIND, a_text(), WORKLOADS, board, 0)
    return board


def test_a_wrong_library_is_no_bar() -> None:
    """The bar is the fastest library beside ours that is exact in its row and in all documents of the kind."""
    board = Board()
    for peer, ratio in {
        OURS.name: 9.0,
        "wrong here": 8.0,
        "wrong elsewhere": 7.0,
        "exact": 3.0,
        "slow": 1.0,
    }.items():
        row = board.row(LISTS, peer)
        row.ratios += [ratio - 0.5, ratio, ratio + 5]
        row.n_different = peer == "wrong here"
    board.shares_wrong["bytes", KIND, "wrong elsewhere"] = 0.01
    best = board.best_peer(LISTS)
    assert best is not None
    assert best.peer == "exact"
    assert board.against_best(LISTS) == 3.0


def test_a_wrong_library_is_shown_as_different(board: Board) -> None:
    """Its figure has a mark, and the share of documents that it gets wrong is told."""
    assert not board.is_exact(board.rows[LISTS, "wrong"])
    assert show.cell(board, LISTS, "wrong").endswith("~")
    assert not show.cell(board, LISTS, "exact").endswith("~")
    assert "wrong: 100.0% of the documents have other ids" in set(board.remarks("bytes", KIND))


def test_one_wrong_document_is_enough(board: Board) -> None:
    """A library that is right in all that was timed, and wrong in one document of the kind, is not exact."""
    row = board.rows[LISTS, "rarely_wrong"]
    assert row.n_different == 0
    assert not board.is_exact(row)
    assert board.shares_wrong["bytes", KIND, "rarely_wrong"] == 1 / N_DOCUMENTS


def test_counts_are_compared(board: Board) -> None:
    """A count that is not the number of the reference's ids makes a library inexact, however right its ids are."""
    counts = Place("bytes", KIND, "count, repeated text")
    assert board.rows[counts, "miscounting"].n_different > 0
    assert board.rows[LISTS, "miscounting"].n_different == 0
    assert board.shares_wrong["bytes", KIND, "miscounting"] == 1
    best = board.best_peer(counts)
    assert best is not None
    assert best.peer == "exact"


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_call_has_its_rows(board: Board, workload: Workload) -> None:
    """A library with all calls is in every workload; one with a list alone where lists are asked for, and cold."""
    place = Place("bytes", KIND, workload.name)
    is_of_lists = workload.call == "list" or workload.mode == "cold"
    assert board.is_exact(board.rows[place, "exact"])
    assert ((place, "rarely_wrong") in board.rows) == is_of_lists
    assert (show.cell(board, place, "rarely_wrong") == show.NO_CALL) != is_of_lists


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refusing", "only for vocabularies of its own"),
        ("failing", "failed: ValueError: there is no such table"),
        ("dying", "failed: exit status 3"),
    ],
)
def test_who_cannot_run_is_named(board: Board, name: str, words: str) -> None:
    """A library that refuses, fails or dies is named with the reason, and the others go on."""
    assert f"not in the race: {name}: {words}" in set(board.remarks("bytes", KIND))
    assert board.shares_wrong["bytes", KIND, "exact"] == 0


@pytest.mark.parametrize("role", ["ours", "judge"])
def test_there_is_no_race_without_ours_and_the_judge(vocabulary: Vocabulary, role: str) -> None:
    """If ours or the library whose ids are the truth fails, the run ends instead of comparing with nothing."""
    ours = Peer(OURS.name, made_up.failing if role == "ours" else made_up.exact)
    judge = Peer("judge", made_up.failing if role == "judge" else made_up.exact)
    race = Race(vocabulary, (TIKTOKEN, ours, judge), judge, vocabulary)
    with pytest.raises(LostError, match="no such table"):
        sit(race, KIND, a_text(), WORKLOADS, Board(), 0)


def test_a_text_that_is_too_short_is_refused(vocabulary: Vocabulary) -> None:
    """Documents that are called new are never ones that came before."""
    with pytest.raises(ValueError, match="3 documents"):
        sit(race_of(vocabulary), KIND, "b" * DOCUMENT_BYTES * 3, WORKLOADS, Board(), 0)


def test_worst_cases_are_bounded_and_compared(vocabulary: Vocabulary) -> None:
    """A library that does not end is given up in that case alone, and one with other ids is shown as different."""
    board = Board()
    cases = {"rare": lambda: RARE, "usual": lambda: "b"}
    worst.meet(race_of(vocabulary, "endless", "wrong"), board, cases, limit_s=0.5)
    rare, usual = (Place("bytes", worst.KIND, case) for case in cases)
    assert show.cell(board, rare, "endless") == "over 0.5 s"
    assert not show.cell(board, usual, "endless").endswith("~")
    assert board.is_exact(board.rows[usual, "endless"])
    assert not board.is_exact(board.rows[usual, "wrong"])


def test_what_is_not_installed_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A library that is not there is left out by name."""

    def load(_: Vocabulary) -> Calls:
        raise AssertionError

    assert command.installed([Peer("no-such-library", load), TIKTOKEN]) == [TIKTOKEN]
    assert "no-such-library is not in the race: it is not installed" in capsys.readouterr().out


def test_pages_tell_of_all(board: Board) -> None:
    """The page has what is wrong with a library, the README's table the bar, and the picture is an SVG."""
    renamed = Board(
        {
            (replace(place, tokenizer=page.README_TOKENIZERS[0]), peer): row
            for (place, peer), row in board.rows.items()
        }
    )
    assert len(page.readme_table(renamed, "here").splitlines()) == 2 + len(WORKLOADS) + 2
    assert ElementTree.fromstring(plot.plot(renamed)).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    text = page.page(board, "here", {"bytes": "bytes"}, [OURS.name, "wrong", "exact"])
    assert "wrong: 100.0% of the documents have other ids" in text
    assert re.search(r"\*\*[\d.]+\*\*", text)


def test_every_peer_is_pinned() -> None:
    """`make bench` installs exactly the libraries of the table."""
    pins = "".join((ROOT / f"requirements-{name}.txt").read_text() for name in ("bench", "dev"))
    for peer in PEERS:
        assert re.search(rf"^{re.escape(peer.name)}==[\d.]+$", pins, re.M), peer.name


@pytest.mark.parametrize("unit", ["b", "é", "日本", "👩‍🚀 "])
def test_cuts_lose_nothing(unit: str) -> None:
    """Documents and strings are cut between characters, no longer than they may be, and all of the text."""
    text = unit * (3 * DOCUMENT_BYTES // len(unit.encode()) + 1)
    cut = documents(text, 0, 4)
    assert text.startswith("".join(cut))
    assert len(cut) == 3
    assert documents(text, 1, 1) == cut[1:2]
    assert all(DOCUMENT_BYTES - 4 < len(document.encode()) <= DOCUMENT_BYTES for document in cut)
    strings = short_strings(cut)
    assert "".join(strings) == "".join(cut)
    assert all(len(string.encode()) <= SHORT_BYTES for string in strings)
