"""The post-processor of a tokenizer.json: templates in three spellings, and the trimming of offsets.

`BertProcessing` and `RobertaProcessing` are templates that the library knows by heart. A template must hold each of its
texts once: the library would also drop a text, double it, or crash on a text that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final, Literal

from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_pretokenizers import ByteLevel
from tokenwire_core.formats.hf_stages import Readers, read_stages
from tokenwire_core.json_fields import Fields, array, bad_value, integer, text
from tokenwire_core.pipeline import PostProcessor, Template, TemplateText, TemplateToken, TrimOffsets
from tokenwire_core.spec import MAX_VOCAB_SIZE

MAX_TEMPLATE_PIECES: Final = 1000
MAX_TEMPLATE_IDS: Final = 10_000

_Piece = TemplateToken | TemplateText
_TextName = Literal["A", "B"]
_TEXT_NAMES: Final[tuple[_TextName, ...]] = ("A", "B")


def read_post_processor(value: object, known_ids: Container[int]) -> tuple[PostProcessor, ...]:
    """The stages of `post_processor`, whose templates use no ids but `known_ids`.

    Raises:
        ArtifactError: BAD_TEMPLATE; UNKNOWN_TOKEN for an id that is no token's; UNSUPPORTED_STAGE for two templates,
            of which the second would have no texts; those of `read_stages`.
    """
    found = read_stages(value, "post_processor", _POST_PROCESSORS, "processors")
    stages = tuple(stage for several in found for stage in several)
    templates = [stage for stage in stages if isinstance(stage, Template)]
    if len(templates) > 1:
        raise ArtifactError("UNSUPPORTED_STAGE", "there is more than one template", path="post_processor")
    for template in templates:
        for piece in template.single + template.pair:
            if isinstance(piece, TemplateToken) and not all(id in known_ids for id in piece.ids):
                message = f"the template's {piece.token[:64]!a} has an id that is no token's"
                raise ArtifactError("UNKNOWN_TOKEN", message, path="post_processor")
    return stages


def _read_byte_level(fields: Fields) -> tuple[PostProcessor, ...]:
    trims = fields.flag("trim_offsets")
    byte_level = ByteLevel.read(fields)
    return (TrimOffsets(byte_level.add_prefix_space),) if trims else ()


def _read_bert(fields: Fields) -> tuple[PostProcessor, ...]:
    sep, cls = _read_known_token(fields, "sep"), _read_known_token(fields, "cls")
    a, b = TemplateText("A", 0), TemplateText("B", 1)
    return (Template((cls(0), a, sep(0)), (cls(0), a, sep(0), b, sep(1))),)


def _read_roberta(fields: Fields) -> tuple[PostProcessor, ...]:
    sep, cls = _read_known_token(fields, "sep"), _read_known_token(fields, "cls")
    trims, add_prefix_space = fields.flag("trim_offsets"), fields.flag("add_prefix_space")
    a, b = TemplateText("A", 0), TemplateText("B", 0)
    template = Template((cls(0), a, sep(0)), (cls(0), a, sep(0), sep(0), b, sep(0)))
    return (TrimOffsets(add_prefix_space), template) if trims else (template,)


def _read_known_token(fields: Fields, name: str) -> Callable[[int], TemplateToken]:
    """A member `[spelling, id]`: the token by its type id."""
    path = fields.at(name)
    pair = array(fields.take(name), path)
    if len(pair) != 2:
        raise bad_value(path, f"a spelling and an id are wanted, not {len(pair)} values")
    spelling = text(pair[0], f"{path}[0]")
    ids = (_read_id(pair[1], f"{path}[1]"),)
    return lambda type_id: TemplateToken(spelling, ids, type_id)


def _read_template(fields: Fields) -> tuple[PostProcessor, ...]:
    path = fields.at("special_tokens")
    tokens = Fields(fields.take("special_tokens"), path)
    ids_of = {
        text(name, path): _read_token_ids(tokens.take(name), tokens.at(name)) for name in tokens.names()
    }
    template = Template(_read_pieces(fields, "single", ids_of), _read_pieces(fields, "pair", ids_of))
    for name, pieces, texts in (("single", template.single, ["A"]), ("pair", template.pair, ["A", "B"])):
        if sorted(piece.text for piece in pieces if isinstance(piece, TemplateText)) != texts:
            message = f"it must hold {' and '.join(texts)} once each, and no other text"
            raise ArtifactError("BAD_TEMPLATE", message, path=fields.at(name))
    return (template,)


def _read_token_ids(value: object, path: str) -> tuple[int, ...]:
    """The ids of an entry of `special_tokens`. Its `id` names it once more, its `tokens` are the ids' spellings."""
    fields = Fields(value, path)
    fields.text("id")
    ids = fields.array("ids")
    spellings = fields.array("tokens")
    fields.finish()
    if len(ids) != len(spellings) or len(ids) > MAX_TEMPLATE_IDS:
        message = f"it has {len(ids)} ids and {len(spellings)} spellings; the limit is {MAX_TEMPLATE_IDS}"
        raise ArtifactError("BAD_TEMPLATE", message, path=path)
    for index, spelling in enumerate(spellings):
        text(spelling, f"{path}.tokens[{index}]")
    return tuple(_read_id(id, f"{path}.ids[{index}]") for index, id in enumerate(ids))


def _read_pieces(fields: Fields, name: str, ids_of: dict[str, tuple[int, ...]]) -> tuple[_Piece, ...]:
    items = fields.array(name)
    path = fields.at(name)
    if len(items) > MAX_TEMPLATE_PIECES:
        message = f"it has {len(items)} pieces, the limit is {MAX_TEMPLATE_PIECES}"
        raise ArtifactError("BAD_TEMPLATE", message, path=path)
    pieces = tuple(_read_piece(item, f"{path}[{index}]", ids_of) for index, item in enumerate(items))
    n_ids = sum(len(piece.ids) for piece in pieces if isinstance(piece, TemplateToken))
    if n_ids > MAX_TEMPLATE_IDS:
        message = f"it adds {n_ids} ids, the limit is {MAX_TEMPLATE_IDS}"
        raise ArtifactError("BAD_TEMPLATE", message, path=path)
    return pieces


def _read_piece(item: object, path: str, ids_of: dict[str, tuple[int, ...]]) -> _Piece:
    outer = Fields(item, path)
    kind = "Sequence" if "Sequence" in outer else "SpecialToken"
    fields = Fields(outer.take(kind), outer.at(kind))
    outer.finish()
    type_id = fields.integer("type_id")
    piece: _Piece
    if kind == "Sequence":
        piece = TemplateText(fields.choice("id", _TEXT_NAMES), type_id)
    else:
        token = fields.text("id")
        if token not in ids_of:
            message = f"the template uses {token[:64]!a}, which special_tokens does not define"
            raise ArtifactError("BAD_TEMPLATE", message, path=fields.at("id"))
        piece = TemplateToken(token, ids_of[token], type_id)
    fields.finish()
    return piece


def _read_id(value: object, path: str) -> int:
    return integer(value, path, most=MAX_VOCAB_SIZE - 1)


_POST_PROCESSORS: Final[Readers[tuple[PostProcessor, ...]]] = {
    "TemplateProcessing": _read_template,
    "BertProcessing": _read_bert,
    "RobertaProcessing": _read_roberta,
    "ByteLevel": _read_byte_level,
}
