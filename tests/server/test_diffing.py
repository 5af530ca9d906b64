"""Diffing: the places reported are exactly the texts for which the two reference libraries differ."""

from __future__ import annotations

import itertools
import json
import lzma
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server import language
from tokenwire_server.limits import Limits
from tokenwire_server.tools import corpus, diff_sides, diffing
from tokenwire_server.tools.corpus import Text
from tokenwire_server.tools.deployment import Deployment
from tokenwire_server.tools.diff_sides import Opened
from tokenwire_server.tools.diffing import Different, NotCompared, Refusal, Report

from tests.rank_files import rank_file, theirs
from tests.server.other_formats import PIECES, sentencepiece_model, tokenizer_json
from tests.strategies import random_text, texts

FAMILY = ("r50k_base", "p50k_base")
Encode = Callable[[str], Sequence[int]]
Pair = tuple[Opened, Opened]


def opened(*spellings: str) -> Pair:
    """The sides of these names, without a manifest."""
    nothing = Deployment(Path("tokenwire.toml"), Path("."), (), Limits())
    a, b = (diff_sides.open_side(spelling, nothing, "text") for spelling in spellings)
    return a, b


@pytest.fixture(scope="module")
def rank_pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """r50k_base and p50k_base, which the core encodes, from files that are known by their bytes."""
    folder = tmp_path_factory.mktemp("ranks")
    for name in FAMILY:
        (folder / name).write_bytes(rank_file(name).data)
    return opened(*(str(folder / name) for name in FAMILY))


def run(pair: Pair, found: Iterable[str]) -> tuple[list[Different | NotCompared], Report]:
    """Compare texts, each in a line of its own."""
    report = Report()
    lines = (Text("texts", line, text.encode()) for line, text in enumerate(found, 1))
    return list(diffing.compare(pair[0].side, pair[1].side, lines, report)), report


def check(pair: Pair, encode: tuple[Encode, Encode], found: Sequence[str]) -> int:
    """The law: places, counts and sums are those of brute force. Gives how many texts differ."""
    items, report = run(pair, found)
    both = [(encode[0](text), encode[1](text)) for text in found]
    differing = {line: (len(a), len(b)) for line, (a, b) in enumerate(both, 1) if list(a) != list(b)}
    assert all(isinstance(item, Different) for item in items)
    assert [item.line for item in items] == sorted(differing)
    assert {
        item.line: (item.n_tokens_a, item.n_tokens_b) for item in items if isinstance(item, Different)
    } == differing
    assert report.total.n_texts == len(found)
    assert report.total.n_different == len(differing)
    assert report.total.n_other_count == sum(a != b for a, b in differing.values())
    assert report.total.n_tokens_a == sum(len(a) for a, _ in both)
    assert report.total.n_tokens_b == sum(len(b) for _, b in both)
    return len(differing)


REFERENCES: tuple[Encode, Encode] = (
    lambda text: theirs("r50k_base").encode_ordinary(text),
    lambda text: theirs("p50k_base").encode_ordinary(text),
)


@given(found=st.lists(texts(), max_size=8))
def test_the_places_are_those_of_brute_force(rank_pair: Pair, found: list[str]) -> None:
    """For whatever texts, r50k_base against p50k_base: the texts reported are exactly those that differ in tiktoken."""
    check(rank_pair, REFERENCES, found)


def test_random_texts(rank_pair: Pair, seed: int) -> None:
    """The same for some thousand texts at once, over several batches, of which many differ and many do not."""
    rng = random.Random(f"{seed}/diff")
    found = [random_text(rng) for _ in range(5000)]
    assert 100 < check(rank_pair, REFERENCES, found) < 4900


def test_a_byte_start_is_where_the_tokens_part(rank_pair: Pair, seed: int) -> None:
    """Before it both sides have the same ids, and the token of A that begins there is another than B's."""
    rng = random.Random(f"{seed}/starts")
    found = [random_text(rng) for _ in range(1000)]
    for item in run(rank_pair, found)[0]:
        assert isinstance(item, Different)
        a, b = (encode(item.text) for encode in REFERENCES)
        n_equal = sum(
            1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
        )
        pieces = [theirs("r50k_base").decode_single_token_bytes(id_) for id_ in a[:n_equal]]
        assert item.byte_start == len(b"".join(pieces))


