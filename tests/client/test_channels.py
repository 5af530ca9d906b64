"""Addresses, connections, TLS and tokens."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from unittest import mock

import grpc
import pytest
import tokenwire
from google.protobuf.message import EncodeError
from tokenwire import _calls, _channels

from tests.client.fake_service import Ask, FakeService, serving

MIB = 2**20
TOKEN = "t0ken-of-the-test"  # noqa: S105 - not a secret


def resolve(address: str, **kwargs: object) -> _channels.Endpoint:
    arguments: dict[str, object] = {
        "tls": None,
        "token": None,
        "connections": 2,
        "max_message_bytes": MIB,
        **kwargs,
    }
    return _channels.resolve(address, **arguments)  # type: ignore[arg-type]  # each test gives its own


@pytest.mark.parametrize(
    "address",
    ["", "localhost", "localhost:", ":50051", "localhost:65536", "http://localhost:1", "::1:50051", "a b:1"],
)
@pytest.mark.parametrize("kind", [tokenwire.Client, tokenwire.AsyncClient])
def test_a_malformed_address_is_refused(kind: type[tokenwire.Client], address: str) -> None:
    """Anything but HOST:PORT and unix: is a ValueError that names the forms."""
    with pytest.raises(ValueError, match="HOST:PORT"):
        kind(address)


def test_connections_are_taken_in_turn(service: FakeService) -> None:
    """Three connections carry six calls that come one after the other."""
    with tokenwire.Client(service.address, connections=3) as client:
        assert [client.count("t", "x") for _ in range(6)] == [1] * 6
    assert len(service.peers) == 3


def test_at_least_one_connection() -> None:
    """No connection at all is a ValueError."""
    with pytest.raises(ValueError, match="at least 1"):
        tokenwire.Client("localhost:1", connections=0)


def test_a_directory_of_sockets_is_shared_out(ask: Ask, tmp_path: Path) -> None:
    """`unix:DIR/` sends calls to every *.sock of the directory in turn, and to nothing else there."""
    (tmp_path / "notes.txt").touch()
    with serving(f"unix:{tmp_path}/a.sock") as a, serving(f"unix:{tmp_path}/b.sock") as b:
        with tokenwire.Client(f"unix:{tmp_path}/") as client:
            assert [client.count("t", "xy") for _ in range(4)] == [2] * 4
        assert (len(a.requests), len(b.requests)) == (2, 2)
        assert ask(f"unix:{tmp_path}/b.sock", "count", "t", "xyz") == 3
        assert len(b.requests) == 3


def test_every_socket_of_a_directory_gets_a_channel(tmp_path: Path) -> None:
    """More sockets than `connections` still means one channel each; fewer are used several times."""
    for name in "abc":
        (tmp_path / f"{name}.sock").touch()
    sockets = [f"unix:{tmp_path}/{name}.sock" for name in "abc"]
    assert list(resolve(f"unix:{tmp_path}/", connections=1).targets) == sockets
    assert list(resolve(f"unix:{tmp_path}", connections=4).targets) == [*sockets, sockets[0]]


@pytest.mark.parametrize("name", ["", "missing/"])
def test_a_directory_without_sockets_is_refused(tmp_path: Path, name: str) -> None:
    """An empty or missing directory is a ValueError, not a client that can only fail."""
    with pytest.raises(ValueError, match=r"no \*\.sock"):
        tokenwire.Client(f"unix:{tmp_path}/{name}")


def test_a_token_travels_as_metadata(ask: Ask, service: FakeService) -> None:
    """Over loopback the token is sent as a bearer token."""
    ask(service.address, "count", "t", "x", client={"token": TOKEN})
    assert service.metadata[0]["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    "address", ["example.org:443", "10.0.0.1:50051", "[2001:db8::1]:1", "127.example.org:1"]
)
def test_a_token_never_travels_in_clear(address: str) -> None:
    """Plain text beyond this machine is refused with a token; with TLS it is not."""
    with pytest.raises(ValueError, match="TLS") as caught:
        resolve(address, token=TOKEN)
    assert TOKEN not in str(caught.value)
    assert resolve(address, token=TOKEN, tls=tokenwire.Tls()).metadata == (
        ("authorization", f"Bearer {TOKEN}"),
    )


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/x.sock"])
def test_this_machine_is_no_network(address: str) -> None:
    """Loopback and unix sockets take a token in clear, and never go through a proxy of the environment."""
    endpoint = resolve(address, token=TOKEN)
    assert endpoint.metadata
    assert ("grpc.enable_http_proxy", 0) in endpoint.options


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ünïcode", "tab\t"])
def test_a_malformed_token_is_refused_and_not_shown(token: str) -> None:
    """gRPC would print a malformed token in its complaint; ours does not."""
    with pytest.raises(ValueError, match="the token is empty or has") as caught:
        resolve("localhost:1", token=token)
    assert not token or token not in str(caught.value)


def test_secrets_have_no_repr() -> None:
    """Neither the token nor a private key shows in a repr."""
    shown = repr(resolve("localhost:1", token=TOKEN)) + repr(tokenwire.Tls(cert=b"c", key=b"k3y"))
    assert TOKEN not in shown
    assert "k3y" not in shown


def test_the_message_limit_holds_both_ways() -> None:
    """gRPC's own limits are the client's, so that it stops nothing that the client lets through."""
    options = dict(resolve("localhost:1", max_message_bytes=7).options)
    assert options["grpc.max_receive_message_length"] == options["grpc.max_send_message_length"] == 7


@pytest.mark.parametrize("n_bytes", [0, -1, 2**31])
def test_a_senseless_message_limit_is_refused(n_bytes: int) -> None:
    """-1 is gRPC's word for no limit, which a protobuf message never has."""
    with pytest.raises(ValueError, match="max_message_bytes"):
        tokenwire.Client("localhost:1", max_message_bytes=n_bytes)


