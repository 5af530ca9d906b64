"""The wire is guarded: the contract is linted, never broken, and the committed stubs are what it generates."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto"
RELEASED = PROTO / "tokenwire.v1.binpb"
OURS = "tokenwire/v1/"


def generate(into: Path, proto: Path = PROTO) -> Path:
    """Generate stubs into the folder and return the descriptor image beside them."""
    python = ROOT / ".venv-proto" / "bin" / "python"
    if not python.exists():
        pytest.fail("the stub generator is not installed; `make check` installs it")
    image = into / "image.binpb"
    subprocess.run(["bash", proto / "generate.sh", python, into, image], check=True, timeout=120)
    return image


def buf(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("buf", path=f"{sysconfig.get_path('scripts')}:{Path(sys.executable).parent}")
    assert tool is not None, "buf is not installed; `make check` installs it"
    command = [tool, *map(str, arguments), "--config", str(PROTO / "buf.yaml"), "--path", OURS.rstrip("/")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    generate(folder)
    return folder


def test_committed_stubs_are_what_the_contract_generates(generated: Path) -> None:
    """Each generated file equals the committed one, and no other generated file is committed."""
    committed = ROOT / "clients/python" / OURS
    fresh = {path.name: path.read_bytes() for path in (generated / OURS).iterdir()}
    kept = {path.name: path.read_bytes() for path in committed.glob("*_pb2*")}
    assert sorted(fresh) == sorted(kept)
    assert [name for name in fresh if fresh[name] != kept[name]] == [], "run `make stubs`"


def test_the_contract_is_lint_clean(generated: Path) -> None:
    """buf finds nothing to say about our files."""
    answer = buf("lint", generated / "image.binpb")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_lint_sees_our_files(tmp_path: Path) -> None:
    """A badly named field in our own file is reported."""
    copy = tmp_path / "proto"
    shutil.copytree(PROTO, copy)
    source = copy / OURS / "tokenizer.proto"
    source.write_text(source.read_text() + "\nmessage Planted {\n  string badName = 1;\n}\n")
    answer = buf("lint", generate(tmp_path, copy))
    assert answer.returncode != 0
    assert "badName" in answer.stdout


def test_the_contract_breaks_nothing_released(generated: Path) -> None:
    """Whoever speaks the released contract can go on speaking it."""
    answer = buf("breaking", generated / "image.binpb", "--against", RELEASED)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_breaking_check_sees_a_changed_field_type(generated: Path, tmp_path: Path) -> None:
    """A field whose type changed is refused, so a pass of the check means something."""
    image = FileDescriptorSet.FromString((generated / "image.binpb").read_bytes())
    message = next(file for file in image.file if file.name == OURS + "tokenizer.proto").message_type[0]
    message.field[0].type = FieldDescriptorProto.TYPE_FIXED64
    changed = tmp_path / "changed.binpb"
    changed.write_bytes(image.SerializeToString())
    answer = buf("breaking", changed, "--against", RELEASED)
    assert answer.returncode != 0
    assert message.field[0].name in answer.stdout
