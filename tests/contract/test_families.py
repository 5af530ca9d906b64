"""One service, one manifest, a tokenizer of each family: every RPC answers for each, by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenwire
import tokenwire_core
from tokenwire_core import Encoder
from tokenwire_server.tools import reference_library

from tests import families
from tests.contract.process import serving
from tests.families import Family, family

TEXTS = ("The quick brown fox", "Grüße, 東京!  two blanks\n", "", "naïve 🤚 e\u0301", "нечто <x> 123")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tokenwire.Client]:
    """A client of the service that serves them all."""
    path = families.manifest(tmp_path_factory.mktemp("families"))
    with serving("--config", str(path)) as service, tokenwire.Client(service.addresses["tcp"]) as connected:
        assert {info.name: info.failure for info in connected.list_tokenizers()} == dict.fromkeys(
            families.NAMES, ""
        )
        yield connected


@pytest.fixture(params=families.NAMES)
def one(request: pytest.FixtureRequest) -> Family:
    return family(request.param)


def encoder(one: Family) -> Encoder:
    return tokenwire_core.load(one.data, **families.options(one.name))


def test_each_is_described(client: tokenwire.Client, one: Family) -> None:
    """Format, algorithm, digest, control tokens and stages; the digest is that of the artifact in any process."""
    info = client.get_tokenizer(one.name)
    local = encoder(one)
    assert (info.state, info.format, info.model) == ("ready", one.format, one.model)
    assert (info.digest, info.vocab_size) == (local.digest, local.vocab_size)
    assert info.control_tokens == local.control_tokens
    assert {*one.ends} <= info.control_tokens.keys()
    assert info.pipeline is not None
    assert info.pipeline.model.lower().startswith(one.model.removeprefix("byte_level_"))
    assert info.pipeline.n_control_tokens == len(info.control_tokens)


def test_a_tokenizer_config_is_told(client: tokenwire.Client) -> None:
    """That of the one table that names one."""
    config = client.get_tokenizer("byte-level-bpe").config
    assert config is not None
    assert (config.bos_token, config.eos_token, config.model_max_length) == ("<|bos|>", None, 2048)
    assert config.chat_templates == ("default",)
    assert client.get_tokenizer("wordpiece").config is None


def test_ids_are_those_of_the_reference_library(client: tokenwire.Client, one: Family) -> None:
    """Encode gives the ids of the library that defines the format, and Decode their text as it decodes them."""
    library = reference_library.of_spec(one.data, encoder(one).spec)
    assert library is not None
    for text, encoding in zip(TEXTS, client.encode(one.name, TEXTS), strict=True):
        assert isinstance(encoding, tokenwire.Encoding)
        assert encoding.ids == library.encode(text, special=False)
        assert client.decode(one.name, encoding.ids, reference=True) == library.decode(encoding.ids)
        if one.is_lossless and one.format == "tiktoken":
            assert client.decode(one.name, encoding.ids) == text


@pytest.mark.parametrize("add_special", [False, True])
@pytest.mark.parametrize("special", ["text", "allow"])
def test_counts_are_those_of_encode(
    client: tokenwire.Client, one: Family, special: Any, add_special: bool
) -> None:
    """`count` is the number of ids for every option, and knows the unknown tokens and bytes among them."""
    texts = [*TEXTS, "a".join(one.ends)]
    local = encoder(one)
    options: dict[str, Any] = {"special": special, "add_special": add_special}
    counts = client.count_details(one.name, texts, **options)
    for encoding, count in zip(client.encode(one.name, texts, **options), counts, strict=True):
        assert isinstance(encoding, tokenwire.Encoding)
        assert isinstance(count, tokenwire.TokenCount)
        assert count.n_tokens == len(encoding.ids)
        assert count.n_unknown == sum(id_ == local.spec.unknown_id for id_ in encoding.ids)
        assert count.n_byte_fallback == sum(id_ in local.spec.byte_fallback_ids for id_ in encoding.ids)
    early = client.count_details(one.name, "one two three", limit=1, **options)
    assert early.limit_exceeded
    assert (early.n_unknown, early.n_byte_fallback) == (0, 0)


def test_unknown_characters_are_counted(client: tokenwire.Client) -> None:
    """What a vocabulary lacks is its unknown token, or the bytes of the character."""
    count = client.count_details("wordpiece", "the 𐌀 𐌁")
    assert (count.n_unknown, count.n_byte_fallback) == (2, 0)
    count = client.count_details("sentencepiece-bpe", "the 𐌀")
    assert (count.n_unknown, count.n_byte_fallback) == (0, 4)
    assert client.count_details("byte-level-bpe", "the 𐌀").n_unknown == 0


def test_a_control_token_comes_from_no_text(client: tokenwire.Client, one: Family) -> None:
    """Typed by a user it splits, in every family; allowed it is itself; rejected it is an error with its place."""
    controls = client.get_tokenizer(one.name).control_tokens
    assert controls
    for token, id_ in controls.items():
        text = f"a {token} b"
        as_text = client.encode(one.name, text, report_control_tokens=True)
        assert not set(controls.values()) & set(as_text.ids), token
        assert as_text.control_tokens is not None
        assert [(match.token, match.id, match.byte_start) for match in as_text.control_tokens] == [
            (token, id_, 2)
        ]
        assert id_ in client.encode(one.name, text, special="allow").ids
        assert id_ in client.encode(one.name, text, special={token}).ids
        with pytest.raises(tokenwire.ControlTokenError) as caught:
            client.encode(one.name, text, special="reject")
        assert caught.value.metadata["byte_start"] == "2"


def test_the_template_stands_around_a_text(client: tokenwire.Client, one: Family) -> None:
    """`add_special` puts the template's tokens in, on every RPC, and the mask tells which they are."""
    plain = client.encode(one.name, "one two")
    around = client.encode(
        one.name, "one two", add_special=True, special_tokens_mask=True, sequence_ids=True, word_ids=True
    )
    assert around.special_tokens_mask is not None
    assert around.sequence_ids is not None
    assert around.word_ids is not None
    own = [
        id_ for id_, is_special in zip(around.ids, around.special_tokens_mask, strict=True) if not is_special
    ]
    assert own == plain.ids
    controls = client.get_tokenizer(one.name).control_tokens
    added = [
        id_ for id_, is_special in zip(around.ids, around.special_tokens_mask, strict=True) if is_special
    ]
    assert added == [controls[token] for token in one.ends]
    assert around.sequence_ids == [None if is_special else 0 for is_special in around.special_tokens_mask]
    assert [word is None for word in around.word_ids] == around.special_tokens_mask
    assert client.count(one.name, "one two", add_special=True) == len(around.ids)
    assert client.decode(one.name, around.ids, skip_special=True) == client.decode(one.name, plain.ids)


