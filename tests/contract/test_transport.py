"""The transport under strain and behind other sockets: slow bodies, floods, unix socket, TLS."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import stat
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
import trustme
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract import raw_http2
from tests.contract.process import PATIENCE_S, SERVICE, Refused, Service, serving
from tests.contract.test_lifecycle import run_serve
from tests.server import made_up

COUNT = pb.CountRequest(tokenizer="tiny", inputs=[pb.Input(text="abc")])


def count(channel: grpc.Channel) -> int:
    """The tokens of the small request over a channel."""
    call = channel.unary_unary(f"{SERVICE}Count", None, None)
    response = pb.CountResponse.FromString(call(COUNT.SerializeToString(), timeout=PATIENCE_S))
    return response.results[0].count.n_tokens


@pytest.fixture
def config(tmp_path: Path) -> str:
    """The path of a configuration that serves the small tokenizer."""
    return str(made_up.manifest(tmp_path, made_up.table(tmp_path)))


def test_calls_whose_body_never_comes_harm_no_other_call(small: Service) -> None:
    """Beside 2,000 calls that stop after their headers, small and large calls and health are all answered."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(raw_http2.Connection(small.addresses["tcp"]))
            connection.open_calls(f"{SERVICE}Count", 100)
        large = pb.EncodeRequest(tokenizer="tiny", inputs=[pb.Input(text="abc " * 200)])
        for _ in range(40):
            assert count(small.channel) == 1
            assert small.call("Encode", large, pb.EncodeResponse).results[0].HasField("encoding")
        assert small.page("/healthz")[0] == 200


@pytest.mark.case("BR-269")
def test_a_flood_is_refused_beyond_the_queue_and_answered_within(tmp_path: Path) -> None:
    """Of a flood of large texts, what fits the queue is answered and the rest is told to wait; small calls pass."""
    settings = "[limits]\nmessage_bytes = 1200000\nqueue_bytes = 2000000\nencoder_threads = 1"
    path = made_up.manifest(tmp_path, settings, made_up.table(tmp_path))
    large = pb.CountRequest(tokenizer="tiny", inputs=[pb.Input(text="the quick brown fox " * 50_000)])
    with serving("--config", str(path)) as service:
        calls = [service.start_call("Count", large) for _ in range(40)]
        assert count(service.channel) == 1
        answered = refused = 0
        for call in calls:
            error = call.exception()
            if error is None:
                answered += 1
                continue
            fault = Refused(error)
            assert fault.reason == "OVERLOADED"
            assert fault.code == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert fault.retry_s > 0
            refused += 1
        assert answered
        assert refused
        assert service.metrics()["tokenwire_queue_bytes", ()] == 0
        assert service.call("Count", large, pb.CountResponse).results[0].HasField("count")


def test_a_caller_that_goes_away_leaves_nothing_behind(service: Service) -> None:
    """Cancelled calls give their place in the queue back."""
    text = "The quick brown fox jumps over the lazy dog. " * 50_000
    request = pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)] * 4)
    n_before = service.n_admitted("encode")
    calls = [service.start_call("Encode", request) for _ in range(6)]
    service.wait_until_admitted("encode", n_before + 1)
    for call in calls:
        call.cancel()
    assert service.wait_until_idle()["tokenwire_queue_bytes", ()] == 0


def test_the_unix_socket_serves_like_tcp(config: str, tmp_path: Path) -> None:
    """With TCP off, the socket in its folder is the way in; it is gone after the exit."""
    folder = tmp_path / "run"
    path = folder / "tokenwire.sock"
    with serving("--config", config, "--listen", "", "--unix", str(folder)) as service:
        assert set(service.addresses) == {"unix", "http"}
        assert service.addresses["unix"] == f"unix:{path}"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with grpc.insecure_channel(service.addresses["unix"]) as channel:
            assert count(channel) == 1
        assert service.stop() == 0
    assert not path.exists()


def test_a_socket_of_a_dead_server_is_taken_over_and_of_a_live_one_not(config: str, tmp_path: Path) -> None:
    """A killed server's socket is removed at the next start; one that answers, or a file, stops the start."""
    path = tmp_path / "tokenwire.sock"
    flags = ("--config", config, "--unix", str(tmp_path))
    with serving(*flags) as service:
        second = run_serve(*flags, "--listen", "127.0.0.1:0", "--http", "")
        assert second.returncode == 1
        assert "another server listens" in second.stderr
        with grpc.insecure_channel(service.addresses["unix"]) as channel:
            assert count(channel) == 1
    assert path.is_socket()
    with serving(*flags) as service, grpc.insecure_channel(service.addresses["unix"]) as channel:
        assert count(channel) == 1
        service.stop()
    path.write_text("precious")
    third = run_serve(*flags, "--listen", "127.0.0.1:0", "--http", "")
    assert third.returncode == 1
    assert path.read_text() == "precious"


