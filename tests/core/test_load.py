"""From an artifact to an encoder: formats and options."""

from __future__ import annotations

import pytest
import tokenwire_core
from tokenwire_core import ArtifactError, TokenizerError

from tests.core import made_up

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
