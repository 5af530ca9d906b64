"""The twin and the library around the model: added tokens with all flags, templates, trimmed spans, decoders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.errors import ArtifactError, IdOutOfRangeError

from tests.core.hf_documents import added
from tests.core.hf_twins import ONE_UNKNOWN, Twins, tricky_texts

CHARACTERS = "aA .é\u0301_1<>▁"
small_texts = st.text(st.sampled_from(CHARACTERS), max_size=4)
NORMALIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "Lowercase"},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "NFD"},
    {"type": "StripAccents"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
]
PRE_TOKENIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    *(
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
        for scheme in ("always", "first")
    ),
]


@st.composite
def added_tokens(draw: st.DrawFn) -> list[dict[str, Any]]:
    contents = draw(
        st.lists(st.text(st.sampled_from(CHARACTERS), min_size=1, max_size=4), max_size=6, unique=True)
    )
    names = ("special", "normalized", "single_word", "lstrip", "rstrip")
    return [
        added(content, id, **{name: draw(st.booleans()) for name in names})
        for id, content in enumerate(contents, 1)
    ]


@given(
    tokens=added_tokens(),
    normalizer=st.sampled_from(NORMALIZERS),
    pre_tokenizer=st.sampled_from(PRE_TOKENIZERS),
    special=st.booleans(),
    data=st.data(),
)
@settings(max_examples=300)
def test_added_tokens(
    tokens: list[dict[str, Any]],
    normalizer: dict[str, Any] | None,
    pre_tokenizer: dict[str, Any] | None,
    special: bool,
    data: st.DataObject,
) -> None:
    """Added tokens are found where the library finds them, whatever their flags, and decode to its spelling."""
    members = {
        "added_tokens": tokens,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "model": ONE_UNKNOWN,
    }
    try:
        twins = Twins(**members)
    except ArtifactError:
        return  # as in the next two tests
    parts = st.one_of(st.sampled_from(["  ", *(token["content"] for token in tokens)]), small_texts)
    for text in data.draw(st.lists(st.lists(parts, max_size=6).map("".join), max_size=8)):
        twins.assert_same(text, special=special)
    twins.assert_decodes_same([token["id"] for token in tokens] * 2)


def test_added_tokens_of_one_normalized_text() -> None:
    """They are refused: which of them the library finds differs from one load to the next."""
    tokens = [added("A", 1, normalized=True), added("b", 2, normalized=True), added("a", 3, normalized=True)]
    with pytest.raises(ArtifactError, match="ids 1 and 3") as refused:
        Twins(added_tokens=tokens, normalizer={"type": "Lowercase"}, model=ONE_UNKNOWN)
    assert refused.value.reason == "BAD_ADDED_TOKEN"
    twins = Twins(added_tokens=tokens, model=ONE_UNKNOWN)
    twins.assert_same("AbaB")


def test_an_added_token_that_is_nothing_once_normalized() -> None:
    """It is refused: the library would cut the text at every byte and panic."""
    with pytest.raises(ArtifactError, match="the id 1") as refused:
        Twins(
            added_tokens=[added("\u0301", 1, normalized=True)],
            normalizer={"type": "StripAccents"},
            model=ONE_UNKNOWN,
        )
    assert refused.value.reason == "BAD_ADDED_TOKEN"


def template(cls: int, sep: int) -> dict[str, Any]:
    def token(id: str, type_id: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": id, "type_id": type_id}}

    def text(id: str, type_id: int) -> dict[str, Any]:
        return {"Sequence": {"id": id, "type_id": type_id}}

    return {
        "type": "TemplateProcessing",
        "single": [token("CLS", 0), text("A", 3), token("SEP", 1)],
        "pair": [text("B", 1), token("SEP", 1), text("A", 0), token("CLS", 7)],
        "special_tokens": {
            "CLS": {"id": "CLS", "ids": [cls], "tokens": ["CLS"]},
            "SEP": {"id": "SEP", "ids": [sep, cls], "tokens": ["SEP", "CLS"]},
        },
    }


def byte_level(trim: bool, prefix: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": True}


POST_PROCESSORS: list[dict[str, Any] | None] = [
    None,
    template(1, 2),
    {"type": "BertProcessing", "sep": ["SEP", 2], "cls": ["CLS", 1]},
    *(
        {"type": "RobertaProcessing", "sep": ["SEP", 2], "cls": ["CLS", 1], "trim_offsets": trim, "add_prefix_space": p}
        for trim in (False, True)
        for p in (False, True)
    ),
    *(byte_level(trim, prefix) for trim in (False, True) for prefix in (False, True)),
    {"type": "Sequence", "processors": [byte_level(True, False), template(1, 2)]},
    {"type": "Sequence", "processors": [template(1, 2), byte_level(True, True)]},
]  # fmt: skip


@pytest.mark.parametrize("post_processor", POST_PROCESSORS)
@given(
    text=tricky_texts,
    pair=st.one_of(st.none(), tricky_texts),
    add_special=st.booleans(),
    pre_tokenizer=st.sampled_from(PRE_TOKENIZERS),
)
@settings(max_examples=40)
def test_post_processors(
    post_processor: dict[str, Any] | None,
    text: str,
    pair: str | None,
    add_special: bool,
    pre_tokenizer: dict[str, Any] | None,
) -> None:
    """Templates of one text and of two, and trimmed spans."""
    tokens = [added("CLS", 1, special=True), added("SEP", 2, special=True), added(" é ", 3)]
    twins = Twins(
        added_tokens=tokens,
        normalizer={"type": "NFKC"},  # makes several words of one character, ﷺ
        pre_tokenizer=pre_tokenizer,
        post_processor=post_processor,
        model=ONE_UNKNOWN,
    )
    twins.assert_same(text, special=True, add_special=add_special, pair=pair)


TOKENS = (
    *("a", "##a", "##", "▁a", "▁", "a▁b▁", " a ", " ", "Ġa", "Ã", "©", "é", "Ġé", "a</w>", "</w>", "<pad>", "|", "a|b"),
    *("<0x61>", "<0xC3>", "<0xA9>", "<0xa9>", "<0x+A>", "<0xZZ>", "<0x610>", "<0x é>", "<0xE2>", "<0x80>", "<0x00>"),
    *(".", "?", "!", ",", "'", "n't", "'m", "do", "not", " do not", "'s", "'ve", "'re", "b", "xx", "xxx", "x"),
)  # fmt: skip
DECODERS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "ByteLevel": byte_level(True, True),
    "ByteFallback": {"type": "ByteFallback"},
    "Fuse": {"type": "Fuse"},
    **{
        f"Metaspace {scheme}": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": scheme,
            "split": True,
        }
        for scheme in ("always", "first", "never")
    },
    "Replace text": {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    "Replace pattern": {"type": "Replace", "pattern": {"Regex": "[ab]?"}, "content": "·"},
    "Strip left": {"type": "Strip", "content": "x", "start": 2, "stop": 0},
    **{
        f"WordPiece {prefix} {cleanup}": {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
        for prefix in ("##", "")
        for cleanup in (False, True)
    },
    **{f"BPEDecoder {suffix}": {"type": "BPEDecoder", "suffix": suffix} for suffix in ("</w>", "")},
    **{
        f"CTC {pad} {delimiter} {cleanup}": {
            "type": "CTC",
            "pad_token": pad,
            "word_delimiter_token": delimiter,
            "cleanup": cleanup,
        }
        for pad in ("<pad>", "")
        for delimiter in ("|", "")
        for cleanup in (False, True)
    },
}
ids_of_tokens = st.lists(st.integers(1, len(TOKENS)), max_size=12)


def decoding_twins(decoder: dict[str, Any] | None) -> Twins:
    vocab = {token: id for id, token in enumerate(("<unk>", *TOKENS))}
    model = {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}
    return Twins(model=model, decoder=decoder, added_tokens=[added("a", 1, special=True), added("Ġé", 13)])


@pytest.mark.parametrize("name", DECODERS)
@given(ids=ids_of_tokens)
@settings(max_examples=40)
def test_each_decoder(name: str, ids: list[int]) -> None:
    """A decoder makes the library's text of tokens in any order."""
    decoding_twins(DECODERS[name]).assert_decodes_same(ids)


