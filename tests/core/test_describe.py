"""A tokenizer's stages can be read off: all of them, a line each, in the field's words."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import pipeline
from tokenwire_core.describe import MAX_SHOWN, Description, describe
from tokenwire_core.formats import hf_normalizers, hf_pretokenizers
from tokenwire_core.load import read_spec
from tokenwire_core.pipeline import Pipeline, Regex, Template, TemplateText, TemplateToken, WordLevelModel
from tokenwire_core.spec import PipelineSpec, TokenizerSpec

from tests.core.charsmaps import charsmap
from tests.core.model_files import trained

MODEL = WordLevelModel({"u": 0, "a": 1}, "u")


def described(**stages: Any) -> Description:
    """The description of a tokenizer with these stages."""
    empty: dict[str, Any] = dict.fromkeys(
        ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"), ()
    )
    spec = PipelineSpec("hf_json", ("0" * 64,), {}, (), (), Pipeline(**(empty | {"model": MODEL} | stages)))
    return describe(spec)


def normalizers(*stages: pipeline.Normalizer) -> tuple[str, ...]:
    return described(normalizer=stages).normalizer


def test_settings_are_named() -> None:
    """Each stage is one line with the library's name for it and all its settings."""
    assert normalizers(
        hf_normalizers.NFC(),
        hf_normalizers.Strip(left=True, right=False),
        hf_normalizers.Replace(" ", "▁"),
        hf_normalizers.Replace(Regex(r"\s+\n"), "\n"),
        hf_normalizers.BertNormalizer(strip_accents=None),
        hf_normalizers.ByteLevel(),
    ) == (
        "NFC",
        "Strip(left=true, right=false)",
        'Replace(pattern=" ", content="▁")',
        r'Replace(pattern=/\s+\n/, content="\n")',
        "BertNormalizer(clean_text=true, handle_chinese_chars=true, strip_accents=null, lowercase=true)",
        "ByteLevel",
    )
    split = hf_pretokenizers.Split(Regex(r"\p{L}"), "Isolated")
    assert described(pre_tokenizer=(split,)).pre_tokenizer == (
        r'Split(pattern=/\p{L}/, behavior="Isolated", invert=false)',
    )


def test_templates_have_the_short_form_of_the_library() -> None:
    """Texts are `$A:0`, tokens their spelling, ids and type id."""
    cls, sep = TemplateToken("[CLS]", (5,), 0), TemplateToken("two words", (6, 7), 1)
    a, b = TemplateText("A", 0), TemplateText("B", 1)
    (line,) = described(post_processor=(Template((cls, a), (cls, a, sep, b)),)).post_processor
    assert line == 'TemplateProcessing(single=[CLS]=5:0 $A:0, pair=[CLS]=5:0 $A:0 "two words"=6,7:1 $B:1)'


def test_a_model_is_its_sizes_and_settings() -> None:
    """The tables of a model are not printed, their sizes are."""
    assert described().model == 'WordLevel(n_vocab=2, unk="u")'
    bpe = pipeline.BytePairModel({"a": 0, "b": 1, "ab": 2}, (("a", "b"),), byte_fallback=True)
    assert described(model=bpe).model.startswith(
        "BPE(n_vocab=3, n_merges=1, unk=null, fuse_unk=false, byte_f"
    )
    unigram = pipeline.UnigramModel((("a", -1.0),), None)
    assert described(model=unigram).model == "Unigram(n_vocab=1, unk_id=null, byte_fallback=false)"


def test_what_is_long_is_cut_and_still_told_apart() -> None:
    """Long patterns, texts, templates and tables are lines of bounded length, and different ones differ."""
    long = "x" * (MAX_SHOWN + 1)
    token = TemplateToken(long, (1,), 0)
    lines: list[str] = []
    for text in (long + "a", long + "b"):
        lines += normalizers(
            hf_normalizers.Prepend(text),
            hf_normalizers.Replace(Regex(text), ""),
            hf_normalizers.Precompiled(charsmap({"a": text[-1]})),
        )
        template = Template((token, TemplateText("A", 0)), (token, TemplateToken(text, (1,), 0)))
        lines += described(post_processor=(template,)).post_processor
    assert len(set(lines)) == len(lines)
    assert all(re.search(r"<\d+ bytes, sha256 [0-9a-f]{8}>", line) for line in lines)
    assert max(map(len, lines)) < 3 * MAX_SHOWN


@given(st.text(max_size=50) | st.text(st.sampled_from("\\/\"'\n\x1b\u202e\ud7ff é"), min_size=MAX_SHOWN))
def test_a_line_is_a_line(text: str) -> None:
    """Whatever a file says, its stages are printable lines."""
    stages = (hf_normalizers.Prepend(text), hf_normalizers.Replace(Regex(text), text))
    assert all(line.isprintable() for line in normalizers(*stages))


STAGES: dict[str, Iterable[type[Any]]] = {
    "normalizer": hf_normalizers.NORMALIZERS.values(),
    "pre_tokenizer": hf_pretokenizers.PRE_TOKENIZERS.values(),
    "post_processor": typing.get_args(pipeline.PostProcessor),
    "decoder": typing.get_args(pipeline.Decoder),
}


@pytest.mark.parametrize("kind", STAGES)
def test_every_stage_has_a_line(kind: str) -> None:
    """No stage of a pipeline is without a description, and no two classes of one kind look alike."""
    values: dict[str, Any] = {"str": "a", "bool": True, "int": 1, "bytes": b"", "str | Regex": "a"}
    seen = set()
    for stage in STAGES[kind]:
        made = stage(*[values.get(str(field.type), ()) for field in dataclasses.fields(stage)])
        (line,) = getattr(described(**{kind: (made,)}), kind)
        seen.add(line.partition("(")[0])
    assert len(seen) == len(list(STAGES[kind]))


def rank_file() -> TokenizerSpec:
    from tests.server import made_up

    return read_spec(
        made_up.rank_file(), pattern=made_up.GPT2_PATTERN, special_tokens=dict(made_up.SPECIAL_TOKENS)
    )


def test_a_rank_file_is_described_as_the_pipeline_that_it_is() -> None:
    """Its pattern is a Split whose matches are the pieces, on bytes."""
    found = describe(rank_file())
    assert found.pre_tokenizer[0].endswith('behavior="Removed", invert=true)')
    assert found.pre_tokenizer[1:] == ("ByteLevel(add_prefix_space=false, use_regex=false)",)
    assert found.model == "BPE(n_vocab=262, ignore_merges=true)"
    assert (found.n_added_tokens, found.n_control_tokens) == (2, 2)


def test_a_sentencepiece_model_is_described_in_its_own_words() -> None:
    """The normalizer's settings, the model's type and sizes, and the symbols of the user."""
    found = describe(read_spec(trained("bpe with suffixes and symbols"), "sentencepiece"))
    (line,) = found.normalizer
    assert line.startswith('NormalizerSpec(name="nmt_nfkc", charsmap=<')
    assert line.endswith("treat_whitespace_as_suffix=true)")
    assert found.model.startswith("bpe(n_vocab=400, unk_id=0, byte_fallback=false")
    assert found.n_added_tokens == 5
    assert found.n_control_tokens >= 4
