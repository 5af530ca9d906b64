"""Published rank files are recognised by their bytes."""

from __future__ import annotations

import pytest
import tiktoken_ext.openai_public as published
from tokenwire_server import embedded, known_rank_files

from tests.rank_files import OPEN_NAMES, rank_file


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_a_published_file_is_read_as_published(name: str) -> None:
    """The sha256 of each file leads to its pattern and special tokens."""
    known = known_rank_files.known()[name]
    file = rank_file(name)
    assert (known.pattern, dict(known.special_tokens)) == (file.pattern, dict(file.special_tokens))
    assert known_rank_files.recognise(known.sha256, name) == known


def test_a_file_of_several_tokenizers_is_read_by_name() -> None:
    """The name chooses among those that share a file; any other name, or none, means the first."""
    sha256 = known_rank_files.known()["p50k_base"].sha256
    for name, meant in {
        "p50k_edit": "p50k_edit",
        "p50k_base": "p50k_base",
        "mine": "p50k_base",
        None: "p50k_base",
    }.items():
        found = known_rank_files.recognise(sha256, name)
        assert found is not None
        assert found.name == meant
    assert known_rank_files.recognise("0" * 64, "p50k_base") is None


def test_variants_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """p50k_edit and o200k_harmony have tiktoken's patterns and special tokens, with one spelling for each id."""
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})
    for name, constructor in (("p50k_edit", published.p50k_edit), ("o200k_harmony", published.o200k_harmony)):
        definition = constructor()
        theirs = dict(definition["special_tokens"])
        theirs.pop("<|reserved_200018|>", None)  # <|endofprompt|> has that id
        assert known_rank_files.known()[name].pattern == definition["pat_str"]
        assert dict(known_rank_files.known()[name].special_tokens) == theirs


def test_each_id_has_one_spelling() -> None:
    """No known tokenizer has two special tokens of one id, and all are sha256-pinned."""
    for item in known_rank_files.known().values():
        assert len(set(item.special_tokens.values())) == len(item.special_tokens)
        assert len(item.sha256) == 64
    assert set(embedded.NAMES) < set(known_rank_files.known())
