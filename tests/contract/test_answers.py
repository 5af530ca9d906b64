"""What each method answers on good input: order, options and numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract.process import Refused, Service, serving
from tests.server import made_up

CL100K = "ca1a961b1f5a298796288fc3d87af5a145e1623f8a3d56416529639ad7cd8d6b"


def test_encode_answers_in_order_with_its_digest(service: Service) -> None:
    """One result per input, in order; an empty text has no tokens; no input gives no result."""
    texts = ["Hello World", "", "Hello"]
    request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=[pb.Input(text=text) for text in texts])
    response = service.call("Encode", request, pb.EncodeResponse)
    assert [list(result.encoding.ids) for result in response.results] == [[9906, 4435], [], [9906]]
    assert all(result.HasField("encoding") for result in response.results)
    assert response.digest == CL100K
    assert not service.call("Encode", pb.EncodeRequest(tokenizer="gpt-4"), pb.EncodeResponse).results


@pytest.mark.parametrize(
    ("unit", "width"),
    [(pb.OFFSET_UNIT_BYTE, 6), (pb.OFFSET_UNIT_CODEPOINT, 3), (pb.OFFSET_UNIT_UTF16, 4)],
)
def test_offsets_come_in_the_unit_asked_for(service: Service, unit: pb.OffsetUnit, width: int) -> None:
    """Spans tile in bytes, and in the other units cover every character a token touches."""
    request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=[pb.Input(text="x🤚y")], offsets=unit)
    encoding = service.call("Encode", request, pb.EncodeResponse).results[0].encoding
    starts, ends, partial = list(encoding.starts), list(encoding.ends), list(encoding.partial_tokens)
    assert len(encoding.ids) == len(starts) == len(ends) > 3
    assert (starts[0], ends[-1]) == (0, width)
    assert partial == list(range(1, len(starts) - 1))
    if unit == pb.OFFSET_UNIT_BYTE:
        assert ends[:-1] == starts[1:]
    else:
        assert {(starts[index], ends[index]) for index in partial} == {(1, width - 1)}


def test_offsets_are_absent_unless_asked_for(service: Service) -> None:
    """Without a unit there are ids alone."""
    request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=[pb.Input(text="x🤚y")])
    encoding = service.call("Encode", request, pb.EncodeResponse).results[0].encoding
    assert encoding.ids
    assert not [*encoding.starts, *encoding.ends, *encoding.partial_tokens, *encoding.token_bytes]


def test_token_bytes_join_to_the_text(service: Service) -> None:
    """Asked for, the bytes of the tokens are the text cut in pieces."""
    text = "naïve 東京 👍"
    request = pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)], token_bytes=True)
    encoding = service.call("Encode", request, pb.EncodeResponse).results[0].encoding
    assert len(encoding.token_bytes) == len(encoding.ids)
    assert b"".join(encoding.token_bytes) == text.encode()


def test_what_there_is_of_each_token_comes_on_request(service: Service) -> None:
    """A rank file has no template: one text, of type 0, and its pieces are numbered in order."""
    asked: dict[str, Any] = dict.fromkeys(
        ("type_ids", "special_tokens_mask", "word_ids", "sequence_ids"), True
    )
    inputs = [pb.Input(text="héllo wörld"), pb.Input(text="")]
    request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=inputs, **asked)
    encoding, empty = (
        result.encoding for result in service.call("Encode", request, pb.EncodeResponse).results
    )
    n_tokens = len(encoding.ids)
    assert list(encoding.type_ids) == list(encoding.sequence_ids) == [0] * n_tokens
    assert list(encoding.special_tokens_mask) == [False] * n_tokens
    assert sorted(encoding.word_ids) == list(encoding.word_ids)
    assert set(encoding.word_ids) == {0, 1}
    for name in asked:
        assert not getattr(empty, name)
        plain = pb.EncodeRequest(tokenizer="cl100k_base", inputs=inputs)
        assert not getattr(service.call("Encode", plain, pb.EncodeResponse).results[0].encoding, name)


def test_reference_offsets_and_text_of_a_rank_file_are_the_usual_ones(service: Service) -> None:
    """tiktoken has no other offsets than those that tile, and no other text."""
    request = pb.EncodeRequest(
        tokenizer="cl100k_base", inputs=[pb.Input(text="naïve 東京")], offsets=pb.OFFSET_UNIT_BYTE
    )
    usual = service.call("Encode", request, pb.EncodeResponse).results[0].encoding
    request.reference_offsets = True
    reference = service.call("Encode", request, pb.EncodeResponse).results[0].encoding
    assert (list(reference.starts), list(reference.ends)) == (list(usual.starts), list(usual.ends))
    ids = pb.DecodeRequest(
        tokenizer="cl100k_base", inputs=[pb.TokenIds(ids=list(usual.ids)[:-1])], reference=True
    )
    text = service.call("Decode", ids, pb.DecodeResponse).results[0].text
    ids.reference = False
    assert service.call("Decode", ids, pb.DecodeResponse).results[0].text == text


def test_control_tokens_follow_the_policy_and_are_reported(service: Service) -> None:
    """As text by default, as the id where allowed, by name where only some are; the report is the same."""
    text = "a<|endoftext|><|fim_prefix|>"

    def encode(**options: object) -> pb.Encoding:
        request = pb.EncodeRequest(
            tokenizer="cl100k_base",
            inputs=[pb.Input(text=text)],
            options=pb.EncodeOptions(**options),  # type: ignore[arg-type]  # by name
            report_control_tokens=True,
        )
        return service.call("Encode", request, pb.EncodeResponse).results[0].encoding

    as_text = encode()
    assert not {100257, 100258} & set(as_text.ids)
    assert list(encode(special=pb.SPECIAL_POLICY_AS_TEXT).ids) == list(as_text.ids)
    assert {100257, 100258} <= set(encode(special=pb.SPECIAL_POLICY_ALLOW).ids)
    some = encode(special=pb.SPECIAL_POLICY_ALLOW, allowed_control_tokens=["<|fim_prefix|>"])
    assert {100257, 100258} & set(some.ids) == {100258}
    found = [(match.token, match.id, match.byte_start, match.byte_end) for match in as_text.control_tokens]
    assert found == [("<|endoftext|>", 100257, 1, 14), ("<|fim_prefix|>", 100258, 14, 28)]


def test_count_equals_encode_and_knows_limits(service: Service) -> None:
    """Counts are exact; a limit may stop early, above it; a context says whether the text fits, exactly."""
    text = "The quick brown fox. " * 100

    def count(**options: object) -> pb.TokenCount:
        request = pb.CountRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)], **options)  # type: ignore[arg-type]
        return service.call("Count", request, pb.CountResponse).results[0].count

    encoded = service.call(
        "Encode", pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)]), pb.EncodeResponse
    )
    n_tokens = len(encoded.results[0].encoding.ids)
    whole = count()
    assert (whole.n_tokens, whole.n_bytes, whole.n_codepoints) == (n_tokens, 2100, 2100)
    assert not whole.limit_exceeded
    assert not whole.HasField("fits")
    assert not whole.HasField("is_nfc")
    assert not count(limit=n_tokens).limit_exceeded
    early = count(limit=10)
    assert early.limit_exceeded
    assert 10 < early.n_tokens <= n_tokens
    assert early.n_bytes == 2100
    assert count(limit=0).limit_exceeded
    assert count(context_size=n_tokens).fits
    assert not count(context_size=n_tokens - 1).fits
    assert count(context_size=n_tokens + 5, reserved_output_tokens=5).fits
    assert not count(context_size=n_tokens + 5, reserved_output_tokens=6).fits
    assert not count(context_size=0, reserved_output_tokens=2**63).fits
    both = count(limit=10, context_size=n_tokens)
    assert (both.limit_exceeded, both.fits) == (True, True)
    assert count(limit=2**64 - 1, context_size=2**64 - 1).fits


@pytest.mark.parametrize(("text", "is_nfc"), [("é", True), ("e\u0301", False), ("", True)])
def test_count_says_whether_the_text_is_nfc(service: Service, text: str, is_nfc: bool) -> None:
    """Asked for, Count tells composed text from decomposed."""
    request = pb.CountRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)], check_nfc=True)
    assert service.call("Count", request, pb.CountResponse).results[0].count.is_nfc is is_nfc


def test_decode_gives_text_or_bytes(service: Service) -> None:
    """Ids become text with U+FFFD for ill-formed parts, or the bytes they stand for; control tokens on request."""
    ids = [9906, 100257, 9468]  # "Hello", a control token, two bytes of an emoji
    inputs = [pb.TokenIds(ids=ids)]

    def decode(**options: Any) -> pb.DecodeResult:
        request = pb.DecodeRequest(tokenizer="gpt-4", inputs=inputs, **options)
        return service.call("Decode", request, pb.DecodeResponse).results[0]

    assert decode().text.startswith("Hello<|endoftext|>")
    assert decode(skip_special=True).text.startswith("Hello")
    assert "<|" not in decode(skip_special=True).text
    assert decode(as_bytes=True).utf8.startswith(b"Hello<|endoftext|>")
    assert decode(as_bytes=True).WhichOneof("outcome") == "utf8"


@pytest.mark.parametrize("keep", [pb.TRUNCATE_KEEP_START, pb.TRUNCATE_KEEP_END])
@pytest.mark.parametrize("cut", [pb.TRUNCATE_CUT_TOKEN, pb.TRUNCATE_CUT_GRAPHEME])
def test_truncated_text_fits_when_encoded_again(
    service: Service, keep: pb.TruncateKeep, cut: pb.TruncateCut
) -> None:
    """What Truncate returns has its ids, its place in the text, and no more tokens than the budget."""
    text = "Grüße an die ganze Familie 👩‍👩‍👧‍👦 und 東京"
    for max_tokens in (1, 3, 7, 100, 2**64 - 1):
        request = pb.TruncateRequest(
            tokenizer="gpt-4",
            inputs=[pb.Input(text=text)],
            max_tokens=max_tokens,
            keep=keep,
            cut=cut,
            return_ids=True,
        )
        got = service.call("Truncate", request, pb.TruncateResponse).results[0].truncation
        again = service.call(
            "Encode", pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=got.text)]), pb.EncodeResponse
        )
        assert list(again.results[0].encoding.ids) == list(got.ids)
        assert len(got.ids) == got.n_tokens <= min(max_tokens, got.n_tokens_before)
        assert got.truncated == (got.text != text)
        if got.text:
            kept = got.kept[0]
            assert text.encode()[kept.start : kept.end].decode() == got.text


def test_truncate_gives_exact_ids_without_text(service: Service) -> None:
    """`ids_only` gives the first or last ids of the whole encoding."""
    text = "one two three four five"
    whole = service.call(
        "Encode", pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)]), pb.EncodeResponse
    )
    ids = list(whole.results[0].encoding.ids)
    request = pb.TruncateRequest(
        tokenizer="gpt-4",
        inputs=[pb.Input(text=text)],
        max_tokens=2,
        keep=pb.TRUNCATE_KEEP_END,
        cut=pb.TRUNCATE_CUT_TOKEN,
        ids_only=True,
    )
    got = service.call("Truncate", request, pb.TruncateResponse).results[0].truncation
    assert (list(got.ids), got.text, len(got.kept), got.truncated) == (ids[-2:], "", 0, True)


def test_tokenizers_are_listed_with_what_they_are(small: Service) -> None:
    """The list has the manifest's order, with state, digest, limits, and why a tokenizer is not served."""
    tiny, own, bad = small.call("ListTokenizers", b"", pb.ListTokenizersResponse).tokenizers
    assert (tiny.name, list(tiny.aliases), tiny.state) == ("tiny", ["small"], pb.TOKENIZER_STATE_READY)
    assert (tiny.format, tiny.model, tiny.vocab_size) == ("tiktoken", "byte_level_bpe", 302)
    assert [(token.token, token.id) for token in tiny.control_tokens] == [("<|end|>", 300), ("<|pad|>", 301)]
    assert (tiny.splitter, tiny.max_text_bytes) == ("compiled", 1000)
    assert (own.splitter, own.max_text_bytes) == ("regex", 100)
    assert len(tiny.digest) == len(tiny.sha256) == 64
    assert tiny.pipeline.model == "BPE(n_vocab=262, ignore_merges=true)"
    assert list(tiny.pipeline.decoder) == ["ByteLevel"]
    assert (tiny.pipeline.n_added_tokens, tiny.pipeline.n_control_tokens) == (2, 2)
    assert not tiny.HasField("config")
    assert not bad.HasField("pipeline")
    assert tiny.digest != own.digest
    assert (bad.state, bad.digest) == (pb.TOKENIZER_STATE_FAILED, "")
    assert bad.failure.startswith("SHA256_MISMATCH")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", ""),
        ("file:/srv/ranks/tiny.tiktoken", "file:tiny.tiktoken"),
        ("hf:org/repo@1.0/a?b", "hf:org/repo@1.0/a?b"),
        ("https://host:8443/a@b/c", "https://host:8443/a@b/c"),
        ("https://host/a?token=secret/b@c", "https://host/a"),
    ],
)
def test_where_an_artifact_is_from_is_told_without_secrets(tmp_path: Path, source: str, told: str) -> None:
    """The source of the manifest, but no query of a URL, which may be a signature; nobody proved this one."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, extra=f'source = "{source}"' if source else ""))
    made_up.lock(path)
    with serving("--config", str(path)) as running:
        request = pb.GetTokenizerRequest(tokenizer="tiny")
        info = running.call("GetTokenizer", request, pb.GetTokenizerResponse).tokenizer
    assert (info.source, info.proven_by) == (told, "")


def test_one_tokenizer_is_found_by_any_of_its_names(small: Service, service: Service) -> None:
    """Name, alias and model give the same description."""
    for running, name, expected in (
        (small, "small", "tiny"),
        (service, "gpt-4", "cl100k_base"),
        (small, "bad", "bad"),
    ):
        request = pb.GetTokenizerRequest(tokenizer=name)
        assert running.call("GetTokenizer", request, pb.GetTokenizerResponse).tokenizer.name == expected


def test_a_description_may_insist_on_a_digest(small: Service) -> None:
    """The right digest is described, another is DIGEST_MISMATCH; one that is not served has none to insist on."""
    request = pb.GetTokenizerRequest(tokenizer="tiny")
    digest = small.call("GetTokenizer", request, pb.GetTokenizerResponse).tokenizer.digest
    request.expect_digest = digest
    assert small.call("GetTokenizer", request, pb.GetTokenizerResponse).tokenizer.digest == digest
    for name, reason in (("tiny", "DIGEST_MISMATCH"), ("bad", "TOKENIZER_NOT_READY")):
        wrong = pb.GetTokenizerRequest(tokenizer=name, expect_digest="0" * 64)
        with pytest.raises(Refused) as caught:
            small.call("GetTokenizer", wrong, pb.GetTokenizerResponse)
        assert caught.value.reason == reason


def test_the_embedded_tokenizers_say_what_proved_them(service: Service) -> None:
    """The reference implementation and its version."""
    request = pb.GetTokenizerRequest(tokenizer="cl100k_base")
    info = service.call("GetTokenizer", request, pb.GetTokenizerResponse).tokenizer
    assert re.fullmatch(r"tiktoken \d+\.\d+\.\d+", info.proven_by)
