"""The ready text: each way of listening has lines that fit it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from tokenwire_server.config import Config, Tls
from tokenwire_server.ready_text import ready_text

PEM = Path("x.pem")
TCP, UNIX = {"tcp": "127.0.0.1:1"}, {"unix": "unix:/run/to ken/tokenwire.sock"}
PLAIN, TLS, MTLS = Config(), Config(tls=Tls(PEM, PEM)), Config(tls=Tls(PEM, PEM, PEM))


@pytest.mark.parametrize(
    ("config", "addresses", "client", "flags", "target"),
    [
        (PLAIN, TCP, '"127.0.0.1:1"', ["-plaintext"], "127.0.0.1:1"),
        (TLS, TCP, '"127.0.0.1:1", tls=tokenwire.Tls(ca="CA.pem")', ["-cacert", "CA.pem"], "127.0.0.1:1"),
        (
            MTLS,
            TCP,
            '"127.0.0.1:1", tls=tokenwire.Tls(ca="CA.pem", cert="CLIENT.pem", key="CLIENT.key")',
            ["-cacert", "CA.pem", "-cert", "CLIENT.pem", "-key", "CLIENT.key"],
            "127.0.0.1:1",
        ),
        (TLS, UNIX, '"unix:/run/to ken/tokenwire.sock"', ["-plaintext", "-unix"], UNIX["unix"][5:]),
        (TLS, TCP | UNIX, '"127.0.0.1:1", tls=tokenwire.Tls(ca="CA.pem")', ["-cacert", "CA.pem"], TCP["tcp"]),
    ],
)
def test_the_lines_fit_the_way_of_listening(
    config: Config, addresses: dict[str, str], client: str, flags: list[str], target: str
) -> None:
    """A shell reads the Python line for this interpreter and the grpcurl line as they are meant."""
    lines = ready_text(config, addresses, "tiny").splitlines()
    python, grpcurl = (shlex.split(line) for line in lines[1:3])
    assert python == [
        sys.executable,
        "-c",
        f'import tokenwire; print(tokenwire.Client({client}).count("tiny", "Hello, world!"))',
    ]
    request = '{"tokenizer": "tiny", "inputs": [{"text": "Hello, world!"}]}'
    method = "tokenwire.v1.TokenizerService/Count"
    assert grpcurl == ["grpcurl", *flags, "-d", request, target, method]


def test_the_metrics_are_named_where_there_are_any() -> None:
    """The curl line is there with the HTTP port, and only then."""
    assert "curl http" not in ready_text(PLAIN, TCP, "tiny")
    last = ready_text(PLAIN, TCP | {"http": "127.0.0.1:2"}, "tiny").splitlines()[-1]
    assert last == "  curl http://127.0.0.1:2/metrics"
