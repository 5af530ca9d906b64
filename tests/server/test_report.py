"""`tokenwire report`: its numbers are those of the reference libraries, and nothing is lost on the way to them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import math
import os
import re
import shlex
import subprocess
import sys
import tracemalloc
import unicodedata
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.reference_scripts import token_scripts
from tokenwire_server import cli, language
from tokenwire_server.tools import cli_progress
from tokenwire_server.tools.report import as_json, page, tables, terminal
from tokenwire_server.tools.report.charts import MAX_SERIES
from tokenwire_server.tools.report.numbers import Report, TokenizerNumbers
from tokenwire_server.tools.report.texts import REASONS, LeftOut

from tests import families
from tests.rank_files import theirs
from tests.server import made_up
from tests.service import COMMAND, ROOT, environment

TEXTS = (
    "A model never sees text, it sees token ids.\n",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 3,
    "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "いろはにほへと ちりぬるを 我が世誰ぞ 常ならむ",
    "天地玄黃 宇宙洪荒 日月盈昃 辰宿列張",
    "한국어 문장은 토큰이 많다",
    "cafe\u0301 re\u0301sume\u0301",  # not NFC
    "def f(x: int) -> int:\n    return x << 2  # 🫠\n",
    "",
    "ไทย ไม่มีช่องว่าง",
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder, without settings that a developer may have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKENWIRE_SERVE_CONFIG", raising=False)

    def run(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
        (tmp_path / ".stdin").write_bytes(stdin)
        with (tmp_path / ".stdin").open("rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
            code = cli.main(["report", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that choose a small tokenizer."""
    return ("--config", str(made_up.manifest(tmp_path, made_up.table(tmp_path))), "-t", "tiny")


def write(folder: Path, texts: tuple[str, ...] = TEXTS) -> Path:
    """A folder with a file for each text."""
    (folder / "corpus").mkdir()
    for number, text in enumerate(texts):
        (folder / "corpus" / f"{number}.txt").write_text(text, "utf-8")
    return folder / "corpus"


def numbers(out: str, tokenizer: int = 0) -> dict[str, Any]:
    """What the JSON says of one tokenizer."""
    found: dict[str, Any] = json.loads(out)["tokenizers"][tokenizer]
    return found


def nearest_rank(lengths: list[int], percent: int) -> int:
    return sorted(lengths)[max(math.ceil(percent * len(lengths) / 100), 1) - 1]


