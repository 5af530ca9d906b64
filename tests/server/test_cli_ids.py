"""What `tokenwire decode` reads."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server import cli
from tokenwire_server.cli_backend import RefusalError
from tokenwire_server.cli_ids import parse_ids

from tests.server import made_up

DIGEST = "d" * 64
IDS = st.lists(st.integers(-(2**63), 2**64))
Run = Callable[..., tuple[int, str, str]]


@given(IDS, st.sampled_from([" ", ",", ", ", "\n", "\t"]), st.booleans())
def test_lists_of_ids(ids: list[int], separator: str, is_array: bool) -> None:
    """Ids between blanks, commas or newlines, in brackets or not."""
    text = separator.join(map(str, ids))
    assert parse_ids(f" [{text}]\n".encode() if is_array else f"{text}\n".encode(), DIGEST) == [ids]


@given(st.lists(IDS, min_size=1), st.booleans())
def test_json_lines(lists: list[list[int]], has_digest: bool) -> None:
    """One list for each object; other keys, and an empty line, mean nothing."""
    fields = {"input": "\u2028", **({"digest": DIGEST} if has_digest else {})}
    lines = [json.dumps({**fields, "ids": ids}, ensure_ascii=False) for ids in lists]
    assert parse_ids("\n\n".join(lines).encode(), DIGEST) == lists


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1, x", "item 2 is no whole number"),
        ("1.5", "item 1 is no whole number"),
        ("[1, [2]]", "item 2 is no whole number"),
        ("--", "item 1 is no whole number"),
        ("0x10", "item 1 is no whole number"),
        ("\u0661", "item 1 is no whole number"),
        ("9" * 21, "item 1 is no whole number"),
        ("{", "line 1 is no JSON object"),
        ('{"ids": [1]}\n[1]', 'line 2 has no "ids"'),
        ('{"error": {}}', 'line 1 has no "ids"'),
        ('{"ids": 7}', "no list of whole numbers"),
        ('{"ids": [1.0]}', "no list of whole numbers"),
        ('{"ids": [true]}', "no list of whole numbers"),
        ('{"ids": [' + "9" * 5000 + "]}", "no list of whole numbers"),
        ('{"ids":' + "[" * 100_000, "line 1 is no JSON object"),
        ('{"digest": "other", "ids": [1]}', "line 1 has the ids of another tokenizer"),
    ],
)
def test_what_is_no_list_of_ids_is_refused(text: str, complaint: str) -> None:
    """The message names the place, and does not repeat what is there."""
    with pytest.raises(RefusalError, match=complaint):
        parse_ids(text.encode(), DIGEST)


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a small tokenizer: gives exit code, stdout and stderr."""
    manifest = made_up.manifest(tmp_path, 'embedded = ""', made_up.table(tmp_path))

    def run(*arguments: str | Path, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = cli.main([*map(str, arguments), "-t", "tiny", "--config", str(manifest)])
        sys.stdout.flush()
        return code, *capfd.readouterr()

    return run


def test_decode_reads_what_encode_writes(run: Run, tmp_path: Path) -> None:
    """`encode --json a b | decode` is `cat a b`."""
    (tmp_path / "a").write_text("the abc 日本\n")
    (tmp_path / "b").write_text("👩\u200d💻 <|end|>")
    lines = run("encode", "--json", tmp_path / "a", tmp_path / "b")[1]
    assert len(lines.splitlines()) == 2
    both = "the abc 日本\n👩\u200d💻 <|end|>"
    assert run("decode", stdin=lines) == (0, both, "")
    code, out, err = run("decode", "--bytes", "--json", stdin=lines)
    assert (code, json.loads(out)["bytes"], err) == (0, both.encode().hex(), "")


def test_ids_of_another_tokenizer_are_refused(run: Run) -> None:
    """The digest that came with the ids protects them."""
    code, out, err = run("decode", stdin='{"digest": "0", "ids": [97]}')
    assert (code, out) == (1, "")
    assert "another tokenizer" in err
