"""tokenizer.json: one document for every mistake there is a name for, and where the library is more lenient."""

from __future__ import annotations

import base64
import json

import pytest

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
    WORDLEVEL,
    WORDPIECE,
    Object,
    added,
    bpe,
    document,
    reference,
    refusal,
    special,
    template,
    text,
    unigram,
    without,
    wordlevel,
)

Refusals = dict[str, tuple[str, str | None, Object]]
"""By what is wrong: the reason, the place, and the document."""


def normalizer(kind: str, **members: object) -> Object:
    return document(normalizer={"type": kind, **members})


def pre_tokenizer(base: Object, **members: object) -> Object:
    return document(pre_tokenizer=base | members)


def post_processor(base: Object, **members: object) -> Object:
    return document(post_processor=base | members)


def strip_decoder(**members: object) -> Object:
    return document(decoder=STRIP_DECODER | members)


def merges(*items: object) -> Object:
    return bpe(merges=list(items))


def with_added(*tokens: Object) -> Object:
    return document(added_tokens=list(tokens))


EMPTY_TRIE = base64.b64encode(b"\0\0\0\0abc\0").decode()
ROT13_INSIDE = {"type": "Sequence", "decoders": [{"type": "Rot13"}]}

TOO_WRONG: Refusals = {
    "no model": ("MISSING_KEY", "", without(document(), "model")),
    "another version": ("UNSUPPORTED_VERSION", "version", document(version="2.0")),
    "a version of null": ("UNSUPPORTED_VERSION", "version", document(version=None)),
    "added tokens of null": ("BAD_VALUE", "added_tokens", document(added_tokens=None)),
    "an unknown key": ("UNKNOWN_KEY", "post_process", document(post_process=None)),
    "an unknown stage": ("UNSUPPORTED_STAGE", "normalizer", normalizer("Rot13")),
    "an unknown stage deep inside": (
        "UNSUPPORTED_STAGE",
        "decoder.decoders[1].decoders[0]",
        document(decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}, ROT13_INSIDE]}),
    ),
    "a stage of null in a sequence": (
        "BAD_VALUE",
        "normalizer.normalizers[0]",
        normalizer("Sequence", normalizers=[None]),
    ),
    "a stage that is a list": ("BAD_VALUE", "normalizer", document(normalizer=[])),
    "a member missing": ("MISSING_KEY", "normalizer", normalizer("Strip", strip_left=True)),
    "a pattern that is text": ("BAD_VALUE", "pre_tokenizer.pattern", pre_tokenizer(SPLIT, pattern="a")),
    "a pattern of two": (
        "UNKNOWN_KEY",
        "pre_tokenizer.pattern.String",
        pre_tokenizer(SPLIT, pattern={"String": "a", "Regex": "a"}),
    ),
    "a pattern that does not compile": (
        "BAD_PATTERN",
        "pre_tokenizer.pretokenizers[0].pattern.Regex",
        document(pre_tokenizer={"type": "Sequence", "pretokenizers": [SPLIT | {"pattern": {"Regex": "(d"}}]}),
    ),
    "a behavior in small letters": (
        "BAD_VALUE",
        "pre_tokenizer.behavior",
        pre_tokenizer(SPLIT, pattern={"String": "a"}, behavior="isolated"),
    ),
    "a flag of null": ("BAD_VALUE", "pre_tokenizer.use_regex", pre_tokenizer(BYTE_LEVEL, use_regex=None)),
    "a character of two": ("BAD_VALUE", "decoder.content", strip_decoder(content="ab")),
    "a character of none": ("BAD_VALUE", "decoder.content", strip_decoder(content="")),
    "a scheme of null": (
        "BAD_VALUE",
        "pre_tokenizer.prepend_scheme",
        pre_tokenizer(METASPACE, prepend_scheme=None),
    ),
    "no prefix space, but one by default": (
        "BAD_VALUE",
        "pre_tokenizer.add_prefix_space",
        pre_tokenizer(METASPACE, add_prefix_space=False),
    ),
    "a count below zero": ("BAD_VALUE", "decoder.start", strip_decoder(start=-1)),
    "a count with a fraction": ("BAD_VALUE", "decoder.start", strip_decoder(start=1.0)),
    "a count of true": ("BAD_VALUE", "decoder.start", strip_decoder(start=True)),
    "a charsmap that is not base64": (
        "BAD_BASE64",
        "normalizer.precompiled_charsmap",
        normalizer("Precompiled", precompiled_charsmap="AAA"),
    ),
    "a charsmap of base64 with bits left over": (
        "BAD_BASE64",
        "normalizer.precompiled_charsmap",
        normalizer("Precompiled", precompiled_charsmap="AAAAAB=="),
    ),
    "an empty charsmap": (
        "BAD_CHARSMAP",
        "normalizer.precompiled_charsmap",
        normalizer("Precompiled", precompiled_charsmap=""),
    ),
    "a template of text": ("BAD_VALUE", "post_processor.single", post_processor(template(single="$A"))),
    "a third text": (
        "BAD_VALUE",
        "post_processor.single[0].Sequence.id",
        post_processor(template(single=[text("C")])),
    ),
    "a token with three members": (
        "BAD_VALUE",
        "post_processor.sep",
        post_processor({"type": "BertProcessing"} | SEP_AND_CLS, sep=["a", 1, 2]),
    ),
    "an unknown model": ("UNSUPPORTED_STAGE", "model", bpe(type="CharBPE")),
    "no merges": ("MISSING_KEY", "model", document(model=without(BPE, "merges"))),
    "a merge with two blanks": ("BAD_MERGE", "model.merges[1]", merges("a b", "a  b")),
    "a merge without a blank": ("BAD_MERGE", "model.merges[0]", merges("ab")),
    "a merge of three": ("BAD_MERGE", "model.merges[0]", merges(["a", "b", "a"])),
    "a merge of numbers": ("BAD_MERGE", "model.merges[0]", merges([1, 2])),
    "a merge of lists": ("BAD_MERGE", "model.merges[0]", merges([[], []])),
    "merges of both kinds": ("BAD_VALUE", "model.merges[0]", merges("a b", ["a", "b"])),
    "a merge with an unknown part": ("BAD_MERGE", "model.merges[0]", merges("a c")),
    "a merge with an unknown result": ("BAD_MERGE", "model.merges[0]", merges("b a")),
    "a merge longer than every entry": ("BAD_MERGE", "model.merges[0]", merges("aba aba")),
    "an id below zero": ("BAD_VALUE", "model.vocab['a']", wordlevel(vocab={"u": 0, "a": -1})),
    "an id with a fraction": ("BAD_VALUE", "model.vocab['a']", wordlevel(vocab={"u": 0, "a": 1.5})),
    "an id beyond 32 bits": ("BAD_VALUE", "model.vocab['a']", wordlevel(vocab={"u": 0, "a": 2**32})),
    "an id of true": ("BAD_VALUE", "model.vocab['a']", wordlevel(vocab={"u": 0, "a": True})),
    "a vocabulary of pairs": ("BAD_VALUE", "model.vocab", wordlevel(vocab=[["u", 0]])),
    "an unk_id beyond the end": ("BAD_VALUE", "model.unk_id", unigram(unk_id=3)),
    "a Unigram entry of three": ("BAD_VALUE", "model.vocab[0]", unigram(vocab=[["u", 0, 1]])),
    "a score of text": ("BAD_VALUE", "model.vocab[0][1]", unigram(vocab=[["u", "0"]])),
    "a score of true": ("BAD_VALUE", "model.vocab[0][1]", unigram(vocab=[["u", True]])),
    "byte_fallback of null": ("BAD_VALUE", "model.byte_fallback", unigram(byte_fallback=None)),
    "WordPiece without an option": (
        "MISSING_KEY",
        "model",
        document(model=without(WORDPIECE, "max_input_chars_per_word")),
    ),
    "an added token without a flag": (
        "MISSING_KEY",
        "added_tokens[0]",
        with_added(without(added("<s>", 5), "lstrip")),
    ),
    "a strategy of padding": (
        "BAD_VALUE",
        "padding.strategy",
        document(padding=PADDING | {"strategy": "Longest"}),
    ),
    "truncation without a length": (
        "MISSING_KEY",
        "truncation",
        document(truncation=without(TRUNCATION, "max_length")),
    ),
}
"""What the library refuses, too."""