def test_our_side_against_its_reference_differs_in_nothing(tmp_path: Path, seed: int) -> None:
    """`NAME` against `reference:NAME` proves our exactness on any texts."""
    path = tmp_path / "r50k"
    path.write_bytes(rank_file("r50k_base").data)
    pair = opened(str(path), f"reference:{path}")
    assert diff_sides.differences(pair[0].description, pair[1].description) == {}
    rng = random.Random(f"{seed}/own")
    items, report = run(pair, [random_text(rng) for _ in range(500)])
    assert (items, report.total.n_texts) == ([], 500)


def test_sums_are_kept_by_language_and_file(rank_pair: Pair) -> None:
    """Each text counts once in the total, under its file, and under the label the service would give it."""
    lines = ["plain", "    four blanks", "Ελληνικά", "שלום    עולם", ""]
    found = [Text(f"file{index % 2}", index, line.encode()) for index, line in enumerate(lines)]
    found.append(Text("file1", 9, b"\xff"))
    report = Report()
    list(diffing.compare(rank_pair[0].side, rank_pair[1].side, found, report))
    by_label: dict[str, int] = {}
    for line in lines:
        label = language.label("", line.encode())[0]
        by_label[label] = by_label.get(label, 0) + 1
    assert {label: sums.n_texts for label, sums in report.by_language.items()} == by_label
    assert [report.by_file[name].n_texts for name in ("file0", "file1")] == [3, 2]
    assert report.by_file["file1"].n_not_compared == report.total.n_not_compared == 1
    for rows in (report.by_language, report.by_file):
        assert sum(row.n_tokens_b for row in rows.values()) == report.total.n_tokens_b
    assert report.total.ratio == report.total.n_tokens_b / report.total.n_tokens_a < 1


def test_files_beyond_the_bound_share_a_row(rank_pair: Pair) -> None:
    """Any number of files takes bounded memory, and no text is lost from the sums."""
    found = [Text(f"{index}", 0, b"x") for index in range(diffing.MAX_FILES + 50)]
    report = Report()
    list(diffing.compare(rank_pair[0].side, rank_pair[1].side, found, report))
    assert len(report.by_file) == diffing.MAX_FILES + 1
    assert report.by_file[diffing.OTHER_FILES].n_texts == 50


def test_what_cannot_be_compared_stands_at_its_place(rank_pair: Pair) -> None:
    """Invalid UTF-8, a text over the bound and one that a side refuses are named in order; the others are compared."""

    class Refusing:
        def encode(self, found: list[str]) -> list[memoryview | Refusal]:
            return [
                Refusal("TEXT_TOO_LONG", "so it is") if text == "no" else ids
                for text, ids in zip(found, rank_pair[1].side.encode(found), strict=True)
            ]

        def byte_start(self, text: str, index: int) -> int:
            return rank_pair[1].side.byte_start(text, index)

    utf8 = [b"fine", b"bad \xc3\x28", b"no", None, b"    differs"]
    found = [Text("f", line, data) for line, data in enumerate(utf8, 1)]
    report = Report()
    items = list(diffing.compare(Refusing(), rank_pair[0].side, found, report))
    assert [(item.line, getattr(item, "reason", "different")) for item in items] == [
        (2, "INVALID_UTF8"),
        (3, "TEXT_TOO_LONG"),
        (4, "TEXT_TOO_LONG"),
        (5, "different"),
    ]
    assert isinstance(items[0], NotCompared)
    assert "byte 4" in items[0].message
    assert (report.total.n_texts, report.total.n_not_compared) == (2, 3)


