"""`artifacts diff` as a command: what it reads, prints and ends with."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from tokenwire_server import golden
from tokenwire_server.tools import cli_diff, cli_progress, corpus, golden_texts, reference_library
from tokenwire_server.tools.corpus import CorpusError

from tests.server import made_up
from tests.server.test_verifying import lock_golden
from tests.service import COMMAND, environment

OTHER_RANKS = made_up.rank_file({**made_up.RANKS, b"theab": 262, b"\xe6\x9d\xa5": 263})
"""The small tokenizer with two merges more, one of them within reach only of a whole piece."""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A manifest with two small tokenizers, `old` and `new`, and a corpus."""
    made_up.manifest(
        tmp_path, made_up.table(tmp_path, "old"), made_up.table(tmp_path, "new", data=OTHER_RANKS)
    )
    texts = tmp_path / "corpus"
    (texts / "deep").mkdir(parents=True)
    (texts / "b.txt").write_text("the abc\n来る theab\n\nabc theab", "utf-8")
    (texts / "deep" / "a.txt.xz").write_bytes(lzma.compress("来\n".encode()))
    (texts / "c.txt.gz").write_bytes(gzip.compress(b"theab\r\nab\n"))
    (texts / "notes.md").write_text("theab")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in the manifest's folder: gives its exit code, stdout and stderr."""
    monkeypatch.chdir(folder)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        parser = ArgumentParser()
        cli_diff.add_command(parser.add_subparsers())
        options = parser.parse_args(["diff", *map(str, arguments)])
        code = int(options.run(options))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def objects(out: str, kind: str) -> list[dict[str, Any]]:
    """The JSON lines of a kind."""
    return [item for item in map(json.loads, out.splitlines()) if item["kind"] == kind]


def test_the_places_of_a_folder(run: Run) -> None:
    """All *.txt below a folder, compressed or not, line by line; other files are left alone."""
    code, out, err = run("old", "new", "corpus", "--json")
    assert (code, err) == (1, "")
    assert [(item["file"], item["line"]) for item in objects(out, "different")] == [
        ("corpus/b.txt", 2),
        ("corpus/b.txt", 4),
        ("corpus/c.txt.gz", 1),
        ("corpus/deep/a.txt.xz", 1),
    ]
    (total,) = objects(out, "total")
    assert (total["n_texts"], total["n_different"]) == (7, 4)
    assert list(total["by_file"]) == ["corpus/b.txt", "corpus/c.txt.gz", "corpus/deep/a.txt.xz"]


def test_a_difference_in_full(run: Run) -> None:
    """Place, language, both counts, where the tokens part, and the text only on request."""
    _, out, _ = run("old", "new", "corpus/b.txt", "--json", "--show-text")
    first, second = objects(out, "different")
    encoders = [
        tokenwire_core.load(data, pattern=made_up.GPT2_PATTERN) for data in (made_up.rank_file(), OTHER_RANKS)
    ]
    assert first == {
        "kind": "different",
        "file": "corpus/b.txt",
        "line": 2,
        "language": "und",
        "n_tokens_a": encoders[0].count("来る theab"),
        "n_tokens_b": encoders[1].count("来る theab"),
        "byte_start": 0,
        "text": "来る theab",
    }
    assert second["byte_start"] == 4
    assert all("text" not in item for item in objects(run("old", "new", "corpus", "--json")[1], "different"))


def test_documents(run: Run) -> None:
    """With --documents a file is one text, and its place has no line."""
    code, out, _ = run("old", "new", "corpus", "--documents", "--json")
    assert code == 1
    assert [item["line"] for item in objects(out, "different")] == [0, 0, 0]
    assert objects(out, "total")[0]["n_texts"] == 3


def test_exit_codes_are_those_of_diff(run: Run, folder: Path) -> None:
    """0 where no text differs, 1 where one does, 2 for trouble."""
    assert run("old", "old", "corpus")[0] == 0
    assert run("old", "new", "corpus")[0] == 1
    same = folder / "same.txt"
    same.write_text("abc\n")
    code, out, _ = run("old", "new", same)
    assert code == 0
    assert "ordinary tokens: 0 only in A, 2 only in B" in out
    assert run("old", "newer", "corpus")[0] == 2
    assert run("old", "new", folder / "missing.txt")[0] == 2


