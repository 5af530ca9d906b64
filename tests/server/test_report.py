"""`tokenwire report`: its numbers are those of the reference libraries, and nothing is lost on the way to them."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import lzma
import math
import os
import sys
import tracemalloc
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core.reference_scripts import token_scripts
from tokenwire_server import detector, language
from tokenwire_server.tools import cli_progress, walking
from tokenwire_server.tools.report.numbers import TokenizerNumbers

from tests import artifact_files, families
from tests.rank_files import theirs
from tests.server import made_up
from tests.server.test_metered_load import Deployment, loaded

DETECTOR, _ = detector.load(detector.AUTO)
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


def spans(tokens: list[bytes]) -> list[tuple[int, int]]:
    """Where tokens are that tile a text."""
    return list(pairwise(accumulate(map(len, tokens), initial=0)))


@pytest.mark.parametrize("unit", ["file", "line", "field"])
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_numbers_are_those_of_tiktoken(run_report: Run, tmp_path: Path, name: str, unit: str) -> None:
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
    code, out, err = run_report(*arguments, "-t", name, "--limit", "20", "--json")
    assert (code, err) == (0, "")

    reference = theirs(name)
    ids = [reference.encode_ordinary(text) for text in texts]
    lengths = [len(each) for each in ids]
    by_script: Counter[str] = Counter()
    by_language: Counter[str] = Counter()
    for text, each in zip(texts, ids, strict=True):
        by_script.update(token_scripts(text, spans(reference.decode_tokens_bytes(each))))
        by_language[language.label("", text.encode(), DETECTOR)[0]] += len(each)
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
def test_numbers_are_those_of_tokenizers(
    run_report: Run, tmp_path: Path, name: str, add_special: bool
) -> None:
    """Unknown tokens, texts that decode to themselves, and templates, in the families that have them."""
    manifest = families.manifest(tmp_path)
    extra = ["--add-special"] if add_special else []
    code, out, _ = run_report(write(tmp_path), "--config", manifest, "-t", name, "--json", *extra)
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


@pytest.mark.parametrize("name", ["byte-level-bpe", "unigram", "wordpiece", "sentencepiece-bpe"])
def test_numbers_are_those_that_a_service_counts(run_report: Run, tmp_path: Path, name: str) -> None:
    """A report tells before what the counters say after the same texts were sent."""
    manifest = families.manifest(tmp_path)
    deployment = Deployment(loaded(manifest), DETECTOR)
    request = pb.EncodeRequest(tokenizer=name, inputs=[pb.Input(text=text) for text in TEXTS])
    deployment.call("Encode", request.SerializeToString())
    code, out, _ = run_report(write(tmp_path), "--config", manifest, "-t", name, "--json")
    assert code == 0
    found = numbers(out)
    sizes = json.loads(out)["by_language"]

    def counted(metric: str, *labels: str) -> dict[str, float]:
        samples = deployment.counted(f"tokenwire_{metric}_total")
        return {key[0]: value for key, value in samples.items() if key[1:] == (*labels, name)}

    def told(sums: dict[str, dict[str, int]], member: str) -> dict[str, int]:
        return {label: each[member] for label, each in sums.items() if each[member]}

    assert counted("tokens", "encode") == told(found["by_language"], "n_tokens")
    assert counted("unknown_tokens") == told(found["by_language"], "n_unknown")
    assert counted("byte_fallback_tokens") == told(found["by_language"], "n_byte_fallback")
    assert counted("input_bytes", "encode") == told(sizes, "n_bytes")
    assert counted("input_characters", "encode") == told(sizes, "n_characters")
    assert counted("script_tokens") == found["by_script"]


@pytest.mark.long
def test_numbers_of_real_texts_are_those_of_the_libraries(
    run_report: Run, tmp_path: Path, reference_data: Path
) -> None:
    """Twenty megabytes in 23 languages, code and logs, by two tokenizers of tiktoken and one of tokenizers."""
    name = "minilm_bert_uncased"
    data = artifact_files.artifact(name)
    (tmp_path / "minilm.json").write_bytes(data)
    table = f"""
