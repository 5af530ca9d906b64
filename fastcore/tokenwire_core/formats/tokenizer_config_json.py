"""`tokenizer_config.json`, which transformers writes beside a tokenizer.json: the few members that are of use here.

The file is another library's and has members of all kinds, so unlike in a tokenizer.json the rest is not looked at.
"""

from __future__ import annotations

from typing import Final

from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.strict_json import read_json
from tokenwire_core.json_fields import MAX_INTEGER, Fields, bad_value, utf8_size
from tokenwire_core.tokenizer_config import TokenizerConfig

MAX_CONFIG_BYTES: Final = 1 << 24
MAX_CHAT_TEMPLATES: Final = 64


def read_tokenizer_config(data: bytes) -> TokenizerConfig:
    """The members of the file that `TokenizerConfig` has.

    Raises:
        ArtifactError: of JSON, and BAD_VALUE; paths begin with `tokenizer_config`.
    """
    if len(data) > MAX_CONFIG_BYTES:
        message = f"the file has {len(data)} bytes, the limit is {MAX_CONFIG_BYTES}"
        raise ArtifactError("TOO_LARGE", message, path="tokenizer_config")
    try:
        document = read_json(data)
    except ArtifactError as error:
        raise ArtifactError(error.reason, str(error), path="tokenizer_config", line=error.line) from None
    fields = Fields(document, "tokenizer_config")
    return TokenizerConfig(
        bos_token=_read_token(fields, "bos_token"),
        eos_token=_read_token(fields, "eos_token"),
        unk_token=_read_token(fields, "unk_token"),
        pad_token=_read_token(fields, "pad_token"),
        model_max_length=_read_length(fields),
        chat_templates=_read_chat_templates(fields),
    )


def _read_token(fields: Fields, name: str) -> str | None:
    """A spelling, or the object of an added token that has it as `content`."""
    if isinstance(value := fields.take(name, None), dict):
        return Fields(value, fields.at(name)).text("content")
    return fields.text_or_none(name)


def _read_length(fields: Fields) -> int | None:
    """The library writes 10**30, as an integer or a float, where there is no limit: what cannot be meant is none."""
    value = fields.take("model_max_length", None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1:
        raise bad_value(fields.at("model_max_length"), "a number from 1 is wanted")
    return int(value) if value <= MAX_INTEGER else None


def _read_chat_templates(fields: Fields) -> tuple[tuple[str, str], ...]:
    """One template as a string, or several as objects with a `name`; their text is as long as it may be in the file."""
    value, path = fields.take("chat_template", None), fields.at("chat_template")
    if value is None:
        return ()
    if isinstance(value, str):
        utf8_size(value, path)
        return (("default", value),)
    if not isinstance(value, list) or len(value) > MAX_CHAT_TEMPLATES:
        raise bad_value(
            path, f"a string, or a list of at most {MAX_CHAT_TEMPLATES} named templates is wanted"
        )
    templates = []
    for index, item in enumerate(value):
        named = Fields(item, f"{path}[{index}]")
        text = named.take("template")
        if not isinstance(text, str):
            raise bad_value(named.at("template"), "a string is wanted")
        utf8_size(text, named.at("template"))
        templates.append((named.text("name"), text))
    if len(dict(templates)) != len(templates):
        raise bad_value(path, "two templates have one name")
    return tuple(templates)
