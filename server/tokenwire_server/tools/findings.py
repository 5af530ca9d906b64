"""Findings: what is in an artifact, in the field's words, for a person to look at before it is served.

Each function gives one flat table of names and values: it is printed as it is for programs, and by `lines` for people.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokenwire_core import Encoder, TokenizerSpec
from tokenwire_core.reference import merge

from tokenwire_server.errors import shorten
from tokenwire_server.tools.model_proto import BYTE, CONTROL, NORMAL, UNUSED, USER_DEFINED, Model

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
    """What is in a rank file. Cost: a pass over the vocabulary, and a second for examples of unreachable entries."""
    spec = encoder.spec
    longest = max(spec.ranks, key=len)
    return {
        "format": spec.format,
        "model": spec.model,
        "vocab_size": spec.vocab_size,
        "n_tokens": len(spec.ranks) + len(spec.special_tokens),
        "n_holes": spec.vocab_size - len(spec.ranks) - len(spec.special_tokens),
        "n_single_bytes": sum(len(token) == 1 for token in spec.ranks),
        "longest_token": longest.decode("utf-8", "backslashreplace"),
        "longest_token_bytes": len(longest),
        "pattern": spec.pattern,
        "pattern_runs": "compiled" if encoder.splitter == "compiled" else "on the regex engine, slower",
        "special_tokens": dict(spec.special_tokens),
        "control_tokens": list(spec.control_tokens),
        "ordinary_like_control": _marked(spec),
        "n_unreachable": encoder.n_unreachable,
        "unreachable_examples": _unreachable(spec) if encoder.n_unreachable else [],
        "digest": spec.digest,
    }


def _marked(spec: TokenizerSpec) -> list[str]:
    """Ordinary entries that look like control tokens: text becomes them, whatever the policy says."""
    texts = (token.decode() for token in spec.ranks if token[:1] in (b"<", b"[") and _is_utf8(token))
    return [text for text in texts if looks_like_control(text)]


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unreachable(spec: TokenizerSpec) -> list[str]:
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


def of_document(document: Mapping[str, Any]) -> Findings:
    """What is in a `tokenizer.json`, as far as it can be read off without a reader for the format."""
    model = document["model"]
    vocab = model["vocab"]
    added = [token for token in _list(document.get("added_tokens")) if isinstance(token, dict)]
    special = [str(token.get("content")) for token in added if token.get("special") is True]
    others = [str(token.get("content")) for token in added if token.get("special") is not True]
    ids = [token["id"] for token in added if type(token.get("id")) is int]
    ids += (
        [id_ for id_ in vocab.values() if type(id_) is int] if isinstance(vocab, dict) else [len(vocab) - 1]
    )
    return {
        "format": "hf_json",
        "model": str(model.get("type", "not said")),
        "vocab_size": max(ids, default=-1) + 1,
        "n_tokens": len(set(_spellings(vocab)) | set(special) | set(others)),
        **{
            name: _types(document.get(name))
            for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")
        },
        "special_tokens": special,
        "added_tokens": others,
        "proposed_control_tokens": [token for token in others if looks_like_control(token)],
    }


def of_model(model: Model) -> Findings:
    """What is in a sentencepiece model, as far as it can be read off without a reader for the format."""
    kinds = Counter(kind for _, kind in model.pieces)
    spelled = {
        kind: [piece for piece, its in model.pieces if its == kind] for kind in (CONTROL, USER_DEFINED)
    }
    ordinary = [piece for piece, kind in model.pieces if kind in (NORMAL, USER_DEFINED)]
    return {
        "format": "sentencepiece",
        "model": model.model_type,
        "vocab_size": len(model.pieces),
        "n_tokens": len(model.pieces) - kinds[UNUSED],
        "normalizer": model.normalizer or "not named",
        "n_byte_pieces": kinds[BYTE],
        "byte_fallback": model.byte_fallback,
        "special_tokens": spelled[CONTROL],
        "added_tokens": spelled[USER_DEFINED],
        "proposed_control_tokens": [piece for piece in ordinary if looks_like_control(piece)],
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _spellings(vocab: Any) -> Iterator[str]:
    for entry in vocab:
        yield str(entry[0] if isinstance(entry, list) and entry else entry)


def _types(part: Any) -> list[str]:
    """The type of a step, or those of a sequence's steps. A sequence within one is named and not entered."""
    if not isinstance(part, dict):
        return []
    steps = next(
        (
            _list(part[key])
            for key in ("normalizers", "pretokenizers", "processors", "decoders")
            if key in part
        ),
        [part],
    )
    return [str(step.get("type")) for step in steps if isinstance(step, dict)]


def lines(findings: Mapping[str, Any]) -> Iterator[str]:
    """The findings for a person: a line each, long lists cut in the middle, nothing unprintable."""
    for name, value in findings.items():
        if name == "control_tokens" and value and value == list(findings["special_tokens"]):
            text = "all special tokens"
        elif isinstance(value, Mapping):
            text = _listed([f"{shown(key)} = {number}" for key, number in value.items()])
        elif isinstance(value, list):
            text = _listed([shown(str(item)) for item in value])
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, int):
            text = f"{value:,}"
        else:
            text = shown(value) if name == "longest_token" else shorten(str(value), 400)
        yield f"  {name.removeprefix('n_').replace('_', ' ') + ':':<26}{text}"


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
    if not findings.get("special_tokens"):
        yield "there are no special tokens; give those that the model has with --special 'SPELLING=ID'"
    if str(findings.get("pattern_runs", "")).startswith("on"):
        yield (
            "this version has not compiled the pattern: it runs on the regex engine, on texts of at most 64 KiB; check "
            "that it is the published one, letter by letter"
        )
