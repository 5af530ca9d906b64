"""What tokens are counted as: scripts by the rule of the slow twin, unknown tokens, bytes; for every family."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
import tokenwire_core
from hypothesis import given
from tokenizers import Tokenizer
from tokenwire_core.byte_alphabet import CHAR_OF_BYTE
from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.encoder import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.kept_scripts import joint_characters, keeps_script
from tokenwire_core.reference_scripts import script_of, token_scripts
from tokenwire_core.script_changes import DIAERESIS
from tokenwire_core.segment import Segment
from tokenwire_core.tally import Tally

from tests import artifact_files, families, rank_files
from tests.core import model_files
from tests.core.charsmaps import charsmap
from tests.core.hf_documents import bpe
from tests.core.test_against_tiktoken import corpus_files
from tests.core.test_hf_json import NORMALIZERS, PRE_TOKENIZERS
from tests.strategies import random_text, texts

N_RANDOM = 30
AWKWARD = (
    "",
    " the quick, 2 brown",
    "\u0301a\u0301 \u0301, \u0301",
    "食べる 食 食",
    "汉字、汉",
    "ｶﾞ 漢字",
    "❤\ufe0f👨\u200d👩 क\u094d्ष ½\u05b0 =\u0338\u05b0",
    "ﬁ ㎏ µ ℓ ŉ İ ª Ⓐ ＜/ｗ>",
    "한글 e\u0301 é ≠ 가",
    "<s> [CLS] <|endoftext|> [UNK] </w> a</w> .</w>",
    "\u1680\xa0\u3000x \t\n y",
    "\U0010ffff\ue000\u0378",
    "\u065b\u064f A\u094d\u0301 \u05a0\u094d",
)
BYTES = {f"<0x{byte:02X}>": byte + 1 for byte in range(256)}
OF_BYTES = {"unk_token": "u", "byte_fallback": True, "vocab": {"u": 0} | BYTES, "merges": []}
"""A model that makes every character its bytes, so nothing of what a normalizer does stays hidden."""


def twin(encoder: Encoder, text: str) -> Tally:
    """The tally by the places of the tokens, where no control token is allowed."""
    encoding = encoder.encode(text)
    ids = encoding.ids
    return Tally(
        len(ids),
        sum(id == encoder.unknown_id for id in ids),
        sum(id in encoder.byte_fallback_ids for id in ids),
        dict(Counter(token_scripts(text, encoding.offsets()))),
    )


def assert_same(encoder: Encoder, some: Iterable[str]) -> None:
    for text in some:
        assert encoder.tally(text) == encoder.encode(text).tally() == twin(encoder, text), repr(text)


def random_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    return [random_text(rng) for _ in range(N_RANDOM)]


def family(name: str) -> Encoder:
    return tokenwire_core.load(families.family(name).data, **families.options(name))


@pytest.mark.parametrize("name", families.NAMES)
def test_each_family(name: str, seed: int) -> None:
    """Tokens are counted as the twin does it by their places."""
    assert_same(family(name), (*AWKWARD, *random_texts(seed)))


@pytest.mark.parametrize("name", artifact_files.PULLED_NAMES)
def test_each_published_tokenizer(name: str, seed: int) -> None:
    """So they are with real vocabularies and normalizers."""
    assert_same(artifact_files.ours(name), (*AWKWARD, *random_texts(seed)))


@pytest.mark.long
@pytest.mark.parametrize("name", artifact_files.TABLE, scope="module")
def test_corpora_in_full(name: str, reference_data: Path) -> None:
    """So they are on every corpus, in documents of 4,096 characters."""
    encoder = artifact_files.ours(name)
    for text in corpus_files(reference_data).values():
        assert_same(encoder, (text[start : start + 4096] for start in range(0, len(text), 4096)))


@pytest.mark.parametrize("member", ["normalizer", "pre_tokenizer"])
def test_each_stage(member: str, seed: int) -> None:
    """So they are whatever a normalizer or pre-tokenizer makes of the text."""
    for stage, _ in (NORMALIZERS if member == "normalizer" else PRE_TOKENIZERS).values():
        content = bpe(**OF_BYTES) | {member: stage}
        encoder = tokenwire_core.load(json.dumps(content).encode(), "hf_json")
        assert_same(encoder, (*AWKWARD, *random_texts(seed)[:8]))


@pytest.mark.parametrize("name", [name for name in model_files.TRAINED if "word" not in name])
def test_each_model_of_sentencepiece(name: str, seed: int) -> None:
    """So they are by SentencePiece's normalizers, with symbols, suffixes and blanks kept."""
    assert_same(
        tokenwire_core.load(model_files.trained(name), "sentencepiece"), (*AWKWARD, *random_texts(seed))
    )