@pytest.mark.parametrize("unit", ["file", "line", "field"])
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_numbers_are_those_of_tiktoken(run: Run, tmp_path: Path, name: str, unit: str) -> None:
    """Tokens in all, by language and by script, lengths and shares, each computed here without our encoder."""
    arguments: list[str | Path]
    if unit == "file":
        texts, arguments = list(TEXTS), [write(tmp_path)]
    elif unit == "line":
        texts, arguments = [text for text in "\n".join(TEXTS).split("\n") if text], ["x.txt", "--lines"]
        (tmp_path / "x.txt").write_text("\n".join(TEXTS), "utf-8")
    else:
        texts, arguments = list(TEXTS), ["x.jsonl", "--jsonl", "text"]
        (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    code, out, err = run(*arguments, "-t", name, "--limit", "20", "--json")
    assert (code, err) == (0, "")

    reference = theirs(name)
    ids = [reference.encode_ordinary(text) for text in texts]
    lengths = [len(each) for each in ids]
    by_script: Counter[str] = Counter()
    by_language: Counter[str] = Counter()
    for text, each in zip(texts, ids, strict=True):
        ends = list(accumulate((len(token) for token in reference.decode_tokens_bytes(each)), initial=0))
        by_script.update(token_scripts(text, list(pairwise(ends))))
        by_language[language.label("", text.encode())[0]] += len(each)
    n_bytes, n_characters = sum(len(text.encode()) for text in texts), sum(map(len, texts))

    report, found = json.loads(out), numbers(out)
    assert (report["n_texts"], report["n_bytes"], report["n_characters"]) == (
        len(texts),
        n_bytes,
        n_characters,
    )
    assert report["n_not_nfc"] == sum(unicodedata.normalize("NFC", text) != text for text in texts) == 1
    assert found["n_tokens"] == sum(lengths)
    assert found["by_script"] == by_script
    assert {label: sums["n_tokens"] for label, sums in found["by_language"].items()} == by_language
    assert found["bytes_per_token"] == n_bytes / sum(lengths)
    assert found["tokens_per_character"] == sum(lengths) / n_characters
    assert found["length_tokens"] == {
        "p50": nearest_rank(lengths, 50),
        "p95": nearest_rank(lengths, 95),
        "p99": nearest_rank(lengths, 99),
        "max": max(lengths),
    }
    assert (found["limit_tokens"], found["limit_from"]) == (20, "option")
    assert found["n_over_limit"] == sum(length > 20 for length in lengths) > 0
    assert found["over_limit_share"] == found["n_over_limit"] / len(texts)
    assert found["n_same"] == len(texts)
    assert (found["n_unknown"], found["n_byte_fallback"]) == (0, 0)


@pytest.mark.parametrize("name", ["byte-level-bpe", "unigram", "wordpiece", "wordlevel"])
@pytest.mark.parametrize("add_special", [False, True])
def test_numbers_are_those_of_tokenizers(run: Run, tmp_path: Path, name: str, add_special: bool) -> None:
    """Unknown tokens, texts that decode to themselves, and templates, in the families that have them."""
    manifest = families.manifest(tmp_path)
    extra = ["--add-special"] if add_special else []
    code, out, _ = run(write(tmp_path), "--config", manifest, "-t", name, "--json", *extra)
    reference = Tokenizer.from_str(families.family(name).data.decode())
    encodings = [reference.encode(text, add_special_tokens=add_special) for text in TEXTS]
    unknown = {reference.token_to_id(token) for token in (families.UNK, families.BERT_UNK)} - {None}
    same = [
        reference.decode(each.ids, skip_special_tokens=add_special) == text
        for each, text in zip(encodings, TEXTS, strict=True)
    ]
    found = numbers(out)
    assert code == 0
    assert found["n_tokens"] == sum(len(each.ids) for each in encodings)
    assert found["n_unknown"] == sum(token in unknown for each in encodings for token in each.ids)
    assert found["n_same"] == sum(same)
    assert found["by_script"].get("special", 0) == add_special * len(TEXTS) * len(families.family(name).ends)
    assert sum(found["by_script"].values()) == found["n_tokens"]
    assert (found["limit_tokens"], found["limit_from"]) == (
        (2048, "tokenizer_config") if name == "byte-level-bpe" else (None, None)
    )


def test_bytes_of_what_the_vocabulary_lacks(run: Run, tmp_path: Path) -> None:
    """One fallback token for each byte of a character that the pieces lack, by language too."""
    manifest = families.manifest(tmp_path)
    (tmp_path / "x.txt").write_text("한국어")
    found = numbers(run("x.txt", "--config", manifest, "-t", "sentencepiece-bpe", "--json")[1])
    assert found["n_byte_fallback"] == found["by_language"]["ko"]["n_byte_fallback"] == 9
    assert found["byte_fallback_share"] == 9 / found["n_tokens"]


def test_several_tokenizers_in_one_pass(run: Run, tmp_path: Path) -> None:
    """Each has the numbers that it has alone; one that is named twice is there once; without names, all are."""
    corpus = write(tmp_path)
    both = run(corpus, "-t", "gpt-4o", "-t", "cl100k_base", "-t", "o200k_base", "--json")[1]
    assert [each["name"] for each in json.loads(both)["tokenizers"]] == ["o200k_base", "cl100k_base"]
    for index, name in enumerate(("o200k_base", "cl100k_base")):
        assert numbers(both, index) == numbers(run(corpus, "-t", name, "--json")[1])
    assert run(corpus, "--json")[1] == both


def test_lines_and_their_ends(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Lines end at LF or CRLF; empty ones are no texts."""
    (tmp_path / "x").write_bytes(b"abc\r\n\nabc\n\r\nthe the")
    report = json.loads(run("x", *tiny, "--lines", "--json")[1])
    assert (report["n_texts"], report["n_files"], report["n_bytes"]) == (3, 1, 13)
    assert report["tokenizers"][0]["length_tokens"]["max"] == 3


@pytest.mark.parametrize(
    ("record", "field", "texts"),
    [
        ({"text": "abc"}, "text", ["abc"]),
        ({"a": {"b": "abc"}}, "a.b", ["abc"]),
        (
            {"messages": [{"content": "ab"}, {"content": None}, {"content": "the"}]},
            "messages.content",
            ["ab", "the"],
        ),
        ({"content": [{"text": "ab"}, {"image": "x"}]}, "content.text", ["ab"]),
        ([{"t": "a"}, {"t": ["b", "c"]}], "t", ["a", "b", "c"]),
    ],
)
def test_fields_of_json_lines(
    run: Run, tmp_path: Path, tiny: tuple[str, ...], record: object, field: str, texts: list[str]
) -> None:
    """Keys joined by dots, through lists; each string is a text."""
    (tmp_path / "x.jsonl").write_text(json.dumps(record) + "\n\n")
    code, out, _ = run("x.jsonl", *tiny, "--jsonl", field, "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_characters"]) == (0, len(texts), len("".join(texts)))


def test_records_without_a_text_are_named(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """No JSON, none of the field, half a surrogate pair, bytes that are not UTF-8: each is counted with its line."""
    lines = [
        b'{"t": "abc"}',
        b"{",
        b'{"t": 1}',
        b"[" * 100_000,
        b'{"t": "\\ud800"}',
        b'{"t": "\xff"}',
        b'{"u": ""}',
    ]
    (tmp_path / "x").write_bytes(b"\n".join(lines))
    code, out, _ = run("x", *tiny, "--jsonl", "t", "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_left_out"]) == (1, 1, 6)
    found = {gap["reason"]: (gap["line"], gap["n_texts"]) for gap in report["left_out"]}
    assert found == {"NOT_JSON": (2, 2), "NO_FIELD": (3, 2), "INVALID_UTF8": (5, 2)}
    replaced = json.loads(run("x", *tiny, "--jsonl", "t", "--replace-invalid", "--json")[1])
    assert (replaced["n_texts"], replaced["n_left_out"]) == (3, 4)


def test_no_file_of_a_folder_is_lost(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """All but hidden ones are read, packed ones too; whatever cannot be is named, and the others are measured."""
    corpus = write(tmp_path, ("abc",))
    (corpus / "deep").mkdir()
    (corpus / "deep" / "b.md.gz").write_bytes(gzip.compress(b"abc"))
    (corpus / "deep" / "c.xz").write_bytes(lzma.compress(b"abc"))
    (corpus / "cut.xz").write_bytes(lzma.compress(b"abc")[:20])
    (corpus / "picture.png").write_bytes(b"\x89PNG")
    (corpus / ".hidden").write_text("abc")
    (corpus / ".git").mkdir()
    (corpus / ".git" / "x").write_text("abc")
    os.mkfifo(corpus / "pipe")
    (corpus / "gone").symlink_to("nowhere")
    (corpus / "loop").symlink_to(corpus)
    code, out, _ = run("missing", corpus, *tiny, "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_files"]) == (1, 3, 3)
    assert [(gap["file"], gap["reason"]) for gap in report["left_out"]] == [
        ("missing", "UNREADABLE"),
        (f"{corpus}/cut.xz", "UNREADABLE"),
        (f"{corpus}/gone", "UNREADABLE"),
        (f"{corpus}/picture.png", "INVALID_UTF8"),
        (f"{corpus}/pipe", "UNREADABLE"),
    ]


def test_exit_codes(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """0 if all but what is not UTF-8 is measured, 1 if not or without texts, 2 for what cannot be asked for."""
    (tmp_path / "good").write_text("abc")
    (tmp_path / "bad").write_bytes(b"\xff")
    assert run("good", "bad", *tiny)[0] == 0
    assert run("bad", *tiny, "--replace-invalid")[0] == 0
    code, _, err = run("bad", *tiny)
    assert (code, err) == (1, "tokenwire report: no text was measured\n")
    assert run("good", "missing", *tiny)[0] == 1
    code, out, err = run("good", *tiny, "--html", "no/such/folder.html")
    assert (code, "All texts" in out, "cannot be written" in err) == (1, True, True)
    code, _, err = run("good", "-t", "o200k_bas")
    assert code == 2
    assert "o200k_base" in err
    many = made_up.manifest(tmp_path, *(made_up.table(tmp_path, f"t{n}") for n in range(9)))
    code, _, err = run("good", "--config", many, "--html", "page.html")
    assert (code, "at most 8 tokenizers" in err) == (2, True)
    assert run("good", "--config", many)[0] == 0


@pytest.mark.parametrize("n_bytes", [65_536, 65_537])
def test_a_text_that_one_tokenizer_refuses_is_left_out_for_all(
    run: Run, tmp_path: Path, n_bytes: int
) -> None:
    """Otherwise their numbers would not compare."""
    parts = (
        made_up.table(tmp_path, "fast"),
        made_up.table(tmp_path, "regex", pattern=made_up.OWN_PATTERN),
    )
    manifest = made_up.manifest(tmp_path, *parts)
    (tmp_path / "long").write_text("," * n_bytes)
    (tmp_path / "short").write_text("abc")
    code, out, _ = run("long", "short", "--config", manifest, "--json")
    is_refused = n_bytes > 65_536
    assert (code, json.loads(out)["n_texts"]) == (is_refused, 2 - is_refused)
    assert [each["reason"] for each in json.loads(out)["left_out"]] == ["TEXT_TOO_LONG"] * is_refused


@pytest.mark.parametrize(("n_bytes", "n_texts"), [(8, 1), (9, 0), (100_000, 0)])
def test_a_text_over_the_limit_is_left_out(run: Run, tmp_path: Path, n_bytes: int, n_texts: int) -> None:
    """The configuration's text_bytes holds here too."""
    manifest = made_up.manifest(tmp_path, "[limits]\ntext_bytes = 8", made_up.table(tmp_path))
    (tmp_path / "x").write_text("a" * n_bytes)
    assert json.loads(run("x", "--config", manifest, "--json")[1])["n_texts"] == n_texts


def test_stdin_is_a_text(run: Run, tiny: tuple[str, ...]) -> None:
    """Without files, and by its name."""
    for names in ((), ("-",)):
        report = json.loads(run(*names, *tiny, "--json", stdin=b"the abc")[1])
        assert (report["inputs"], report["n_texts"], report["n_bytes"]) == (["-"], 1, 7)


def test_no_text_is_shown(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """A corpus may be private: names of files and numbers are all that is shown of it, whatever is wrong with it."""
    lines = b'{"t": "secret"}\n{"secret": 1}\n"secret\nsecret\xff\n{"t": "secret\\ud800"}\n'
    (tmp_path / "x").write_bytes(lines)
    for arguments in ((), ("--json",), ("--html", "page.html")):
        _, out, err = run("x", *tiny, "--jsonl", "t", *arguments)
        assert "secret" not in out + err
    assert "secret" not in (tmp_path / "page.html").read_text()


HOSTILE = "<script>\"&'\x1b[31m\u202e\n.txt"


class Page(HTMLParser):
    """The elements of a page, and whether each is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def parsed(text: str) -> Page:
    found = Page()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def test_the_page_stands_alone(run: Run, tmp_path: Path) -> None:
    """It parses, refers to nothing, runs nothing, and whoever listens to it hears titles, captions and heads."""
    corpus = write(tmp_path)
    assert (
        run(corpus, "-t", "o200k_base", "-t", "cl100k_base", "--limit", "10", "--html", "page.html")[0] == 0
    )
    text = (tmp_path / "page.html").read_text("utf-8")
    found = parsed(text)
    assert not {"script", "link", "img", "iframe", "object", "use", "a", "form"} & {
        tag for tag, _ in found.elements
    }
    names = {name for _, attributes in found.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "href", "style")}
    assert all(word not in text for word in ("http:", "https:", "//", "url(", "@import"))
    assert found.all("html") == [{"lang": "en"}]
    tags = [tag for tag, _ in found.elements]
    assert tags[: tags.index("body")].count("title") == tags.count("h1") == tags.count("main") == 1
    assert len(found.all("h2")) == len(found.all("section")) >= 5
    assert len(found.all("caption")) == len(found.all("table")) >= 5
    assert {each.get("scope") for each in found.all("th")} == {"col", "row"}
    charts = [each for each in found.all("svg") if "aria-hidden" not in each]
    assert len(charts) == 3
    assert all(each["role"] == "img" and each["aria-label"] for each in charts)
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_colour_can_be_told_from_its_ground(scheme: int) -> None:
    """Words, bars and curves contrast with card and paper by 4.5 at least, as WCAG 2 asks of small text."""
    css = resources.files("tokenwire_server.tools.report").joinpath("page.css").read_text()
    colours = dict(re.findall(r"--(\w+): #(\w{6})", css.split("@media")[scheme]))
    assert len(colours) == 6 + MAX_SERIES

    def luminance(name: str) -> float:
        parts = (int(colours[name][at : at + 2], 16) / 255 for at in (0, 2, 4))
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for name in colours.keys() - {"paper", "card", "line"}:
        for ground in ("paper", "card"):
            low, high = sorted((luminance(name), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_names_of_files_are_text(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Neither the page nor the terminal acts on what a file is called, also if that is not UTF-8."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / HOSTILE).write_bytes(b"\xff")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/folder/\xff.txt")).write_bytes(b"\xff")
    (tmp_path / "good").write_text("abc")
    _, out, _ = run("good", "folder", os.fsdecode(b"\xfe<b>"), *tiny, "--html", "page.html")
    assert "\x1b" not in out
    assert "\u202e" not in out
    found = parsed((tmp_path / "page.html").read_text("utf-8"))
    assert not found.all("script")
    assert not found.all("b")
    assert "<script>\"&'\\u{001B}[31m\\u{202E}\\u{000A}.txt" in found.words
    assert "folder/\ufffd.txt" in found.words
    assert json.loads(run("good", "folder", *tiny, "--json")[1])["left_out"][0]["file"] == f"folder/{HOSTILE}"


def test_a_report_of_nothing_can_be_shown() -> None:
    """Without a text there is nothing to divide by, in any form."""
    report = Report(("-",), "file", False, [TokenizerNumbers("x", "", 512, "option")])
    report.leave_out(LeftOut("-", 0, "INVALID_UTF8", "not well-formed UTF-8 at byte 0"))
    assert list(terminal.lines(report))
    parsed(page.html(report))
    assert json.loads(json.dumps(as_json.fields(report)))["tokenizers"][0]["bytes_per_token"] is None


def test_the_terminal_says_what_the_json_says(run: Run, tmp_path: Path) -> None:
    """Numbers in the tables are those of the object."""
    corpus = write(tmp_path)
    arguments = (corpus, "-t", "o200k_base", "-t", "cl100k_base", "--limit", "20")
    lines = [line.split() for line in run(*arguments)[1].splitlines()]
    report = json.loads(run(*arguments, "--json")[1])
    both = report["tokenizers"]
    assert ["tokens", *(f"{each['n_tokens']:,}" for each in both)] in lines
    assert ["bytes", "per", "token", *(f"{each['bytes_per_token']:.3f}" for each in both)] in lines
    assert [
        "ko",
        "1",
        str(report["by_language"]["ko"]["n_characters"]),
        *(str(each["by_language"]["ko"]["n_tokens"]) for each in both),
    ] in lines
    assert ["texts", "over", "it", *(f"{each['over_limit_share']:.2%}" for each in both)] in lines


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300))
def test_percentiles_are_lengths_of_texts(lengths: list[int]) -> None:
    """Nearest rank over all texts, from how many have each length."""
    tokenizer = TokenizerNumbers("x", "", None, None, lengths=Counter(lengths))
    found = tokenizer.percentiles()
    assert found == {f"p{percent}": nearest_rank(lengths, percent) for percent in (50, 95, 99)} | {
        "max": max(lengths)
    }


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_zero_or_whole_only_where_it_is(part: int, whole: int) -> None:
    """One text in a million that does not fit is not written as none."""
    part = min(part, whole)
    shown = tables.percent(part, whole)
    assert (shown == "0%") == (part == 0)
    assert (shown == "100%") == (part == whole)
    assert "0.00%" not in shown.replace("100.00%", "0.00%")


def test_memory_does_not_grow_with_the_texts(run: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Six times the lines, in about the same memory."""
    peaks = []
    for n_lines in (5_000, 30_000):
        (tmp_path / "x").write_bytes((b"the abc and something more to say about it. " * 10 + b"\n") * n_lines)
        tracemalloc.start()
        try:
            assert run("x", *tiny, "--lines", "--json")[0] == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_progress_is_for_terminals(
    run: Run, tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal a line on stderr is written over and at last removed; elsewhere there is none."""
    (tmp_path / "x").write_text("abc\nabc\n")
    assert run("x", *tiny, "--lines")[2] == ""
    monkeypatch.setattr(cli_progress, "_EVERY_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, _, err = run("x", *tiny, "--lines")
    assert "1 texts, x:2" in err
    assert err.endswith("\r\x1b[K")


def test_the_docs_say_what_the_command_does(run: Run) -> None:
    """The example prints what it says, and every member of the object and every reason is explained."""
    docs = (ROOT / "docs" / "report.md").read_text("utf-8")
    script, shown = re.findall(r"^```sh\n(printf.*?)^```\n\n```text\n(.*?)^```$", docs, re.M | re.S)[0]
    ours = re.sub(r"^tokenwire ", f"{shlex.join(COMMAND)} ", script, flags=re.M)
    answer = subprocess.run(["sh", "-c", ours], env=environment(), capture_output=True, text=True, check=True)
    assert answer.stdout == shown
    members: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                members.add(key)
                collect(
                    {}
                    if key == "by_script"
                    else next(iter(inner.values()), {})
                    if key == "by_language"
                    else inner
                )
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    collect(json.loads(run("messages.txt", "missing", "--json")[1]))
    assert members >= {"p50", "tokens_per_character", "line"}
    assert [name for name in (*members, *REASONS) if f"`{name}`" not in docs] == []
