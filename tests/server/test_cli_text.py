"""The commands on text, in process and of a running service."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenwire_server import cli

from tests.server import made_up
from tests.service import COMMAND, environment, running_service

TEXT = "the abc\n日本語 👩\u200d💻 \x1b[31m <|end|> שלום\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with one small tokenizer."""
    folder = tmp_path_factory.mktemp("manifest")
    return made_up.manifest(folder, 'embedded = ""', made_up.table(folder))


@pytest.fixture(scope="module")
def address(manifest: Path) -> Iterator[str]:
    """A service of that configuration."""
    with running_service("--config", str(manifest)) as service:
        yield service.address


@pytest.fixture
def run(manifest: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on the small tokenizer: gives its exit code, stdout and stderr."""

    def run(
        *arguments: str | Path, stdin: str | bytes = b"", where: tuple[str, ...] = ()
    ) -> tuple[int, str, str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        command, *rest = map(str, arguments)
        code = cli.main([command, *(where or ("--config", str(manifest))), *rest])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_encode_and_decode_are_inverse(run: Run) -> None:
    """The ids of a text, decoded, are the text, byte for byte."""
    code, ids, _ = run("encode", "-t", "tiny", stdin=TEXT)
    assert code == 0
    assert run("decode", "-t", "tiny", stdin=ids) == (0, TEXT, "")
    assert (
        run("decode", "-t", "tiny", "--bytes", stdin=json.dumps(json.loads(f"[{ids.replace(' ', ',')}]")))[1]
        == TEXT
    )


def test_encode_prints_ids_and_offsets(run: Run) -> None:
    """Ids on one line; with --offsets one token a line, in the unit asked for."""
    assert run("encode", "-t", "tiny", stdin="the ab") == (0, "260 32 256\n", "")
    assert (
        run("encode", "-t", "tiny", "--offsets", "byte", stdin="the ab")[1]
        == "260\t0\t3\n32\t3\t4\n256\t4\t6\n"
    )
    _, out, _ = run("encode", "-t", "tiny", "--offsets", "utf16", "--json", stdin="👩")
    assert json.loads(out)["offsets"] == [[0, 2]] * 4


def test_control_tokens_are_text_unless_allowed(run: Run) -> None:
    """The three policies; --skip-special leaves the control token out again."""
    assert run("count", "-t", "tiny", stdin="<|end|>")[1] != "1\n"
    assert run("encode", "-t", "tiny", "--special", "allow", stdin="ab<|end|>")[1] == "256 300\n"
    code, out, err = run("encode", "-t", "tiny", "--special", "reject", stdin="ab<|end|>")
    assert (code, out) == (1, "")
    assert "[2, 9)" in err
    assert run("decode", "-t", "tiny", "--skip-special", stdin="256 300")[1] == "ab"


def test_count_is_like_wc(run: Run, tmp_path: Path) -> None:
    """A number for stdin, numbers with names for files, a total for several."""
    (tmp_path / "a").write_text("the")
    (tmp_path / "b").write_text("abab")
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert run("count", "-t", "tiny", stdin="the") == (0, "1\n", "")
    assert run("count", "-t", "tiny", names[0]) == (0, f"1 {names[0]}\n", "")
    assert (
        run("count", "-t", "tiny", *names)[1] == f"       1 {names[0]}\n       2 {names[1]}\n       3 total\n"
    )


def test_truncate_prints_what_fits(run: Run) -> None:
    """The kept text goes out as it is, and counts within the budget again."""
    code, out, _ = run("truncate", "-t", "tiny", "--max-tokens", "3", stdin=TEXT)
    assert code == 0
    assert TEXT.startswith(out)
    assert int(run("count", "-t", "tiny", stdin=out)[1]) <= 3
    _, out, _ = run("truncate", "-t", "tiny", "--max-tokens", "2", "--keep", "end", "--json", stdin="abc the")
    fields = json.loads(out)
    assert "abc the".endswith(fields["text"])
    assert fields["n_tokens"] == len(fields["ids"]) <= 2
    assert fields["truncated"] is True
    assert fields["kept"] == [[7 - len(fields["text"]), 7]]
    _, out, _ = run("truncate", "-t", "tiny", "--max-tokens", "0", "--json", stdin="abc the")
    assert json.loads(out)["kept"] == [[0, 0]]
    assert (
        run("truncate", "-t", "tiny", "--max-tokens", "1", "--cut", "token", "--ids-only", stdin="the ab")[1]
        == "260\n"
    )


def test_show_prints_tokens(run: Run) -> None:
    """Golden: brackets where there is no terminal, control tokens marked only where allowed, ids on request."""
    text = "the \u200babc<|end|>日\n"
    plain = "[the][·][<E2>][<80>][<8B>][abc][<][|][e][n][d][|][>][<E6>][<97>][<A5>][⏎\n]\n"
    assert run("show", "-t", "tiny", stdin=text) == (0, plain, "")
    _, out, _ = run("show", "-t", "tiny", "--special", "allow", "--ids", stdin="abc<|end|> a")
    assert out == "[257 abc]⟦300 <|end|>⟧[258 ·a]\n"
    _, out, _ = run("show", "-t", "tiny", "--json", stdin="ab\x1b")
    assert json.loads(out)["tokens"] == [
        {"id": 256, "bytes": "6162", "text": "ab", "control": False},
        {"id": 27, "bytes": "1b", "text": "\x1b", "control": False},
    ]


def test_show_with_the_embedded_tokenizer(run: Run) -> None:
    """Golden of cl100k_base: CJK, an emoji joined by ZWJ, a combining mark, right-to-left text, an escape."""
    text = "Hello, 日本 👩\u200d💻 שלום \x1b[0m\n"
    code, out, _ = run("show", "-t", "gpt-4", stdin=text, where=("--progress",))
    assert code == 0
    assert out == (
        "[Hello][,][·日][本][·<F0><9F><91>][<A9>][<E2><80>][<8D>][<F0><9F><92>][<BB>]"
        "[\u2068·ש\u2069][\u2068ל\u2069][\u2068ו<D7>\u2069][<9D>][·][\\u{001B}[][0][m][⏎\n]\n"
    )


@pytest.mark.parametrize("no_colour", [False, True])
def test_colours_are_for_terminals(run: Run, monkeypatch: pytest.MonkeyPatch, no_colour: bool) -> None:
    """A terminal gets colours, unless NO_COLOR says otherwise."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1" if no_colour else "")
    out = run("show", "-t", "tiny", stdin="the")[1]
    assert out == ("[the]\n" if no_colour else "\x1b[38;5;16;48;5;153mthe\x1b[0m\n")


