"""Decoding in every family: the compiled tables and the stages against the slow twins, at once and as ids arrive."""

from __future__ import annotations

import array
import itertools
import json
import lzma
import os.path
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core import decoders, pipeline, replace_decoder
from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.decoder_stages import Chain
from tokenwire_core.decoders import ChainDecoder, IdDecoder, pipeline_decoder, sentencepiece_decoder
from tokenwire_core.denormalize import Denormalizer
from tokenwire_core.errors import ArtifactError, IdOutOfRangeError, PatternTooSlowError, TextTooLongError
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.formats.sentencepiece_model import read_sentencepiece_model
from tokenwire_core.pipeline import AddedToken, Pipeline, Regex, WordLevelModel
from tokenwire_core.reference_decode import decode
from tokenwire_core.reference_pipeline import ReferencePipeline
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece
from tokenwire_core.reference_sentencepiece_normalizer import Symbols, normalize
from tokenwire_core.sentencepiece_spec import NormalizerRules, Piece, PieceType, SentencePieceModel
from tokenwire_core.token_decoder import MAX_HELD_BYTES, TokenDecoder

from tests.core.charsmaps import charsmap
from tests.core.hf_documents import WORDLEVEL, added, document

BYTES = ["<0xE4>", "<0xBD>", "<0xa0>", "<0x41>", "<0xFF>", "<0xF0>", "<0x9F>", "<0x20>", "<0x+1>", "<0xG0>"]
TEXTS = [
    *BYTES,
    *("▁", "▁a", "a", "aa", "ab", "ba", "▁▁ab▁", " ", "  ", "", "#", "##", "##a", "a##", "</w>", "a</w>", "</", "w>"),
    *("Ġ", "Ġa", "Ã", "©", "é", "漢", "ä½ł", "\ufffd", "|", "a|b", "<pad>", "a<pad>", "!", " !", "n't", " n", "'t"),
    *("'", "do not", " do", "not", "'re", " '", " x ' y "),
]  # fmt: skip
"""Spellings that mean something to one decoder or another, or nearly do."""
CONTINUATION = TEXTS.index("©")
SPECIAL = ("<s>", "▁x")
IDS = range(len(TEXTS) + len(SPECIAL))
HOLE = len(IDS)
LAST = HOLE + 1

STAGES: list[st.SearchStrategy[pipeline.Decoder]] = [
    st.just(pipeline.ByteLevelDecoder()),
    st.just(pipeline.ByteFallbackDecoder()),
    st.just(pipeline.Fuse()),
    st.builds(
        pipeline.MetaspaceDecoder, st.sampled_from("▁a"), st.sampled_from(["always", "first", "never"])
    ),
    st.builds(
        pipeline.ReplaceDecoder,
        st.sampled_from(
            ["▁", "ab", "aab", "aa", "a a", "\ufffd", Regex(r"\s+"), Regex("a(?=b)"), Regex("a*")]
        ),
        st.sampled_from([" ", "", "a", "ab", "▁▁"]),
    ),
    st.builds(pipeline.StripDecoder, st.sampled_from(" a\ufffd"), st.integers(0, 3), st.integers(0, 3)),
    st.builds(pipeline.WordPieceDecoder, st.sampled_from(["##", ""]), st.booleans()),
    st.builds(pipeline.SuffixDecoder, st.sampled_from(["</w>", "a", ""])),
    st.builds(
        pipeline.CtcDecoder, st.sampled_from(["<pad>", ""]), st.sampled_from(["|", "a", ""]), st.booleans()
    ),
]

