"""tokenizer.json: every stage and model in every spelling that the library reads."""

from __future__ import annotations

import base64
import json

import pytest
from tokenwire_core import pipeline as p
from tokenwire_core.formats import hf_normalizers as n
from tokenwire_core.formats import hf_pretokenizers as t
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.tokenizer_config import TokenizerConfig

from tests.core.hf_documents import (
    BERT,
    BPE,
    BYTE_LEVEL,
    METASPACE,
    PADDING,
    SEP_AND_CLS,
    SPLIT,
    STRIP_DECODER,
    TRUNCATION,
    UNIGRAM,
    WORDLEVEL,
    WORDPIECE,
    Object,
    added,
    bpe,
    document,
    parts,
    read,
    reference,
    reference_parts,
    template,
    text,
    without,
)
from tests.core.model_files import charsmap

CHARSMAP = charsmap("nfkc")

NORMALIZERS: dict[str, tuple[object, tuple[object, ...]]] = {
    "none": (None, ()),
    "NFC": ({"type": "NFC"}, (n.NFC(),)),
    "NFD": ({"type": "NFD"}, (n.NFD(),)),
    "NFKC": ({"type": "NFKC"}, (n.NFKC(),)),
    "NFKD": ({"type": "NFKD"}, (n.NFKD(),)),
    "Lowercase": ({"type": "Lowercase"}, (n.Lowercase(),)),
    "Nmt": ({"type": "Nmt"}, (n.Nmt(),)),
    "StripAccents": ({"type": "StripAccents"}, (n.StripAccents(),)),
    "Strip": ({"type": "Strip", "strip_left": False, "strip_right": True}, (n.Strip(False, True),)),
    "Prepend": ({"type": "Prepend", "prepend": "▁"}, (n.Prepend("▁"),)),
    "Replace text": (
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        (n.Replace(" ", "▁"),),
    ),
    "Replace pattern": (
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": ""},
        (n.Replace(p.Regex(" {2,}"), ""),),
    ),
    "BertNormalizer": ({**BERT, "strip_accents": True}, (n.BertNormalizer(True, False, True, False),)),
    "BertNormalizer with null": ({**BERT, "strip_accents": None}, (n.BertNormalizer(True, False, None, False),)),
    "BertNormalizer without strip_accents": (BERT, (n.BertNormalizer(True, False, None, False),)),
    "ByteLevel": ({"type": "ByteLevel"}, (n.ByteLevel(),)),
    "Precompiled": (
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(CHARSMAP).decode()},
        (n.Precompiled(CHARSMAP),),
    ),
    "empty sequence": ({"type": "Sequence", "normalizers": []}, ()),
    "sequences": (
        {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": "NFD"}]}, {"type": "Nmt"}]},
        (n.NFD(), n.Nmt()),
    ),
}  # fmt: skip
PRE_TOKENIZERS: dict[str, tuple[object, tuple[object, ...]]] = {
    "none": (None, ()),
    "BertPreTokenizer": ({"type": "BertPreTokenizer"}, (t.BertPreTokenizer(),)),
    "ByteLevel": ({**BYTE_LEVEL, "use_regex": False}, (t.ByteLevel(False, False),)),
    "ByteLevel without use_regex": (BYTE_LEVEL, (t.ByteLevel(False, True),)),
    "CharDelimiterSplit": ({"type": "CharDelimiterSplit", "delimiter": "-"}, (t.CharDelimiterSplit("-"),)),
    "Metaspace": (
        {**METASPACE, "prepend_scheme": "first", "split": False},
        (t.Metaspace("_", "first", False),),
    ),
    "Metaspace with defaults": (METASPACE, (t.Metaspace("_", "always", True),)),
    "Metaspace of old": (
        {**METASPACE, "add_prefix_space": True, "str_rep": "_"},
        (t.Metaspace("_", "always", True),),
    ),
    "Metaspace with both spellings": (
        {**METASPACE, "add_prefix_space": False, "prepend_scheme": "never", "split": None, "str_rep": None},
        (t.Metaspace("_", "never", True),),
    ),
    "Metaspace whose spellings differ": (
        {**METASPACE, "add_prefix_space": True, "prepend_scheme": "never"},
        (t.Metaspace("_", "never", True),),
    ),
    "Whitespace": ({"type": "Whitespace"}, (t.Whitespace(),)),
    "WhitespaceSplit": ({"type": "WhitespaceSplit"}, (t.WhitespaceSplit(),)),
    "Split at text": ({**SPLIT, "pattern": {"String": "."}}, (t.Split(".", "MergedWithNext", True),)),
    "Split at a pattern": (
        {**SPLIT, "pattern": {"Regex": "a+"}},
        (t.Split(p.Regex("a+"), "MergedWithNext", True),),
    ),
    "Punctuation": ({"type": "Punctuation", "behavior": "Contiguous"}, (t.Punctuation("Contiguous"),)),
    "Punctuation without behavior": ({"type": "Punctuation"}, (t.Punctuation("Isolated"),)),
    "Digits": ({"type": "Digits", "individual_digits": True}, (t.Digits(True),)),
    "UnicodeScripts": ({"type": "UnicodeScripts"}, (t.UnicodeScripts(),)),
    "FixedLength": ({"type": "FixedLength", "length": 3}, (t.FixedLength(3),)),
    "FixedLength without length": ({"type": "FixedLength"}, (t.FixedLength(5),)),
    "sequence": (
        {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]},
        (t.WhitespaceSplit(), t.Metaspace("_", "always", True)),
    ),
}


