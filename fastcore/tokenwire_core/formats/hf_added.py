"""The added tokens of a tokenizer.json: their ids, and that each can be told from the others in a text."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tokenwire_core.errors import ArtifactError, PatternTooSlowError, TokenizerError
from tokenwire_core.json_fields import Fields, array
from tokenwire_core.normalizers import NormalizerChain, normalize
from tokenwire_core.pipeline import AddedToken, Normalizer
from tokenwire_core.spec import MAX_CONTROL_TOKEN_BYTES, MAX_VOCAB_SIZE

MAX_NORMALIZED_CHARS: Final = 1 << 25
MAX_NORMALIZING_S: Final = 30.0
"""Of CPU time. It takes 40 microseconds a token, but a pattern may be made to backtrack."""


def read_added_tokens(value: object, vocab: Mapping[str, int]) -> tuple[AddedToken, ...]:
    """The member `added_tokens`, each with the id that the library gives it.

    That is the vocabulary's id for a spelling that is an entry; for others it counts on from the number of entries, in
    the order of the file. The ids that the file states it does not use: where they differ there is no right answer.
    """
    items = array(value, "added_tokens")
    entry_ids = set(vocab.values())
    next_id = len(vocab)
    tokens: dict[str, AddedToken] = {}
    for index, item in enumerate(items):
        fields = Fields(item, f"added_tokens[{index}]")
        token = AddedToken(
            content=fields.text("content", max_bytes=MAX_CONTROL_TOKEN_BYTES),
            id=fields.integer("id", most=MAX_VOCAB_SIZE - 1),
            special=fields.flag("special"),
            normalized=fields.flag("normalized"),
            single_word=fields.flag("single_word"),
            lstrip=fields.flag("lstrip"),
            rstrip=fields.flag("rstrip"),
        )
        fields.finish()
        if not token.content:
            raise ArtifactError("BAD_ADDED_TOKEN", "its content is empty", path=fields.path)
        if token.content in tokens:
            raise ArtifactError("BAD_ADDED_TOKEN", "its content came before", path=fields.path)
        given = vocab.get(token.content, next_id)
        if token.id != given:
            message = f"the file gives it the id {token.id}, the library {given}: write the file anew"
            raise ArtifactError("BAD_ADDED_TOKEN", message, path=fields.path)
        if token.content not in vocab:
            if token.id in entry_ids:
                message = f"its id {token.id} is that of another token"
                raise ArtifactError("BAD_ADDED_TOKEN", message, path=fields.path)
            next_id += 1
        tokens[token.content] = token
    return tuple(tokens.values())


def check_normalized(tokens: Iterable[AddedToken], normalizer: Sequence[Normalizer]) -> None:
    """Those that are looked for in normalized text must be there what no other one is.

    Raises:
        ArtifactError: BAD_ADDED_TOKEN, of what the library takes but cannot do: two tokens that are the same once
            normalized, of which it finds another one each time it loads; one of which nothing is left, which it finds
            everywhere, also inside of characters. TOO_LARGE, TOO_SLOW: the normalizer blows them up, or takes too long.
    """
    chain = NormalizerChain(normalizer)
    by_spelling: dict[str, AddedToken] = {}
    until_s = time.thread_time() + MAX_NORMALIZING_S
    chars_left = MAX_NORMALIZED_CHARS
    for token in tokens:
        if not token.normalized:
            continue
        spelling = (
            token.content if chain.is_empty else _normalized(chain, token, until_s - time.thread_time())
        )
        if not spelling:
            message = f"of that of the id {token.id} normalization leaves nothing"
            raise ArtifactError("BAD_ADDED_TOKEN", message, path="added_tokens")
        if len(spelling) * 4 > MAX_CONTROL_TOKEN_BYTES and len(spelling.encode()) > MAX_CONTROL_TOKEN_BYTES:
            message = (
                f"that of the id {token.id} has more than {MAX_CONTROL_TOKEN_BYTES} bytes once normalized"
            )
            raise ArtifactError("BAD_ADDED_TOKEN", message, path="added_tokens")
        other = by_spelling.setdefault(spelling, token)
        if other is not token:
            message = f"those of the ids {other.id} and {token.id} have the same normalized text"
            raise ArtifactError("BAD_ADDED_TOKEN", message, path="added_tokens")
        chars_left -= len(spelling)
        if chars_left < 0:
            message = f"normalized they have more than {MAX_NORMALIZED_CHARS} characters together"
            raise ArtifactError("TOO_LARGE", message, path="added_tokens")


def _normalized(chain: NormalizerChain, token: AddedToken, timeout_s: float) -> str:
    try:
        if timeout_s <= 0:
            raise PatternTooSlowError(MAX_NORMALIZING_S)
        return normalize(chain, token.content, timeout_s=timeout_s)[0]
    except PatternTooSlowError:
        message = f"to normalize them takes more than {MAX_NORMALIZING_S:.0f} s"
        raise ArtifactError("TOO_SLOW", message, path="added_tokens") from None
    except TokenizerError as error:
        message = f"that of the id {token.id} cannot be normalized: {error}"
        raise ArtifactError("TOO_LARGE", message, path="added_tokens") from None
