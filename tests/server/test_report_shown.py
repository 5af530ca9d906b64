"""How a report is shown: in a terminal, as JSON, as a page, and in the docs; never with the texts themselves."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.tools.report import as_json, page, tables, terminal
from tokenwire_server.tools.report.charts import MAX_SERIES
from tokenwire_server.tools.report.numbers import Report, TokenizerNumbers
from tokenwire_server.tools.report.texts import REASONS, LeftOut

from tests.service import COMMAND, ROOT, environment

TEXTS = ("A model never sees text.\n", "한국어 문장은 토큰이 많다", "いろはにほへと 我が世誰ぞ" * 5)

Run = Callable[..., tuple[int, str, str]]


def write(folder: Path) -> Path:
    """A folder with a file for each text."""
    (folder / "corpus").mkdir()
    for number, text in enumerate(TEXTS):
        (folder / "corpus" / f"{number}.txt").write_text(text, "utf-8")
    return folder / "corpus"


def test_no_text_is_shown(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """A corpus may be private: names of files and numbers are all that is shown of it, whatever is wrong with it."""
    lines = b'{"t": "secret"}\n{"secret": 1}\n"secret\nsecret\xff\n{"t": "secret\\ud800"}\n'
    (tmp_path / "x").write_bytes(lines)
    for arguments in ((), ("--json",), ("--html", "page.html")):
        _, out, err = run_report("x", *tiny, "--jsonl", "t", *arguments)
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


def test_the_page_stands_alone(run_report: Run, tmp_path: Path) -> None:
    """It parses, refers to nothing, runs nothing, and whoever listens to it hears titles, captions and heads."""
    corpus = write(tmp_path)
    assert (
        run_report(corpus, "-t", "o200k_base", "-t", "cl100k_base", "--limit", "10", "--html", "page.html")[0]
        == 0
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


def test_names_of_files_are_text(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Neither the page nor the terminal acts on what a file is called, also if that is not UTF-8."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / HOSTILE).write_bytes(b"\xff")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/folder/\xff.txt")).write_bytes(b"\xff")
    (tmp_path / "good").write_text("abc")
    _, out, _ = run_report("good", "folder", os.fsdecode(b"\xfe<b>"), *tiny, "--html", "page.html")
    assert "\x1b" not in out
    assert "\u202e" not in out
    found = parsed((tmp_path / "page.html").read_text("utf-8"))
    assert not found.all("script")
    assert not found.all("b")
    assert "<script>\"&'\\u{001B}[31m\\u{202E}\\u{000A}.txt" in found.words
    assert "folder/\ufffd.txt" in found.words
    assert (
        json.loads(run_report("good", "folder", *tiny, "--json")[1])["left_out"][0]["file"]
        == f"folder/{HOSTILE}"
    )


def test_a_report_of_nothing_can_be_shown() -> None:
    """Without a text there is nothing to divide by, in any form."""
    report = Report(("-",), "file", False, "off", [TokenizerNumbers("x", "", 512, "option")])
    report.leave_out(LeftOut("-", 0, "INVALID_UTF8", "not well-formed UTF-8 at byte 0"))
    assert list(terminal.lines(report))
    parsed(page.html(report))
    assert json.loads(json.dumps(as_json.fields(report)))["tokenizers"][0]["bytes_per_token"] is None


def test_the_terminal_says_what_the_json_says(run_report: Run, tmp_path: Path) -> None:
    """Numbers in the tables are those of the object."""
    corpus = write(tmp_path)
    arguments = (corpus, "-t", "o200k_base", "-t", "cl100k_base", "--limit", "20")
    lines = [line.split() for line in run_report(*arguments)[1].splitlines()]
    report = json.loads(run_report(*arguments, "--json")[1])
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


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_zero_or_whole_only_where_it_is(part: int, whole: int) -> None:
    """One text in a million that does not fit is not written as none."""
    part = min(part, whole)
    shown = tables.percent(part, whole)
    assert (shown == "0%") == (part == 0)
    assert (shown == "100%") == (part == whole)
    assert "0.00%" not in shown.replace("100.00%", "0.00%")


def test_the_docs_say_what_the_command_does(run_report: Run) -> None:
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

    collect(json.loads(run_report("messages.txt", "missing", "--json")[1]))
    assert members >= {"p50", "tokens_per_character", "line"}
    assert [name for name in (*members, *REASONS) if f"`{name}`" not in docs] == []