A, B = p.TemplateText("A", 0), p.TemplateText("B", 0)
SEP, CLS = p.TemplateToken("b", (2,), 0), p.TemplateToken("a", (1,), 0)
POST_PROCESSORS: dict[str, tuple[object, tuple[object, ...]]] = {
    "none": (None, ()),
    "TemplateProcessing": (
        template(),
        (
            p.Template(
                (p.TemplateToken("[X]", (1, 2), 3), A),
                (p.TemplateText("B", 1), p.TemplateToken("[X]", (1, 2), 0), A),
            ),
        ),
    ),
    "TemplateProcessing without tokens": (
        template(single=[text("A")], pair=[text("A"), text("B")], special_tokens={}),
        (p.Template((A,), (A, B)),),
    ),
    "BertProcessing": (
        {"type": "BertProcessing", **SEP_AND_CLS},
        (
            p.Template(
                (CLS, A, SEP),
                (CLS, A, SEP, p.TemplateText("B", 1), p.TemplateToken("b", (2,), 1)),
            ),
        ),
    ),
    "RobertaProcessing": (
        {"type": "RobertaProcessing", **SEP_AND_CLS, "trim_offsets": True, "add_prefix_space": False},
        (p.TrimOffsets(False), p.Template((CLS, A, SEP), (CLS, A, SEP, SEP, B, SEP))),
    ),
    "RobertaProcessing that trims nothing": (
        {"type": "RobertaProcessing", **SEP_AND_CLS, "trim_offsets": False, "add_prefix_space": True},
        (p.Template((CLS, A, SEP), (CLS, A, SEP, SEP, B, SEP)),),
    ),
    "ByteLevel": (BYTE_LEVEL, (p.TrimOffsets(False),)),
    "ByteLevel that trims nothing": ({**BYTE_LEVEL, "trim_offsets": False, "use_regex": True}, ()),
    "sequence": (
        {"type": "Sequence", "processors": [BYTE_LEVEL, {"type": "BertProcessing", **SEP_AND_CLS}]},
        (
            p.TrimOffsets(False),
            p.Template((CLS, A, SEP), (CLS, A, SEP, p.TemplateText("B", 1), p.TemplateToken("b", (2,), 1))),
        ),
    ),
}
DECODERS: dict[str, tuple[object, tuple[object, ...]]] = {
    "none": (None, ()),
    "BPEDecoder": ({"type": "BPEDecoder", "suffix": "</w>"}, (p.SuffixDecoder("</w>"),)),
    "ByteLevel": (BYTE_LEVEL, (p.ByteLevelDecoder(),)),
    "WordPiece": ({"type": "WordPiece", "prefix": "#", "cleanup": False}, (p.WordPieceDecoder("#", False),)),
    "Metaspace": ({**METASPACE, "split": False}, (p.MetaspaceDecoder("_", "always"),)),
    "Metaspace of old": ({**METASPACE, "add_prefix_space": True}, (p.MetaspaceDecoder("_", "always"),)),
    "CTC": (
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True},
        (p.CtcDecoder("a", "|", True),),
    ),
    "Replace": (
        {"type": "Replace", "pattern": {"Regex": "_+"}, "content": " "},
        (p.ReplaceDecoder(p.Regex("_+"), " "),),
    ),
    "Strip": (STRIP_DECODER, (p.StripDecoder(" ", 1, 0),)),
    "ByteFallback, Fuse": (
        {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        (p.ByteFallbackDecoder(), p.Fuse()),
    ),
    "empty sequence": ({"type": "Sequence", "decoders": []}, (p.Fuse(),)),
}
STAGES = [
    pytest.param(member, value, stages, id=f"{member}: {name}")
    for member, table in (
        ("normalizer", NORMALIZERS),
        ("pre_tokenizer", PRE_TOKENIZERS),
        ("post_processor", POST_PROCESSORS),
        ("decoder", DECODERS),
    )
    for name, (value, stages) in table.items()
]