def byte_level(**changes: Any) -> dict[str, Any]:
    """A small tokenizer.json: byte-level BPE with a few merges."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [["a", "b"], ["b", "c"], ["ab", "c"], ["Ġ", "t"], ["t", "h"], ["th", "e"], ["Ġ", "Ġ"]]
    merges = changes.pop("merges", merges)
    words = [*alphabet, *("".join(pair) for pair in sorted(merges))]
    model = {"type": "BPE", "vocab": {word: id_ for id_, word in enumerate(words)}, "merges": merges}
    added = [{"id": len(words), "content": "<|end|>", "special": True}, *changes.pop("added", ())]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "added_tokens": [{**flags, **token} for token in added],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": model,
        **changes,
    }


def hf_encode(path: Path) -> Encode:
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def swapped(document: dict[str, Any], left: int, right: int) -> dict[str, Any]:
    """A copy with two merges in each other's place and one added token more."""
    copy = json.loads(json.dumps(document))
    merges = copy["model"]["merges"]
    merges[left], merges[right] = merges[right], merges[left]
    ids = [token["id"] for token in copy["added_tokens"]]
    copy["added_tokens"].append({**copy["added_tokens"][-1], "id": max(ids) + 1, "content": "<|new|>"})
    return copy  # type: ignore[no-any-return]


def hf_pair(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> tuple[Pair, tuple[Encode, Encode]]:
    paths = [folder / "old.json", folder / "new.json"]
    for path, document in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(document))
    return opened(*(f"reference:{path}" for path in paths)), (hf_encode(paths[0]), hf_encode(paths[1]))


def test_two_tokenizer_json_of_a_family(tmp_path: Path, seed: int) -> None:
    """Two merges swapped and a token added: exactly the texts that the reference library encodes differently."""
    pair, encode = hf_pair(tmp_path, byte_level(), swapped(byte_level(), 0, 1))
    rng = random.Random(f"{seed}/family")
    found = [random_text(rng) + rng.choice(["", "abc", " the", "bc", "<|new|>"]) for _ in range(1000)]
    assert 50 < check(pair, encode, found) < 950
    between = diff_sides.differences(pair[0].description, pair[1].description)
    assert between["vocab_size"] == [264, 265]
    assert set(between["parts"]) == {"model.merges", "added_tokens"}
    assert between["special_tokens"] == {"only_a": 0, "only_b": 1, "other_id": 0, "spellings": ["<|new|>"]}
    assert "entries" not in between


def test_two_sentencepiece_models(tmp_path: Path, seed: int) -> None:
    """A piece more: exactly the texts that sentencepiece encodes differently."""
    models = [sentencepiece_model(), sentencepiece_model((*PIECES, ("▁a", 1)))]
    for name, model in zip("ab", models, strict=True):
        (tmp_path / name).write_bytes(model)
    pair = opened(f"reference:{tmp_path / 'a'}", f"reference:{tmp_path / 'b'}")
    encode = [sentencepiece.SentencePieceProcessor(model_proto=model).encode for model in models]
    rng = random.Random(f"{seed}/pieces")
    found = ["".join(rng.choices("ab  x来", k=rng.randint(0, 12))) for _ in range(500)]
    assert 50 < check(pair, (encode[0], encode[1]), found) < 450
    between = diff_sides.differences(pair[0].description, pair[1].description)
    assert between["entries"] == {"only_a": 0, "only_b": 1, "other_id": 0}
    assert between["vocab_size"] == [len(PIECES), len(PIECES) + 1]


def test_two_formats_are_compared_by_their_texts(tmp_path: Path, rank_pair: Pair) -> None:
    """Ids are ids, whatever the format; entries are spelled too differently to be held against each other."""
    (tmp_path / "hf").write_bytes(tokenizer_json())
    other, _ = opened(f"reference:{tmp_path / 'hf'}", f"reference:{tmp_path / 'hf'}")
    assert diff_sides.differences(rank_pair[0].description, other.description)["entries"] is None
    check((rank_pair[0], other), (REFERENCES[0], hf_encode(tmp_path / "hf")), ["ab", "ab  ba", "", "来"])