def test_pairs_are_for_those_that_have_a_template_for_them(client: tokenwire.Client, one: Family) -> None:
    """Two texts have type ids and one count; other tokenizers refuse them by name."""
    if not one.is_pair:
        with pytest.raises(tokenwire.errors.InvalidRequestError):
            client.encode(one.name, "one", pair="two")
        return
    library = reference_library.of_spec(one.data, encoder(one).spec)
    assert library is not None
    encoding = client.encode(
        one.name,
        "one",
        pair="two 東",
        add_special=True,
        type_ids=True,
        sequence_ids=True,
        offsets="codepoint",
    )
    assert encoding.ids == library.encode("one", special=False, add_special=True, pair="two 東")
    assert client.count(one.name, "one", pair="two 東", add_special=True) == len(encoding.ids)
    assert encoding.type_ids is not None
    assert encoding.sequence_ids is not None
    assert encoding.offsets is not None
    assert {0, 1} <= set(encoding.sequence_ids) - {None}
    for (start, end), sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True):
        text = "two 東" if sequence == 1 else "one"
        assert 0 <= start <= end <= len(text) if sequence is not None else start == end


def size(text: str, unit: str) -> int:
    return {
        "byte": len(text.encode()),
        "codepoint": len(text),
        "utf16": len(text.encode("utf-16-le")) // 2,
    }[unit]


@pytest.mark.parametrize("unit", ["byte", "codepoint", "utf16"])
@pytest.mark.parametrize("reference", [False, True])
def test_offsets_are_places_in_the_text(
    client: tokenwire.Client, one: Family, unit: Any, reference: bool
) -> None:
    """Spans of both kinds lie within the text, one for each id; those of rank files tile it."""
    answers = client.encode(one.name, TEXTS, offsets=unit, reference_offsets=reference)
    for text, encoding in zip(TEXTS, answers, strict=True):
        assert isinstance(encoding, tokenwire.Encoding)
        assert encoding.offsets is not None
        assert len(encoding.offsets) == len(encoding.ids)
        assert all(0 <= start <= end <= size(text, unit) for start, end in encoding.offsets)
        if one.format == "tiktoken" and not reference and unit == "byte":
            assert [start for start, _ in encoding.offsets][1:] == [end for _, end in encoding.offsets][:-1]


@pytest.mark.parametrize("keep", ["start", "end"])
@pytest.mark.parametrize("cut", ["token", "grapheme"])
@pytest.mark.parametrize("add_special", [False, True])
def test_a_truncated_text_fits(
    client: tokenwire.Client, one: Family, keep: Any, cut: Any, add_special: bool
) -> None:
    """Encoded again it has no more tokens than the budget, and it is the part of the text that it says."""
    text = "The quick brown 狐, naïve e\u0301 jumps.  Over 🤚🏽 it!"
    whole = client.count(one.name, text, add_special=add_special)
    for max_tokens in (3, 6, 11, whole, whole + 5):
        kept = client.truncate(
            one.name, text, max_tokens, keep=keep, cut=cut, add_special=add_special, return_ids=True
        )
        assert client.count(one.name, kept.text, add_special=add_special) == kept.n_tokens <= max_tokens
        assert client.encode(one.name, kept.text, add_special=add_special).ids == kept.ids
        ((start, end),) = kept.kept
        assert text.encode()[start:end].decode() == kept.text
        assert kept.truncated == (kept.text != text)
        assert kept.n_tokens_before == whole


def test_each_runs_in_the_clients_process(client: tokenwire.Client, one: Family) -> None:
    """GetArtifact gives what makes the same tokenizer, proven by its digest."""
    local = client.local_encoder(one.name)
    for text, encoding in zip(TEXTS, client.encode(one.name, TEXTS), strict=True):
        assert isinstance(encoding, tokenwire.Encoding)
        assert local.encode(text).ids == encoding.ids


def test_the_whole_manifest_is_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`artifacts prove` makes golden vectors with each reference library, and `verify` holds everything to them."""
    from tokenwire_server import cli

    path = families.manifest(tmp_path)
    assert cli.main(["artifacts", "prove", "--config", str(path)]) == 0, capsys.readouterr().out
    assert (
        cli.main(["artifacts", "verify", "--config", str(path), "--require-proof", "--with-reference"]) == 0
    ), capsys.readouterr().out
