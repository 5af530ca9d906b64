"""The model of a tokenizer.json: byte-pair encoding, Unigram, WordPiece, WordLevel.

Files of early versions have no `type`: the members tell. Vocabularies are large, so they are checked as a whole first,
and entry by entry only to name the one that is wrong.

Cost: 1 microsecond an entry, 1.5 a merge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from tokenwire_core.errors import ArtifactError
from tokenwire_core.json_fields import Fields, array, bad_value, integer, json_type, utf8_size
from tokenwire_core.pipeline import BytePairModel, Model, UnigramModel, WordLevelModel, WordPieceModel
from tokenwire_core.spec import MAX_VOCAB_SIZE

MAX_TOKEN_BYTES: Final = 4096


def read_model(value: object) -> Model:
    """The member `model`.

    Raises:
        ArtifactError: of fields and UNSUPPORTED_STAGE, UNSUPPORTED_OPTION, EMPTY, TOO_MANY_TOKENS, TOKEN_TOO_LONG,
            DUPLICATE_TOKEN, DUPLICATE_ID, BAD_MERGE, UNKNOWN_TOKEN.
    """
    fields = Fields(value, "model")
    kind = fields.text("type") if "type" in fields else _kind_by_members(fields)
    if kind not in _MODELS:
        message = f"there is no model {kind[:64]!a}; this version has {', '.join(_MODELS)}"
        raise ArtifactError("UNSUPPORTED_STAGE", message, path="model")
    model = _MODELS[kind](fields)
    fields.finish()
    return model


def _kind_by_members(fields: Fields) -> str:
    if "merges" in fields:
        return "BPE"
    if "continuing_subword_prefix" in fields or "max_input_chars_per_word" in fields:
        return "WordPiece"
    return "WordLevel" if "unk_token" in fields else "Unigram"


def _read_bpe(fields: Fields) -> BytePairModel:
    if fields.take("dropout", None) is not None:
        message = "with dropout one text has many encodings; set it to null"
        raise ArtifactError("UNSUPPORTED_OPTION", message, path=fields.at("dropout"))
    vocab = _read_vocab(fields)
    prefix = fields.text_or_none("continuing_subword_prefix") or ""
    unk = fields.text_or_none("unk_token")
    return BytePairModel(
        vocab=vocab,
        merges=_read_merges(fields, vocab, prefix),
        unk=None if unk is None else _entry(unk, vocab, fields.at("unk_token")),
        fuse_unk=fields.flag_or_none("fuse_unk") or False,
        byte_fallback=fields.flag_or_none("byte_fallback") or False,
        ignore_merges=fields.flag_or_none("ignore_merges") or False,
        prefix=prefix,
        suffix=fields.text_or_none("end_of_word_suffix") or "",
    )


def _read_unigram(fields: Fields) -> UnigramModel:
    """Without `unk_id` there is a model, as in the library; text that it has no piece for fails to be encoded."""
    for name in ("alpha", "nbest_size"):
        if name in fields:
            message = "with sampling one text has many encodings; remove it"
            raise ArtifactError("UNSUPPORTED_OPTION", message, path=fields.at(name))
    path = fields.at("vocab")
    entries = fields.array("vocab")
    _check_size(len(entries), path)
    pieces = tuple(_read_scored(item, path, index) for index, item in enumerate(entries))
    _check_spellings([spelling for spelling, _ in pieces], path)
    if len({spelling for spelling, _ in pieces}) != len(pieces):
        raise ArtifactError("DUPLICATE_TOKEN", "a token comes twice", path=path)
    unk_id = fields.take("unk_id", None)
    return UnigramModel(
        pieces=pieces,
        unk_id=None if unk_id is None else integer(unk_id, fields.at("unk_id"), most=len(pieces) - 1),
        byte_fallback=fields.flag("byte_fallback", False),
    )


def _read_wordpiece(fields: Fields) -> WordPieceModel:
    vocab = _read_vocab(fields)
    return WordPieceModel(
        vocab=vocab,
        unk=_entry(fields.text("unk_token"), vocab, fields.at("unk_token")),
        prefix=fields.text("continuing_subword_prefix"),
        max_chars_per_word=fields.integer("max_input_chars_per_word"),
    )


def _read_wordlevel(fields: Fields) -> WordLevelModel:
    vocab = _read_vocab(fields)
    return WordLevelModel(vocab=vocab, unk=_entry(fields.text("unk_token"), vocab, fields.at("unk_token")))


_MODELS: Final[dict[str, Callable[[Fields], Model]]] = {
    "BPE": _read_bpe,
    "Unigram": _read_unigram,
    "WordPiece": _read_wordpiece,
    "WordLevel": _read_wordlevel,
}


def _read_vocab(fields: Fields) -> dict[str, int]:
    """The member `vocab`: spelling to id, each once. There may be holes between ids."""
    path = fields.at("vocab")
    vocab = fields.take("vocab")
    if not isinstance(vocab, dict):
        raise bad_value(path, f"an object is wanted, not {json_type(vocab)}")
    _check_size(len(vocab), path)
    _check_spellings(vocab, path)
    ids = vocab.values()
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= MAX_VOCAB_SIZE:
        for spelling, id in vocab.items():
            integer(id, f"{path}[{spelling[:64]!a}]", most=MAX_VOCAB_SIZE - 1)
    if len(set(ids)) != len(vocab):
        raise ArtifactError("DUPLICATE_ID", "two tokens have one id, so it could not be decoded", path=path)
    return vocab


def _check_size(n_tokens: int, path: str) -> None:
    if not n_tokens:
        raise ArtifactError("EMPTY", "the vocabulary has no tokens", path=path)
    if n_tokens > MAX_VOCAB_SIZE:
        message = f"the vocabulary has {n_tokens} tokens, the limit is {MAX_VOCAB_SIZE}"
        raise ArtifactError("TOO_MANY_TOKENS", message, path=path)


def _check_spellings(spellings: Collection[str], path: str) -> None:
    utf8_size("".join(spellings), path)
    longest = max(spellings, key=len)
    # A character has at most 4 bytes: mostly there is nothing to look at closer.
    if len(longest) * 4 > MAX_TOKEN_BYTES:
        n_bytes = max(len(spelling.encode()) for spelling in spellings)
        if n_bytes > MAX_TOKEN_BYTES:
            message = f"a token has {n_bytes} bytes, the limit is {MAX_TOKEN_BYTES}"
            raise ArtifactError("TOKEN_TOO_LONG", message, path=path)


def _entry(spelling: str, vocab: dict[str, int], path: str) -> str:
    if spelling not in vocab:
        message = "it is not in the vocabulary, so a text with unknown characters could not be encoded"
        raise ArtifactError("UNKNOWN_TOKEN", message, path=path)
    return spelling


def _read_merges(fields: Fields, vocab: dict[str, int], prefix: str) -> tuple[tuple[str, str], ...]:
    """The member `merges`: pairs, or strings `left right`; of a pair that comes twice the last counts."""
    path = fields.at("merges")
    items = fields.array("merges")
    # The spellings of the vocabulary stand for those of the merges, which then take no memory of their own.
    spelling_of = dict(zip(vocab, vocab, strict=True))
    merges = []
    for index, parts in _split_merges(items, path):
        try:
            left, right = parts
            left, right = spelling_of[left], spelling_of[right]
            spelling_of[left + right.removeprefix(prefix)]
        except (KeyError, TypeError, ValueError):
            message = "a merge is two tokens of the vocabulary that make a third"
            raise ArtifactError("BAD_MERGE", message, path=f"{path}[{index}]") from None
        if prefix and not right.startswith(prefix):
            message = "the right token of a merge is inside a word and begins with continuing_subword_prefix"
            raise ArtifactError("BAD_MERGE", message, path=f"{path}[{index}]")
        merges.append((left, right))
    if len(set(merges)) != len(merges):
        merges = list(dict.fromkeys(reversed(merges)))[::-1]
    return tuple(merges)


def _split_merges(items: list[object], path: str) -> Iterator[tuple[int, list[Any]]]:
    """The parts of each merge, and its index."""
    if all(isinstance(item, str) for item in items):
        for index, line in enumerate(items):
            # The first line of a merges.txt, which some files have kept.
            if isinstance(line, str) and not line.startswith("#version"):
                yield index, line.split(" ", 2)
    else:
        for index, item in enumerate(items):
            yield index, array(item, f"{path}[{index}]")


def _read_scored(item: object, path: str, index: int) -> tuple[str, float]:
    """An entry `[spelling, score]` of a Unigram vocabulary."""
    if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):
        raise bad_value(f"{path}[{index}]", "a spelling and a score are wanted")
    score = item[1]
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise bad_value(f"{path}[{index}][1]", f"a number is wanted, not {json_type(score)}")
    return item[0], float(score)