TOO_LENIENT: Refusals = {
    "a key of a later version": ("UNKNOWN_KEY", "model.future_flag", bpe(future_flag=1)),
    "a key with a strange name": ("UNKNOWN_KEY", r"normalizer['\xe9\n']", normalizer("NFC", **{"é\n": 1})),
    "an added token with more flags": (
        "UNKNOWN_KEY",
        "added_tokens[0].bold",
        with_added(added("<s>", 5, bold=True)),
    ),
    "truncation with a key of its own": (
        "UNKNOWN_KEY",
        "truncation.side",
        document(truncation=TRUNCATION | {"side": "Left"}),
    ),
    "a stage without a type": (
        "MISSING_KEY",
        "normalizer",
        document(normalizer={"strip_left": True, "strip_right": True}),
    ),
    "a stage by an unknown name": (
        "UNSUPPORTED_STAGE",
        "normalizer",
        normalizer("Foo", strip_left=True, strip_right=True),
    ),
    "a stage by half its name": (
        "UNSUPPORTED_STAGE",
        "normalizer",
        document(normalizer=BERT | {"type": "Bert"}),
    ),
    "Roberta that the library takes for Bert": (
        "MISSING_KEY",
        "post_processor",
        post_processor({"type": "RobertaProcessing"} | SEP_AND_CLS),
    ),
    "two templates": (
        "UNSUPPORTED_STAGE",
        "post_processor",
        post_processor({"type": "Sequence", "processors": [template(), template()]}),
    ),
    "an empty text as pattern": (
        "BAD_VALUE",
        "normalizer.pattern.String",
        normalizer("Replace", pattern={"String": ""}, content="a"),
    ),
    "a pattern that means something else": (
        "UNSUPPORTED_PATTERN",
        "normalizer.pattern.Regex",
        normalizer("Replace", pattern={"Regex": "^a"}, content="a"),
    ),
    "pieces of length 0": (
        "BAD_VALUE",
        "pre_tokenizer.length",
        pre_tokenizer({"type": "FixedLength", "length": 0}),
    ),
    "a count of billions": ("BAD_VALUE", "decoder.start", strip_decoder(start=2**31)),
    "a charsmap whose trie is empty": (
        "BAD_CHARSMAP",
        "normalizer.precompiled_charsmap",
        normalizer("Precompiled", precompiled_charsmap=EMPTY_TRIE),
    ),
    "a template with an undefined token": (
        "BAD_TEMPLATE",
        "post_processor.single[0].SpecialToken.id",
        post_processor(template(single=[special("[Y]"), text("A")])),
    ),
    "an empty template": ("BAD_TEMPLATE", "post_processor.single", post_processor(template(single=[]))),
    "a template without its second text": (
        "BAD_TEMPLATE",
        "post_processor.pair",
        post_processor(template(pair=[text("A")])),
    ),
    "a template with a text twice": (
        "BAD_TEMPLATE",
        "post_processor.single",
        post_processor(template(single=[text("A"), text("A")])),
    ),
    "a template with a text that is not there": (
        "BAD_TEMPLATE",
        "post_processor.single",
        post_processor(template(single=[text("B")])),
    ),
    "a template token with fewer spellings than ids": (
        "BAD_TEMPLATE",
        "post_processor.special_tokens['[X]']",
        post_processor(template(special_tokens={"[X]": {"id": "", "ids": [1, 2], "tokens": ["a"]}})),
    ),
    "a template with an id that is no token's": (
        "UNKNOWN_TOKEN",
        "post_processor",
        post_processor({"type": "BertProcessing"} | SEP_AND_CLS, sep=["[SEP]", 5]),
    ),
    "dropout": ("UNSUPPORTED_OPTION", "model.dropout", bpe(dropout=0.1)),
    "sampling": ("UNSUPPORTED_OPTION", "model.alpha", unigram(alpha=0.1)),
    "an unk_token that BPE lacks": (
        "UNKNOWN_TOKEN",
        "model.unk_token",
        document(model=BPE | {"unk_token": "x"}),
    ),
    "one that WordPiece lacks": (
        "UNKNOWN_TOKEN",
        "model.unk_token",
        document(model=WORDPIECE | {"unk_token": "x"}),
    ),
    "one that WordLevel lacks": (
        "UNKNOWN_TOKEN",
        "model.unk_token",
        document(model=WORDLEVEL | {"unk_token": "x"}),
    ),
    "a merge whose right side lacks the prefix": (
        "BAD_MERGE",
        "model.merges[0]",
        bpe(
            vocab={"u": 0, "a": 1, "xxb": 2, "ab": 3, "axxb": 4},
            merges=["a xxb"],
            continuing_subword_prefix="##",
        ),
    ),
    "two entries with one id": ("DUPLICATE_ID", "model.vocab", wordlevel(vocab={"u": 0, "a": 0})),
    "an id too high": ("BAD_VALUE", "model.vocab['a']", wordlevel(vocab={"u": 0, "a": 2**32 - 1})),
    "a Unigram entry twice": ("DUPLICATE_TOKEN", "model.vocab", unigram(vocab=[["a", 0], ["a", 1]])),
    "no tokens": ("EMPTY", "model.vocab", bpe(unk_token=None, vocab={}, merges=[])),
    "an added token without content": ("BAD_ADDED_TOKEN", "added_tokens[0]", with_added(added("", 5))),
    "an added token twice": (
        "BAD_ADDED_TOKEN",
        "added_tokens[1]",
        with_added(added("<s>", 5), added("<s>", 5)),
    ),
    "an added token with an entry's id": (
        "BAD_ADDED_TOKEN",
        "added_tokens[0]",
        with_added(added("<s>", 0)),
    ),
    "an added token that leaves a gap": ("BAD_ADDED_TOKEN", "added_tokens[0]", with_added(added("<s>", 6))),
    "an entry with another id": ("BAD_ADDED_TOKEN", "added_tokens[0]", with_added(added("a", 2))),
    "added tokens out of order": (
        "BAD_ADDED_TOKEN",
        "added_tokens[0]",
        with_added(added("<s>", 6), added("</s>", 5)),
    ),
    "added tokens that count into an entry": (
        "BAD_ADDED_TOKEN",
        "added_tokens[1]",
        wordlevel(vocab={"u": 0, "a": 3}) | {"added_tokens": [added("<s>", 2), added("</s>", 3)]},
    ),
}
"""What the library reads, and then ignores, repairs or fails at: the list of what is refused beyond it."""


@pytest.mark.parametrize("name", [*TOO_WRONG, *TOO_LENIENT])
def test_refusals_name_the_mistake_and_the_place(name: str) -> None:
    """Every mistake has a reason, and the place in the document."""
    reason, path, content = {**TOO_WRONG, **TOO_LENIENT}[name]
    error = refusal(json.dumps(content).encode())
    assert (error.reason, error.path) == (reason, path)


@pytest.mark.parametrize("name", TOO_WRONG)
def test_the_reference_refuses(name: str) -> None:
    """The library refuses these, too."""
    assert reference(json.dumps(TOO_WRONG[name][2])) is None


@pytest.mark.parametrize("name", TOO_LENIENT)
def test_the_reference_is_lenient(name: str) -> None:
    """The library reads these."""
    assert reference(json.dumps(TOO_LENIENT[name][2])) is not None


def test_messages_show_little_of_a_file() -> None:
    """What a file calls its keys is cut off, and is ASCII."""
    error = refusal(json.dumps(document(**{"\ud800é" * 1000: 1})).encode())
    assert error.reason == "UNKNOWN_KEY"
    assert str(error).isascii()
    assert len(str(error)) < 1000
