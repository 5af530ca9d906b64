"""The commands on text over TLS, with a token, and of a pinned tokenizer."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from tokenwire_server import cli

from tests.client.fake_service import FakeService, serving
from tests.server import made_up
from tests.service import running_service

Run = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True, slots=True)
class Secured:
    """A service that wants a client certificate, and the files to reach it."""

    address: str
    ca: str
    cert: str
    key: str


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manifest")
    return made_up.manifest(folder, 'embedded = ""', made_up.table(folder))


@pytest.fixture(scope="module")
def secured(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    leaf = authority.issue_cert("127.0.0.1", "localhost")
    leaf.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    ca, cert, key = (str(folder / f"{name}.pem") for name in ("ca", "cert", "key"))
    with running_service(
        *("--config", str(manifest), "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca)
    ) as service:
        yield Secured(service.address, ca, cert, key)


@pytest.fixture
def count(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Counts `abab` with the small tokenizer: gives exit code, stdout and stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abab")))
        code = cli.main(["count", "-t", "tiny", *map(str, arguments)])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return code, out, err

    return run


def test_a_service_with_mutual_tls_answers(count: Run, secured: Secured) -> None:
    """With the CA, a certificate and its key."""
    files = ("--ca", secured.ca, "--cert", secured.cert, "--key", secured.key)
    assert count("--address", secured.address, *files) == (0, "2\n", "")


def test_plain_text_to_a_tls_port_gets_a_hint(count: Run, secured: Secured) -> None:
    """Who forgot --ca is told of it; who gave it, or has nobody at the address, is not."""
    code, _, err = count("--address", secured.address)
    assert (code, err[-29:]) == (1, "; is it a TLS port? use --ca\n")
    for where in (("--address", secured.address, "--ca", secured.ca), ("--address", "127.0.0.1:1")):
        code, _, err = count(*where)
        assert code == 1
        assert "--ca" not in err


def test_half_a_connection_is_wrong_usage(count: Run, manifest: Path, secured: Secured) -> None:
    """Files of a connection without --address, a missing file, and a certificate without its key."""
    where = ("--address", secured.address)
    for arguments, complaint in (
        (("--config", manifest, "--ca", secured.ca), "--ca goes with --address only"),
        (("--config", manifest, "--token-file", secured.ca), "--token-file goes with --address only"),
        ((*where, "--ca", "missing.pem"), "missing.pem: cannot be read: No such file"),
        ((*where, "--token-file", "missing"), "missing: cannot be read: No such file"),
        ((*where, "--cert", secured.cert), "both cert and key"),
    ):
        code, out, err = count(*arguments)
        assert (code, out) == (2, "")
        assert complaint in err


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with serving() as service:
        yield service


def test_the_token_of_a_file_is_sent(count: Run, fake: FakeService, tmp_path: Path) -> None:
    """Without the end of its line; it is in no message, also where it is malformed."""
    (tmp_path / "token").write_text("t0ken\n")
    count("--address", fake.address, "--token-file", tmp_path / "token")
    assert fake.metadata[0]["authorization"] == "Bearer t0ken"
    (tmp_path / "token").write_bytes(b"t0 ken\xff")
    code, _, err = count("--address", fake.address, "--token-file", tmp_path / "token")
    assert code == 2
    assert "the token is empty or has" in err
    assert "t0" not in err


def test_a_digest_is_insisted_on(count: Run, manifest: Path, secured: Secured) -> None:
    """In process and of a service: the right digest changes nothing, another is a refusal that names the right one."""
    files = ("--ca", secured.ca, "--cert", secured.cert, "--key", secured.key)
    for where in (("--config", manifest), ("--address", secured.address, *files)):
        code, out, err = count(*where, "--expect-digest", "0" * 64)
        assert (code, out) == (1, "")
        digest = err.split("has digest ")[1].split(",")[0]
        assert len(digest) == 64
        assert count(*where, "--expect-digest", digest) == (0, "2\n", "")
