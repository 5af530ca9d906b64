"""From an artifact to an encoder: formats and options."""

from __future__ import annotations

import json
import re

import pytest
import tokenwire_core
from tokenizers import Tokenizer
from tokenwire_core import ArtifactError, TokenizerError
from tokenwire_core.byte_alphabet import CHAR_OF_BYTE

from tests.core import hf_documents, made_up

FILE = made_up.rank_file([b"ab"])


def test_load_gives_the_encoder_of_the_file() -> None:
    """Bytes, pattern and special tokens in; an encoder with their identity out."""
    encoder = tokenwire_core.load(FILE, pattern=made_up.WHOLE, special_tokens={"<x>": 300})
    spec = tokenwire_core.read_spec(FILE, pattern=made_up.WHOLE, special_tokens={"<x>": 300})
    assert encoder.encode("abb").ids == [256, ord("b")]
    assert (encoder.digest, encoder.vocab_size, encoder.special_tokens) == (spec.digest, 301, {"<x>": 300})


@pytest.mark.parametrize("name", ["gguf", "HF_JSON", ""])
def test_a_format_that_is_not_read_is_refused(name: str) -> None:
    """No format is guessed."""
    with pytest.raises(ArtifactError) as caught:
        tokenwire_core.load(FILE, name, pattern=made_up.WHOLE)  # type: ignore[arg-type]
    assert caught.value.reason == "UNSUPPORTED_FORMAT"


def test_an_option_that_the_format_does_not_take_is_refused() -> None:
    """An option without effect would be a tokenizer other than the one that was meant."""
    with pytest.raises(TokenizerError, match="normalizer"):
        tokenwire_core.load(FILE, pattern=made_up.WHOLE, normalizer={"type": "NFC"})
    with pytest.raises(TokenizerError, match="tokenizer_config"):
        tokenwire_core.load(FILE, pattern=made_up.WHOLE, tokenizer_config=b"{}")


def test_a_byte_that_text_is_made_of_is_no_control_token() -> None:
    """A byte token that the artifact flags comes from text as in the library, and so is none."""
    pieces = [["u", 0.0], *([f"<0x{byte:02X}>", -1.0] for byte in range(256))]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}
    data = json.dumps(
        hf_documents.document(model=model, added_tokens=[hf_documents.added("<0x41>", 66, special=True)])
    ).encode()
    encoder = tokenwire_core.load(data, "hf_json")
    assert not encoder.control_tokens
    assert encoder.encode("A", special="reject").ids == Tokenizer.from_buffer(data).encode("A").ids == [66]


def test_a_control_token_has_a_bound() -> None:
    """It may begin anywhere in a text, so it is not looked for beyond that."""
    words = {"u": 0, "x" * 256: 1, "x" * 257: 2}
    data = json.dumps(hf_documents.wordlevel(vocab=words)).encode()
    assert tokenwire_core.load(data, "hf_json", control_tokens=["x" * 256]).control_tokens == {"x" * 256: 1}
    with pytest.raises(ArtifactError, match="257 bytes"):
        tokenwire_core.load(data, "hf_json", control_tokens=["x" * 257])


def test_a_text_is_no_list_of_control_tokens() -> None:
    """A bare text would be taken letter by letter."""
    with pytest.raises(TypeError):
        tokenwire_core.load(FILE, pattern=made_up.WHOLE, special_tokens={"<x>": 300}, control_tokens="<x>")


def document(model: dict[str, object], pre_tokenizer: object = None) -> bytes:
    return json.dumps({"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer}).encode()


BYTES = {char: id for id, char in enumerate(CHAR_OF_BYTE)}
BYTE_LEVEL = document(
    {"type": "BPE", "vocab": {**BYTES, "Ġa": 256, "hi": 257}, "merges": [["Ġ", "a"], ["h", "i"]]},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
)
WORDS = document({"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "hi": 2}, "unk_token": "[UNK]"})


@pytest.mark.parametrize(
    ("data", "spelling", "reason"),
    [
        (BYTE_LEVEL, "h", "BAD_CONTROL_TOKEN"),
        (BYTE_LEVEL, "Ġa", "BAD_CONTROL_TOKEN"),
        (BYTE_LEVEL, "ha", "UNKNOWN_CONTROL_TOKEN"),
        (WORDS, "a", "BAD_CONTROL_TOKEN"),
    ],
)
def test_what_text_is_made_of_is_no_control_token(data: bytes, spelling: str, reason: str) -> None:
    """Without a character or byte of the vocabulary text would be lost, without a word; the message names it."""
    with pytest.raises(ArtifactError, match=re.escape(ascii(spelling))) as caught:
        tokenwire_core.load(data, "hf_json", control_tokens=[spelling])
    assert caught.value.reason == reason


def test_an_entry_may_be_chosen_as_a_control_token() -> None:
    """Text then goes another way around it, and it comes where it is allowed."""
    encoder = tokenwire_core.load(BYTE_LEVEL, "hf_json", control_tokens=["hi"])
    assert encoder.encode("hi").ids == [BYTES["h"], BYTES["i"]]
    assert encoder.encode("hi", special="allow").ids == [257]
