"""A tokenizer.json, as `tokenizers` 0.23 loads it, to the stages of `pipeline.py`.

Strict where the library is lenient: what it would skip (keys and types it does not know) or repair (ids that it assigns
anew) is refused with the place in the document. What is accepted here it accepts, to the same ids. What it accepts is
accepted here, or refused because

- a key is unknown or comes twice, or a stage has no `type`, or one that no version of the library writes;
- something in it would make ids random (dropout, sampling), or encoding fail or crash on some text: an unknown token
  that is not in the vocabulary, a template without its texts, pieces of length 0;
- a token or id stands for two things: vocabulary entries of one id, Unigram entries or added tokens of one spelling, an
  added token whose id is not the one that the library would give it, or is another entry's, two added tokens that are
  the same once normalized;
- of an added token normalization leaves nothing;
- a template has an id that is no token's, or a merge a right side without the prefix, or a pattern is empty;
- a pattern could mean something else here (`hf_patterns.py`), or a charsmap is not sound;
- something is larger than its limit.

`truncation` and `padding` are checked and left out: how long a result is to be is the caller's to say. The ids are
those of the library after `no_truncation()` and `no_padding()`.

Cost: 2.5 seconds and 260 MB for 33 MB with 262,144 tokens and 514,906 merges.
"""

from __future__ import annotations

from typing import Final

from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_added import check_normalized, read_added_tokens
from tokenwire_core.formats.hf_decoders import read_decoder
from tokenwire_core.formats.hf_models import read_model
from tokenwire_core.formats.hf_normalizers import read_normalizer
from tokenwire_core.formats.hf_post_processor import read_post_processor
from tokenwire_core.formats.hf_pretokenizers import read_pre_tokenizer
from tokenwire_core.formats.strict_json import read_json
from tokenwire_core.formats.tokenizer_config_json import read_tokenizer_config
from tokenwire_core.json_fields import Fields, json_type
from tokenwire_core.pipeline import Pipeline, vocabulary_of

VERSION: Final = "1.0"
_DIRECTIONS: Final = ("Left", "Right")
_STRATEGIES: Final = ("LongestFirst", "OnlyFirst", "OnlySecond")


def read_hf_json(data: bytes, *, tokenizer_config: bytes | None = None) -> Pipeline:
    """The tokenizer of a tokenizer.json.

    Args:
        data: the file's bytes, uncompressed.
        tokenizer_config: the bytes of the `tokenizer_config.json` beside it.

    Raises:
        ArtifactError: see its reasons; `path` is the place in the document.
    """
    config = None if tokenizer_config is None else read_tokenizer_config(tokenizer_config)
    fields = Fields(read_json(data), "")
    version = fields.take("version", VERSION)
    if version != VERSION:
        said = ascii(version[:16]) if isinstance(version, str) else json_type(version)
        message = f"only files of version {VERSION!r} are read, this one says {said}"
        raise ArtifactError("UNSUPPORTED_VERSION", message, path="version")
    _check_truncation(fields.take("truncation", None))
    _check_padding(fields.take("padding", None))
    model = read_model(fields.take("model"))
    vocab = vocabulary_of(model)
    added_tokens = read_added_tokens(fields.take("added_tokens", []), vocab)
    known_ids = {*vocab.values(), *(token.id for token in added_tokens)}
    normalizer = read_normalizer(fields.take("normalizer", None))
    check_normalized(added_tokens, normalizer)
    pipeline = Pipeline(
        added_tokens=added_tokens,
        normalizer=normalizer,
        pre_tokenizer=read_pre_tokenizer(fields.take("pre_tokenizer", None)),
        model=model,
        post_processor=read_post_processor(fields.take("post_processor", None), known_ids),
        decoder=read_decoder(fields.take("decoder", None)),
        config=config,
    )
    fields.finish()
    return pipeline


def _check_truncation(value: object) -> None:
    if value is None:
        return
    fields = Fields(value, "truncation")
    fields.choice("direction", _DIRECTIONS, "Right")
    fields.choice("strategy", _STRATEGIES)
    fields.integer("max_length")
    fields.integer("stride")
    fields.finish()


def _check_padding(value: object) -> None:
    if value is None:
        return
    fields = Fields(value, "padding")
    if (strategy := fields.take("strategy")) != "BatchLongest":
        fixed = Fields(strategy, fields.at("strategy"))
        fixed.integer("Fixed")
        fixed.finish()
    fields.choice("direction", _DIRECTIONS)
    if fields.take("pad_to_multiple_of", None) is not None:
        fields.integer("pad_to_multiple_of")
    fields.integer("pad_id")
    fields.integer("pad_type_id")
    fields.text("pad_token")
    fields.finish()
