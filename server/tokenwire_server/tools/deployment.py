"""A deployment as the artifacts commands see it: a manifest, its lock, and the files beside them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenwire_server import artifacts, config, detector, embedded, lockfile, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError
from tokenwire_server.limits import Limits
from tokenwire_server.manifest import TokenizerConfig

DEFAULT_CONFIG = manifest.DEFAULT_NAME


@dataclass(frozen=True, slots=True)
class Deployment:
    """`path` is the manifest, `folder` its folder; the tokenizers are in its order, with what the lock knows."""

    path: Path
    folder: Path
    tokenizers: tuple[TokenizerConfig, ...]
    limits: Limits
    language_detector: str = detector.AUTO

    @property
    def lock_path(self) -> Path:
        """The lock beside the manifest."""
        return lockfile.path_of(self.path)

    def named(self, names: Sequence[str]) -> tuple[TokenizerConfig, ...]:
        """The tokenizers of these names or aliases, in the manifest's order; without names all of them.

        Raises `ConfigError` for a name that is none.
        """
        known = {name: item for item in self.tokenizers for name in (item.name, *item.aliases)}
        for name in names:
            if name not in known:
                raise ConfigError(manifest.unknown(name, tuple(known), "tokenizer"))
        chosen = {known[name].name for name in names}
        return tuple(item for item in self.tokenizers if not names or item.name in chosen)


def read(path: str | None, *, allow_embedded: bool = False, need_manifest: bool = False) -> Deployment:
    """The deployment of the manifest at `path`: by default $TOKENWIRE_SERVE_CONFIG, or tokenwire.toml here.

    Embedded tokenizers are left out unless `allow_embedded`; then, unless `need_manifest`, a missing default manifest
    means these alone. Raises `ConfigError`.
    """
    chosen = _chosen(path)
    if chosen is None and (need_manifest or not allow_embedded or Path(DEFAULT_CONFIG).exists()):
        chosen = DEFAULT_CONFIG
    loaded = config.load({"config": chosen}, {}, to_serve=False)
    tokenizers = tuple(
        item for item in loaded.tokenizers if allow_embedded or item.folder != embedded.DATA_FOLDER
    )
    manifest_path = Path(chosen or DEFAULT_CONFIG)
    return Deployment(
        manifest_path, manifest_path.parent, tokenizers, loaded.limits, loaded.language_detector
    )


def manifest_path(path: str | None) -> Path:
    """The manifest that `path` means, as in `read`; it need not be there."""
    return Path(_chosen(path) or DEFAULT_CONFIG)


def _chosen(path: str | None) -> str | None:
    return path or os.environ.get(f"{config.ENV_PREFIX}CONFIG")


def state(item: TokenizerConfig, max_bytes: int) -> str:
    """`present`, `missing`, `differs`, or `unlocked`: the lock lacks it, or says something else.

    What is no file of at most `max_bytes` inside the folder differs from its pin too.
    """
    if item.lock_fault or item.is_unlocked:
        return "unlocked"
    if not os.path.lexists(item.folder / item.file):
        return "missing"
    try:
        found, _ = artifacts.hash_bounded(item.folder, item.file, max_bytes)
    except ProofError:
        return "differs"
    return "present" if found == item.file_sha256 else "differs"