def test_what_differs_between_tokenizers_is_counted(rank_pair: Pair) -> None:
    """p50k_base is r50k_base and 24 runs of blanks; a tokenizer against itself differs in nothing."""
    r50k, p50k = (side.description for side in rank_pair)
    between = diff_sides.differences(r50k, p50k)
    assert between["entries"] == {"only_a": 0, "only_b": 24, "other_id": 0}
    assert between["vocab_size"] == [50257, 50281]
    assert between["digest"] == [r50k.digest, p50k.digest]
    assert "parts" not in between
    assert "special_tokens" not in between
    assert diff_sides.differences(r50k, r50k) == {}
    moved = {**r50k.entries, b"!": r50k.entries[b"?"], b"?": r50k.entries[b"!"]}
    counts = {"only_a": 0, "only_b": 0, "other_id": 2}
    assert diff_sides.differences(r50k, replace(r50k, entries=moved)) == {"entries": counts}


@pytest.fixture(scope="module")
def corpus_lines(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """Every corpus file's lines, by its path."""
    folder: Path = request.getfixturevalue("reference_data")
    files = sorted((folder / "corpora").glob("*.txt.xz"))
    assert files, f"no corpora in {folder}"
    texts = {str(file): lzma.decompress(file.read_bytes()).decode() for file in files}
    return {file: text.removesuffix("\n").split("\n") for file, text in texts.items()}


@pytest.mark.parametrize("stride", [10, pytest.param(1, marks=pytest.mark.long)])
def test_corpora(rank_pair: Pair, tmp_path: Path, corpus_lines: dict[str, list[str]], stride: int) -> None:
    """r50k_base against p50k_base on a tenth, or every line, of the corpora: exactly those that differ in tiktoken."""
    corpus_lines = {
        str(tmp_path / f"{Path(file).name}.txt"): lines[::stride] for file, lines in corpus_lines.items()
    }
    for file, lines in corpus_lines.items():
        Path(file).write_text("\n".join(lines) + "\n", newline="")
    a, b = (theirs(name).encode_ordinary for name in FAMILY)
    differing = [
        (file, line)
        for file, lines in corpus_lines.items()
        for line, text in enumerate(lines, 1)
        if a(text) != b(text)
    ]
    found = corpus.read([str(tmp_path)], by_line=True, max_bytes=1 << 20)
    report = Report()
    items = list(diffing.compare(rank_pair[0].side, rank_pair[1].side, found, report))
    assert [(item.file, item.line) for item in items] == differing
    assert report.total.n_texts == sum(map(len, corpus_lines.values()))
    assert {file: row.n_different for file, row in report.by_file.items()} == {
        file: sum(place[0] == file for place in differing) for file in corpus_lines
    }
    assert len(differing) > 10_000 / stride


def check_family(folder: Path, old: bytes, new: bytes, corpora: dict[str, list[str]]) -> int:
    pair, encode = hf_pair(folder, json.loads(old), json.loads(new))
    return sum(check(pair, encode, lines) for lines in corpora.values())


FAMILIES = {
    "qwen3": lambda folder: (
        qwen := artifact(folder, "qwen3"),
        json.dumps(swapped(json.loads(qwen), 2, 300)).encode(),
    ),
    "mistral and llama2": lambda folder: (artifact(folder, "mistral_v1_hf"), artifact(folder, "llama2")),
    "moonshine and llama2": lambda folder: (artifact(folder, "moonshine"), artifact(folder, "llama2")),
}


def artifact(folder: Path, name: str) -> bytes:
    return lzma.decompress((folder / "artifacts" / f"{name}.tokenizer.json.xz").read_bytes())


def check_published(folder: Path, family: str, reference_data: Path, corpora: dict[str, list[str]]) -> None:
    n_different = check_family(folder, *FAMILIES[family](reference_data), corpora)
    assert (n_different > 0) == (family != "moonshine and llama2")


@pytest.mark.parametrize("family", FAMILIES)
def test_published_families(
    tmp_path: Path, family: str, reference_data: Path, corpus_lines: dict[str, list[str]]
) -> None:
    """Two published tokenizer.json of one family, and one with two merges swapped, on part of each corpus file."""
    check_published(
        tmp_path, family, reference_data, {name: lines[::150] for name, lines in corpus_lines.items()}
    )


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_published_families_in_full(
    tmp_path: Path, family: str, reference_data: Path, corpus_lines: dict[str, list[str]]
) -> None:
    """The same on every line of every corpus file."""
    check_published(tmp_path, family, reference_data, corpus_lines)