class Certificates:
    """A CA, a server's certificate for 127.0.0.1, a client's, and one of a stranger, as PEM files."""

    def __init__(self, folder: Path) -> None:
        authority, stranger = trustme.CA(), trustme.CA()
        self.ca = authority.cert_pem.bytes()
        server = authority.issue_cert("127.0.0.1", "localhost")
        self.client = self._pair(authority.issue_cert("client@example.com"))
        self.named = self._pair(authority.issue_cert("client@example.com", common_name="acme"))
        self.stranger = self._pair(stranger.issue_cert("client@example.com"))
        self.cert, self.key, self.client_ca = (
            str(folder / name) for name in ("cert.pem", "key.pem", "ca.pem")
        )
        Path(self.cert).write_bytes(b"".join(blob.bytes() for blob in server.cert_chain_pems))
        Path(self.key).write_bytes(server.private_key_pem.bytes())
        Path(self.client_ca).write_bytes(self.ca)

    @staticmethod
    def _pair(leaf: trustme.LeafCert) -> tuple[bytes, bytes]:
        return leaf.private_key_pem.bytes(), b"".join(blob.bytes() for blob in leaf.cert_chain_pems)

    def channel(self, address: str, pair: tuple[bytes, bytes] | None) -> grpc.Channel:
        """A channel that trusts the CA and shows `pair`."""
        key, chain = pair or (None, None)
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(self.ca, key, chain))


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def test_tls_serves_those_who_speak_it(config: str, certificates: Certificates) -> None:
    """A client that trusts the CA is answered; plain text on that port is not."""
    with serving(
        "--config", config, "--tls-cert", certificates.cert, "--tls-key", certificates.key
    ) as service:
        with certificates.channel(service.addresses["tcp"], None) as channel:
            assert count(channel) == 1
        with pytest.raises(grpc.RpcError) as caught:
            count(service.channel)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_the_ready_text_calls_over_mtls(config: str, certificates: Certificates, tmp_path: Path) -> None:
    """With the files it names in place, the Python line printed at the start works as it stands."""
    key, chain = certificates.client
    for name, pem in (("CA.pem", certificates.ca), ("CLIENT.pem", chain), ("CLIENT.key", key)):
        (tmp_path / name).write_bytes(pem)
    files = ("--tls-cert", certificates.cert, "--tls-key", certificates.key)
    with serving("--config", config, *files, "--tls-client-ca", certificates.client_ca) as service:
        line = service.wait_for_line("import tokenwire")
        done = subprocess.run(
            shlex.split(line),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert int(done.stdout) > 0


def test_mtls_serves_only_clients_of_the_ca(config: str, certificates: Certificates) -> None:
    """With a client CA, a client without a certificate, or with a stranger's, is not answered."""
    flags = (
        "--tls-cert",
        certificates.cert,
        "--tls-key",
        certificates.key,
        "--tls-client-ca",
        certificates.client_ca,
    )
    with serving("--config", config, *flags) as service:
        with certificates.channel(service.addresses["tcp"], certificates.client) as channel:
            assert count(channel) == 1
        for pair in (None, certificates.stranger):
            with certificates.channel(service.addresses["tcp"], pair) as channel:
                with pytest.raises(grpc.RpcError) as caught:
                    count(channel)
                assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_tokens_are_counted_by_tenant(config: str, certificates: Certificates) -> None:
    """The common name of the client's certificate is the tenant, by name if listed; all are `none` without a CA."""
    files = ("--config", config, "--tls-cert", certificates.cert, "--tls-key", certificates.key)
    with_ca = ("--tls-client-ca", certificates.client_ca)
    for flags, tenant in (
        ((*with_ca, "--tenants", "globex,acme"), "acme"),
        ((*with_ca, "--tenants", "globex"), "other"),
        ((), "none"),
    ):
        with serving(*files, *flags) as service:
            with certificates.channel(service.addresses["tcp"], certificates.named) as channel:
                n_tokens = count(channel)
            counted = {
                dict(labels)["tenant"]: value
                for (name, labels), value in service.wait_until_idle().items()
                if name == "tokenwire_tenant_tokens_total" and value
            }
        assert counted == {tenant: n_tokens}


def test_bad_tls_files_are_refused_at_the_start(
    config: str, certificates: Certificates, tmp_path: Path
) -> None:
    """A missing file, one that is no PEM, and a key of another certificate are told apart by key."""
    other = tmp_path / "other"
    other.mkdir()
    foreign = Certificates(other)
    (tmp_path / "junk.pem").write_text("junk")
    for cert, key, message in (
        (str(tmp_path / "absent.pem"), certificates.key, "cannot read"),
        (str(tmp_path / "junk.pem"), certificates.key, "not a PEM file"),
        (certificates.cert, foreign.key, "do not belong together"),
    ):
        done = run_serve("--check", "--config", config, "--tls-cert", cert, "--tls-key", key)
        assert done.returncode == 1
        assert message in done.stderr


def test_plain_text_is_refused_beyond_loopback(config: str) -> None:
    """Without TLS or the switch the service does not start on an outward address."""
    done = run_serve("--config", config, "--listen", "0.0.0.0:0")
    assert done.returncode == 1
    assert "allow_plaintext" in done.stderr
    with serving("--config", config, "--listen", "0.0.0.0:0", "--allow-plaintext") as service:
        port = service.addresses["tcp"].rpartition(":")[2]
        with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE_S):
            pass
