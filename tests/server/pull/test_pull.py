"""`artifacts pull` from a source of every kind: what it leaves, when it does nothing, and what tampering leads to."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tokenwire_server import cli, lockfile
from tokenwire_server.pull import fetch, remote, store
from tokenwire_server.pull.remote import Bounds

from tests.server.pull import packages
from tests.server.pull.mirror import Answer, redirect
from tests.server.pull.packages import ARTIFACT, MEMBER, SHA256, Registries

FLIPPED = bytes([ARTIFACT[0] ^ 1]) + ARTIFACT[1:]
BOMB = bytes(1 << 24)
LARGE = random.Random(0).randbytes((1 << 20) + 1)


def set_bounds(monkeypatch: pytest.MonkeyPatch, grace_s: float) -> None:
    """Bounds that a test can reach."""
    small = Bounds(artifact_bytes=1 << 20, unpacked_bytes=1 << 22, grace_s=grace_s)
    monkeypatch.setattr(remote, "Bounds", lambda **_given: small)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registries]:
    """Registries of the test's own, small bounds, and a deployment's empty folder as the current one."""
    home = tmp_path / "home"
    deployment = home / "deployment"
    (deployment / "given").mkdir(parents=True)
    (deployment / "given" / "tiny.tiktoken").write_bytes(ARTIFACT)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(deployment)
    set_bounds(monkeypatch, grace_s=30)
    with packages.registries(tmp_path, monkeypatch) as found:
        yield found


def pull(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[dict[str, str]]]:
    """The exit code and what was said of each tokenizer."""
    code = cli.main(["artifacts", "pull", "--json", *flags])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its inode and time of change."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_kind_of_source_is_pulled_and_a_second_pull_does_nothing(
    made: Registries, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six sources, one tokenizer: the same digest each; then no request is made and no file is touched."""
    here = Path.cwd()
    packages.manifest(here, made.sources())
    code, told = pull(capsys)
    assert code == 0
    assert [item["state"] for item in told] == ["pulled"] * 6
    assert len({item["digest"] for item in told}) == 1
    for name in made.sources():
        assert (here / "artifacts" / f"{name}.tiktoken").read_bytes() == ARTIFACT
    lock = lockfile.read(here / "tokenwire.lock")
    assert lock is not None
    assert [item.file.source for item in lock.tokenizers.values()] == list(made.sources().values())
    before, n_requests = tree(here), len(made.mirror.requests) + len(made.https.requests)
    assert not [name for name in before if ".partial" in name]
    code, told = pull(capsys, "--frozen")
    assert code == 0
    assert [item["state"] for item in told] == ["present"] * 6
    assert tree(here) == before
    assert len(made.mirror.requests) + len(made.https.requests) == n_requests


def test_two_machines_with_one_manifest_and_lock_have_one_digest(
    made: Registries, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pulled elsewhere with the first machine's lock: equal digests, and the lock keeps every byte."""
    sources = {"tiny": made.sources()["from-wheel"]}
    packages.manifest(Path.cwd(), sources)
    _, first = pull(capsys)
    lock = (Path.cwd() / "tokenwire.lock").read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    packages.manifest(other, sources)
    (other / "tokenwire.lock").write_bytes(lock)
    monkeypatch.chdir(other)
    code, second = pull(capsys, "--frozen")
    assert code == 0
    assert second[0]["state"] == "pulled"
    assert second[0]["digest"] == first[0]["digest"]
    assert (other / "tokenwire.lock").read_bytes() == lock


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("source", 'aliases = ["other"]\nsource'), True),
        (('name = "tiny"', 'name = "renamed"'), True),
        (('"<|end|>"', '"<|stop|>"'), False),
        (("= 300", "= 302"), False),
        ((r"\p{N}++", r"\p{N}+"), False),
    ],
)
def test_the_digest_is_of_what_decides_the_ids(
    made: Registries, capsys: pytest.CaptureFixture[str], change: tuple[str, str], same: bool
) -> None:
    """Another control token, id or pattern is another tokenizer; another name or alias is not."""
    path = packages.manifest(Path.cwd(), {"tiny": made.sources()["from-file"]})
    _, before = pull(capsys)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    code, after = pull(capsys)
    assert code == 0
    assert (after[0]["digest"] == before[0]["digest"]) is same


def https(**answer: object) -> Callable[[Registries], None]:
    def tamper(made: Registries) -> None:
        made.https.routes["/tiny.tiktoken"] = Answer(**{"body": ARTIFACT, **answer})  # type: ignore[arg-type]

    return tamper


def leads_to(location: str) -> Callable[[Registries], None]:
    def tamper(made: Registries) -> None:
        made.https.routes["/tiny.tiktoken"] = redirect(location.format(https=made.https, mirror=made.mirror))

    return tamper


