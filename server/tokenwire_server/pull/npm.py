"""npm: the tarball of a source, found in the registry that this machine's npm is set to.

The document of the one version is asked for, and where a registry has no such thing, the package's whole one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from tokenwire_server.errors import shorten
from tokenwire_server.pull import npm_settings
from tokenwire_server.pull.bounded_json import read_json
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.npm_settings import NpmSettings
from tokenwire_server.pull.package_names import near_versions
from tokenwire_server.pull.remote import Access, Bounds, FetchSmall, Located, Remote
from tokenwire_server.pull.urls import (
    Address,
    basic,
    check_encrypted,
    header_value,
    read_address,
)
from tokenwire_server.sources import NpmSource

DEFAULT_REGISTRY = "https://registry.npmjs.org/"
ACCEPT = "application/json"
ACCEPT_ALL_VERSIONS = "application/vnd.npm.install-v1+json, application/json;q=0.8"
_DIGEST_BYTES: dict[Literal["sha512", "sha256"], int] = {"sha512": 64, "sha256": 32}
"""The hashes of an integrity that are checked, the strongest first."""


def locate(
    source: NpmSource, bounds: Bounds, fetch: FetchSmall, settings: NpmSettings | None = None
) -> Located:
    """Where the tarball with the source's member is.

    Reads one or two documents of the registry, at most `bounds.index_bytes` each. `settings` are npm's own,
    asked for here unless they are given. Raises `PullError`: NOT_FOUND, BAD_INDEX, BAD_SETTING, INSECURE_URL,
    and whatever `fetch` raises.
    """
    settings = settings or npm_settings.read()
    _check(settings)
    registry = _registry(source, settings)
    dist = _version_document(source, registry, bounds, fetch, settings).get("dist")
    tarball = dist.get("tarball") if isinstance(dist, dict) else None
    integrity = dist.get("integrity") if isinstance(dist, dict) else None
    if not isinstance(tarball, str) or not isinstance(integrity, str | None):
        raise _bad(registry, "has no `dist` with a `tarball` for the version")
    given = read_address(tarball)
    if given is None:
        raise _bad(registry, "gives an address for the tarball that is not https://HOST/PATH")
    address = _replaced(given, registry, settings)
    check_encrypted(address, "the address that the registry gives")
    remote = Remote(
        address.url,
        _access(address, registry, settings),
        checksum=_checksum(integrity or "", registry),
        given_by_registry=address.origin != registry.origin,
    )
    return Located(remote=remote, archive="tar.gz", member=source.member)


def _check(settings: NpmSettings) -> None:
    """Settings that would change what may be trusted, or where bytes come from, are not passed over."""
    if settings.get("offline") == "true":
        raise PullError("BAD_SETTING", "npm is set to be offline; unset `offline` for a pull")
    if settings.get("strict-ssl") == "false":
        raise PullError(
            "BAD_SETTING",
            "npm's strict-ssl is false, but a pull always checks certificates; set `cafile` to those to trust",
        )
    if settings.get("ca"):
        raise PullError(
            "BAD_SETTING",
            "npm's `ca` has the certificates themselves; put them into a file, and set `cafile`",
        )
    if settings.get("cert") or settings.get("key"):
        raise PullError(
            "BAD_SETTING",
            "npm's `cert` and `key` have the certificate itself; put both into one file, and set "
            "`//HOST/:certfile` and `//HOST/:keyfile` to it",
        )


def _registry(source: NpmSource, settings: NpmSettings) -> Address:
    """The scope's registry, else the one for all."""
    scope = source.package.partition("/")[0] if source.package.startswith("@") else ""
    setting = f"{scope}:registry" if scope and settings.get(f"{scope}:registry") else "registry"
    registry = read_address((settings.get(setting) or DEFAULT_REGISTRY).rstrip("/") + "/")
    if registry is None:
        raise PullError(
            "BAD_SETTING", f"npm's `{setting}` is no https address; npm's own is {DEFAULT_REGISTRY}"
        )
    check_encrypted(registry, f"npm's `{setting}`")
    return registry


# Documents


def _version_document(
    source: NpmSource, registry: Address, bounds: Bounds, fetch: FetchSmall, settings: NpmSettings
) -> Mapping[str, Any]:
    """What the registry says of the version."""
    package = registry.url + quote(source.package, safe="@")
    access = _access(registry, registry, settings)
    try:
        remote = Remote(f"{package}/{quote(source.version)}", access, ACCEPT)
        document: Mapping[str, Any] = _json(fetch(remote, bounds, bounds.index_bytes), registry)
    except PullError as fault:
        if fault.reason not in ("NOT_FOUND", "HTTP_STATUS", "BAD_INDEX"):
            raise
        document = _whole_document(
            source, Remote(package, access, ACCEPT_ALL_VERSIONS), registry, bounds, fetch
        )
    if "versions" in document:
        document = _one_of(document["versions"], source, registry)
    version = document.get("version")
    if not isinstance(version, str):
        raise _bad(registry, "gives a document without a `version`")
    if version != source.version.partition("+")[0]:
        raise PullError(
            "NOT_FOUND",
            f"{source.package} has no version {source.version}, that now stands for {shorten(version, 80)}; "
            "write the version itself",
        )
    return document