[[tokenizer]]
name = "minilm"
format = "hf_json"
file = "minilm.json"
sha256 = "{hashlib.sha256(data).hexdigest()}"
"""
    manifest = made_up.manifest(tmp_path, 'embedded = ["o200k_base", "cl100k_base"]', table)
    files = sorted((reference_data / "corpora").glob("*.xz"))
    report = json.loads(run_report(*files, "--config", manifest, "--json")[1])
    assert (report["n_texts"], report["n_left_out"]) == (len(files), 0)
    texts = [lzma.decompress(file.read_bytes()).decode() for file in files]

    found = {each["name"]: each for each in report["tokenizers"]}
    for ranks in ("o200k_base", "cl100k_base"):
        lengths, by_script = [], Counter[str]()
        for text in texts:
            ids = theirs(ranks).encode_ordinary(text)
            lengths.append(len(ids))
            by_script.update(token_scripts(text, spans(theirs(ranks).decode_tokens_bytes(ids))))
        assert found[ranks]["n_tokens"] == sum(lengths)
        assert found[ranks]["by_script"] == by_script
        assert found[ranks]["n_same"] == len(texts)
        assert found[ranks]["length_tokens"]["p50"] == nearest_rank(lengths, 50)
        assert found[ranks]["length_tokens"]["p95"] == nearest_rank(lengths, 95)
    library, unknown_id = artifact_files.theirs(name), artifact_files.ours(name).unknown_id
    all_ids = library.ids(texts)
    assert found["minilm"]["n_tokens"] == sum(map(len, all_ids))
    assert found["minilm"]["n_unknown"] == sum(token == unknown_id for ids in all_ids for token in ids)
    assert found["minilm"]["n_same"] == sum(map(str.__eq__, library.decode(all_ids), texts))


def test_bytes_of_what_the_vocabulary_lacks(run_report: Run, tmp_path: Path) -> None:
    """One fallback token for each byte of a character that the pieces lack, by language too."""
    manifest = families.manifest(tmp_path)
    (tmp_path / "x.txt").write_text("한국어")
    found = numbers(run_report("x.txt", "--config", manifest, "-t", "sentencepiece-bpe", "--json")[1])
    assert found["n_byte_fallback"] == found["by_language"]["ko"]["n_byte_fallback"] == 9
    assert found["byte_fallback_share"] == 9 / found["n_tokens"]


def test_several_tokenizers_in_one_pass(run_report: Run, tmp_path: Path) -> None:
    """Each has the numbers that it has alone; one that is named twice is there once; without names, all are."""
    corpus = write(tmp_path)
    both = run_report(corpus, "-t", "gpt-4o", "-t", "cl100k_base", "-t", "o200k_base", "--json")[1]
    assert [each["name"] for each in json.loads(both)["tokenizers"]] == ["o200k_base", "cl100k_base"]
    for index, name in enumerate(("o200k_base", "cl100k_base")):
        assert numbers(both, index) == numbers(run_report(corpus, "-t", name, "--json")[1])
    assert run_report(corpus, "--json")[1] == both


def test_lines_and_their_ends(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Lines end at LF or CRLF; empty ones are no texts."""
    (tmp_path / "x").write_bytes(b"abc\r\n\nabc\n\r\nthe the")
    report = json.loads(run_report("x", *tiny, "--lines", "--json")[1])
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
    run_report: Run, tmp_path: Path, tiny: tuple[str, ...], record: object, field: str, texts: list[str]
) -> None:
    """Keys joined by dots, through lists; each string is a text."""
    (tmp_path / "x.jsonl").write_text(json.dumps(record) + "\n\n")
    code, out, _ = run_report("x.jsonl", *tiny, "--jsonl", field, "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_characters"]) == (0, len(texts), len("".join(texts)))