def test_a_terminal_never_gets_control_characters_raw(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """decode and truncate write exact text to a pipe, and escapes to a terminal."""
    text = "ab\x1b]0;title\x07\n"
    assert run("truncate", "-t", "tiny", "--max-tokens", "99", stdin=text)[1] == text
    ids = run("encode", "-t", "tiny", stdin=text)[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = "ab\\u{001B}]0;title\\u{0007}\n\n"
    assert run("truncate", "-t", "tiny", "--max-tokens", "99", stdin=text)[1] == shown
    assert run("decode", "-t", "tiny", stdin=ids)[1] == shown


@pytest.mark.parametrize("character", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ufeff"])
def test_json_escapes_what_acts_on_terminals(run: Run, character: str) -> None:
    """JSON lines carry such characters escaped, and mean the same."""
    ids = run("encode", "-t", "tiny", stdin=f"é{character}")[1]
    out = run("decode", "-t", "tiny", "--json", stdin=ids)[1]
    assert character not in out
    assert "é" in out
    assert json.loads(out)["text"] == f"é{character}"


def test_one_failed_input_leaves_the_others(run: Run, tmp_path: Path) -> None:
    """Ill-formed UTF-8 and a missing file fail alone: exit code 1, the rest is answered, errors are on stderr."""
    (tmp_path / "good").write_text("the")
    (tmp_path / "bad").write_bytes(b"the\xff")
    names = [str(tmp_path / name) for name in ("bad", "missing", "good")]
    code, out, err = run("count", "-t", "tiny", "--json", *names)
    assert code == 1
    bad, missing, good = map(json.loads, out.splitlines())
    assert bad["error"]["reason"] == "INVALID_UTF8"
    assert bad["error"]["metadata"] == {"byte_position": "3"}
    assert "No such file" in missing["error"]["message"]
    assert good["n_tokens"] == 1
    assert [line.split(": ")[1] for line in err.splitlines()] == names[:2]
    assert ["--replace-invalid" in line for line in err.splitlines()] == [True, False]
    assert run("count", "-t", "tiny", "--replace-invalid", names[0])[0] == 0


def test_ids_out_of_range_are_refused(run: Run) -> None:
    """An id beyond the vocabulary is an error of that input with its place."""
    code, _, err = run("decode", "-t", "tiny", stdin="97 999999")
    assert code == 1
    assert "index 1" in err
    assert run("decode", "-t", "tiny", stdin="")[:2] == (0, "")


def test_a_tokenizer_must_be_named(run: Run) -> None:
    """Without -t, and for an unknown name, the message lists what is there and the exit code is 2."""
    for arguments in (("count",), ("count", "-t", "tinny")):
        code, out, err = run(*arguments, stdin="the")
        assert (code, out) == (2, "")
        assert "tiny" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["count", "-t", "tiny", "--special", "maybe"],
        ["truncate", "-t", "tiny"],
        ["truncate", "-t", "tiny", "--max-tokens", "1", "--ids-only"],
        ["encode", "-t", "tiny", "--offsets", "bytes"],
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, arguments: list[str]) -> None:
    """argparse's refusals and ours have the same code."""
    try:
        code: Any = run(*arguments)[0]
    except SystemExit as stop:
        code = stop.code
    assert code == 2


@pytest.mark.parametrize("budget", ["x", "-1", "1.5", "", "9" * 19])
def test_a_budget_is_a_number(capsys: pytest.CaptureFixture[str], budget: str) -> None:
    """What --max-tokens cannot be is wrong usage, and the message says what it is."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["truncate", "-t", "tiny", "--max-tokens", budget])
    assert stop.value.code == 2
    assert "--max-tokens: a budget is a whole number of tokens" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`tokenwire --version` prints one line and ends."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert re.fullmatch(r"tokenwire( \d+\.\d+\.\d+|, from a source tree .*)\n", capsys.readouterr().out)


def test_help_tells_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    """decode says what ids may look like, and show that its JSON has the plain text."""
    for command, words in (
        ("decode", ("[24912, 2375]", "encode --json", "bytes, in hex")),
        ("show", ("text (plain",)),
    ):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        out = capsys.readouterr().out
        assert [word for word in words if word not in out] == []


def test_progress_is_on_stderr_alone(run: Run, tmp_path: Path) -> None:
    """--progress says what is done, one line a step where stderr is no terminal."""
    (tmp_path / "big").write_bytes(b"the " * 300_000)
    code, out, err = run("count", "-t", "tiny", "--progress", str(tmp_path / "big"))
    assert code == 0
    assert err.splitlines() == [
        "tokenwire count: input 1 of 1: reading",
        "tokenwire count: input 1 of 1: 1.1 MiB read, working",
    ]
    assert out.endswith("big\n")


def test_file_names_cannot_act_on_the_terminal(run: Run, tmp_path: Path) -> None:
    """A name with an escape sequence, or that is not UTF-8, is written out."""
    for name in (b"\x1b[31m", b"\xff"):
        path = Path(str(tmp_path)) / name.decode("utf-8", "surrogateescape")
        path.write_text("the")
        for command in ("count", "show"):
            code, out, err = run(command, "-t", "tiny", path, path)
            assert (code, err) == (0, "")
            assert "\x1b" not in out
        json.loads(run("count", "-t", "tiny", "--json", path)[1])


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("encode", "--offsets", "codepoint"), TEXT),
        (("encode", "--special", "allow", "--offsets", "byte"), TEXT),
        (("encode", "--special", "reject"), TEXT),
        (("encode", "--replace-invalid", "--offsets", "byte"), b"ab\xff\xe6\x9dc"),
        (("count",), TEXT),
        (("count",), b"ab\xff"),
        (("truncate", "--max-tokens", "7"), TEXT),
        (("truncate", "--max-tokens", "7", "--keep", "end", "--cut", "token", "--ids-only"), TEXT),
        (("truncate", "--max-tokens", "0"), TEXT),
        (("truncate", "--max-tokens", "0", "--keep", "end", "--cut", "token", "--ids-only"), TEXT),
        (("decode", "--skip-special"), "97 300 98"),
        (("decode", "--bytes"), "260 200 98"),
        (("decode",), "97 299"),
        (("show", "--special", "allow"), TEXT),
    ],
)
def test_in_process_and_service_answer_the_same(
    run: Run, address: str, arguments: tuple[str, ...], stdin: str | bytes
) -> None:
    """Exit code, JSON and messages do not depend on who answers."""
    local = run(*arguments, "-t", "tiny", "--json", stdin=stdin)
    assert run(*arguments, "-t", "tiny", "--json", stdin=stdin, where=("--address", address)) == local
    assert json.loads(local[1])["digest"]


def test_a_service_is_asked_for_its_tokenizers(run: Run, address: str) -> None:
    """Of a service too: no name and an unknown name are wrong usage; nobody at the address is a failure."""
    where = ("--address", address)
    for arguments in (("count",), ("count", "-t", "tinny")):
        code, _, err = run(*arguments, stdin="the", where=where)
        assert code == 2
        assert "tiny" in err
    code, _, err = run("count", "-t", "tiny", stdin="the", where=("--address", "nonsense"))
    assert code == 2
    assert "HOST:PORT" in err
    assert run("count", "-t", "tiny", stdin="the", where=("--address", "unix:/nonexistent/x.sock"))[0] == 1


def test_in_process_needs_no_grpc_and_a_closed_pipe_is_no_traceback(manifest: Path, tmp_path: Path) -> None:
    """As a command: gRPC is not imported, and a reader that leaves early causes no complaint."""
    (tmp_path / "big").write_bytes(b"the " * 1_000_000)
    program = (
        "import sys; from tokenwire_server.cli import main; code = main(sys.argv[1:]);"
        "sys.exit(code if 'grpc' not in sys.modules else 9)"
    )
    common = ["-t", "tiny", "--config", str(manifest), str(tmp_path / "big")]
    done = subprocess.run(
        [sys.executable, "-c", program, "count", *common], env=environment(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    process = subprocess.Popen(
        [*COMMAND, "encode", *common], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 1


def test_all_of_a_long_answer_is_written(manifest: Path, tmp_path: Path) -> None:
    """Also with an unbuffered stdout, where a write to a pipe may be a part only."""
    (tmp_path / "big").write_bytes(b"x" * 300_000)
    done = subprocess.run(
        [*COMMAND, "encode", "-t", "tiny", "--config", str(manifest), str(tmp_path / "big")],
        env=environment(PYTHONUNBUFFERED="1"),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"120 " * 299_999 + b"120\n"