def test_what_a_person_reads(run: Run) -> None:
    """The tokenizers, what differs between them, sums, tables, and at most --show texts."""
    _, out, _ = run("old", "new", "corpus", "--show", "1", "--show-text")
    lines = out.splitlines()
    assert lines[0].startswith("A  old: 302 ids, tiktoken by tokenwire, digest ")
    assert lines[1].startswith("B  new: 302 ids, tiktoken by tokenwire, digest ")
    assert lines[2] == "ordinary tokens: 0 only in A, 2 only in B, 0 with another id"
    assert "7 texts: 4 encode differently, 4 of them also count differently" in out
    assert re.search(r"^language +texts +different +tokens A +tokens B +ratio$", out, re.M)
    assert re.search(r"^corpus/c\.txt\.gz +2 +1 ", out, re.M)
    assert "corpus/b.txt:2: " in out
    assert "来る·theab" in out
    assert "corpus/b.txt:4: " not in out
    assert lines[-1] == "and 3 more texts that differ; --show N lists more, --json all"


def test_texts_are_not_printed_unless_asked_for(run: Run) -> None:
    """A corpus may be private: places and numbers are all that is shown of it."""
    for arguments in ([], ["--json"]):
        _, out, err = run("old", "new", "corpus", *arguments)
        assert "来" not in out + err
        assert "theab" not in out + err


def test_a_shown_text_cannot_act_on_a_terminal(run: Run, folder: Path) -> None:
    """Control characters are written out, and the part around the difference is shown."""
    (folder / "x.txt").write_text("a" * 1000 + " \x1b[31m\r来" + "b" * 1000)
    _, out, _ = run("old", "new", "x.txt", "--show-text")
    assert "\x1b" not in out
    assert "来" in out
    assert len(out.splitlines()[-1]) < 400


def test_lines_that_are_not_utf8_are_counted_and_named(run: Run, folder: Path) -> None:
    """They are no trouble: the others are compared, and the exit code is theirs."""
    (folder / "x.txt").write_bytes(b"abc\n\xff\nabc\xe6\n")
    code, out, _ = run("old", "new", "x.txt")
    assert code == 0
    assert "2 texts were not compared" in out
    assert "x.txt:2: INVALID_UTF8: not well-formed UTF-8 at byte 0" in out
    assert "x.txt:3: INVALID_UTF8: not well-formed UTF-8 at byte 3" in out
    (folder / "x.txt").write_bytes(b"\xff\n")
    assert run("old", "new", "x.txt")[0] == 2


def test_a_text_that_a_side_refuses_is_trouble(run: Run, folder: Path) -> None:
    """A comparison with a gap is neither "same" nor "different": exit 2, after all the others were compared."""
    (folder / "tokenwire.toml").write_text(
        "[limits]\ntext_bytes = 8\n" + (folder / "tokenwire.toml").read_text()
    )
    (folder / "x.txt").write_text("abcdefgh\nabcdefghi\ntheab\n")
    code, out, err = run("old", "new", "x.txt", "--json")
    assert (code, [item["line"] for item in objects(out, "not_compared")]) == (2, [2])
    assert [item["line"] for item in objects(out, "different")] == [3]
    assert "could not be compared" in err


def test_without_a_corpus_the_golden_texts_are_taken(run: Run) -> None:
    """The fixed golden texts, and those of the golden vectors of both sides."""
    code, out, _ = run("old", "new", "--json")
    assert code in (0, 1)
    assert objects(out, "total")[0]["n_texts"] == len(set(golden_texts.TEXTS))
    _, out, _ = run("cl100k_base", "reference:cl100k_base", "--json")
    assert objects(out, "total")[0]["n_texts"] >= len(set(golden_texts.TEXTS))
    assert objects(out, "different") == []


def test_control_tokens_are_text_unless_allowed(run: Run, folder: Path) -> None:
    """--special decides on both sides, the reference's too."""
    (folder / "x.txt").write_text("<|end|>\n")
    for b in ("old", "reference:old"):
        text, allowed = (
            objects(run("old", b, "x.txt", "--special", special, "--json")[1], "total")[0]
            for special in ("text", "allow")
        )
        assert text["n_tokens_a"] == text["n_tokens_b"] > 1
        assert allowed["n_tokens_a"] == allowed["n_tokens_b"] == 1


