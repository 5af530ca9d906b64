"""Security: server credentials from PEM files, and who a client is by its certificate.

TLS 1.2 is the floor of the gRPC library; current clients speak 1.3. Imports grpc, so only a working process
may import it.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

import grpc

from tokenwire_server.config import Tls
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import read_file


def check(tls: Tls) -> None:
    """Prove that the files are PEM and that certificate and key belong together. Raises `ConfigError`."""
    for path, key in ((tls.cert, "tls.cert"), (tls.key, "tls.key"), (tls.client_ca, "tls.client_ca")):
        if path is not None:
            _read(path, key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert, tls.key, password="")
    except ssl.SSLError:
        raise ConfigError("tls.cert and tls.key do not belong together, or the key has a password") from None
    try:
        if tls.client_ca is not None:
            context.load_verify_locations(tls.client_ca)
    except ssl.SSLError:
        raise ConfigError(f"tls.client_ca: {tls.client_ca} holds no certificate") from None


def credentials(tls: Tls) -> grpc.ServerCredentials:
    """Credentials of a server; with a client CA, clients must show a certificate. Raises `ConfigError`."""
    check(tls)
    client_ca = _read(tls.client_ca, "tls.client_ca") if tls.client_ca is not None else None
    pair = (_read(tls.key, "tls.key"), _read(tls.cert, "tls.cert"))
    return grpc.ssl_server_credentials(
        [pair], root_certificates=client_ca, require_client_auth=client_ca is not None
    )


def identity(auth_context: Mapping[str, Iterable[bytes]]) -> str:
    """The common name of a verified client certificate, or empty for a client without one."""
    for name in auth_context.get("x509_common_name", ()):
        return name.decode("utf-8", "replace")
    return ""


def _read(path: Path, key: str) -> bytes:
    data = read_file(path, f"{key} {path}")
    if b"-----BEGIN " not in data:
        raise ConfigError(f"{key}: {path} is not a PEM file")
    return data