REPLACE_BLANKS = pipeline.ReplaceDecoder("▁", " ")
USUAL: dict[str, tuple[pipeline.Decoder, ...]] = {
    "none": (),
    "llama": (
        REPLACE_BLANKS,
        pipeline.ByteFallbackDecoder(),
        pipeline.Fuse(),
        pipeline.StripDecoder(" ", 1, 0),
    ),
    "gemma": (REPLACE_BLANKS, pipeline.ByteFallbackDecoder(), pipeline.Fuse()),
    "bert": (pipeline.WordPieceDecoder("##"),),
    "metaspace": (pipeline.MetaspaceDecoder(),),
    "metaspace, and replaced in all of it": (
        pipeline.MetaspaceDecoder(),
        pipeline.Fuse(),
        pipeline.ReplaceDecoder("aab", "x"),
    ),
    "byte level": (pipeline.ByteLevelDecoder(),),
    "byte level, stripped": (pipeline.ByteLevelDecoder(), pipeline.StripDecoder("a", 2, 2)),
    "regular expression": (pipeline.ReplaceDecoder(Regex(r"[▁\s]+"), " "),),
    "a regular expression on all": (
        pipeline.Fuse(),
        pipeline.CtcDecoder("<pad>", "|", False),
        pipeline.ReplaceDecoder(Regex("a+"), "x"),
    ),
}
UNUSUAL: dict[str, tuple[pipeline.Decoder, ...]] = {
    "suffix": (pipeline.SuffixDecoder("</w>"),),
    "ctc": (pipeline.CtcDecoder("<pad>", "|", True),),
    "bytes first": (pipeline.ByteFallbackDecoder(), REPLACE_BLANKS),
}
"""Chains that no table can say."""


def tokenizer(chain: Sequence[pipeline.Decoder]) -> Pipeline:
    """One of TEXTS, then special tokens, then a hole and a last token."""
    added = [AddedToken(text, len(TEXTS) + number, special=True) for number, text in enumerate(SPECIAL)]
    model = WordLevelModel({text: id for id, text in enumerate(TEXTS)} | {"last": LAST}, "a")
    return Pipeline(tuple(added), (), (), model, (), tuple(chain))


def twins(chain: Sequence[pipeline.Decoder]) -> tuple[IdDecoder, ReferencePipeline]:
    content = tokenizer(chain)
    return decoder_of(content), ReferencePipeline(content)


def decoder_of(content: Pipeline) -> IdDecoder:
    contents = {id: text for text, id in pipeline.vocabulary_of(content.model).items()}
    contents |= {token.id: token.content for token in content.added_tokens}
    special = {token.content for token in content.added_tokens if token.special}
    return pipeline_decoder(content, contents, {id for id, text in contents.items() if text in special})


def streamed(
    decoder: IdDecoder, ids: Sequence[int], sizes: Sequence[int] = (), skip_special: bool = False
) -> str:
    """The text of ids pushed in parts of these sizes, the rest one by one; flushed twice."""
    stream = decoder.stream(skip_special)
    rest = iter(ids)
    texts = [stream.push(list(itertools.islice(rest, size))) for size in sizes]
    texts += [stream.push([id]) for id in rest]
    texts.append(stream.flush())
    return "".join(texts)


byte_ids = st.integers(0, len(BYTES) - 1)
lists_of_ids = st.lists(st.one_of(st.sampled_from(IDS), byte_ids), max_size=24)
sizes = st.lists(st.integers(0, 4), max_size=12)
chains = st.lists(st.one_of(STAGES), max_size=5)


@given(chains, lists_of_ids, sizes, st.booleans())
@settings(max_examples=300)
def test_any_chain_decodes_as_the_twin(
    chain: list[pipeline.Decoder], ids: list[int], sizes: list[int], skip_special: bool
) -> None:
    """Whatever the decoders and however the ids are cut up: at once and streamed, the text is the twin's."""
    decoder, twin = twins(chain)
    expected = twin.decode(ids, skip_special)
    assert decoder.decode(ids, skip_special) == expected
    assert streamed(decoder, ids, sizes, skip_special) == expected