def test_how_sides_are_spelled(run: Run, folder: Path) -> None:
    """A name, an alias, another deployment's tokenizer, a path, and the reference of each."""
    other = folder / "other"
    other.mkdir()
    made_up.manifest(other, made_up.table(other, "old", data=OTHER_RANKS, extra='aliases = ["same"]'))
    assert run("old", "other/tokenwire.toml#old", "corpus")[0] == 1
    assert run("new", "other/tokenwire.toml#same", "corpus")[0] == 0
    assert run("new", "reference:other/tokenwire.toml#old", "corpus")[0] == 0
    code, out, _ = run("reference:old", "reference:new", "corpus", "--json")
    assert code == 1
    (sides,) = objects(out, "tokenizers")
    assert sides["a"]["name"] == "reference:old"
    assert sides["a"]["engine"].startswith("tiktoken ")
    assert len(objects(out, "different")) == 4


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ("tokenizer.json", "EMPTY.*the vocabulary has no tokens"),
        ("old.tiktoken", "MISSING_PATTERN.*tokenwire.toml#NAME"),
        ("page.html", "HTML_PAGE"),
        ("other/tokenwire.toml#old", "cannot read"),
        ("tokenwire.toml#older", "did you mean 'old'"),
        ("olt", "did you mean 'old'"),
        ("reference:page.html", "HTML_PAGE"),
        ("corpus", "unknown tokenizer"),
        ("bad", "SHA256_MISMATCH"),
        ("reference:bad", "SHA256_MISMATCH"),
    ],
)
def test_a_side_that_cannot_be_had_is_refused(run: Run, folder: Path, side: str, message: str) -> None:
    """Exit 2 and a reason on stderr; nothing else is taken in its place, and nothing goes to stdout."""
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    (folder / "page.html").write_text("<!doctype html><html></html>")
    manifest = folder / "tokenwire.toml"
    manifest.write_text(manifest.read_text() + made_up.table(folder, "bad", sha256="0" * 64))
    code, out, err = run("old", side, "corpus")
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert run(side, "old", "corpus")[0] == 2


