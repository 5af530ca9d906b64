"""The tokenizers that come with the server: listed, locked and proven like any others, in `data/`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenwire_server import lockfile, manifest
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig

DATA_FOLDER = Path(__file__).parent / "data"
MANIFEST = DATA_FOLDER / "embedded.toml"
NAMES = ("o200k_base", "cl100k_base")


def embedded(names: Iterable[str] = NAMES) -> tuple[TokenizerConfig, ...]:
    """The embedded tokenizers of these names, in this order. Raises `ConfigError` for any other name."""
    tables = manifest.read_toml(MANIFEST)["tokenizer"]
    configs = manifest.parse_tokenizers(tables, MANIFEST)
    locked = lockfile.apply(configs, lockfile.read(lockfile.path_of(MANIFEST)))
    known = {item.name: item for item in locked}
    for name in names:
        if name not in known:
            raise ConfigError(manifest.unknown(name, tuple(known), "embedded tokenizer"))
    return tuple(known[name] for name in names)