@pytest.mark.parametrize("name", USUAL)
@given(ids=lists_of_ids, sizes=sizes, skip_special=st.booleans())
def test_usual_chains_are_tables(name: str, ids: list[int], sizes: list[int], skip_special: bool) -> None:
    """What people use is compiled, and decodes as the twin."""
    decoder, twin = twins(USUAL[name])
    assert isinstance(decoder, TokenDecoder)
    assert decoder.decode(ids, skip_special) == twin.decode(ids, skip_special)
    assert streamed(decoder, ids, sizes, skip_special) == twin.decode(ids, skip_special)


@pytest.mark.parametrize("chain", UNUSUAL.values(), ids=UNUSUAL)
def test_what_no_table_says_is_a_chain(chain: tuple[pipeline.Decoder, ...]) -> None:
    """So the tests above are of both."""
    assert isinstance(twins(chain)[0], ChainDecoder)


def common_prefix(texts: Iterator[str]) -> str:
    return os.path.commonprefix(list(texts))  # noqa: RUF071 - of characters, as is wanted


HOLD_MORE = {"a regular expression on all", "byte level, stripped"}
"""Chains of which a stage waits for the end, or knows nothing of what the one before it holds back."""


@pytest.mark.parametrize("name", USUAL | UNUSUAL)
@given(ids=lists_of_ids)
@settings(max_examples=30)
def test_a_push_gives_all_that_is_certain(name: str, ids: list[int]) -> None:
    """After each id the text that is out is the longest that whatever may follow has in common."""
    decoder = twins((USUAL | UNUSUAL)[name])[0]
    stream = decoder.stream()
    out = ""
    for n, id in enumerate(ids, 1):
        out += stream.push([id])
        follow = [[], *([id] for id in IDS), [1, 2], [2, 2], [6, 2, 2], [CONTINUATION] * 2]
        certain = common_prefix(decoder.decode(ids[:n] + more) for more in follow)
        assert certain.startswith(out)
        assert out == certain or name in HOLD_MORE


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    """A text in fragments of these sizes, and the rest."""
    edges = [0, *itertools.accumulate(sizes)]
    return [text[start:end] for start, end in itertools.pairwise([*edges, len(text)]) if start <= end]


@pytest.mark.parametrize(
    "stage",
    [
        *(pipeline.StripDecoder("a", *ends) for ends in ((2, 0), (0, 2), (1, 3))),
        *(pipeline.ReplaceDecoder(literal, "ba") for literal in ("a", "ab", "aab", "abab", "aabaaa")),
        pipeline.ReplaceDecoder(Regex("a+(?=b)|^a"), "x"),
        pipeline.MetaspaceDecoder("a", "never"),
        pipeline.WordPieceDecoder("a", cleanup=True),
    ],
    ids=repr,
)
@given(text=st.text(st.sampled_from("aaab "), max_size=12), sizes=sizes)
@settings(max_examples=60)
def test_a_text_may_come_in_fragments(stage: pipeline.Decoder, text: str, sizes: list[int]) -> None:
    """What a stage makes of one text does not depend on how it comes."""
    chain = Chain([stage], is_fused=True)
    result = [part for fragment in cut(text, sizes) for part in chain.push([fragment])]
    assert "".join(result + chain.flush()) == decode([text], [stage])


def test_a_literal_that_overlaps_itself() -> None:
    """The match may begin inside of what looked like another one."""
    stage = pipeline.ReplaceDecoder("aabaaa", "x")
    chain = Chain([stage], is_fused=True)
    steps = ["".join(chain.push([char])) for char in "aabaabaaab"]
    assert steps == ["", "", "", "", "", "aab", "", "", "x", "b"]


def test_a_suffix_in_steps() -> None:
    """Of a token that has one, what comes before it is certain."""
    stream = twins(UNUSUAL["suffix"])[0].stream()
    ids = [TEXTS.index(text) for text in ("a</w>", "ab", "</w>", "a")]
    assert [stream.push([id]) for id in ids] == ["a", " ab", "", " a"]


