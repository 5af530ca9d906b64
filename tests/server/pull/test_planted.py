"""A deployment's folder that somebody else made: whatever is planted in it, nothing outside it changes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenwire_server import cli, lockfile
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Bounds
from tokenwire_server.pull.store import Arrived, Store
from tokenwire_server.tools import deployment

from tests.server import made_up
from tests.server.pull.mirror import Answer, Mirror

ARTIFACT = made_up.rank_file()
SHA256 = hashlib.sha256(ARTIFACT).hexdigest()
EVIL = ARTIFACT[:-2] + b"9\n"
SOURCE = "file:given.tiktoken"
OPTIONS = ("--name", "tiny", "--pattern", made_up.GPT2_PATTERN)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody's own, which must stay as it is."""
    folder = tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    for name in ("file", "sub/file", "tiny.json"):
        (folder / name).write_bytes(b"precious")
        (folder / name).chmod(0o600)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a deployment in which everything is in order, as the current one."""
    folder = tmp_path / "deployment"
    folder.mkdir()
    (folder / "given.tiktoken").write_bytes(ARTIFACT)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("TOKENWIRE_SERVE_CONFIG", raising=False)
    assert run("add", SOURCE, *OPTIONS) == 0
    return folder


def run(*arguments: str) -> int:
    return cli.main(["artifacts", *arguments])


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder below one: kind and permissions, content."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


def key(source: str = SOURCE, sha256: str | None = SHA256) -> str:
    """What a file of this source and pin is called under way."""
    return hashlib.sha256(f"{source} {sha256}".encode()).hexdigest()[:32]


@pytest.mark.parametrize("name", ["artifacts", "artifacts/.partial"])
@pytest.mark.parametrize("command", [("pull",), ("add", SOURCE, "--name", "b", "--like", "tiny")])
def test_a_folder_that_is_a_link_is_refused(
    here: Path, outside: Path, capsys: pytest.CaptureFixture[str], name: str, command: tuple[str, ...]
) -> None:
    """With artifacts/ or .partial a link or a file, nothing is written, and what the link leads to stays."""
    artifact = here / "artifacts" / f"{SHA256}.tiktoken"
    artifact.unlink()
    if name == "artifacts":
        artifact.parent.rmdir()
    before = tree(outside)
    (here / name).symlink_to(outside)
    for _ in ("a link", "a file"):
        assert run(*command) == 1
        assert "STORE_UNWRITABLE" in capsys.readouterr().err
        assert tree(outside) == before
        (here / name).unlink()
        (here / name).write_bytes(b"")


def link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "file")


def hard_link(path: Path, outside: Path) -> None:
    os.link(outside / "file", path)


def link_to_folder(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def folder_of_links(path: Path, outside: Path) -> None:
    path.mkdir()
    (path / "inner").symlink_to(outside)


def fifo(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("plant", [link, hard_link, link_to_folder, folder_of_links, fifo])
def test_what_is_planted_under_way_is_removed_as_what_it_is(
    here: Path, outside: Path, plant: Callable[[Path, Path], None]
) -> None:
    """A file under way whose name is taken is made anew; links are removed and never followed."""
    artifact = here / "artifacts" / f"{SHA256}.tiktoken"
    artifact.unlink()
    partial = here / "artifacts" / ".partial"
    partial.mkdir()
    for name in (f"{key()}.artifact", f"{key()}.artifact.resume", "other"):
        plant(partial / name, outside)
    n_links, before = (outside / "file").stat().st_nlink, tree(outside)
    assert run("pull") == 0
    assert tree(outside) == before
    assert (artifact.is_symlink(), artifact.read_bytes(), artifact.stat().st_nlink) == (False, ARTIFACT, 1)
    assert not partial.exists()
    assert (outside / "file").stat().st_nlink == (1 if plant is hard_link else n_links)


@pytest.mark.parametrize("plant", [link, hard_link, fifo])
def test_only_a_file_of_ours_is_kept(here: Path, outside: Path, plant: Callable[[Path, Path], None]) -> None:
    """What took the place of a file that had arrived gets neither its name nor other permissions."""
    with Store(here, Bounds()) as store:
        arrived = store.bring(SOURCE)
        arrived.path.unlink()
        plant(arrived.path, outside)
        before = tree(outside)
        with pytest.raises(PullError) as caught:
            store.keep(arrived, "artifacts/kept")
    assert caught.value.reason == "STORE_UNWRITABLE"
    assert tree(outside) == before
    assert not (here / "artifacts" / "kept").exists()


def test_no_folder_is_made_through_a_link(
    here: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file below a link is refused before anything is made behind it."""
    (here / "link").symlink_to(outside)
    before = tree(outside)
    path = here / "tokenwire.toml"
    path.write_text(path.read_text().replace("sha256 =", 'file = "link/new/folder/a"\nsha256 =', 1))
    assert run("pull", "--json") == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["reason"] == "STORE_UNWRITABLE"
    assert tree(outside) == before