MODELS: dict[str, Object] = {
    "BPE": BPE,
    "BPE without a type": without(BPE, "type"),
    "BPE with what must be there": {name: BPE[name] for name in ("type", "vocab", "merges")},
    "BPE with null": {**BPE, "fuse_unk": None, "byte_fallback": None, "ignore_merges": None, "unk_token": None},
    "BPE with merges of strings": {**BPE, "merges": ["a b", "ab a"]},
    "BPE with the first line of a merges.txt": {**BPE, "merges": ["#version: 0.2", "a b"]},
    "BPE with a merge twice": {**BPE, "merges": ["a b", "ab a", "a b"]},
    "BPE with a pair twice": {**BPE, "merges": [["a", "b"], ["ab", "a"], ["a", "b"]]},
    "BPE with affixes": {
        **BPE,
        "vocab": {"u": 0, "a": 1, "##b": 2, "ab": 3, "##b</w>": 4, "ab</w>": 5},
        "merges": ["a ##b", "a ##b</w>"],
        "continuing_subword_prefix": "##",
        "end_of_word_suffix": "</w>",
    },
    "BPE with empty affixes": {**BPE, "continuing_subword_prefix": "", "end_of_word_suffix": ""},
    "BPE with every switch": {**BPE, "fuse_unk": True, "byte_fallback": True, "ignore_merges": True},
    "BPE with holes between ids": {**BPE, "vocab": {**BPE["vocab"], "c": 2000}},
    "BPE with an empty token": {**BPE, "vocab": {**BPE["vocab"], "": 5}},
    "Unigram": UNIGRAM,
    "Unigram without a type": without(UNIGRAM, "type"),
    "Unigram with the vocabulary alone": {"type": "Unigram", "vocab": UNIGRAM["vocab"]},
    "Unigram with bytes": {**UNIGRAM, "byte_fallback": True, "unk_id": None},
    "WordPiece": WORDPIECE,
    "WordPiece without a type": without(WORDPIECE, "type"),
    "WordPiece with other options": {**WORDPIECE, "continuing_subword_prefix": "", "max_input_chars_per_word": 0},
    "WordLevel": WORDLEVEL,
    "WordLevel without a type": without(WORDLEVEL, "type"),
}  # fmt: skip

OTHERS: dict[str, Object] = {
    "nothing but a model": {"model": BPE},
    "truncation": document(truncation=TRUNCATION),
    "truncation without direction": document(truncation=without(TRUNCATION, "direction")),
    "padding": document(padding=PADDING),
    "padding to a length": document(
        padding={**without(PADDING, "pad_to_multiple_of"), "strategy": {"Fixed": 4}}
    ),
    "added tokens": document(
        added_tokens=[
            added("<s>", 5, special=True),
            added("a", 1, single_word=True, normalized=True),
            added("ä", 6, lstrip=True),
            added(" ", 7, rstrip=True),
        ]
    ),
    "added tokens before the model": {
        "added_tokens": [added("<s>", 5)],
        "model": BPE,
    },
    "added tokens counted from the entries, in a hole of ids": document(
        model={**BPE, "vocab": {**BPE["vocab"], "c": 100}}, added_tokens=[added("<s>", 6)]
    ),
}

ACCEPTED = [
    *(pytest.param(document() | {case.values[0]: case.values[1]}, id=case.id) for case in STAGES),
    *(pytest.param(document(model=model), id=name) for name, model in MODELS.items()),
    *(pytest.param(content, id=name) for name, content in OTHERS.items()),
]


class TestAccepted:
    @pytest.mark.parametrize(("member", "value", "stages"), STAGES)
    def test_stages(self, member: str, value: object, stages: tuple[object, ...]) -> None:
        """Every stage is read to its class."""
        assert getattr(read(document(**{member: value})), member) == stages

    @pytest.mark.parametrize("content", ACCEPTED)
    def test_as_the_reference(self, content: Object) -> None:
        """The library reads every document that we read, and writes it anew as one that we read to the same stages."""
        tokenizer = reference(json.dumps(content))
        assert tokenizer is not None
        assert parts(read(content)) == reference_parts(tokenizer)

    def test_the_last_of_two_equal_merges_counts(self) -> None:
        """A merge that comes twice has the rank of its last place."""
        model = read(document(model=MODELS["BPE with a merge twice"])).model
        assert isinstance(model, p.BytePairModel)
        assert model.merges == (("ab", "a"), ("a", "b"))

    def test_escapes(self) -> None:
        """Escapes, pairs of surrogates and NUL among them, are what they spell."""
        data = json.dumps(bpe(vocab=BPE["vocab"] | {"😀\0é": 5})).encode()
        assert rb"\ud83d\ude00\u0000" in data
        pipeline = read_hf_json(data)
        assert isinstance(pipeline.model, p.BytePairModel)
        assert pipeline.model.vocab["😀\0é"] == 5

    def test_truncation_and_padding_are_left_out(self) -> None:
        """A document that truncates and pads is the tokenizer of one that does not."""
        pipeline = read(document(truncation=TRUNCATION, padding=PADDING))
        assert parts(pipeline) == parts(read(document()))

    def test_the_companion_file(self) -> None:
        """What came beside the file is kept."""
        data = json.dumps(document()).encode()
        config = read_hf_json(data, tokenizer_config=b'{"model_max_length": 512}').config
        assert config == TokenizerConfig(model_max_length=512)
        assert read_hf_json(data).config is None