def test_parts_of_a_message_are_texts(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Content is a string or a list of parts; a part without text is left out and counted; null is nothing."""
    parts = [{"type": "text", "text": "abcd"}, {"type": "image_url", "image_url": {"url": "x"}}]
    contents = ["ab", parts, None, 7]
    (tmp_path / "x").write_text(json.dumps({"m": [{"content": content} for content in contents]}))
    code, out, _ = run_report("x", *tiny, "--jsonl", "m.content", "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_characters"]) == (1, 2, 6)
    assert [(gap["reason"], gap["n_texts"]) for gap in report["left_out"]] == [("NO_FIELD", 2)]


def test_json_is_json(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """A byte order mark before it, and numbers of any length beside the field, are no fault."""
    (tmp_path / "x").write_text('\ufeff{"n": %s, "t": "abc"}\n' % ("1" * 5000), "utf-8")
    code, out, _ = run_report("x", *tiny, "--jsonl", "t", "--json")
    assert (code, json.loads(out)["n_characters"]) == (0, 3)


def test_folders_may_be_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deeper than Python calls itself: each is read once, and one that cannot be is a fault by its name."""
    depth = sys.getrecursionlimit() + 1500

    def names(folder: str) -> list[str]:
        if folder.count("/") == depth:
            raise OSError(errno.ENAMETOOLONG, "File name too long", folder)
        return ["folder", "file"]

    monkeypatch.setattr(os, "listdir", names)
    monkeypatch.setattr(os.path, "isdir", lambda path: path.endswith("folder"))
    faults: list[OSError] = []
    found = list(walking.files_below("top", faults.append))
    assert found == ["top/" + "folder/" * level + "file" for level in range(depth)]
    assert [fault.errno for fault in faults] == [errno.ENAMETOOLONG]


def test_one_field_is_asked_for(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """A second --jsonl would take the place of the first without a word."""
    (tmp_path / "x").write_text("{}")
    code, out, err = run_report("x", *tiny, "--jsonl", "a", "--jsonl", "b")
    assert (code, out) == (2, "")
    assert "--jsonl takes one field" in err


def test_records_without_a_text_are_named(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
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
    code, out, _ = run_report("x", *tiny, "--jsonl", "t", "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_left_out"]) == (1, 1, 6)
    found = {gap["reason"]: (gap["line"], gap["n_texts"]) for gap in report["left_out"]}
    assert found == {"NOT_JSON": (2, 2), "NO_FIELD": (3, 2), "INVALID_UTF8": (5, 2)}
    replaced = json.loads(run_report("x", *tiny, "--jsonl", "t", "--replace-invalid", "--json")[1])
    assert (replaced["n_texts"], replaced["n_left_out"]) == (3, 4)


def test_no_file_of_a_folder_is_lost(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
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
    code, out, _ = run_report("missing", corpus, *tiny, "--json")
    report = json.loads(out)
    assert (code, report["n_texts"], report["n_files"]) == (1, 3, 3)
    assert [(gap["file"], gap["reason"]) for gap in report["left_out"]] == [
        ("missing", "UNREADABLE"),
        (f"{corpus}/cut.xz", "UNREADABLE"),
        (f"{corpus}/gone", "UNREADABLE"),
        (f"{corpus}/picture.png", "INVALID_UTF8"),
        (f"{corpus}/pipe", "UNREADABLE"),
    ]


def test_exit_codes(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """0 if all but what is not UTF-8 is measured, 1 if not or without texts, 2 for what cannot be asked for."""
    (tmp_path / "good").write_text("abc")
    (tmp_path / "bad").write_bytes(b"\xff")
    assert run_report("good", "bad", *tiny)[0] == 0
    assert run_report("bad", *tiny, "--replace-invalid")[0] == 0
    code, _, err = run_report("bad", *tiny)
    assert (code, err) == (1, "tokenwire report: no text was measured\n")
    assert run_report("good", "missing", *tiny)[0] == 1
    code, out, err = run_report("good", *tiny, "--html", "no/such/folder.html")
    assert (code, "All texts" in out, "cannot be written" in err) == (1, True, True)
    code, _, err = run_report("good", "-t", "o200k_bas")
    assert code == 2
    assert "o200k_base" in err
    many = made_up.manifest(tmp_path, *(made_up.table(tmp_path, f"t{n}") for n in range(9)))
    code, _, err = run_report("good", "--config", many, "--html", "page.html")
    assert (code, "at most 8 tokenizers" in err) == (2, True)
    assert run_report("good", "--config", many)[0] == 0


@pytest.mark.parametrize("n_bytes", [65_536, 65_537])
def test_a_text_that_one_tokenizer_refuses_is_left_out_for_all(
    run_report: Run, tmp_path: Path, n_bytes: int
) -> None:
    """Otherwise their numbers would not compare."""
    parts = (
        made_up.table(tmp_path, "fast"),
        made_up.table(tmp_path, "regex", pattern=made_up.OWN_PATTERN),
    )
    manifest = made_up.manifest(tmp_path, *parts)
    (tmp_path / "long").write_text("," * n_bytes)
    (tmp_path / "short").write_text("abc")
    code, out, _ = run_report("long", "short", "--config", manifest, "--json")
    is_refused = n_bytes > 65_536
    assert (code, json.loads(out)["n_texts"]) == (is_refused, 2 - is_refused)
    assert [each["reason"] for each in json.loads(out)["left_out"]] == ["TEXT_TOO_LONG"] * is_refused


@pytest.mark.parametrize(("n_bytes", "n_texts"), [(8, 1), (9, 0), (100_000, 0)])
def test_a_text_over_the_limit_is_left_out(
    run_report: Run, tmp_path: Path, n_bytes: int, n_texts: int
) -> None:
    """The configuration's text_bytes holds here too."""
    manifest = made_up.manifest(tmp_path, "[limits]\ntext_bytes = 8", made_up.table(tmp_path))
    (tmp_path / "x").write_text("a" * n_bytes)
    assert json.loads(run_report("x", "--config", manifest, "--json")[1])["n_texts"] == n_texts


def test_stdin_is_a_text(run_report: Run, tiny: tuple[str, ...]) -> None:
    """Without files, and by its name."""
    for names in ((), ("-",)):
        report = json.loads(run_report(*names, *tiny, "--json", stdin=b"the abc")[1])
        assert (report["inputs"], report["n_texts"], report["n_bytes"]) == (["-"], 1, 7)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300))
def test_percentiles_are_lengths_of_texts(lengths: list[int]) -> None:
    """Nearest rank over all texts, from how many have each length."""
    tokenizer = TokenizerNumbers("x", "", None, None, lengths=Counter(lengths))
    found = tokenizer.percentiles()
    assert found == {f"p{percent}": nearest_rank(lengths, percent) for percent in (50, 95, 99)} | {
        "max": max(lengths)
    }


def test_memory_does_not_grow_with_the_texts(run_report: Run, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    """Six times the lines, in about the same memory."""
    peaks = []
    for n_lines in (5_000, 30_000):
        (tmp_path / "x").write_bytes((b"the abc and something more to say about it. " * 10 + b"\n") * n_lines)
        tracemalloc.start()
        try:
            assert run_report("x", *tiny, "--lines", "--json")[0] == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_progress_is_for_terminals(
    run_report: Run, tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal a line on stderr is written over and at last removed; elsewhere there is none."""
    (tmp_path / "x").write_text("abc\nabc\n")
    assert run_report("x", *tiny, "--lines")[2] == ""
    monkeypatch.setattr(cli_progress, "_EVERY_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, _, err = run_report("x", *tiny, "--lines")
    assert "1 texts, x:2" in err
    assert err.endswith("\r\x1b[K")
