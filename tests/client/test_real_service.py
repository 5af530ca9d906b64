"""The client with the real service: answers, errors, sockets, and the documents' examples."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tokenwire

from tests.client.fake_service import Ask
from tests.service import COMMAND, ROOT, Service, environment, running_service

DOCUMENTS = ("clients/python/README.md", "docs/client.md")
EXAMPLE_ADDRESS = "127.0.0.1:50051"
EXAMPLE = re.compile(r"^```python\n(?P<program>.*?)^```\n\n```text\n(?P<printed>.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^\.venv/bin/tokenwire .+$", re.M)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
TEXT = "Ein naïver Text: 日本語 👩\u200d💻 <|endoftext|> שלום\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The embedded tokenizers, over TCP and on a unix socket."""
    with running_service("--unix", str(tmp_path_factory.mktemp("sockets"))) as service:
        yield service


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_print_what_they_say(service: Service, document: str) -> None:
    """Every Python example of a document runs and prints the block below it."""
    examples = list(EXAMPLE.finditer((ROOT / document).read_text()))
    assert examples
    for example in examples:
        program = example["program"].replace(EXAMPLE_ADDRESS, service.address)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment(PYTHONIOENCODING="utf-8"),
            capture_output=True,
            check=False,
        )
        assert (done.stderr.decode(), done.stdout.decode()) == ("", example["printed"])


def test_documented_commands_run(service: Service) -> None:
    """Every command of the document succeeds from the root of the tree, without a complaint."""
    commands = COMMANDS.findall((ROOT / "docs/client.md").read_text())
    assert len(commands) == 5
    for command in commands:
        here = command.replace(".venv/bin/tokenwire", shlex.join(COMMAND)).replace(
            EXAMPLE_ADDRESS, service.address
        )
        done = subprocess.run(
            ["sh", "-c", here], cwd=ROOT, env=environment(), capture_output=True, check=True
        )
        assert done.stdout
        assert done.stderr == b""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_that_are_there(document: str) -> None:
    """Each relative link of a document exists; both lead to the contract."""
    folder = (ROOT / document).parent
    links = LINK.findall((ROOT / document).read_text())
    assert [link for link in links if not (folder / link).exists()] == []
    assert any(link.endswith("proto/tokenwire/v1/tokenizer.proto") for link in links)


@pytest.mark.parametrize("policy", ["text", "allow", {"<|endoftext|>"}, {"<|fim_prefix|>"}])
def test_count_encode_and_decode_agree(ask: Ask, service: Service, policy: object) -> None:
    """count is the number of ids, ids decode to the text, and byte offsets cut it into the token bytes."""
    encoding = ask(service.address, "encode", "gpt-4", TEXT, special=policy, offsets="byte", token_bytes=True)
    data = TEXT.encode()
    assert ask(service.address, "count", "gpt-4", TEXT, special=policy) == len(encoding)
    assert ask(service.address, "decode", "gpt-4", encoding.ids) == TEXT
    assert ask(service.address, "decode", "gpt-4", [encoding.ids], as_bytes=True) == [data]
    assert [data[start:end] for start, end in encoding.offsets] == encoding.token_bytes
    assert (100257 in encoding.ids) == (policy in ("allow", {"<|endoftext|>"}))


def test_a_truncation_fits_again(ask: Ask, service: Service) -> None:
    """The text kept is the range named, and counts within the budget."""
    for keep in ("start", "end"):
        kept = ask(service.address, "truncate", "gpt-4o", TEXT, 9, keep=keep, return_ids=True)
        ((start, end),) = kept.kept
        assert TEXT.encode()[start:end].decode() == kept.text
        assert ask(service.address, "count", "gpt-4o", kept.text) == kept.n_tokens == len(kept.ids) <= 9


@pytest.mark.parametrize(("keep", "place"), [("start", (0, 0)), ("end", (3, 3))])
def test_a_budget_of_nothing_keeps_an_empty_range(
    ask: Ask, service: Service, keep: str, place: tuple[int, int]
) -> None:
    """There is one range without `ids_only`, and none with it."""
    kept = ask(service.address, "truncate", "gpt-4o", "abc", 0, keep=keep)
    assert (kept.text, kept.kept, kept.truncated) == ("", [place], True)
    kept = ask(service.address, "truncate", "gpt-4o", "abc", 0, keep=keep, cut="token", ids_only=True)
    assert (kept.ids, kept.kept, kept.truncated) == ([], [], True)


def test_faults_are_typed(ask: Ask, service: Service) -> None:
    """Each fault of a request or an input is its class, with its numbers."""
    with pytest.raises(tokenwire.UnknownTokenizerError, match="gpt-4o"):
        ask(service.address, "count", "gpt-4oo", "x")
    with pytest.raises(tokenwire.DigestMismatchError) as mismatch:
        ask(service.address, "count", "gpt-4o", "x", expect_digest="0" * 64)
    digest = ask(service.address, "get_tokenizer", "gpt-4o").digest
    assert mismatch.value.metadata["digest"] == digest
    assert ask(service.address, "count", "gpt-4o", "x", expect_digest=digest) == 1
    with pytest.raises(tokenwire.errors.UnknownControlTokenError):
        ask(service.address, "count", "gpt-4o", "x", special={"<|nothing|>"})
    good, bad = ask(service.address, "count", "gpt-4o", [b"x", b"x\xff"])
    assert good == 1
    assert isinstance(bad, tokenwire.InvalidUtf8Error)
    assert bad.metadata == {"byte_position": "1"}
    with pytest.raises(tokenwire.IdOutOfRangeError) as outside:
        ask(service.address, "decode", "gpt-4o", [1, -1])
    assert outside.value.metadata["index"] == "1"
    with pytest.raises(tokenwire.TextTooLongError) as too_long:
        ask(service.address, "count", "gpt-4o", "x" * (16 * 2**20 + 1))
    assert too_long.value.metadata == {"limit": str(16 * 2**20), "got": str(16 * 2**20 + 1)}


def test_tokenizers_are_listed(ask: Ask, service: Service) -> None:
    """The embedded tokenizers, ready, and found by the name of a model."""
    listed = ask(service.address, "list_tokenizers")
    assert [(info.name, info.state) for info in listed] == [("o200k_base", "ready"), ("cl100k_base", "ready")]
    assert ask(service.address, "get_tokenizer", "gpt-4o") == listed[0]


def test_a_unix_directory_answers(ask: Ask, service: Service) -> None:
    """`unix:DIR/` finds the service's socket."""
    socket = Path(service.ready["addresses"]["unix"].removeprefix("unix:"))
    assert ask(f"unix:{socket.parent}/", "count", "gpt-4o", "x") == 1


def test_many_calls_at_once(service: Service) -> None:
    """Sixty-four concurrent calls of one AsyncClient each get their own answer."""

    async def run() -> list[int]:
        async with tokenwire.AsyncClient(service.address, connections=4) as client:
            return await asyncio.gather(*(client.count("gpt-4o", "a b" + " c" * n) for n in range(64)))

    assert asyncio.run(run()) == [2 + n for n in range(64)]
