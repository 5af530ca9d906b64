"""Changes of a tokenizer.json that leave it JSON, and often a tokenizer."""

from __future__ import annotations

import base64
import contextlib
import json
import random
from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.fuzz.mutate_bytes import NUMBERS, TEXTS, mutate_bytes, mutate_number, mutate_text
from tests.fuzz.mutate_charsmap import mutate_charsmap

Json = Any
_SEQUENCES: Final = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
_ADDED_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")


class JsonMutator:
    """Changes documents, by what stands in others under the same names.

    Args:
        documents: what they hold is what changed documents are made of.
    """

    def __init__(self, documents: Iterable[bytes]) -> None:
        self._by_name: dict[str, list[Json]] = {}
        self._texts: dict[str, None] = {}
        for data in documents:
            with contextlib.suppress(ValueError, RecursionError):  # some are no JSON, or too deep
                self._learn(json.loads(data), "")
        self._names = sorted(self._by_name)
        self._all_texts = sorted(self._texts)

    def mutate(self, data: bytes, other: bytes, rng: random.Random) -> bytes:
        """A changed document; bytes that are none, or now and then, are changed as bytes."""
        try:
            document = json.loads(data)
            if not isinstance(document, dict) or rng.random() < 0.05:
                return mutate_bytes(data, other, rng)
            for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
                rng.choices(_CHANGES, _WEIGHTS)[0](self, document, rng)
            return json.dumps(document, ensure_ascii=rng.random() < 0.9).encode(errors="surrogatepass")
        except (ValueError, RecursionError):  # no JSON, or too deep
            return mutate_bytes(data, other, rng)

    def _learn(self, value: Json, name: str) -> None:
        if isinstance(value, dict):
            for key, member in value.items():
                if len(value) < 40:
                    self._by_name.setdefault(key, []).append(member)
                self._learn(member, key)
        elif isinstance(value, list):
            for item in value[:40]:
                self._by_name.setdefault(name + "[]", []).append(item)
                self._learn(item, name + "[]")
        elif isinstance(value, str) and len(value) < 1000:
            self._texts[value] = None

    def _place(self, document: Json, rng: random.Random) -> tuple[Json, Any, str]:
        """A container, the key of something in it, and the name that this goes by."""
        container, key, name = document, rng.choice(list(document) or [""]), ""
        while True:
            name = key if isinstance(key, str) else name + "[]"
            inner = container.get(key) if isinstance(container, dict) else container[key]
            if not isinstance(inner, dict | list) or not inner or rng.random() < 0.25:
                return container, key, name
            container = inner
            key = rng.choice(list(inner)) if isinstance(inner, dict) else rng.randrange(len(inner))

    def _splice(self, document: Json, rng: random.Random) -> None:
        container, key, name = self._place(document, rng)
        if choices := self._by_name.get(name):
            container[key] = _copy(rng.choice(choices))

    def _stage(self, document: Json, rng: random.Random) -> None:
        """Another stage behind, before or instead of those that are there."""
        member, items = rng.choice(list(_SEQUENCES.items()))
        choices = self._by_name.get(member, [None])
        new = [_copy(rng.choice(choices)) for _ in range(rng.choice((1, 1, 2)))]
        old = document.get(member)
        both = [stage for stage in rng.sample([*new, old], len(new) + 1) if stage]
        document[member] = {"type": "Sequence", items: both} if len(both) != 1 else both[0]

    def _scalar(self, document: Json, rng: random.Random) -> None:
        container, key, _ = self._place(document, rng)
        new: tuple[Json, ...] = (None, True, False, [], {}, 1.5, -0.0, 1e308, rng.choice(NUMBERS), -1)
        container[key] = rng.choice((*new, rng.choice(TEXTS), rng.choice(self._all_texts)))

    def _tweak(self, document: Json, rng: random.Random) -> None:
        container, key, name = self._place(document, rng)
        value = container.get(key) if isinstance(container, dict) else container[key]
        if name == "precompiled_charsmap" and isinstance(value, str) and rng.random() < 0.9:
            container[key] = _mutate_base64(value, rng)
        elif isinstance(value, bool):
            container[key] = not value
        elif isinstance(value, str):
            container[key] = mutate_text(value, rng, self._all_texts)
        elif isinstance(value, int | float):
            container[key] = mutate_number(value, rng)
        elif isinstance(value, list):
            rng.shuffle(value)

    def _delete(self, document: Json, rng: random.Random) -> None:
        container, key, _ = self._place(document, rng)
        if isinstance(container, list) or key in container:
            del container[key]

    def _repeat(self, document: Json, rng: random.Random) -> None:
        container, key, name = self._place(document, rng)
        if isinstance(container, list):
            new = rng.choice((container[key], *self._by_name.get(name, ())[:50]))
            container[key:key] = [_copy(new) for _ in range(rng.choice((1, 1, 2, 30)))]

    def _rename(self, document: Json, rng: random.Random) -> None:
        container, key, _ = self._place(document, rng)
        if isinstance(container, dict) and key in container:
            container[rng.choice((mutate_text(key, rng), rng.choice(self._names)))] = container.pop(key)

    def _nest(self, document: Json, rng: random.Random) -> None:
        container, key, _ = self._place(document, rng)
        value = container.get(key) if isinstance(container, dict) else container[key]
        items = rng.choice(list(_SEQUENCES.values()))
        for _ in range(rng.choice((1, 2, 18, 300))):
            value = {"type": "Sequence", items: [value]} if rng.random() < 0.9 else [value]
        container[key] = value

    def _entry(self, document: Json, rng: random.Random) -> None:
        """An entry of the vocabulary, and a merge that makes it."""
        model = document.get("model")
        if not isinstance(model, dict):
            return
        vocab, merges = model.get("vocab"), model.get("merges")
        if isinstance(vocab, dict) and vocab:
            left, right = rng.choices(list(vocab), k=2)
            prefix = model.get("continuing_subword_prefix")
            removed = prefix if isinstance(prefix, str) and "merges" in model else ""
            vocab.setdefault(left + right.removeprefix(removed), len(vocab))
            if isinstance(merges, list):
                pairs = bool(merges) and isinstance(merges[0], list)
                merges.insert(rng.randint(0, len(merges)), [left, right] if pairs else f"{left} {right}")
        elif isinstance(vocab, list):
            spellings = [
                item[0] for item in vocab if isinstance(item, list) and item and isinstance(item[0], str)
            ]
            score = rng.choice((0.0, -0.0, -1.0, -1.5, -2, -1e30, 30.5))
            vocab.append(["".join(rng.choices(spellings or ["a"], k=2)), score])

    def _added(self, document: Json, rng: random.Random) -> None:
        """An added token that has the id which the library would give it."""
        model, tokens = document.get("model"), document.setdefault("added_tokens", [])
        vocab = model.get("vocab") if isinstance(model, dict) else None
        if not isinstance(vocab, dict | list) or not isinstance(tokens, list):
            return
        items = enumerate(vocab) if isinstance(vocab, list) else ()
        ids: dict[Any, int] = {str(item[0]): id for id, item in items if isinstance(item, list) and item}
        ids |= vocab if isinstance(vocab, dict) else {}
        content = rng.choice((mutate_text(rng.choice(TEXTS), rng, self._all_texts), rng.choice([*ids, "x"])))
        new = {str(token.get("content")) for token in tokens if isinstance(token, dict)} - ids.keys()
        flags = {flag: rng.random() < 0.4 for flag in _ADDED_FLAGS}
        tokens.append({"id": ids.get(content, len(vocab) + len(new)), "content": content} | flags)


def _mutate_base64(text: str, rng: random.Random) -> str:
    try:
        table = base64.b64decode(text)
    except ValueError:
        table = b""
    return base64.b64encode(mutate_charsmap(table, rng)).decode()


def _copy(value: Json) -> Json:
    return json.loads(json.dumps(value))


_Change = Callable[[JsonMutator, Json, random.Random], None]
_TABLE: Final[dict[_Change, int]] = {
    JsonMutator._splice: 5,
    JsonMutator._stage: 6,
    JsonMutator._scalar: 2,
    JsonMutator._tweak: 6,
    JsonMutator._delete: 2,
    JsonMutator._repeat: 2,
    JsonMutator._rename: 1,
    JsonMutator._nest: 1,
    JsonMutator._entry: 4,
    JsonMutator._added: 3,
}
_CHANGES, _WEIGHTS = list(_TABLE), list(_TABLE.values())
