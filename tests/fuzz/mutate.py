"""Changes of an artifact: of its structure by its format, of its bytes, and of the options it is loaded with."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.fuzz.artifact import Artifact, Loader
from tests.fuzz.mutate_bytes import MAX_BYTES, NUMBERS, TEXTS, mutate_bytes, mutate_text
from tests.fuzz.mutate_json import JsonMutator
from tests.fuzz.mutate_wire import mutate_wire

_OPTIONS: Final[dict[Loader, tuple[str, ...]]] = {
    "tiktoken": ("pattern", "special_tokens", "control_tokens"),
    "hf_json": ("control_tokens", "tokenizer_config"),
    "sentencepiece": ("control_tokens",),
}


class Mutator:
    """Makes artifacts of a format out of others of it.

    Args:
        seeds: what the first ones are; parts of them come into others.
    """

    def __init__(self, loader: Loader, seeds: Sequence[Artifact]) -> None:
        self._mutate_data: Callable[[bytes, bytes, random.Random], bytes] = mutate_ranks
        if loader == "hf_json":
            self._mutate_data = JsonMutator(seed.data for seed in seeds).mutate
        elif loader == "sentencepiece":
            self._mutate_data = mutate_wire
        configs = [seed.options["tokenizer_config"] for seed in seeds if "tokenizer_config" in seed.options]
        self._config = JsonMutator(config.encode("latin-1") for config in configs)
        self._options = _OPTIONS[loader]
        self._given = {
            name: [seed.options[name] for seed in seeds if name in seed.options] for name in self._options
        }

    def mutate(self, artifact: Artifact, other: Artifact, rng: random.Random) -> Artifact:
        """A changed artifact. `other` is where parts may come from."""
        if rng.random() < 0.12:
            return Artifact(artifact.data, self._mutate_options(artifact.options, other.options, rng))
        return Artifact(self._mutate_data(artifact.data, other.data, rng)[:MAX_BYTES], artifact.options)

    def _mutate_options(self, options: Any, other: Any, rng: random.Random) -> dict[str, Any]:
        name = rng.choice(self._options)
        changed = {**options}
        if rng.random() < 0.3 and self._given[name]:
            return changed | {name: rng.choice(self._given[name])}
        if rng.random() < 0.1:
            changed.pop(name, None)
        elif name == "pattern":
            changed[name] = mutate_text(options.get(name, ""), rng, self._given[name])
        elif name == "special_tokens":
            changed[name] = {
                **options.get(name, {}),
                rng.choice((*TEXTS, "<s>", "x" * 300)): rng.choice((300, *NUMBERS)),
            }
        elif name == "control_tokens":
            changed[name] = [*options.get(name, ()), rng.choice((*TEXTS, "<s>"))]
        elif name == "tokenizer_config":
            config, second = (each.get(name, "{}").encode("latin-1") for each in (options, other))
            changed[name] = self._config.mutate(config, second, rng).decode("latin-1")
        return changed


def mutate_ranks(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A changed rank file: of its lines, of a token, of a rank; now and then of its bytes."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(12):
        case 0 | 1:
            return mutate_bytes(data, other, rng)
        case 2:
            del lines[at]
        case 3:
            lines.insert(at, rng.choice(other.split(b"\n")))
        case 4:
            lines[at : at + 2] = lines[at : at + 2][::-1]
        case 5:
            rng.shuffle(lines)
        case 6:
            token = base64.b64encode(rng.choice((b"", b"\0", b"ab" * 513, b"a" * 1024, rng.randbytes(3))))
            lines[at] = token + b" " + lines[at].rpartition(b" ")[2]
        case 7:
            number = rng.choice((*NUMBERS, -1, "01", "1_0", "٣", ""))
            lines[at] = lines[at].partition(b" ")[0] + b" " + str(number).encode()
        case 8:
            ends = rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b" \n"))
            return ends.join(lines)
        case _:
            lines.insert(len(lines) - 1, _joined_line(lines, rng))
    return b"\n".join(lines)


def _joined_line(lines: Sequence[bytes], rng: random.Random) -> bytes:
    """A token made of two others, with the next rank, or one from a hole."""
    parts: list[bytes] = []
    for line in rng.choices(lines, k=2):
        try:
            parts.append(base64.b64decode(line.partition(b" ")[0]))
        except ValueError:
            parts.append(b"a")
    rank = rng.choice((len(lines), len(lines) - 1, rng.randrange(100_000)))
    return base64.b64encode(b"".join(parts)) + b" %d" % rank
