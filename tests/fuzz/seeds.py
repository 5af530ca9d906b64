"""The artifacts that fuzzing starts from: small ones of every family, with every stage and option."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Final

from tokenwire_core.byte_alphabet import CHAR_OF_BYTE

from tests.core.charsmaps import charsmap, charsmap_stage
from tests.core.hf_documents import BPE, BYTE_LEVEL, UNIGRAM, WORDPIECE, Object, added, document
from tests.core.made_up import WHOLE, rank_file
from tests.core.model_files import (
    BYTE_PIECES,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Fields,
    model_file,
)
from tests.core.test_hf_json import ACCEPTED
from tests.core.test_hf_patterns import REAL, REFUSED
from tests.core.test_hf_refusals import TOO_LENIENT, TOO_WRONG
from tests.fuzz.artifact import Artifact, Loader

MAX_SEED_BYTES: Final = 30_000

GPT2: Final = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS: Final = (
    *(WHOLE, GPT2, CL100K, r"\w+|\s", r"[a-z]+", r"(?:ab)*+a?", r"(?<=a)b|.", r"\p{Han}+|[^\p{Han}]"),
    *(r"a{2,3}|\X?", r"(?>a|b)+|[^ab]", r"[\p{L}--[a-c]]|.", r"[[:alpha:]&&[^b]]+|\d+?|\S"),
)  # fmt: skip
REGEXES: Final = (
    *(r"\p{N}{1,3}", r" ?\p{L}+|\s+(?!\S)|\s+", r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+", r"\s{2,}|a*?b"),
    *(r"(?<!a)b(?=c|\z)", r"\p{Han}|\p{Hiragana}+", r"[a-c&&[^b]]+|(?<n>x)", r"(?:a|ab)(?>b+|c)", r"a++|b*+c"),
)  # fmt: skip
CHARSMAP: Final = {"ﬁ": "fi", "Ａ": "A", "\u3000": " ", "e\u0301": "é", "\t": " ", "\u200b": "", "ab": "ba"}
SMALL_CHARSMAP: Final = {"ﬁ": "fi", "\t": " ", "e": "", "e\u0301": "é"}
WORDS: Final = ("he", "ll", "hell", "hello", " w", " wo", "é", " é", "漢字", "12", "ab", "ba", "aba", "  ")


def seeds(loader: Loader) -> list[Artifact]:
    """The first artifacts of a format; the same ones every time."""
    made = {"tiktoken": _rank_files, "hf_json": _documents, "sentencepiece": _models}[loader]()
    return [artifact for artifact in made if len(artifact.data) <= MAX_SEED_BYTES]


def _rank_files() -> Iterator[Artifact]:
    words = [word.encode() for word in WORDS]
    for number, pattern in enumerate(PATTERNS):
        options: Object = {"pattern": pattern}
        if number % 2:
            options |= {"special_tokens": {"<s>": 300, "<|endoftext|>": 301, "é<": 400}}
        if number % 4 == 3:
            options |= {"control_tokens": ["<s>"]}
        yield Artifact(rank_file(words[: number * 2]), options)
    data = rank_file(words)
    yield Artifact(data.replace(b"\n", b"\r\n") + b"= 290\n\n", {"pattern": WHOLE})
    yield Artifact(b"".join(sorted(data.splitlines(keepends=True))), {"pattern": CL100K})
    yield Artifact(b"".join(data.splitlines(keepends=True)[1:]), {"pattern": WHOLE})
    yield Artifact(data, {})


def _documents() -> Iterator[Artifact]:
    for case in ACCEPTED:
        yield Artifact(json.dumps(case.values[0]).encode())
    for content in _families():
        for options in ({}, {"control_tokens": ["ab"]}):
            yield Artifact(json.dumps(content).encode(), options)
    yield from (
        Artifact(json.dumps(content).encode()) for _, _, content in (TOO_WRONG | TOO_LENIENT).values()
    )
    for regex in (*REGEXES, *REAL, *REFUSED):
        split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        replace = {"type": "Replace", "pattern": {"Regex": regex}, "content": "x"}
        yield Artifact(
            json.dumps(document(pre_tokenizer=split, normalizer=replace, decoder=replace)).encode()
        )
    doubling = {"type": "Replace", "pattern": {"String": "x"}, "content": "xx"}
    for normalizer, contents in (
        ({"type": "Lowercase"}, ("X", "x")),
        ({"type": "StripAccents"}, ("\u0301",)),
        ({"type": "Sequence", "normalizers": [doubling] * 30}, ("x",)),
    ):
        tokens = [added(content, 5 + at, normalized=True) for at, content in enumerate(contents)]
        yield Artifact(json.dumps(document(normalizer=normalizer, added_tokens=tokens)).encode())
    configs: tuple[Object, ...] = (
        {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "model_max_length": 10**30},
        {"chat_template": "{{ messages }}", "model_max_length": 512, "unk_token": None, "pad_token": "a"},
        {"chat_template": [{"name": "default", "template": "x"}, {"name": "tool", "template": "y"}]},
    )
    for config in configs:
        yield Artifact(json.dumps(document()).encode(), {"tokenizer_config": json.dumps(config)})


def _families() -> Iterator[Object]:
    """Small tokenizers that are put together as the large ones are."""
    marks = [added("<s>", 300, special=True), added("<pad>", 301, special=True, normalized=True)]
    tokens = [bytes((byte,)) for byte in range(256)] + [word.encode() for word in WORDS]
    byte_vocab = {"".join(CHAR_OF_BYTE[byte] for byte in token): id for id, token in enumerate(tokens)}
    merges = [
        f"{left} {right}"
        for token in list(byte_vocab)[256:]
        for left, right in [(token[:-1], token[-1])]
        if left in byte_vocab and right in byte_vocab
    ]
    byte_bpe = {**BPE, "vocab": byte_vocab, "merges": merges, "unk_token": None, "ignore_merges": True}
    split = {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": False}
    bytes_only = {**BYTE_LEVEL, "use_regex": False}
    n_bytes = len(byte_vocab)
    yield document(
        model=byte_bpe,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, bytes_only]},
        decoder=BYTE_LEVEL,
        added_tokens=[{**mark, "id": n_bytes + at} for at, mark in enumerate(marks)],
    )
    yield document(model=byte_bpe, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL, normalizer={"type": "NFC"})
    byte_tokens = {f"<0x{byte:02X}>": byte + 3 for byte in range(256)}
    letters = {letter: id for id, letter in enumerate(("▁", "a", "b", "h", "e", "l", "▁a", "ab", "ll"), 259)}
    fallback = {
        "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2} | byte_tokens | letters,
        "merges": ["▁ a", "a b", "l l"],
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
    }
    decoders = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        *(
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ),
    ]
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    yield document(
        model=BPE | fallback,
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, blank]},
        decoder={"type": "Sequence", "decoders": decoders},
        added_tokens=[added("<s>", 1, special=True), added("</s>", 2, special=True)],
    )
    scored = [["<unk>", 0.0], ["<s>", 0.0], *([letter, -1.5 - at] for at, letter in enumerate(letters))]
    yield document(
        model=UNIGRAM | {"vocab": scored},
        normalizer={"type": "Sequence", "normalizers": [charsmap_stage(SMALL_CHARSMAP), {"type": "Nmt"}]},
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        decoder={"type": "Metaspace", "replacement": "▁"},
        added_tokens=[added("<s>", 1, special=True), added("ab", 9, normalized=True, lstrip=True)],
    )
    words = ("[UNK]", "[CLS]", "[SEP]", "a", "##b", "##ab", "he", "##llo", "漢", ",", "##")
    yield document(
        model=WORDPIECE | {"vocab": {word: id for id, word in enumerate(words)}, "unk_token": "[UNK]"},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "lowercase": True,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        added_tokens=[added("[CLS]", 1, special=True), added("a", 3, single_word=True, rstrip=True)],
    )


def _models() -> Iterator[Artifact]:
    rng = random.Random(0)
    tables = [charsmap(each) for each in (CHARSMAP, SMALL_CHARSMAP)]
    for number in range(24):
        model_type = number % 4 + 1
        byte_fallback = int(number in (4, 5, 6, 15))  # a few: 256 pieces take their time
        pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
        pieces += BYTE_PIECES if byte_fallback else []
        spellings = (
            "▁",
            "a",
            "b",
            "é",
            "漢",
            "h",
            "e",
            "l",
            "▁a",
            "ab",
            "ba",
            "aba",
            "ll",
            "he",
            "▁he",
            "b▁",
            "▁▁",
        )
        types = (NORMAL, NORMAL, NORMAL, NORMAL, UNUSED, USER_DEFINED) if number >= 8 else (NORMAL,)
        pieces += [(text, -float(rng.randrange(8)), rng.choice(types)) for text in spellings]
        if number % 5 == 4:
            pieces.append(("\0", 0.0, UNUSED))
        trainer: Fields = {3: model_type, 24: number // 8 % 2, 35: byte_fallback}
        if number % 3 == 2:
            trainer |= {44: "▁?", 46: "<s>", 47: "", 42: 1}
        rules: Fields = {1: "made-up", 3: number % 2, 4: number // 2 % 2, 5: 1, 6: ""}
        data = model_file(
            pieces,
            trainer=trainer,
            normalizer=rules | ({2: tables[number // 3 % 2]} if number % 3 == 0 else {}),
            denormalizer={2: tables[1]} if number % 6 == 0 else None,
        )
        yield Artifact(data, {"control_tokens": ["aba", "<s>"]} if number % 7 == 6 else {})
