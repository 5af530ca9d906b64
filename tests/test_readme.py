"""The README tells the truth: its Python blocks print what it says they print, its commands run, its links lead on."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rank_files import rank_file
from tests.service import COMMAND, ROOT, Service, environment, running_service

README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
EXAMPLE_ADDRESS = "127.0.0.1:50051"
EXAMPLE_HTTP_ADDRESS = "127.0.0.1:9464"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and the `text` block that follows it at once: what it prints."""

    language: str
    body: str
    printed: str | None


def blocks() -> list[Block]:
    found = list(FENCE.finditer(README))
    following = [*found[1:], None]
    return [
        Block(
            block["language"],
            block["body"],
            after["body"]
            if after and after["language"] == "text" and not README[block.end() : after.start()].strip()
            else None,
        )
        for block, after in zip(found, following, strict=True)
    ]


PYTHON = [block for block in blocks() if block.language == "python"]
ALL_COMMANDS = [
    command
    for block in blocks()
    if block.language == "sh"
    for line in block.body.replace("\\\n", " ").splitlines()
    if (command := line.split("  #")[0].strip()) and not command.startswith("#")
]
DEPLOYING = [command for command in ALL_COMMANDS if "tokenwire artifacts " in command]
"""They follow on each other, in one folder."""
COMMANDS = [command for command in ALL_COMMANDS if command not in DEPLOYING]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as service:
        yield service


@pytest.fixture(scope="module")
def manifest_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's tokenwire.toml, its pattern filled in, and the rank file that it names."""
    folder = tmp_path_factory.mktemp("manifest")
    manifest = next(block.body for block in blocks() if block.language == "toml")
    file = rank_file("r50k_base")
    (folder / "r50k_base.tiktoken").write_bytes(file.data)
    (folder / "tokenwire.toml").write_text(manifest.replace("'''...'''", f"'''{file.pattern}'''"))
    return folder


def run(command: list[str] | str, service: Service, folder: Path = ROOT) -> str:
    """What a command prints in a folder, with the README's addresses replaced by the test's."""

    def here(text: str) -> str:
        return text.replace(EXAMPLE_ADDRESS, service.address).replace(
            EXAMPLE_HTTP_ADDRESS, service.http_address
        )

    answer = subprocess.run(
        here(command) if isinstance(command, str) else list(map(here, command)),
        shell=isinstance(command, str),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_first_screen_says_how_to_serve_and_test() -> None:
    """`make serve`, `make test` and a Python example stand in the first 40 lines."""
    screen = "\n".join(README.splitlines()[:40])
    assert all(words in screen for words in ("make serve", "make test", "```python", "import tokenwire"))


def test_every_python_block_says_what_it_prints() -> None:
    """No example is without its output, so none goes unchecked."""
    assert PYTHON
    assert [block.body for block in PYTHON if "print(" in block.body and block.printed is None] == []


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.body.strip().splitlines()[-1])
def test_python_blocks_print_what_the_readme_says(block: Block, service: Service) -> None:
    """Each Python block runs against a fresh service and prints exactly the block after it."""
    assert run([sys.executable, "-c", block.body], service) == (block.printed or "")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, service: Service, manifest_folder: Path) -> None:
    """make's targets exist, other repositories' commands are known, and each `tokenwire` command succeeds."""
    words = shlex.split(command)
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert [word for word in words[1:] if "=" not in word and word not in targets] == []
    elif words[:2] == ["git", "clone"] or words[0] == "cd":
        assert len(words) >= 2
    elif words[:2] == ["pip", "install"]:
        assert all(
            word in {"tokenwire", "tokenwire-server", "tokenwire[local]"} or "/" in word for word in words[2:]
        )
    elif "tokenwire serve" in command:
        run([*COMMAND, *words[words.index("serve") :], "--check"], service, manifest_folder)
    else:
        assert "tokenwire " in command or "curl" in command, f"the test does not know {command!r}"
        ours = shlex.join(COMMAND)
        run(re.sub(r"(\.venv/bin/)?\btokenwire (?=[a-z])", lambda _: f"{ours} ", command), service)


def test_the_artifacts_commands_run_one_after_the_other(service: Service, tmp_path: Path) -> None:
    """From an empty folder to a tokenizer that is added, pulled, verified and compared; diff finds differences."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "text.txt").write_text("A model never sees text.\n          x\n")
    for command in DEPLOYING:
        words = [*COMMAND, *shlex.split(command)[1:]]
        if "diff" in words:
            told = subprocess.run(
                words,
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert (told.returncode, told.stderr) == (1, "")
            assert "corpus/text.txt:2" in told.stdout
        else:
            assert "r50k_base" in run(words, service, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["artifacts", "corpus", "golden", "tokenwire.lock", "tokenwire.toml"]
    )


def test_links_lead_to_files_that_are_there() -> None:
    """Each relative link, and each path in backticks that looks like a file of the tree, exists."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    paths = re.findall(r"`((?:fastcore|server|clients|proto|tests|docs|deploy)/[\w./-]+)`", README)
    assert [path for path in [*links, *paths] if not (ROOT / path).exists()] == []


def test_the_way_of_one_request_is_named() -> None:
    """The README names at most ten files, all there, that one Encode passes from socket to socket."""
    way = re.search(r"^#+ .*one request.*?(?=^#+ |\Z)", README, re.M | re.S | re.I)
    assert way is not None
    files = re.findall(r"`((?:fastcore|server|clients)/[\w./]+\.(?:py|pyx))`", way[0])
    assert 3 <= len(set(files)) <= 10
    assert [file for file in files if not (Path(ROOT) / file).exists()] == []
