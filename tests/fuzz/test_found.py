"""Artifacts that fuzzing has found: they are refused by name, or encode as their twin does."""

from __future__ import annotations

import json

import pytest

from tests.core.hf_documents import BPE, BYTE_LEVEL, WORDLEVEL, Object, added, document
from tests.fuzz.artifact import Artifact
from tests.fuzz.check import TEXTS, load, use
from tests.fuzz.seeds import CL100K

U_ANYWHERE = added("u", 0, rstrip=True)

FOUND: dict[str, tuple[Object, tuple[str, ...]]] = {
    "a pattern that rank files are served with, and a model of characters": (
        document(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": CL100K},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
        TEXTS,
    ),
    "an unknown token that is an added one, and spans without blanks": (
        document(model=WORDLEVEL, added_tokens=[U_ANYWHERE], post_processor=BYTE_LEVEL),
        (" é", " u  ", " x u a"),
    ),
    "an added token that the model also makes, where it leaves characters out": (
        document(
            model=BPE | {"unk_token": None},
            added_tokens=[added("ab", 3, lstrip=True, rstrip=True)],
            post_processor=BYTE_LEVEL,
        ),
        ("xx a xab ab", "ab xab  ab"),
    ),
    "an unknown token of BPE that is an added one": (
        document(model=BPE, added_tokens=[U_ANYWHERE], post_processor=BYTE_LEVEL),
        (" u ab", "é u  ab "),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found_documents(name: str) -> None:
    """Each of these documents is a tokenizer that does what its twin does."""
    content, some = FOUND[name]
    loaded = load(Artifact(json.dumps(content).encode()), "hf_json")
    assert not isinstance(loaded, str)
    use(*loaded, some)
