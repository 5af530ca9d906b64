"""Findings: what is in an artifact, in the field's words, for a person to look at before it is served.

Each function gives one flat table of names and values: it is printed as it is for programs, and by `lines` for people.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tokenwire_core import Encoder, TokenizerSpec
from tokenwire_core.describe import describe
from tokenwire_core.errors import TokenizerError
from tokenwire_core.pipeline import BytePairModel, vocabulary_of
from tokenwire_core.reference import merge
from tokenwire_core.sentencepiece_spec import PieceType
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec

from tokenwire_server.errors import shorten

Findings = dict[str, Any]
"""Names to JSON values, in the order in which they are shown."""

MOST_SHOWN = 12
_MAX_EXAMPLES = 3
_MAX_MERGE_STEPS = 10_000_000
"""Pairs that the slow twin may look at in search of examples: one or two seconds."""

_MARKER = re.compile(
    r"<\|[^<>|\s]{1,64}\|>"  # <|im_start|>
    r"|<｜[^<>｜\s]{1,64}｜>"  # <｜User｜>
    r"|</?[a-z]+(?:_[a-z]+)+>"  # <start_of_turn>, </tool_call>
    r"|</?(?:think|thinking|tools?|eos|bos|eot|eod|pad|sep|cls|mask|user|system|assistant|human|bot)>"
    r"|\[/?(?:INST|SYS|THINK|[A-Z]+_(?:CALLS?|RESULTS?|CONTENT|PROMPT|TOOLS))\]|\[AVAILABLE_TOOLS\]"
    r"|\[/AVAILABLE_TOOLS\]|<</?SYS>>"
)


def looks_like_control(spelling: str) -> bool:
    """Whether a token is spelled like what chat templates are made of."""
    return _MARKER.fullmatch(spelling) is not None


def of_encoder(encoder: Encoder) -> Findings:
    """What is in an artifact. Cost: a pass or two over the vocabulary; of a rank file a second for examples."""
    spec = encoder.spec
    found: Findings = {
        "format": spec.format,
        "model": spec.model,
        "vocab_size": spec.vocab_size,
    }
    if isinstance(spec, RankFileSpec):
        found |= _of_rank_file(spec, encoder)
    elif isinstance(spec, PipelineSpec):
        found |= _of_pipeline(spec, encoder)
    elif isinstance(spec, SentencePieceSpec):
        found |= _of_sentencepiece(spec, encoder)
    return found | {"digest": spec.digest}


def _of_rank_file(spec: RankFileSpec, encoder: Encoder) -> Findings:
    longest = max(spec.ranks, key=len)
    return {
        "n_tokens": len(spec.ranks) + len(spec.special_tokens),
        "n_holes": spec.vocab_size - len(spec.ranks) - len(spec.special_tokens),
        "n_single_bytes": sum(len(token) == 1 for token in spec.ranks),
        "longest_token": longest.decode("utf-8", "backslashreplace"),
        "longest_token_bytes": len(longest),
        "pattern": spec.pattern,
        "pattern_runs": _pattern_runs(encoder),
        "special_tokens": dict(spec.special_tokens),
        "control_tokens": list(spec.control_tokens),
        "control_tokens_as_text": _as_text(encoder),
        "ordinary_like_control": _marked(spec),
        "n_unreachable": encoder.n_unreachable,
        "unreachable_examples": _unreachable(spec) if encoder.n_unreachable else [],
    }


def _of_pipeline(spec: PipelineSpec, encoder: Encoder) -> Findings:
    model = spec.pipeline.model
    vocab = vocabulary_of(model)
    added = {token.content: token for token in spec.pipeline.added_tokens}
    controls = frozenset(spec.control_tokens)
    found = _stages(spec)
    if isinstance(model, BytePairModel):
        unmade = _unmade(model, added.keys())
        found |= {"n_unreachable": len(unmade), "unreachable_examples": unmade[: -_MAX_EXAMPLES - 1 : -1]}
    return {
        "n_tokens": len(vocab.keys() | added.keys()),
        "n_holes": spec.vocab_size - len({*vocab.values(), *(token.id for token in added.values())}),
        **found,
        "pattern_runs": _pattern_runs(encoder),
        "special_tokens": dict(spec.special_tokens),
        "added_tokens": [spelling for spelling, token in added.items() if not token.special],
        "control_tokens": list(spec.control_tokens),
        "control_tokens_as_text": _as_text(encoder),
        "n_controls_in_vocabulary": sum(spelling in vocab for spelling in spec.control_tokens),
        "proposed_control_tokens": [
            spelling
            for spelling in dict.fromkeys((*added, *vocab))
            if spelling not in controls and looks_like_control(spelling)
        ],
        "tokenizer_config": _config(spec),
    }


def _of_sentencepiece(spec: SentencePieceSpec, encoder: Encoder) -> Findings:
    pieces = spec.sentencepiece.pieces
    kinds = Counter(piece.type for piece in pieces)
    controls = frozenset(spec.control_tokens)
    return {
        "n_tokens": len(pieces) - kinds[PieceType.UNUSED],
        "n_byte_pieces": kinds[PieceType.BYTE],
        "n_unused": kinds[PieceType.UNUSED],
        **_stages(spec),
        "special_tokens": dict(spec.special_tokens),
        "added_tokens": [piece.text for piece in pieces if piece.type is PieceType.USER_DEFINED],
        "control_tokens": list(spec.control_tokens),
        "control_tokens_as_text": _as_text(encoder),
        "proposed_control_tokens": [
            piece.text
            for piece in pieces
            if piece.type in (PieceType.NORMAL, PieceType.USER_DEFINED)
            and piece.text not in controls
            and looks_like_control(piece.text)
        ],
    }


def _stages(spec: TokenizerSpec) -> Findings:
    described = describe(spec)
    return {
        "normalizer": list(described.normalizer),
        "pre_tokenizer": list(described.pre_tokenizer),
        "model_settings": described.model,
        "post_processor": list(described.post_processor),
        "decoder": list(described.decoder),
    }


def _pattern_runs(encoder: Encoder) -> str:
    return "compiled" if encoder.splitter == "compiled" else "on the regex engine, slower"


def _as_text(encoder: Encoder) -> dict[str, str]:
    """What the spellings of some control tokens are where they are text: the tokens that they split into."""
    shown: dict[str, str] = {}
    for spelling in encoder.control_tokens:
        try:
            pieces = encoder.encode(spelling).token_bytes()
        except TokenizerError:
            continue  # A character that this tokenizer has no token for.
        shown[spelling] = " + ".join(piece.decode("utf-8", "backslashreplace") for piece in pieces)
        if len(shown) == MOST_SHOWN:
            break
    return shown


def _config(spec: PipelineSpec) -> dict[str, Any]:
    """What the tokenizer_config.json says, where there is one."""
    config = spec.pipeline.config
    if config is None:
        return {}
    named = {name: getattr(config, name) for name in _CONFIG_TOKENS}
    said = {name: spelling for name, spelling in named.items() if spelling is not None}
    return said | {
        "model_max_length": config.model_max_length,
        "chat_templates": [name for name, _ in config.chat_templates],
    }


_CONFIG_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token")


def _unmade(model: BytePairModel, added: Collection[str]) -> list[str]:
    """Entries that are no single character and that no merge makes, in id order."""
    made = {left + right.removeprefix(model.prefix) for left, right in model.merges}
    made |= {f"<0x{byte:02X}>" for byte in range(256)} if model.byte_fallback else set()
    made |= {model.unk} if model.unk is not None else set()
    return [
        spelling
        for spelling in sorted(model.vocab, key=model.vocab.__getitem__)
        if spelling not in made
        and spelling not in added
        and len(spelling.removeprefix(model.prefix).removesuffix(model.suffix)) > 1
    ]


def _marked(spec: RankFileSpec) -> list[str]:
    """Ordinary entries that look like control tokens: text becomes them, whatever the policy says."""
    texts = (token.decode() for token in spec.ranks if token[:1] in (b"<", b"[") and _is_utf8(token))
    return [text for text in texts if looks_like_control(text)]


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unreachable(spec: RankFileSpec) -> list[str]:
    """A few entries that no merges lead to, from the last on."""
    found: list[str] = []
    steps_left = _MAX_MERGE_STEPS
    for token in reversed(list(spec.ranks)):
        steps_left -= len(token) * len(token)
        if len(found) == _MAX_EXAMPLES or steps_left < 0:
            break
        if len(token) > 1 and len(merge(token, spec.ranks)) > 1:
            found.append(token.decode("utf-8", "backslashreplace"))
    return found


def lines(findings: Mapping[str, Any]) -> Iterator[str]:
    """The findings for a person: a line each, long lists cut in the middle, nothing unprintable."""
    for name, value in findings.items():
        if name == "control_tokens" and value and value == list(findings["special_tokens"]):
            text = "all special tokens"
        elif name in _STAGES:
            text = shorten("; ".join(value) or "none", _MAX_LINE)
        elif isinstance(value, Mapping):
            text = _listed([f"{shown(key)} = {_shown_value(held)}" for key, held in value.items()])
        elif isinstance(value, list):
            text = _listed([shown(str(item)) for item in value])
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, int):
            text = f"{value:,}"
        else:
            text = shown(value) if name == "longest_token" else shorten(str(value), _MAX_LINE)
        yield f"  {name.removeprefix('n_').replace('_', ' ') + ':':<26}{text}"


_STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MAX_LINE = 400


def _shown_value(value: object) -> str:
    return shown(value) if isinstance(value, str) else shorten(json.dumps(value, ensure_ascii=True), 80)


def _listed(items: list[str]) -> str:
    if not items:
        return "none"
    if len(items) <= MOST_SHOWN:
        return ", ".join(items)
    half = MOST_SHOWN // 2
    return f"{', '.join(items[:half])}, … {', '.join(items[-half:])} ({len(items):,} in all)"


def shown(spelling: str) -> str:
    """A token's spelling on a terminal: what does not print, or begins or ends blank, is quoted and escaped."""
    prints = spelling.isprintable()
    is_plain = prints and spelling and spelling == spelling.strip()
    return shorten(spelling if is_plain else json.dumps(spelling, ensure_ascii=not prints), 80)