def test_a_reference_that_is_not_installed_is_trouble(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core does not stand in for it."""
    monkeypatch.setattr(reference_library, "installed", lambda *_args, **_options: None)
    code, _, err = run("old", "reference:old", "corpus")
    assert code == 2
    assert "REFERENCE_MISSING" in err
    assert "pip install " in err


def test_changed_golden_vectors_do_not_stop_a_diff(run: Run, folder: Path) -> None:
    """A diff is how one sees what changed ids mean; the pin and the digest are held to all the same."""
    data = golden.to_json(golden.Golden("", (golden.Vector("abc", (1, 2, 3)),)))
    (folder / "golden").mkdir()
    lock_golden(folder, data, "", name="old")
    assert run("old", "reference:old", "corpus")[0] == 0
    lock_golden(folder, data, "", name="old", digest="0" * 64)
    code, _, err = run("old", "reference:old", "corpus")
    assert code == 2
    assert "DIGEST_MISMATCH" in err


def test_a_reader_that_has_enough(folder: Path) -> None:
    """A closed pipe ends the command without a traceback, as trouble: nobody knows how it would have ended."""
    (folder / "x.txt").write_text("theab\n" * 10_000)
    process = subprocess.Popen(
        [*COMMAND, "artifacts", "diff", "old", "new", "x.txt", "--json"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert b'"tokenizers"' in process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 2


def read(*paths: Path | str, by_line: bool = True, max_bytes: int = 1 << 20) -> list[corpus.Text]:
    return list(corpus.read(map(str, paths), by_line=by_line, max_bytes=max_bytes))


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\na\r\n\n", b"x" * 50 + b"\n" + b"y" * 49]
)
@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_lines_are_what_stands_between_newlines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int
) -> None:
    """Whatever the blocks a file is read in; an end without a newline is a line, an end with one is not."""
    monkeypatch.setattr(corpus, "_BLOCK_BYTES", block)
    (tmp_path / "x").write_bytes(data)
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    for path, packed in ((tmp_path / "x", data), (tmp_path / "y.gz", gzip.compress(data))):
        path.write_bytes(packed)
        assert [(text.line, text.utf8) for text in read(path)] == list(enumerate(expected, 1))
        assert [text.utf8 for text in read(path, by_line=False)] == [data]


def test_an_xz_file_may_be_several_streams(tmp_path: Path) -> None:
    """As `cat a.xz b.xz` makes them, with padding between or at the end."""
    path = tmp_path / "x.xz"
    path.write_bytes(lzma.compress(b"a\nb") + b"\0" * 4 + lzma.compress(b"c\n") + b"\0" * 8)
    assert [text.utf8 for text in read(path)] == [b"a", b"bc"]


@pytest.mark.parametrize("n_bytes", [9, 10, 11, 1000])
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_a_text_over_the_bound_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int, block: int
) -> None:
    """At the bound it is read, beyond it has a place and no text, and the lines around it are read."""
    monkeypatch.setattr(corpus, "_BLOCK_BYTES", block)
    path = tmp_path / "x"
    path.write_bytes(b"a\n" + b"b" * n_bytes + b"\nc")
    long = b"b" * n_bytes if n_bytes <= 10 else None
    assert [text.utf8 for text in read(path, max_bytes=10)] == [b"a", long, b"c"]
    path.write_bytes(b"b" * n_bytes)
    assert [text.utf8 for text in read(path, max_bytes=10)] == [long]
    assert [text.utf8 for text in read(path, by_line=False, max_bytes=10)] == [long]


@pytest.mark.parametrize("by_line", [True, False])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_memory_is_bounded(tmp_path: Path, by_line: bool, pack: Callable[[bytes], bytes]) -> None:
    """A file that unpacks to 100 MB without a newline is gone through in a few blocks' memory."""
    path = tmp_path / ("x.gz" if pack is gzip.compress else "x.xz")
    path.write_bytes(pack(b"x" * 100_000_000))
    tracemalloc.start()
    try:
        assert [text.utf8 for text in read(path, by_line=by_line)] == [None]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.xz", lzma.compress(b"abc" * 1000)[:-8]),
        ("x.xz", b"no xz at all"),
        ("x.xz", lzma.compress(b"abc") + b"trailing"),
        ("x.gz", gzip.compress(b"abc" * 1000, mtime=0)[:-9]),
        ("x.gz", b"no gzip at all"),
        ("x.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff"),
    ],
)
def test_a_broken_file_is_trouble(run: Run, folder: Path, name: str, data: bytes) -> None:
    """Cut short or malformed: named on stderr, exit 2."""
    (folder / name).write_bytes(data)
    code, _, err = run("old", "new", name)
    assert code == 2
    assert f"{name} cannot be read" in err


def test_what_a_folder_gives(tmp_path: Path) -> None:
    """Sorted by name; pipes and links to folders are passed by; a folder without texts is told."""
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(CorpusError, match=r"inner has no \*\.txt"):
        read(inner)
    for name in ("b.txt", "a.txt", "c.txt.gz"):
        (inner / name).write_bytes(gzip.compress(b"x") if name.endswith("gz") else b"x")
    for folder in ("z", "d", "m", "k", "y"):
        (inner / folder).mkdir()
        (inner / folder / f"{folder}.txt").write_bytes(b"x")
    os.mkfifo(inner / "pipe.txt")
    (inner / "loop").symlink_to(inner)
    names = [Path(text.file).name for text in read(inner)]
    assert names == ["a.txt", "b.txt", "c.txt.gz", *(f"{folder}.txt" for folder in "dkmyz")]


def test_progress_is_for_terminals(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a line on stderr is written over and at last removed; elsewhere there is none."""
    (folder / "x.txt").write_text("abc\n" * 3000)
    assert run("old", "new", "x.txt")[2] == ""
    monkeypatch.setattr(cli_progress, "_EVERY_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, out, err = run("old", "new", "x.txt")
    assert "2048 texts, x.txt:2049" in err
    assert err.endswith("\r\x1b[K")
    assert "3000 texts: 0 encode differently" in out


def test_stdin_is_a_corpus(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads stdin, and leaves it open."""
    (folder / "stdin").write_bytes(b"theab\n")
    with (folder / "stdin").open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        code, out, _ = run("old", "new", "-", "--json")
        assert not file.closed
        monkeypatch.undo()
    assert (code, [item["file"] for item in objects(out, "different")]) == (1, ["-"])