def test_llama_in_steps() -> None:
    """A blank at the begin goes; bytes are text at the end of their run, or at once when they can be none."""
    decoder = twins(USUAL["llama"])[0]
    stream = decoder.stream()

    def push(*texts: str) -> str:
        return stream.push([TEXTS.index(text) for text in texts])

    assert [push("▁"), push("▁a"), push("▁")] == ["", " a", " "]
    assert [push("<0xE4>"), push("<0xBD>"), push("<0xa0>"), push("<0x41>"), push("a")] == [
        "", "", "", "", "你Aa"
    ]  # fmt: skip
    assert [push("<0x41>", "<0xE4>"), push("<0xE4>"), push("<0x41>"), push("a")] == [
        "", "\ufffd\ufffd\ufffd", "\ufffd", "a"
    ]  # fmt: skip
    assert [push("<0xE4>"), stream.flush(), push("▁a"), stream.flush()] == ["", "\ufffd", "a", ""]


@given(lists_of_ids, st.booleans())
def test_bytes_are_kept_as_they_are(ids: list[int], skip_special: bool) -> None:
    """Tokens of one byte give it, whatever stands around them; the rest is as in the text."""
    decoder = twins(USUAL["llama"])[0]
    texts = [*TEXTS, *("" if skip_special else text for text in SPECIAL)]
    joined = b"".join(
        bytes((int(texts[id][3:5], 16),)) if id < len(BYTES) - 1 else texts[id].replace("▁", " ").encode()
        for id in ids
    )
    assert decoder.decode_bytes(ids, skip_special) == joined.removeprefix(b" ")


@given(chains, lists_of_ids)
@settings(max_examples=100)
def test_bytes_without_byte_tokens_are_the_text(chain: list[pipeline.Decoder], ids: list[int]) -> None:
    """Where no stage makes bytes of tokens, the bytes are the UTF-8 of the text."""
    makes_bytes = (pipeline.ByteLevelDecoder, pipeline.ByteFallbackDecoder)
    decoder = twins([stage for stage in chain if not isinstance(stage, makes_bytes)])[0]
    assert decoder.decode_bytes(ids) == decoder.decode(ids).encode()


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (USUAL["byte level"], b"\xc3a\xe4\xbd\xa0"),
        (USUAL["byte level, stripped"], b"\xc3a\xe4\xbd\xa0"),
        ((pipeline.SuffixDecoder("</w>"), pipeline.ByteLevelDecoder()), b"\xc3a\xe4\xbd\xa0"),
    ],
)
def test_bytes_of_byte_level_tokens(chain: tuple[pipeline.Decoder, ...], expected: bytes) -> None:
    """Bytes that are no text are kept, whichever way the stages are run."""
    decoder = twins(chain)[0]
    ids = [TEXTS.index(text) for text in ("Ã", "a", "ä½ł")]
    assert decoder.decode_bytes(ids) == expected
    assert decoder.decode(ids) == expected.decode(errors="replace")


def test_bytes_of_an_ill_formed_run_in_a_chain() -> None:
    """They are kept, also where the stage runs by itself."""
    decoder = twins(UNUSUAL["bytes first"])[0]
    ids = [TEXTS.index(text) for text in ("<0x41>", "<0xE4>", "▁a")]
    assert decoder.decode_bytes(ids) == b"A\xe4 a"
    assert decoder.decode(ids) == "\ufffd\ufffd a"


# SentencePiece.