@given(names=st.lists(st.sampled_from(sorted(DECODERS)), min_size=1, max_size=4), ids=ids_of_tokens)
@settings(max_examples=200)
def test_decoders_after_each_other(names: list[str], ids: list[int]) -> None:
    """Decoders in any order, each on what the ones before have made."""
    decoders = [decoder for name in names if (decoder := DECODERS[name]) is not None]
    decoding_twins({"type": "Sequence", "decoders": decoders}).assert_decodes_same(ids)


@pytest.mark.parametrize(
    ("token", "start", "stop", "stripped"),
    [
        ("xx", 1, 1, ""),
        ("xxx", 1, 1, "x"),
        ("axx", 0, 1, "ax"),
        ("xax", 9, 9, "a"),
        ("x", 1, 1, ""),
        ("x", 0, 5, ""),
    ],
)
def test_strip_takes_off_what_there_is(token: str, start: int, stop: int, stripped: str) -> None:
    """Also of tokens that are shorter than what is to go, on which the library panics."""
    vocab = {"<unk>": 0, token: 1}
    decoder = {"type": "Strip", "content": "x", "start": start, "stop": stop}
    twins = Twins(model={"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}, decoder=decoder)
    assert twins.ours.decode([1]) == stripped


def test_an_id_that_is_no_token() -> None:
    """It is an error with its place, where the library leaves it out."""
    twins = Twins()
    with pytest.raises(IdOutOfRangeError, match="index 1"):
        twins.ours.decode([0, 999])
