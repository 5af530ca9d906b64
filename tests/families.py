"""A small tokenizer of each family, trained in a moment, and a manifest that serves them all."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import processors as post_processors

from tests.core.model_files import CORPUS, trained
from tests.server import made_up

VOCAB_SIZE = 400
UNK, BERT_UNK = "<unk>", "[UNK]"


@dataclass(frozen=True, slots=True)
class Family:
    """`format` and `data` are those of the artifact; `model` is what the service calls its algorithm.

    `ends` are control tokens that its template puts around a text; `is_pair`: it takes two.
    """

    name: str
    format: str
    model: str
    data: bytes
    ends: tuple[str, ...] = ()
    is_pair: bool = False

    @property
    def is_lossless(self) -> bool:
        """Whether decoding gives back any text."""
        return self.model == "byte_level_bpe"


def _json(tokenizer: Tokenizer, trainer: Any) -> bytes:
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer.to_str().encode()


def _template(tokenizer: Tokenizer, single: str, pair: str, *tokens: str) -> None:
    ids = [(token, tokenizer.token_to_id(token)) for token in tokens]
    tokenizer.post_processor = post_processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=ids
    )


def _byte_level() -> bytes:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        initial_alphabet=alphabet,
        special_tokens=["<|bos|>", "<|end|>"],
        show_progress=False,
    )
    _json(tokenizer, trainer)
    tokenizer.add_tokens([AddedToken("<think>", normalized=False)])
    _template(tokenizer, "<|bos|> $A", "<|bos|> $A <|end|> $B:1", "<|bos|>", "<|end|>")
    return tokenizer.to_str().encode()


def _unigram() -> bytes:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("``", '"')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=["<s>", "</s>", UNK], unk_token=UNK, show_progress=False
    )
    _json(tokenizer, trainer)
    _template(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>", "<s>", "</s>")
    return tokenizer.to_str().encode()


def _wordpiece() -> bytes:
    tokenizer = Tokenizer(models.WordPiece(unk_token=BERT_UNK))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=["[PAD]", BERT_UNK, "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False,
    )
    _json(tokenizer, trainer)
    _template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]")
    return tokenizer.to_str().encode()


def _wordlevel() -> bytes:
    tokenizer = Tokenizer(models.WordLevel(unk_token=BERT_UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(special_tokens=[BERT_UNK, "[BOS]"], show_progress=False)
    _json(tokenizer, trainer)
    _template(tokenizer, "[BOS] $A", "[BOS] $A $B:1", "[BOS]")
    return tokenizer.to_str().encode()


_MADE: dict[str, Callable[[], Family]] = {
    "rank-file": lambda: Family("rank-file", "tiktoken", "byte_level_bpe", made_up.rank_file()),
    "byte-level-bpe": lambda: Family(
        "byte-level-bpe", "hf_json", "byte_level_bpe", _byte_level(), ("<|bos|>",), is_pair=True
    ),
    "sentencepiece-bpe": lambda: Family(
        "sentencepiece-bpe", "sentencepiece", "bpe", trained("bpe with byte fallback"), ("<s>", "</s>")
    ),
    "sentencepiece-unigram": lambda: Family(
        "sentencepiece-unigram",
        "sentencepiece",
        "unigram",
        trained("unigram as trained by default"),
        ("<s>", "</s>"),
    ),
    "unigram": lambda: Family("unigram", "hf_json", "unigram", _unigram(), ("<s>", "</s>"), is_pair=True),
    "wordpiece": lambda: Family(
        "wordpiece", "hf_json", "wordpiece", _wordpiece(), ("[CLS]", "[SEP]"), is_pair=True
    ),
    "wordlevel": lambda: Family("wordlevel", "hf_json", "wordlevel", _wordlevel(), ("[BOS]",), is_pair=True),
}
NAMES = tuple(_MADE)


@functools.cache
def family(name: str) -> Family:
    """The tokenizer of a family; its artifact has the same bytes all through a process."""
    return _MADE[name]()


def options(name: str) -> dict[str, Any]:
    """What `tokenwire_core.load` needs beside the artifact."""
    if name != "rank-file":
        return {"format": family(name).format}
    return {"pattern": made_up.GPT2_PATTERN, "special_tokens": made_up.SPECIAL_TOKENS}


def manifest(folder: Path) -> Path:
    """Write a manifest of all families, and their artifacts, into a folder. One has a tokenizer_config.json."""
    tables = [made_up.table(folder, "rank-file")]
    for name in NAMES[1:]:
        item = family(name)
        (folder / f"{name}.artifact").write_bytes(item.data)
        table = {
            "name": name,
            "format": item.format,
            "file": f"{name}.artifact",
            "sha256": hashlib.sha256(item.data).hexdigest(),
        }
        if name == "byte-level-bpe":
            table |= {"tokenizer_config": "tokenizer_config.json"}
        tables.append(
            "[[tokenizer]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        )
    config = {"bos_token": "<|bos|>", "model_max_length": 2048, "chat_template": "{{ messages }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return made_up.manifest(folder, *tables)
