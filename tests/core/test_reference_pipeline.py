"""The slow twin of a pipeline and the `tokenizers` library: whatever the stages, on every text the same."""

from __future__ import annotations

import doctest
import itertools
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core import byte_alphabet, reference_models, reference_patterns
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.formats.hf_normalizers import Prepend, Replace
from tokenwire_core.pipeline import Regex
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import normalize
from tokenwire_core.reference_pipeline import ReferencePipeline

from tests.core.charsmaps import charsmap_stage
from tests.core.hf_twins import CHARACTERS, ONE_UNKNOWN, Twins, tricky_texts

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
FLAGS = (False, True)
GOLDEN = (
    *("cl100k_hf", "gpt_oss", "llama3_1", "qwen3", "deepseek_v4", "claude_legacy", "llama2", "mistral_v1_hf"),
    *(
        "moonshine",
        "gemma3",
        "minilm_bert_uncased",
        "bert_cased_config",
        "nepali_wordpiece",
        "nepali_unigram",
    ),
    "xlm_roberta",
)
"""The artifacts of this format, of which the reference data has golden vectors."""


def stage(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


def sequence(kind: str, stages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "Sequence", kind: stages}


def bert(
    clean: bool = True, chinese: bool = True, accents: bool | None = None, lower: bool = True
) -> dict[str, Any]:
    return stage(
        "BertNormalizer",
        clean_text=clean,
        handle_chinese_chars=chinese,
        strip_accents=accents,
        lowercase=lower,
    )


CHARSMAP = charsmap_stage(
    {
        "ﬁ": "fi", "①": "1", "½": "1⁄2", "e\u0301": "é", "か゛": "が", "か": "KA", "\u200b": "", "\u00ad": "",
        "A": "a", "ABC": "x", "©": "(c)", "ß": "ss", "漢字": "kanji", " ": "▁", "\t": " ", "\r\n": "\n", "\u0301": "",
    }
)  # fmt: skip
NORMALIZERS = {
    **{form: stage(form) for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")},
    **{
        f"Strip {left} {right}": stage("Strip", strip_left=left, strip_right=right) for left in FLAGS for right in FLAGS
    },
    "Prepend": stage("Prepend", prepend="▁x"),
    "Replace text": stage("Replace", pattern={"String": "a"}, content="bcd"),
    "Replace by nothing": stage("Replace", pattern={"String": " "}, content=""),
    "Replace blanks": stage("Replace", pattern={"Regex": r"\s{2,}|[\n\r\t]"}, content="▁"),
    "Replace each letter": stage("Replace", pattern={"Regex": r"(?=\p{L})"}, content="·"),
    "Bert": bert(),
    **{
        f"Bert {flags}": bert(*flags)
        for flags in itertools.product(FLAGS, FLAGS, (None, False, True), FLAGS)
        if sum(map(bool, flags)) < 3
    },
    "Precompiled": CHARSMAP,
}  # fmt: skip
PUTS_TEXT_FIRST = {"Replace each letter"}
"""On some texts what changes the text after these makes the library panic."""
PRE_TOKENIZERS = {
    **{name: stage(name) for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")},
    **{
        f"ByteLevel {prefix} {splits}": stage("ByteLevel", add_prefix_space=prefix, use_regex=splits, trim_offsets=True)
        for prefix in FLAGS for splits in FLAGS
    },
    **{
        f"Metaspace {scheme} {splits}": stage("Metaspace", replacement="▁", prepend_scheme=scheme, split=splits)
        for scheme in ("always", "first", "never") for splits in FLAGS
    },
    **{
        f"Split {pattern} {behavior} {invert}": stage("Split", pattern=pattern, behavior=behavior, invert=invert)
        for pattern in ({"String": "a"}, {"Regex": r"\s+(?!\S)|\p{L}+|\p{N}"}, {"Regex": "(?=[abs])"})
        for behavior in BEHAVIORS for invert in FLAGS
    },
    **{f"Punctuation {behavior}": stage("Punctuation", behavior=behavior) for behavior in BEHAVIORS},
    **{f"Digits {individual}": stage("Digits", individual_digits=individual) for individual in FLAGS},
    "CharDelimiterSplit": stage("CharDelimiterSplit", delimiter="a"),
    "FixedLength": stage("FixedLength", length=3),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=tricky_texts)
@settings(max_examples=40)
def test_each_normalizer(name: str, text: str) -> None:
    """Every character after a normalizer is the library's, and comes from the same place."""
    Twins(normalizer=NORMALIZERS[name], pre_tokenizer=CHARACTERS, model=ONE_UNKNOWN).assert_same(text)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
@given(text=tricky_texts)
@settings(max_examples=40)
def test_each_pre_tokenizer(name: str, text: str) -> None:
    """Every piece is the library's, and comes from the same place."""
    Twins(pre_tokenizer=PRE_TOKENIZERS[name], model=ONE_UNKNOWN).assert_same(text)


@given(
    normalizers=st.lists(st.sampled_from(sorted(NORMALIZERS.keys() - PUTS_TEXT_FIRST)), max_size=4),
    pre_tokenizers=st.lists(st.sampled_from(sorted(PRE_TOKENIZERS)), max_size=3),
    text=tricky_texts,
)
@settings(max_examples=250)
def test_stages_after_each_other(normalizers: list[str], pre_tokenizers: list[str], text: str) -> None:
    """Stages in any order, each on what the ones before have made."""
    Twins(
        normalizer=sequence("normalizers", [NORMALIZERS[name] for name in normalizers]),
        pre_tokenizer=sequence("pretokenizers", [PRE_TOKENIZERS[name] for name in pre_tokenizers]),
        model=ONE_UNKNOWN,
    ).assert_same(text)


@pytest.mark.parametrize("first", [Replace(Regex("(?=a)"), "x"), Prepend("")])
def test_text_put_before_everything_stays_there(first: Replace | Prepend) -> None:
    """Where the library panics on the next change, or says a character twice, we go on with what there is."""
    text = AlignedText.of("abA")
    normalize(text, [first])
    before = text.text
    text.map(str.upper)
    assert text.text == before.upper()
    assert text.source == (0, 3)
    assert text.spans[0] == (0, 0)


@pytest.mark.parametrize("module", [byte_alphabet, reference_models, reference_patterns])
def test_examples_in_the_modules(module: Any) -> None:
    """The worked examples are true."""
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0


def artifact(folder: Path, name: str) -> bytes:
    return lzma.decompress((folder / "artifacts" / f"{name}.tokenizer.json.xz").read_bytes())


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_vectors(reference_data: Path, name: str) -> None:
    """Of each artifact every vector holds: ids with special tokens as text, parsed, and with the template; spellings
    and spans; the text of ids, with special tokens and without."""
    ours = ReferencePipeline(read_hf_json(artifact(reference_data, name)))
    lines = (reference_data / "golden" / f"{name}.jsonl").read_text().splitlines()
    assert len(lines) > 200
    different = []
    for row in map(json.loads, lines):
        text = row["text"]
        plain = ours.encode(text)
        found = {
            "ids": plain.ids,
            "pieces": [token.text for token in plain.tokens],
            "char_offsets": [list(span) for span in plain.spans],
            "ids_special": ours.encode(text, "allow").ids,
            "ids_template": ours.encode(text, "allow", add_special=True).ids,
            "decoded": ours.decode(row["ids"]),
            "decoded_special": ours.decode(row["ids_special"]),
            "decoded_skip": ours.decode(row["ids_special"], skip_special=True),
        }
        different += [(row["id"], field) for field, value in found.items() if value != row[field]]
    assert different == []