@pytest.mark.parametrize(
    "command", [("prove", "--renew"), ("add", SOURCE, "--name", "tiny2", "--like", "tiny")]
)
def test_golden_vectors_are_not_written_through_a_link(
    here: Path, outside: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """With golden/ a link nothing is written; a link in place of the file is replaced by the file."""
    before = tree(outside)
    golden = here / "golden"
    golden.rename(here / "kept")
    golden.symlink_to(outside)
    assert run(*command) == 1
    assert "STORE_UNWRITABLE" in capsys.readouterr().err
    assert tree(outside) == before
    golden.unlink()
    (here / "kept").rename(golden)
    for name in ("tiny.json", "tiny2.json", ".tiny.json.new", ".tiny2.json.new"):
        (golden / name).unlink(missing_ok=True)
        (golden / name).symlink_to(outside / "tiny.json")
    assert run(*command) == 0
    assert tree(outside) == before
    assert (golden / ("tiny.json" if command[0] == "prove" else "tiny2.json")).is_symlink() is False


def test_the_lock_is_not_written_through_a_link(here: Path, outside: Path) -> None:
    """A link in place of the lock is replaced by the lock; the manifest, which a person keeps, stays a link."""
    lock, manifest = here / "tokenwire.lock", here / "tokenwire.toml"
    (outside / "lock").write_bytes(lock.read_bytes())
    (outside / "own.toml").write_bytes(manifest.read_bytes())
    before = tree(outside)
    for path, name in ((lock, "lock"), (manifest, "own.toml")):
        path.unlink()
        path.symlink_to(outside / name)
    assert run("add", SOURCE, "--name", "b", "--like", "tiny") == 0
    assert (lock.is_symlink(), manifest.is_symlink()) == (False, True)
    assert manifest.read_bytes() == (outside / "own.toml").read_bytes() != before["own.toml"][1]
    assert {**tree(outside), "own.toml": ()} == {**before, "own.toml": ()}
    assert run("verify") == 0


@pytest.mark.parametrize("plant", [fifo, lambda path, _: path.symlink_to("/dev/zero"), folder_of_links])
def test_what_never_ends_is_no_artifact(
    here: Path, outside: Path, plant: Callable[[Path, Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A fifo, a device or a folder in place of an artifact is said by pull, list and verify, at once."""
    artifact = here / "artifacts" / f"{SHA256}.tiktoken"
    artifact.unlink()
    plant(artifact, outside)
    capsys.readouterr()
    assert run("pull", "--json") == 1
    assert json.loads(capsys.readouterr().out)["reason"] in ("FILE_UNREADABLE", "FILE_OUTSIDE_FOLDER")
    assert run("list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["state"] == "differs"
    assert run("verify") == 1


def test_an_artifact_over_the_bound_is_not_read_to_its_end(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file in place of an artifact no more is read than an artifact may have."""
    path = here / "tokenwire.toml"
    tables = path.read_text()
    for limit, expected in ((len(ARTIFACT), "present"), (len(ARTIFACT) - 1, "differs")):
        path.write_text(f"[limits]\nartifact_bytes = {limit}\n{tables}")
        capsys.readouterr()
        assert run("list", "--json") == 0
        assert json.loads(capsys.readouterr().out)["state"] == expected


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_planted_transfer_is_no_answer_of_the_server(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_pinned: bool
) -> None:
    """Without a pin or checksum the server is asked for all bytes; with a pin other bytes are refused."""
    monkeypatch.setenv("NO_PROXY", "*")
    with Mirror({"/v": Answer(ARTIFACT, etag='"1"')}, tls=tmp_path) as mirror:
        monkeypatch.setenv("SSL_CERT_FILE", str(mirror.ca))
        source, pin = f"{mirror.url}/v", SHA256 if is_pinned else None
        partial = here / "artifacts" / ".partial" / f"{key(source, pin)}.artifact"
        partial.parent.mkdir()
        partial.write_bytes(EVIL)
        note = {"validator": '"1"', "size_bytes": len(EVIL), "checksum": ""}
        partial.with_name(f"{partial.name}.resume").write_text(json.dumps(note))
        with Store(here, Bounds()) as store:
            if is_pinned:
                with pytest.raises(PullError) as caught:
                    store.bring(source, pin)
                assert caught.value.reason == "SHA256_MISMATCH"
            arrived: Arrived = store.bring(source, pin)
            assert arrived.sha256 == SHA256
        assert ["range" in request.headers for request in mirror.requests] == [False]


@pytest.mark.parametrize(
    ("command", "code", "names"),
    [(("pull",), 0, ["tiny", "second"]), (("prove", "--renew"), 1, ["tiny"])],
)
def test_an_add_at_the_same_time_keeps_its_entry(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], code: int, names: list[str]
) -> None:
    """What an `add` writes is seen, or it is told that another command has the folder; it is never lost."""
    read = deployment.read
    codes: list[int] = []

    def read_late(*arguments: Any, **options: Any) -> deployment.Deployment:
        """The first time somebody else adds a tokenizer behind the reader's back."""
        found = read(*arguments, **options)
        if not codes:
            add = [sys.executable, "-m", "tokenwire_server.cli", "artifacts", "add", SOURCE, "--like", "tiny"]
            path = os.pathsep.join(entry for entry in sys.path if entry)
            added = subprocess.run(
                [*add, "--name", "second"], env={**os.environ, "PYTHONPATH": path}, check=False, timeout=60
            )
            codes.append(added.returncode)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(deployment, "read", read_late)
        assert run(*command) == 0
    assert codes == [code]
    lock = lockfile.read(here / "tokenwire.lock")
    assert lock is not None
    assert list(lock.tokenizers) == names
    assert run("verify") == 0


def test_two_manifests_of_a_folder_do_not_share_what_is_written(here: Path) -> None:
    """Pulling and proving one leaves lock and golden vectors of the other alone, also for tokenizers of one name."""
    before = {name: (here / name).read_bytes() for name in ("tokenwire.lock", "golden/tiny.json")}
    text = (here / "tokenwire.toml").read_text()
    (here / "b.toml").write_text(text.replace(made_up.GPT2_PATTERN, made_up.OWN_PATTERN))
    for command in (("pull",), ("prove",), ("verify",)):
        assert run(*command, "--config", "b.toml") == 0
    assert {name: (here / name).read_bytes() for name in before} == before
    assert (here / "golden" / "b" / "tiny.json").is_file()
    assert (here / "b.lock").is_file()
    assert run("verify") == 0