@pytest.mark.parametrize(("limit", "client"), [(64 * MIB, {}), (100, {"max_message_bytes": 100})])
def test_a_request_over_the_limit_is_not_sent(
    ask: Ask, service: FakeService, limit: int, client: dict[str, int]
) -> None:
    """At the limit it is sent; one byte or far over it, it is MessageTooLargeError with the numbers."""

    def text(n_request_bytes: int) -> bytes:
        frame = _calls.count("t", b"x" * (n_request_bytes - 20)).request.ByteSize() - (n_request_bytes - 20)
        return b"x" * (n_request_bytes - frame)

    assert ask(service.address, "count", "t", text(limit), client=client) == len(text(limit))
    service.requests.clear()
    for got in (limit + 1, limit + MIB):
        with pytest.raises(tokenwire.errors.MessageTooLargeError, match="max_message_bytes") as caught:
            ask(service.address, "count", "t", text(got), client=client)
        assert caught.value.metadata == {"limit": str(limit), "got": str(got)}
    assert not service.requests


def test_a_request_beyond_protobuf_is_too_large_like_any_other() -> None:
    """What protobuf cannot make a message of, from 2 GiB on, is not its EncodeError."""
    request = mock.Mock()
    request.SerializeToString.side_effect = EncodeError
    call = dataclasses.replace(_calls.count("t", "x"), request=request)
    with pytest.raises(tokenwire.errors.MessageTooLargeError) as caught:
        call.payload(64 * MIB)
    assert caught.value.metadata == {"limit": str(64 * MIB), "got": str(2**31)}


def test_a_reply_of_ten_mebibytes_arrives(ask: Ask, service: FakeService) -> None:
    """A large text makes the way there."""
    assert ask(service.address, "count", "t", "x" * (10 * 2**20)) == 10 * 2**20


def test_half_of_mutual_tls_is_refused() -> None:
    """A certificate without its key, or a key without its certificate, is a ValueError."""
    for half in ({"cert": b"c"}, {"key": b"k"}):
        with pytest.raises(ValueError, match="both cert and key"):
            tokenwire.Tls(**half)  # type: ignore[arg-type]  # either of two


def test_tls_reads_files_and_bytes(tmp_path: Path) -> None:
    """A part of TLS is PEM as bytes or a path; a missing file is an OSError; the server name is an option."""
    (tmp_path / "ca.pem").write_bytes(b"pem")
    for ca in (b"pem", tmp_path / "ca.pem", str(tmp_path / "ca.pem")):
        endpoint = resolve("example.org:443", tls=tokenwire.Tls(ca=ca, server_name="inner"))
        assert isinstance(endpoint.credentials, grpc.ChannelCredentials)
        assert ("grpc.ssl_target_name_override", "inner") in endpoint.options
    with pytest.raises(FileNotFoundError):
        resolve("example.org:443", tls=tokenwire.Tls(ca=tmp_path / "missing.pem"))