def packed(name: str, data: bytes) -> Callable[[Registries], None]:
    return lambda made: made.serve(name, data)


def swapped(name: str, position: int) -> Callable[[Registries], None]:
    """The index is as it was, one byte of the package is not."""

    def tamper(made: Registries) -> None:
        data = bytearray(made.files[name])
        data[position] ^= 1
        made.mirror.routes[f"/files/{name}"] = Answer(bytes(data))

    return tamper


TAMPERED: list[tuple[str, Callable[[Registries], None], str]] = [
    ("from-https", https(body=FLIPPED), "SHA256_MISMATCH"),
    ("from-https", https(body=ARTIFACT[:-1]), "SHORTER_THAN_PINNED"),
    ("from-https", https(body=ARTIFACT + b"\n"), "LONGER_THAN_PINNED"),
    ("from-https", https(body=ARTIFACT + b"\n", framing="chunked"), "LONGER_THAN_PINNED"),
    ("from-https", https(stall_after=100), "TOO_SLOW"),
    ("from-https", https(trickle="head"), "TOO_SLOW"),
    ("from-https", https(body=b"", trickle="body", length=len(ARTIFACT)), "TOO_SLOW"),
    ("from-https", https(body=b"<html>", status=403), "HTTP_STATUS"),
    ("from-https", https(status=404), "NOT_FOUND"),
    ("from-https", leads_to("http://localhost:1/"), "REDIRECT_SCHEME"),
    ("from-https", leads_to("file:///etc/passwd"), "REDIRECT_SCHEME"),
    ("from-https", leads_to("https://127.0.0.1:1/"), "REDIRECT_PRIVATE"),
    ("from-https", leads_to("https://10.0.0.1/"), "REDIRECT_PRIVATE"),
    ("from-https", leads_to("https://[::ffff:192.168.0.1]/"), "REDIRECT_PRIVATE"),
    ("from-https", leads_to("https://169.254.169.254/"), "REDIRECT_PRIVATE"),
    ("from-https", leads_to("{https.url}/tiny.tiktoken"), "TOO_MANY_REDIRECTS"),
    ("from-wheel", swapped(packages.WHEEL, 40), "CHECKSUM_MISMATCH"),
    ("from-sdist", swapped(packages.SDIST, 40), "CHECKSUM_MISMATCH"),
    ("from-npm", swapped(packages.TARBALL, 40), "CHECKSUM_MISMATCH"),
    ("from-wheel", packed(packages.WHEEL, packages.wheel({MEMBER: FLIPPED})), "SHA256_MISMATCH"),
    ("from-wheel", packed(packages.WHEEL, packages.wheel({MEMBER: BOMB})), "ARCHIVE_BOMB"),
    ("from-wheel", packed(packages.WHEEL, packages.wheel({MEMBER: LARGE})), "MEMBER_TOO_LARGE"),
    (
        "from-npm",
        packed(packages.TARBALL, packages.tarball({f"package/{MEMBER}": LARGE})),
        "MEMBER_TOO_LARGE",
    ),
    ("from-npm", packed(packages.TARBALL, packages.tarball({"package/x": BOMB})), "ARCHIVE_BOMB"),
    ("from-wheel", packed(packages.WHEEL, packages.wheel_with_link(MEMBER, "/etc/passwd")), "MEMBER_IS_LINK"),
    (
        "from-npm",
        packed(packages.TARBALL, packages.tarball({}, (f"package/{MEMBER}", "/etc/passwd"))),
        "MEMBER_IS_LINK",
    ),
    (
        "from-wheel",
        packed(packages.WHEEL, packages.wheel({f"../{MEMBER}": b"x", MEMBER: ARTIFACT})),
        "UNSAFE_MEMBER_NAME",
    ),
    (
        "from-sdist",
        packed(packages.SDIST, packages.tarball({"../../etc/x": b"", f"tiny_ranks-1.0/{MEMBER}": ARTIFACT})),
        "UNSAFE_MEMBER_NAME",
    ),
    ("from-wheel", packed(packages.WHEEL, packages.wheel({"other": ARTIFACT})), "MEMBER_NOT_FOUND"),
    ("from-wheel", packed(packages.WHEEL, b"no zip at all"), "BAD_ARCHIVE"),
    ("from-npm", packed(packages.TARBALL, b"\x1f\x8b no gzip"), "BAD_ARCHIVE"),
]


