"""One document, two tokenizers: the library's and our slow twin, and what each makes of a text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.reference_pipeline import ReferenceEncoding, ReferencePipeline

from tests.core.hf_documents import document, read, reference
from tests.strategies import texts

ONE_UNKNOWN: dict[str, Any] = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [["\U0010fffd", 0.0]],
    "byte_fallback": False,
}
"""A model that makes one token of each piece, spelled as the piece: so tokens show pieces and their places."""
CHARACTERS: dict[str, Any] = {"type": "FixedLength", "length": 1}
"""A pre-tokenizer that makes a piece of each character: so the pieces show what each character came from."""

TRICKY = (
    "aAbBsSſßİıΣςçÇéÉᾳǅǆﬁﬀ㎒①½²٣Ⅷ가각각"  # letters that change with case and form, digits, Hangul
    "\u0301\u0300\u0316\u0345\u0327\u0338\u094d\u200d\u20dd\u0f71\u0f72\u0f73\u0344\u0340\u09be\u09c7"  # marks
    " \t\n\r\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u3000\u180e\u200b\ufeff"  # blanks, and what is none
    "\x00\x01\x7f\x8f\xad\u0600\u06dd\u2581▁Ġ.,'!-_$|~`·。“”«「࿘⁓"  # controls, punctuation, symbols
    "ﷺ漢字か゛がガーｶﾞ𠀀\U0002b8aaमक्क😀👍🏽🇩🇪©®אבاب\U00011f00\ue000\u0378\U0001e900\ua7ce"  # scripts, new and unassigned
)
tricky_texts = st.one_of(st.text(st.sampled_from(TRICKY), max_size=24), texts())


class Twins:
    """The library's tokenizer and ours of one document, which is made of these members."""

    def __init__(self, **members: Any) -> None:
        content = document(**members)
        library = reference(json.dumps(content))
        assert library is not None, "the library refuses the document"
        self.theirs: Tokenizer = library
        self.ours = ReferencePipeline(read(content))

    def assert_same(
        self, text: str, *, special: bool = False, add_special: bool = False, pair: str | None = None
    ) -> None:
        """All that the library says of the tokens of a text, we say."""
        self.theirs.encode_special_tokens = not special
        expected = self.theirs.encode(text, pair, add_special_tokens=add_special)
        found = self.ours.encode(text, "allow" if special else "text", add_special, pair)
        assert shown(found) == list(
            zip(
                expected.ids,
                expected.tokens,
                expected.offsets,
                expected.type_ids,
                expected.word_ids,
                map(bool, expected.special_tokens_mask),
                strict=True,
            )
        )

    def assert_decodes_same(self, ids: list[int]) -> None:
        """Ids have the same text, with and without special tokens."""
        for skip_special in (False, True):
            expected = self.theirs.decode(ids, skip_special_tokens=skip_special)
            assert self.ours.decode(ids, skip_special) == expected


def shown(encoding: ReferenceEncoding) -> list[tuple[object, ...]]:
    """The tokens of a result as tuples."""
    return [
        (token.id, token.text, (token.start, token.end), token.type_id, token.word, token.is_special)
        for token in encoding.tokens
    ]