CASE_FOLDED = tokenwire_core.load(model_files.trained("unigram with blanks kept"), "sentencepiece")


@given(texts())
def test_any_text(text: str) -> None:
    """So they are of any text, by a normalizer that joins and replaces characters."""
    assert_same(CASE_FOLDED, [text])


@pytest.mark.parametrize("members", [["pre_tokenizer"], ["normalizer", "pre_tokenizer"], ["normalizer"]])
def test_the_byte_alphabet_twice(members: list[str], seed: int) -> None:
    """A text whose bytes are spelled, and that spelling's bytes again, has its tokens where the library has them."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False, "trim_offsets": False}
    stages = {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [byte_level, byte_level]},
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}, {"type": "ByteLevel"}]},
    }
    vocab = {char: number for number, char in enumerate(CHAR_OF_BYTE)}
    content = bpe(vocab=vocab, unk_token=None, merges=[]) | {member: stages[member] for member in members}
    data = json.dumps(content).encode()
    encoder = tokenwire_core.load(data, "hf_json")
    library = Tokenizer.from_buffer(data)
    for text in ("a b", "é", *AWKWARD, *random_texts(seed)[:8]):
        found = encoder.encode(text)
        assert found.ids == library.encode(text).ids
        assert found.offsets("codepoint", reference=True) == library.encode(text).offsets
    assert_same(encoder, ("a b", "é", *AWKWARD, *random_texts(seed)[:8]))


def test_affixes_are_no_part_of_the_text() -> None:
    """The `w` of `</w>` behind a word's last character is no Latin letter, the one that a user typed is."""
    vocab = {"u": 0, ".</w>": 1, "a</w>": 2, "<": 3, "/": 4, "w": 5, ".": 6, "></w>": 7, "я</w>": 8}
    model = {"unk_token": "u", "end_of_word_suffix": "</w>", "vocab": vocab, "merges": []}
    content = bpe(**model) | {
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
    }
    encoder = tokenwire_core.load(json.dumps(content).encode(), "hf_json")
    assert encoder.tally(". A Я").scripts == {"Zyyy": 1, "Latn": 1, "Cyrl": 1}
    assert_same(encoder, (*AWKWARD, ".</w> . <", "Я.</W>"))


def test_a_token_has_the_script_of_its_first_letter() -> None:
    """A blank, a digit or a sign before it does not count, nor do marks; what has no letter is neutral."""
    words = [" the", "2nd", "«да", "\u0301x", "12", " ", "!?", "\u0301", "क्ष"]
    found = [token_scripts(word, [(0, len(word.encode()))]) for word in words]
    assert found == [[s] for s in ("Latn", "Latn", "Cyrl", "Latn", "Zyyy", "Zyyy", "Zyyy", "Zyyy", "Deva")]
    assert token_scripts("é\u0301漢字かな", [(0, 1), (1, 2), (2, 4), (4, 5), (5, 7), (10, 13), (13, 13)]) == [
        *("Latn", "Latn", "Latn", "Jpan", "Jpan", "Hira", "Zyyy")
    ]