REPLACED = {"ab": "x ", "a": "é", "abc": "", "b ": " ", "▁": " ", "é漢漢": "▁▁", "\ufffd": "!"}
HALF_A_CHARACTER = b"\xe6\xbc"
CHARSMAP = read_charsmap(
    charsmap({key.encode(): to for key, to in REPLACED.items()} | {HALF_A_CHARACTER: "?"})
)
MODEL_BYTES = ("<0x41>", "<0xE6>", "<0xBC>", "<0xA2>", "<0x20>", "<0xFF>")
flags = st.booleans()
rules = st.builds(
    NormalizerRules,
    charsmap=st.sampled_from([None, CHARSMAP]),
    add_dummy_prefix=flags,
    remove_extra_whitespaces=flags,
    escape_whitespaces=flags,
    treat_whitespace_as_suffix=flags,
)


@st.composite
def models(draw: st.DrawFn) -> SentencePieceModel:
    """Few pieces of all types, which get into each other's way."""
    texts = draw(
        st.lists(st.text(st.sampled_from("ab▁ é漢"), min_size=1, max_size=4), min_size=1, max_size=12)
    )
    types = st.sampled_from(
        [PieceType.NORMAL] * 4 + [PieceType.USER_DEFINED, PieceType.UNUSED, PieceType.CONTROL]
    )
    pieces = [Piece(text, 0.0, draw(types)) for text in texts]
    pieces.append(Piece(draw(st.sampled_from(["<unk>", "▁u"])), 0.0, PieceType.UNKNOWN))
    pieces += [
        Piece(text, 0.0, PieceType.BYTE)
        for text in ("<0x41>", "<0xE6>", "<0xBC>", "<0xA2>", "<0x20>", "<0xFF>")
    ]
    return SentencePieceModel(
        "bpe",
        tuple(pieces),
        normalizer=draw(rules),
        denormalizer=draw(st.one_of(st.none(), rules)),
        unk_surface=draw(st.sampled_from([" ⁇ ", "", "▁?"])),
    )


@given(models(), st.data())
@settings(max_examples=100)
def test_any_model_decodes_as_the_twin(model: SentencePieceModel, drawn: st.DataObject) -> None:
    """Control and unknown pieces, bytes, dropped blanks, denormalizers: at once and streamed."""
    twin, decoder = ReferenceSentencePiece(model), sentencepiece_decoder(model)
    for _ in range(4):
        ids = drawn.draw(st.lists(st.integers(0, len(model.pieces) - 1), max_size=20))
        expected = twin.decode(ids)
        assert decoder.decode(ids) == decoder.decode(ids, skip_special=True) == expected
        assert streamed(decoder, ids, drawn.draw(sizes)) == expected
        if model.denormalizer or not any(model.pieces[id].type is PieceType.BYTE for id in ids):
            assert decoder.decode_bytes(ids) == expected.encode()


@given(models(), st.data())
@settings(max_examples=30)
def test_a_push_gives_all_that_is_certain_of_a_model(model: SentencePieceModel, drawn: st.DataObject) -> None:
    """Never more, and without a charsmap never less, than whatever may follow has in common."""
    decoder = sentencepiece_decoder(model)
    all_ids = range(len(model.pieces))
    ids = drawn.draw(st.lists(st.sampled_from(all_ids), max_size=8))
    stream = decoder.stream()
    out = ""
    for n, id in enumerate(ids, 1):
        out += stream.push([id])
        follow = [[], *([id] for id in all_ids), *map(list, itertools.product(all_ids[-6:], repeat=2))]
        certain = common_prefix(decoder.decode(ids[:n] + more) for more in follow)
        assert certain.startswith(out)
        if not model.denormalizer:
            assert out == certain


@given(rules, st.text(st.sampled_from("abc▁ é漢漢\ufffd"), max_size=14), sizes)
@settings(max_examples=200)
def test_denormalizing_in_fragments(rules: NormalizerRules, text: str, sizes: list[int]) -> None:
    """A text is denormalized as the twin does, however it comes."""
    denormalizer = Denormalizer(rules)
    result = [denormalizer.push(fragment) for fragment in cut(text, sizes)] + [denormalizer.flush()]
    assert "".join(result) == normalize(text.encode(), rules, Symbols(())).text.decode()