def _whole_document(
    source: NpmSource, remote: Remote, registry: Address, bounds: Bounds, fetch: FetchSmall
) -> dict[str, Any]:
    try:
        return _json(fetch(remote, bounds, bounds.index_bytes), registry)
    except PullError as fault:
        if fault.reason != "NOT_FOUND":
            raise
        raise PullError(
            "NOT_FOUND",
            f"the registry {registry.shown} has no package {source.package}; see the spelling, and "
            "`npm config get registry`",
        ) from None


def _one_of(versions: object, source: NpmSource, registry: Address) -> Mapping[str, Any]:
    if not isinstance(versions, dict):
        raise _bad(registry, "gives `versions` that are no table")
    document = versions.get(source.version.partition("+")[0])
    if document is None:
        raise PullError(
            "NOT_FOUND",
            f"{source.package} has no version {source.version}; there are {near_versions(source.version, versions)}",
        )
    if not isinstance(document, dict):
        raise _bad(registry, "gives a version that is no table")
    return document


def _json(data: bytes, registry: Address) -> dict[str, Any]:
    try:
        document = read_json(data)
    except ValueError:
        raise _bad(registry, "answers with what is not JSON, or without bounds") from None
    if not isinstance(document, dict):
        raise _bad(registry, "answers with what is no table")
    return document


def _bad(registry: Address, what: str) -> PullError:
    return PullError(
        "BAD_INDEX", f"the registry {registry.shown} {what}; see whether it is a registry of npm"
    )


def _checksum(integrity: str, registry: Address) -> tuple[Literal["sha256", "sha512"], str] | None:
    """The strongest hash of a subresource integrity, None where it has none that counts (sha1 does not)."""
    hashes = [word.partition("?")[0].partition("-") for word in integrity.split()]
    for algorithm, n_bytes in _DIGEST_BYTES.items():
        for name, _, text in hashes:
            if name != algorithm:
                continue
            try:
                digest = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                digest = b""
            if len(digest) != n_bytes:
                raise _bad(registry, f"gives an integrity whose {algorithm} has not {n_bytes} bytes")
            return algorithm, digest.hex()
    return None


# Access


def _replaced(tarball: Address, registry: Address, settings: NpmSettings) -> Address:
    """The tarball at the registry in use, where npm would look there too: mirrors keep the original's addresses.

    `replace-registry-host` says for which host: `npmjs` is the original's, `always` any, `never` none.
    """
    which = settings.get("replace-registry-host") or "npmjs"
    host = "registry.npmjs.org" if which == "npmjs" else which
    if which == "never" or (which != "always" and host != tarball.authority):
        return tarball
    parts = urlsplit(tarball.url)
    moved = read_address(f"{registry.scheme}://{registry.authority}{parts.path}")
    return moved or tarball


def _access(address: Address, registry: Address, settings: NpmSettings) -> Access:
    setting, authorization = _credentials(address, settings)
    if setting is None and address.origin == registry.origin:
        setting, authorization = _credentials(registry, settings)
    cafile = settings.get("cafile")
    if cafile and not Path(cafile).expanduser().exists():
        raise PullError("BAD_SETTING", "npm's `cafile` is a path where nothing is; set it to a PEM file")
    return Access(
        ca=Path(cafile).expanduser() if cafile else None,
        client_cert=_client_cert(setting, settings),
        proxy=_proxy(address, settings),
        authorization=authorization,
        allow_plain_http=address.scheme == "http",
    )


def _credentials(address: Address, settings: NpmSettings) -> tuple[str | None, str | None]:
    """The key `//host/path` of the longest path that has credentials, and the Authorization header they make."""
    key = f"//{address.authority}{address.path}"
    while len(key) > len("//"):
        token, auth, user, password, certificate = (
            settings.get(f"{key}:{name}")
            for name in ("_authToken", "_auth", "username", "_password", "certfile")
        )
        if token:
            return key, header_value("Bearer", token, f"npm's {key}:_authToken")
        if auth:
            return key, header_value("Basic", auth, f"npm's {key}:_auth")
        if user and password:
            return key, basic(user, _decoded(password, key))
        if certificate:
            return key, None
        # Without what follows the last slash, then without that slash: npm takes keys of both kinds.
        key = key[:-1] if key.endswith("/") else key[: key.rindex("/") + 1]
    return None, None


def _decoded(password: str, key: str) -> str:
    try:
        return base64.b64decode(password, validate=True).decode()
    except (binascii.Error, ValueError):
        raise PullError("BAD_SETTING", f"npm's {key}:_password is not base64 of UTF-8; log in anew") from None


def _client_cert(key: str | None, settings: NpmSettings) -> Path | None:
    certificate, private_key = settings.get(f"{key}:certfile"), settings.get(f"{key}:keyfile")
    if certificate != private_key:
        raise PullError(
            "BAD_SETTING",
            f"npm's {key}:certfile and {key}:keyfile are two files; put both into one, and set them to it",
        )
    return Path(certificate).expanduser() if certificate else None


def _proxy(address: Address, settings: NpmSettings) -> str | None:
    """npm's proxy for the address, None where it has none, and an empty one where `noproxy` has the host."""
    for entry in (settings.get("noproxy") or "").split(","):
        suffix = entry.strip().lower().lstrip(".")
        if suffix and (address.host == suffix or address.host.endswith("." + suffix)):
            return ""
    proxy = settings.get("proxy")
    return (settings.get("https-proxy") or proxy) if address.scheme == "https" else proxy