def test_templates_and_allowed_control_tokens_are_special() -> None:
    """Also in pairs and segments; the sum is the number of tokens."""
    encoder = family("wordpiece")
    tally = encoder.tally("the [SEP] 漢", "д", special="allow", add_special=True)
    encoding = encoder.encode("the [SEP] 漢", "д", special="allow", add_special=True)
    assert tally == encoding.tally()
    assert tally.n_tokens == sum(tally.scripts.values()) == len(encoding)
    assert tally.scripts["special"] == 4
    segments = [Segment("[SEP]", "allow"), Segment("the [SEP]")]
    assert encoder.tally(segments).scripts["special"] == 1


@pytest.mark.parametrize("name", families.NAMES)
def test_a_limit_ends_the_walk(name: str) -> None:
    """As with `count`: what was found is tallied, which is all up to the limit and more than it beyond."""
    encoder = family(name)
    text = "the quick 狐 ж\u0301, 3 ไท 👩 " * 8
    whole = encoder.tally(text)
    assert encoder.tally(text, limit=whole.n_tokens) == whole
    scripts = token_scripts(text, encoder.encode(text).offsets())
    for limit in range(whole.n_tokens):
        found = encoder.tally(text, limit=limit)
        assert limit < found.n_tokens == encoder.count(text, limit=limit) == sum(found.scripts.values())
        assert found.scripts == Counter(scripts[: found.n_tokens])


def test_scripts_are_those_of_unicode() -> None:
    """Each code point has the script that the ranges of Unicode 16.0 give it, and no two scripts are one."""
    some_of: dict[str, str] = {"Zyyy": ".", "Zinh": "\u0301"}
    for code_point in range(sys.maxunicode + 1):
        char = chr(code_point)
        if not 0xD800 <= code_point < 0xE000:
            assert keeps_script(some_of.setdefault(script_of(char), char), char)
    for code, char in some_of.items():
        others = [other for other in some_of if other not in (code, "Zinh")]
        assert not any(keeps_script(char, some_of[other]) for other in others)
    assert len(some_of) > 150


def test_composition_keeps_scripts() -> None:
    """Whatever composes to one character: that is of the first one's script, and so are the others, or marks."""
    for code_point in range(sys.maxunicode + 1):
        char = chr(code_point)
        parts = unicodedata.normalize("NFD", char) if not 0xD800 <= code_point < 0xE000 else char
        if unicodedata.normalize("NFC", parts) == char != parts:
            assert keeps_script(parts, char) or parts[0] == DIAERESIS


def test_entries_of_several_characters() -> None:
    """Of those that change a script one is found, of those that keep it none."""
    table = {"e\u0301": "é", "ab": "я", "ｶﾞ": "ガ", "(": "[", "漢字": "字", "12": "x"}
    assert joint_characters(read_charsmap(charsmap(table))) == {"b", "ﾞ", "2"}
    assert joint_characters(read_charsmap(model_files.charsmap("nfkc"))) is not None


def test_marks_without_end_are_passed_once() -> None:
    """A long run of marks, each a token of its own, takes no more steps for each that comes."""
    encoder = family("byte-level-bpe")
    for text in ("\u0301" * 200_000, "a" + "\u0301" * 200_000):
        assert list(encoder.tally(text).scripts) == ["Latn" if text[0] == "a" else "Zyyy"]


def test_a_pair_needs_a_template() -> None:
    """Where `encode` refuses two texts, so does the tally."""
    encoder = rank_files.ours("cl100k_base")
    for method in (encoder.encode, encoder.tally):
        with pytest.raises(TokenizerError, match="no template"):
            method("a", "b")


def test_each_kana_makes_han_japanese() -> None:
    """One in a text, of any block, and its Han are `Jpan`."""
    encoder = rank_files.ours("cl100k_base")
    assert set(encoder.tally("漢、漢").scripts) == {"Hani", "Zyyy"}
    for c in range(sys.maxunicode + 1):
        if not 0xD800 <= c < 0xE000 and script_of(chr(c)) in ("Hira", "Kana"):
            assert encoder.tally(f"漢、{chr(c)}漢").scripts["Jpan"] >= 2