def warnings(findings: Mapping[str, Any]) -> Iterable[str]:
    """What a person should think about before this is served."""
    if marked := findings.get("ordinary_like_control"):
        yield (
            f"{len(marked)} ordinary entries look like control tokens: {_listed([shown(item) for item in marked])}. "
            "In a rank file an ordinary entry cannot be made a control token, so user text becomes it"
        )
    if proposed := findings.get("proposed_control_tokens"):
        yield (
            f"{len(proposed)} tokens look like control tokens and are not flagged as such: "
            f"{_listed([shown(item) for item in proposed])}. Add --control for those that user text must not become"
        )
    if findings.get("n_holes", 0) > findings["n_tokens"] // 4:
        yield (
            f"{findings['n_holes']:,} ids below the highest are no token; check that the special tokens are those of "
            "this file"
        )
    if not findings.get("special_tokens") and findings.get("format") == "tiktoken":
        yield "there are no special tokens; give those that the model has with --special 'SPELLING=ID'"
    config = findings.get("tokenizer_config", {})
    known = {*findings.get("special_tokens", ()), *findings.get("added_tokens", ())}
    if strange := [name for name in _CONFIG_TOKENS if name in config and config[name] not in known]:
        yield (
            f"{' and '.join(strange)} of the tokenizer_config.json: no added token of this tokenizer is spelled so; "
            "check that the two files belong together"
        )
    if str(findings.get("pattern_runs", "")).startswith("on"):
        yield (
            "this version has not compiled the pattern: it runs on the regex engine, on texts of at most 64 KiB; check "
            "that it is the published one, letter by letter"
        )
