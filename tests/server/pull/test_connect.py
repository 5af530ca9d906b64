"""Names, addresses, redirects, credentials and proxies: who is asked, and what is told to whom."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tokenwire_server.pull.connect import Resolver, check_public, is_public
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.fetch import PAUSES_S, fetch, fetch_small
from tokenwire_server.pull.remote import Access, Remote
from tokenwire_server.pull.urls import read_address

from tests.server.pull.mirror import Answer, Mirror, redirect
from tests.server.pull.transfers import BODY, BOUNDS, PLAIN, QUICK, Waits, files, names, refused, remote


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_given_the_time_it_asks_for(mirror: Mirror, status: int) -> None:
    """Retry-After is heeded, in seconds or as a date, and what it cannot mean is not."""
    busy = Answer(status=status)
    mirror.routes["/file"] = [
        replace(busy, headers={"Retry-After": "20"}),
        replace(busy, headers={"Retry-After": "Mon, 02 Jan 2023 00:00:00 GMT"}),
        replace(busy, headers={"Retry-After": "soon"}),
        PLAIN,
    ]
    waits = Waits()
    assert fetch_small(remote(mirror), BOUNDS, 9000, wait=waits) == BODY
    assert waits == [20.0, *PAUSES_S[1:3]]


def test_a_server_that_asks_for_too_much_time_is_left(mirror: Mirror, partial: Path) -> None:
    """What would be over the time of the pull is not waited for."""
    mirror.routes["/file"] = Answer(status=429, headers={"Retry-After": "3600"})
    waits = Waits()
    refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=waits), "HTTP_STATUS", "429")
    assert waits == []
    assert files(partial.parent) == []


def test_a_busy_server_costs_nothing_that_was_there(mirror: Mirror, partial: Path) -> None:
    """A server that is busy, or away, says nothing about the bytes it sent before."""
    mirror.routes["/file"] = [replace(PLAIN, drop_after=100), Answer(status=503)]
    refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=Waits()), "HTTP_STATUS", "503")
    assert partial.read_bytes() == BODY[:100]
    refused(
        lambda: fetch(Remote("https://127.0.0.1:1/file", Access(proxy="")), partial, BOUNDS, wait=Waits()),
        "UNREACHABLE",
    )
    assert partial.read_bytes() == BODY[:100]


def test_a_name_that_does_not_resolve_is_named(partial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver's own words are passed on, and it is asked once."""
    asked = names(monkeypatch, {})
    absent = Remote("https://absent.test/file", Access(proxy=""))
    refused(lambda: fetch(absent, partial, BOUNDS), "UNREACHABLE", "absent.test", "unknown here")
    assert asked == ["absent.test"]