def test_a_denormalizer_waits_for_the_longest_key_alone() -> None:
    """What may begin a longer key is held back, and blanks that may be the last; nothing else."""
    assert CHARSMAP.may_go_on(b"ab", 0)
    assert not CHARSMAP.may_go_on(b"abc", 0)
    denormalizer = Denormalizer(NormalizerRules(charsmap=CHARSMAP, add_dummy_prefix=False))
    assert [denormalizer.push(text) for text in ("ab", "x", "a", "c", "é漢", "é", "!")] == [
        "", "x▁x", "", "éc", "", "é?\ufffd", "é!"
    ]  # fmt: skip


def small_model(**settings: Any) -> SentencePieceModel:
    """An unknown piece, a control piece, `▁`, `▁a`, `a`, then all bytes."""
    types = [PieceType.UNKNOWN, PieceType.CONTROL] + [PieceType.NORMAL] * 3 + [PieceType.BYTE] * 256
    texts = ["<unk>", "<s>", "▁", "▁a", "a", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces = tuple(Piece(text, 0.0, type_) for text, type_ in zip(texts, types, strict=True))
    return SentencePieceModel("bpe", pieces, byte_fallback=True, unk_id=0, **settings)


BYTE = 5


def test_bytes_of_sentencepiece_are_single() -> None:
    """U+FFFD stands for bytes of no character alone; a character is out with its last byte."""
    decoder = sentencepiece_decoder(small_model())
    ids = [BYTE + byte for byte in b"A\xe4\xbd\xa0\xe4\xbd\xf5"]
    assert decoder.decode(ids) == "A你\ufffd\ufffd\ufffd"
    assert decoder.decode_bytes(ids) == b"A\xe4\xbd\xa0\xe4\xbd\xf5"
    stream = decoder.stream()
    assert [stream.push([id]) for id in ids] == ["A", "", "", "你", "", "", "\ufffd" * 3]
    assert [stream.push([BYTE + 0xE4]), stream.push([1]), stream.flush()] == ["", "\ufffd", ""]


@pytest.mark.parametrize("removes", [False, True])
@given(ids=st.lists(st.sampled_from([*range(BYTE), BYTE + 32, BYTE + 0xE4]), max_size=8))
@settings(max_examples=40)
def test_blanks_at_the_begin(removes: bool, ids: list[int]) -> None:
    """Which are dropped is the twin's word; with an unknown piece that is nothing, too."""
    for surface in ("", " ⁇ "):
        rules = NormalizerRules(remove_extra_whitespaces=removes)
        model = small_model(normalizer=rules, unk_surface=surface)
        expected = ReferenceSentencePiece(model).decode(ids)
        assert sentencepiece_decoder(model).decode(ids) == expected
        assert streamed(sentencepiece_decoder(model), ids) == expected


# Ids, limits and refusals: all families alike.

FAMILIES: dict[str, IdDecoder] = {
    "table": twins(USUAL["llama"])[0],
    "chain": twins(UNUSUAL["suffix"])[0],
    "sentencepiece": sentencepiece_decoder(small_model()),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bad", [-1, HOLE, 1 << 20, 2**31, 2**32, 2**63, 2**64, -(2**63), -(2**70)])
def test_an_id_that_is_none_is_refused_with_its_place(family: str, bad: int) -> None:
    """Negative, past the vocabulary or in a hole, of any size; a stream goes on as if nothing had come."""
    decoder = FAMILIES[family]
    if family == "sentencepiece" and bad == HOLE:
        return
    stream = decoder.stream()
    for take in (decoder.decode, decoder.decode_bytes, stream.push):
        with pytest.raises(IdOutOfRangeError) as caught:
            take([3, 4, bad, -1])
        assert (caught.value.index, caught.value.vocab_size) == (2, decoder.vocab_size)
    assert stream.push([4]) + stream.flush() == decoder.decode([4])


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_may_come_in_any_container(family: str) -> None:
    """Lists, iterators and buffers are the same ids; what is no integer is a TypeError."""
    decoder = FAMILIES[family]
    ids = [2, 3, 4, 2] * 300
    for each in (tuple(ids), iter(ids), array.array("I", ids), array.array("q", ids), array.array("H", ids)):
        assert decoder.decode(each) == decoder.decode(ids)
    for wrong in ([1.0], ["1"], "ab", None):
        with pytest.raises(TypeError):
            decoder.decode(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_bytes", [MAX_HELD_BYTES, MAX_HELD_BYTES + 1, 2 * MAX_HELD_BYTES])
def test_a_run_of_bytes_that_a_stream_holds_back_is_bounded(n_bytes: int) -> None:
    """At the bound all comes at the end of the run; beyond it is an error, and the stream is as new."""
    decoder = twins(USUAL["llama"])[0]
    run = array.array("I", [TEXTS.index("<0x41>")]) * n_bytes
    stream = decoder.stream()
    if n_bytes <= MAX_HELD_BYTES:
        assert stream.push(run) == ""
        assert stream.flush() == "A" * n_bytes
    else:
        with pytest.raises(TextTooLongError):
            stream.push(run)
        assert stream.push([TEXTS.index("▁a")]) == "a"
    assert decoder.decode(run) == "A" * n_bytes


@pytest.mark.parametrize("n_bytes", [7, 8, 9, 100])
@pytest.mark.parametrize(
    "chain",
    [
        [pipeline.ByteFallbackDecoder(), pipeline.SuffixDecoder("x")],
        [pipeline.Fuse(), pipeline.ReplaceDecoder(Regex("x"), "y")],
        [pipeline.Fuse(), pipeline.WordPieceDecoder("#")],
    ],
    ids=["run", "pattern", "token stage"],
)
def test_what_stages_hold_back_is_bounded(chain: list[pipeline.Decoder], n_bytes: int) -> None:
    """Of a run of byte tokens, and of a text that must be all there."""
    texts = ["<0x41>"] * n_bytes if isinstance(chain[0], pipeline.ByteFallbackDecoder) else ["A"] * n_bytes
    stages = Chain(chain, max_held_bytes=8)
    if n_bytes > 8:
        with pytest.raises(TextTooLongError):
            [stages.push([text]) for text in texts]
    else:
        assert [stages.push([text]) for text in texts] == [[]] * n_bytes
        assert "".join(stages.flush()) == "A" * n_bytes


def test_a_pattern_on_all_of_the_text_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 KiB, and a time; after an error a stream is as new."""
    decoder = twins((pipeline.Fuse(), pipeline.ReplaceDecoder(Regex("(?:a|a)+c"), "x")))[0]
    a, space = TEXTS.index("a"), TEXTS.index(" ")
    assert decoder.decode([space] * 65536) == " " * 65536
    with pytest.raises(TextTooLongError):
        decoder.decode([space] * 65537)
    stream = decoder.stream()
    stream.push([a] * 40)
    monkeypatch.setattr(replace_decoder, "TIMEOUT_S", 0.01)
    with pytest.raises(PatternTooSlowError):
        stream.flush()
    assert stream.push([a]) + stream.flush() == "a"


def test_a_pattern_that_takes_too_long_on_the_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the table is made, not when somebody decodes."""
    monkeypatch.setattr(replace_decoder, "MAX_TABLE_S", 0.0)
    with pytest.raises(ArtifactError) as caught:
        twins((pipeline.ReplaceDecoder(Regex("a"), "b"),))
    assert caught.value.reason == "TOO_SLOW"


@pytest.mark.parametrize(
    "chain",
    [
        [pipeline.ReplaceDecoder("a", "a" * 257)],
        [pipeline.ReplaceDecoder("a", "a" * 17)] * 2,
        [pipeline.SuffixDecoder("")] * 6,
        [pipeline.CtcDecoder("", "", True)] * 6,
    ],
)
def test_stages_that_let_texts_explode_are_refused(chain: list[pipeline.Decoder]) -> None:
    """More than MAX_GROWTH times."""
    with pytest.raises(ArtifactError) as caught:
        twins(chain)
    assert caught.value.reason == "UNSUPPORTED_STAGE"
    assert decoders.MAX_GROWTH == 256


def test_special_tokens_are_left_out_before_anything_else() -> None:
    """What comes behind them at the begin is the first token, and a run of bytes goes on across them."""
    special = len(TEXTS)
    decoder = twins(USUAL["metaspace"])[0]
    assert decoder.decode([special, TEXTS.index("▁a")], skip_special=True) == "a"
    assert decoder.decode([special, TEXTS.index("▁a")]) == "<s> a"
    decoder = twins(USUAL["llama"])[0]
    ids = [TEXTS.index("<0xE4>"), TEXTS.index("<0xBD>"), special, TEXTS.index("<0xa0>")]
    assert decoder.decode(ids, skip_special=True) == streamed(decoder, ids, skip_special=True) == "你"


def test_special_tokens_are_known_by_their_text() -> None:
    """As in the library: one that is decoded in another spelling is none, unless that is one's spelling, too."""
    content = document(
        model=WORDLEVEL,
        normalizer={"type": "Lowercase"},
        added_tokens=[
            added("<A>", 2, normalized=True, special=True),
            added("<B>", 3, normalized=True, special=True),
            added("<b>", 4, normalized=False, special=True),
        ],
        decoder={"type": "Fuse"},
    )
    encoder = tokenwire_core.load(json.dumps(content).encode(), "hf_json")
    theirs = Tokenizer.from_str(json.dumps(content))
    ids = [0, 1, 2, 3, 4, 0]
    assert encoder.decode(ids, skip_special=True) == theirs.decode(ids, skip_special_tokens=True) == "ua<a>u"
    assert encoder.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == "ua<a><b><b>u"


# Published artifacts.

GOLDEN = (
    *("cl100k_hf", "gpt_oss", "llama3_1", "qwen3", "deepseek_v4", "claude_legacy", "llama2", "mistral_v1_hf"),
    *("moonshine", "gemma3", "minilm_bert_uncased", "bert_cased_config", "nepali_wordpiece", "nepali_unigram"),
    *("xlm_roberta", "mistral_v1", "mistral_v3", "ai21_j2", "sp_botchan_en_bpe", "sp_botchan_en_unigram"),
    *("sp_kyoto_ja_unigram", "xlm_roberta_sp"),
)  # fmt: skip


def published(folder: Path, name: str) -> IdDecoder:
    path = folder / "artifacts" / f"{name}.tokenizer.json.xz"
    if path.exists():
        return decoder_of(read_hf_json(lzma.decompress(path.read_bytes())))
    model = read_sentencepiece_model(
        lzma.decompress((folder / "artifacts" / f"{name}.model.xz").read_bytes())
    )
    return sentencepiece_decoder(model)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_vectors(reference_data: Path, name: str) -> None:
    """The reference's text of every list of ids, with special tokens and without, at once and one by one."""
    decoder = published(reference_data, name)
    assert isinstance(decoder, TokenDecoder)
    rows = [
        json.loads(line) for line in (reference_data / "golden" / f"{name}.jsonl").read_text().splitlines()
    ]
    assert len(rows) > 200
    different = []
    for row in rows:
        for field, ids, skip in (
            ("decoded", row["ids"], False),
            ("decoded_special", row["ids_special"], False),
            ("decoded_skip", row["ids_special"], True),
        ):
            if row[field] is None:
                continue
            if not decoder.decode(ids, skip) == streamed(decoder, ids, (), skip) == row[field]:
                different.append((row["id"], field))
    assert different == []