@pytest.mark.parametrize(
    ("name", "tamper", "reason"), TAMPERED, ids=[f"{name}-{reason}" for name, _, reason in TAMPERED]
)
def test_a_tampered_mirror_has_its_own_error_and_leaves_nothing(
    made: Registries,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    tamper: Callable[[Registries], None],
    reason: str,
) -> None:
    """Pulled well, then pulled anew from a mirror that has changed: a named error, and no file that was not there."""
    here = Path.cwd()
    packages.manifest(here, {name: made.sources()[name]})
    assert pull(capsys)[0] == 0
    (here / "artifacts" / f"{SHA256}.tiktoken").unlink()
    (here / "artifacts").rmdir()
    before = tree(here)
    tamper(made)
    if reason == "TOO_SLOW":
        set_bounds(monkeypatch, grace_s=0.3)
    code, told = pull(capsys)
    assert code == 1
    assert told[0]["reason"] == reason, told
    assert tree(here) == before
    assert not (here / "artifacts").exists()


def test_a_first_pull_that_fails_leaves_no_lock(made: Registries, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a lock, a tampered file is SHA256_MISMATCH whatever its size, and the manifest stays alone."""
    path = packages.manifest(Path.cwd(), {"tiny": made.sources()["from-https"]})
    https(body=ARTIFACT + b"\n")(made)
    code, told = pull(capsys)
    assert (code, told[0]["reason"]) == (1, "SHA256_MISMATCH")
    assert {*tree(Path.cwd())} == {path.name, "given/tiny.tiktoken"}


def test_one_that_fails_leaves_the_others_alone(made: Registries, capsys: pytest.CaptureFixture[str]) -> None:
    """Of six sources one is tampered with: the other five are pulled and locked."""
    packages.manifest(Path.cwd(), made.sources())
    swapped(packages.TARBALL, 40)(made)
    code, told = pull(capsys)
    assert code == 1
    assert [item["state"] for item in told] == ["pulled"] * 5 + ["failed"]
    lock = lockfile.read(Path("tokenwire.lock"))
    assert lock is not None
    assert len(lock.tokenizers) == 5


def test_a_transfer_that_breaks_off_goes_on_in_the_next_pull(
    made: Registries, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second pull asks for the rest alone."""
    monkeypatch.setattr(fetch, "PAUSES_S", ())
    packages.manifest(Path.cwd(), {"tiny": made.sources()["from-https"]})
    https(etag='"s"', drop_after=1000)(made)
    code, told = pull(capsys)
    assert (code, told[0]["reason"]) == (1, "CONNECTION_LOST")
    https(etag='"s"')(made)
    assert pull(capsys)[0] == 0
    assert made.https.requests[-1].headers["range"] == "bytes=1000-"


def test_a_second_pull_at_the_same_time_is_refused(
    made: Registries, capsys: pytest.CaptureFixture[str]
) -> None:
    """One pull at a time works on a folder; the other says so and changes nothing."""
    packages.manifest(Path.cwd(), {"tiny": made.sources()["from-file"]})
    with store.Store(Path.cwd(), Bounds()):
        assert cli.main(["artifacts", "pull"]) == 1
    assert "STORE_BUSY" in capsys.readouterr().err
    assert pull(capsys)[0] == 0


def test_a_damaged_artifact_is_pulled_anew(made: Registries, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in artifacts/ that is not what its pin says is replaced; one elsewhere is the operator's, and is not."""
    here = Path.cwd()
    path = packages.manifest(here, {"tiny": made.sources()["from-file"]})
    assert pull(capsys)[0] == 0
    kept = here / "artifacts" / f"{SHA256}.tiktoken"
    kept.write_bytes(FLIPPED)
    assert pull(capsys)[1][0]["state"] == "pulled"
    assert kept.read_bytes() == ARTIFACT
    path.write_text(path.read_text() + 'file = "own.tiktoken"\n')
    (here / "own.tiktoken").write_bytes(FLIPPED)
    code, told = pull(capsys)
    assert (code, told[0]["reason"]) == (1, "SHA256_MISMATCH")
    assert (here / "own.tiktoken").read_bytes() == FLIPPED


def test_frozen_refuses_a_lock_that_would_change(
    made: Registries, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --frozen a manifest that the lock does not know is refused, and the lock stays as it was."""
    path = packages.manifest(Path.cwd(), {"tiny": made.sources()["from-file"]})
    assert pull(capsys)[0] == 0
    before = (Path.cwd() / "tokenwire.lock").read_bytes()
    path.write_text(path.read_text().replace("<|end|>", "<|stop|>"))
    assert pull(capsys, "--frozen")[0] == 1
    assert (Path.cwd() / "tokenwire.lock").read_bytes() == before
    assert pull(capsys)[0] == 0
    assert (Path.cwd() / "tokenwire.lock").read_bytes() != before