def test_a_resolver_that_never_answers_is_left(partial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a pull bounds the lookup of its name, too."""
    with Mirror() as mirror:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: mirror.released.wait() and [])
        silent = Remote("https://silent.test/file", Access(proxy=""))
        refused(lambda: fetch(silent, partial, QUICK), "UNREACHABLE", "no answer in time")


def test_a_tls_handshake_that_never_ends_is_too_slow(partial: Path) -> None:
    """A peer that accepts a connection and says nothing is left in time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = Remote(f"https://127.0.0.1:{silent.getsockname()[1]}/file", Access(proxy=""))
        refused(lambda: fetch(target, partial, QUICK), "TOO_SLOW")


def test_a_server_without_tls_is_named(mirror: Mirror, partial: Path) -> None:
    """A plain server behind an https address is no connection."""
    target = Remote(f"https://127.0.0.1:{mirror.port}/file", Access(proxy=""))
    refused(lambda: fetch(target, partial, BOUNDS, wait=Waits()), "UNREACHABLE", "TLS")


# Redirects


def test_a_redirect_on_the_same_host_keeps_the_credentials(mirror: Mirror) -> None:
    """Each way of naming the place is followed, to the number of redirects that is allowed."""
    mirror.routes |= {
        f"/{n}": redirect(f"/{n - 1}", 300 + code) for n, code in enumerate((1, 2, 3, 7, 8)) if n
    }
    mirror.routes["/0"] = redirect(f"{mirror.url}/file#part", 301)
    target = remote(mirror, "/4", authorization="Basic eA==")
    assert fetch_small(target, BOUNDS, 9000) == BODY
    assert {request.headers.get("authorization") for request in mirror.requests} == {"Basic eA=="}
    refused(lambda: fetch_small(target, replace(BOUNDS, redirects=4), 9000), "TOO_MANY_REDIRECTS", "4")


def test_credentials_do_not_leave_their_host(mirror: Mirror) -> None:
    """Another host, or another port of the same, is told nothing; nor is it once the way leads back."""
    with Mirror({"/file": PLAIN, "/back": redirect(mirror.url + "/file")}) as other:
        mirror.routes["/out"] = redirect(other.url + "/file")
        mirror.routes["/and/back"] = redirect(other.url + "/back")
        secret = {"authorization": "Basic eA==", "allow_private_redirects": True}
        for path in ("/out", "/and/back"):
            assert fetch_small(remote(mirror, path, **secret), BOUNDS, 9000) == BODY
        sent = [request.headers.get("authorization") for request in (*mirror.requests, *other.requests)]
        assert sent == ["Basic eA==", "Basic eA==", None, None, None]


def test_user_and_password_of_a_redirect_are_not_sent(mirror: Mirror) -> None:
    """A server does not choose what another is told."""
    mirror.routes["/out"] = redirect(mirror.url.replace("://", "://user:hush@") + "/file")
    assert fetch_small(remote(mirror, "/out"), BOUNDS, 9000) == BODY
    assert "authorization" not in mirror.requests[-1].headers


@pytest.mark.parametrize(
    "host",
    [
        "inside.test", "both.test", "127.1", "2130706433", "0x7f.1", "0.0.0.1", "10.1.2.3", "169.254.169.254",
        "100.64.0.1", "224.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("proxied", [False, True], ids=["straight", "by proxy"])
def test_a_redirect_to_a_private_address_is_refused(
    host: str, proxied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its spelling, and each of a name's addresses counts; nobody connects. Behind a proxy, numbers alone."""
    if proxied and host.endswith(".test"):
        host = "name.localhost"
    names(monkeypatch, {"inside.test": ["127.0.0.1"], "both.test": ["93.184.215.14", "10.0.0.1"]})
    with Mirror(tls=tmp_path) as mirror, Mirror() as proxy:
        mirror.routes["/file"] = redirect(f"https://{host}:{mirror.port}/other")
        target = remote(mirror, proxy=proxy.url if proxied else "")
        refused(lambda: fetch_small(target, BOUNDS, 9000), "REDIRECT_PRIVATE", "private network")
        assert len(mirror.requests) == 1
        assert len(proxy.requests) == proxied


def test_private_redirects_are_followed_where_they_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator of a private mirror may let it lead to others; the name is asked for once."""
    asked = names(monkeypatch, {"inside.test": ["127.0.0.1"]})
    with Mirror(tls=tmp_path, names=["127.0.0.1", "inside.test"]) as mirror:
        mirror.routes |= {"/file": redirect(f"https://inside.test:{mirror.port}/1")}
        mirror.routes |= {"/1": redirect("/2"), "/2": [Answer(BODY, drop_after=5), PLAIN]}
        target = remote(mirror, allow_private_redirects=True)
        assert fetch_small(target, BOUNDS, 9000, wait=Waits()) == BODY
    assert asked == ["inside.test"]


def test_a_name_cannot_change_its_address_after_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is connected to is the address that was checked, also if the name has another one a moment later."""
    known = {"turncoat.test": ["93.184.215.14"]}
    asked = names(monkeypatch, known)
    dialled: list[str] = []

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        dialled.append(address[0])
        if address[0] != "127.0.0.1":
            known["turncoat.test"] = ["127.0.0.1"]
            raise ConnectionRefusedError(111, "Connection refused")
        return dial_really(address, timeout)

    dial_really = socket.create_connection
    monkeypatch.setattr(socket, "create_connection", dial)
    with Mirror(tls=tmp_path) as mirror:
        mirror.routes["/file"] = redirect(f"https://turncoat.test:{mirror.port}/")
        refused(lambda: fetch_small(remote(mirror), BOUNDS, 9000, wait=Waits()), "UNREACHABLE")
    assert set(dialled) == {"127.0.0.1", "93.184.215.14"}
    assert asked == ["turncoat.test"]


@pytest.mark.parametrize(
    "ip",
    [
        "93.184.215.14",
        "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
        "64:ff9b::5db8:d70e",
        "2002:5db8:d70e::",
        "::ffff:93.184.215.14",
    ],
)
def test_an_address_of_the_open_internet_is_public(ip: str) -> None:
    """What is wrapped counts as what it wraps."""
    assert is_public(ip)


def test_the_next_address_is_tried_where_one_does_not_answer(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with a dead address and a live one can be reached."""
    names(monkeypatch, {"two.test": ["127.0.0.2", "127.0.0.1"]})
    target = Remote(f"http://two.test:{mirror.port}/file", mirror.access)
    assert fetch_small(target, BOUNDS, 9000) == BODY


# Credentials


def netrc(text: str) -> None:
    Path(os.environ["NETRC"]).write_text(text)


@pytest.mark.parametrize(
    ("text", "authorization", "sent"),
    [
        ("machine 127.0.0.1 login user password hush", None, "Basic dXNlcjpodXNo"),
        ("machine 127.0.0.1 login user password hush", "Bearer own", "Bearer own"),
        ("machine other.test login user password hush", None, None),
        ("default login user password hush", None, None),
    ],
    ids=["named", "the client's own", "another's", "for anyone"],
)
def test_netrc_has_the_credentials_of_hosts_it_names(
    mirror: Mirror, text: str, authorization: str | None, sent: str | None
) -> None:
    """They stand behind those of the client's own settings; nobody gets what is for anyone."""
    netrc(text)
    fetch_small(remote(mirror, authorization=authorization), BOUNDS, 9000)
    assert mirror.requests[0].headers.get("authorization") == sent


def test_a_netrc_that_cannot_be_read_is_named(mirror: Mirror) -> None:
    """The message names file and line, and nothing of what is in it."""
    netrc("machine 127.0.0.1\nlogin user hush")
    fault = refused(lambda: fetch_small(remote(mirror), BOUNDS, 9000), "BAD_SETTING", os.environ["NETRC"])
    assert "hush" not in str(fault)


def test_user_and_password_of_the_address_are_sent_to_it(mirror: Mirror) -> None:
    """Where settings of a client spell them in the URL, they are its Authorization."""
    target = Remote(mirror.url.replace("://", "://user:hu%73h@") + "/file", mirror.access)
    fetch_small(target, BOUNDS, 9000)
    assert mirror.requests[0].headers["authorization"] == "Basic dXNlcjpodXNo"


# Proxies


def test_https_goes_through_a_tunnel_of_the_proxy(tmp_path: Path) -> None:
    """The proxy is told the host and its own password; the rest is between the two ends, names included."""
    with Mirror({"/file": PLAIN}, tls=tmp_path, names=["far.test"]) as mirror, Mirror() as proxy:
        proxy_url = proxy.url.replace("://", "://user:hush@")
        target = remote(mirror, proxy=proxy_url, authorization="Basic eA==")
        assert fetch_small(target, BOUNDS, 9000) == BODY
        [request] = proxy.requests
        assert (request.method, request.target) == ("CONNECT", f"far.test:{mirror.port}")
        assert request.headers["proxy-authorization"] == "Basic dXNlcjpodXNo"
        assert "authorization" not in request.headers
        assert "proxy-authorization" not in mirror.requests[0].headers


def test_plain_http_asks_the_proxy_for_the_whole_url(mirror: Mirror) -> None:
    """As proxies want it."""
    target = Remote("http://far.test/file", replace(mirror.access, proxy=mirror.url))
    assert fetch_small(target, BOUNDS, 9000) == BODY
    assert mirror.requests[0].target == "http://far.test/file"
    assert mirror.requests[0].headers["host"] == "far.test"


def test_the_environment_names_the_proxy_and_who_is_reached_without(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """http_proxy and no_proxy are heeded where the access says nothing."""
    names(monkeypatch, {"near.test": ["127.0.0.1"]})
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", mirror.url.removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "near.test")
    for host in ("far.test", "near.test"):
        target = Remote(f"http://{host}:{mirror.port}/file", replace(mirror.access, proxy=None))
        assert fetch_small(target, BOUNDS, 9000) == BODY
    assert [request.target[:4] for request in mirror.requests] == ["http", "/fil"]


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (Answer(status=407), "HTTP_STATUS", "user and password"),
        (Answer(status=403), "HTTP_STATUS", "403"),
        (Answer(status=502), "HTTP_STATUS", "502"),
        (Answer(reset=True), "UNREACHABLE", "broke off"),
        (Answer(trickle="head"), "TOO_SLOW", "proxy"),
    ],
)
def test_a_proxy_that_refuses_is_named(mirror: Mirror, answer: Answer, reason: str, words: str) -> None:
    """The proxy is at fault, not the host behind it, and its password is not in the message."""
    mirror.routes["CONNECT"] = answer
    proxy = mirror.url.replace("://", "://user:hush@")
    target = Remote("https://far.test/file", Access(proxy=proxy))
    fault = refused(lambda: fetch_small(target, QUICK, 9000, wait=Waits()), reason, words, str(mirror.port))
    assert "hush" not in str(fault)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "https://127.0.0.1:1", "http://", "hush@:x"])
def test_a_proxy_of_a_kind_unknown_is_named(proxy: str) -> None:
    """Nothing goes past a proxy that was set but cannot be used."""
    fault = refused(
        lambda: fetch_small(Remote("https://far.test/", Access(proxy=proxy)), BOUNDS, 9), "BAD_SETTING"
    )
    assert "hush" not in str(fault)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "a.localhost.", "127.0.0.1.", "169.254.169.254.", "10.1", "0x7f.1", "[::1]"],
)
def test_behind_a_proxy_numbers_and_localhost_can_be_told(host: str) -> None:
    """Written to its root, in hex or short, an address of this machine or a private network stays one."""
    address = read_address(f"https://{host}/file")
    assert address is not None
    with pytest.raises(PullError) as caught:
        check_public(address, Access(proxy="http://proxy.example:3128"), Resolver(), time.monotonic() + 5)
    assert caught.value.reason == "REDIRECT_PRIVATE"
