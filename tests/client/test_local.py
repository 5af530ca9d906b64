"""Artifacts and local encoders: the service's tokenizer in this process, or an error; never another tokenizer."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import tokenwire
import tokenwire_core
from tokenwire import _local
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.client.fake_service import Ask, FakeService, Step, fail, refuse, rich_status
from tests.server import made_up
from tests.service import Service, environment, running_service

DATA = made_up.rank_file()
SHA256 = hashlib.sha256(DATA).hexdigest()
HEADER = pb.ArtifactHeader(
    digest=tokenwire_core.load(
        DATA, pattern=made_up.GPT2_PATTERN, special_tokens=made_up.SPECIAL_TOKENS
    ).digest,
    format="tiktoken",
    sha256=SHA256,
    n_bytes=len(DATA),
    pattern=made_up.GPT2_PATTERN,
    special_tokens=[pb.SpecialToken(token=token, id=n) for token, n in made_up.SPECIAL_TOKENS.items()],
)
PART_BYTES = 1000
TEXTS = ["", "the abc", "Ein naïver Text: 日本語 👩\u200d💻 שלום\n", "<|end|> a <|pad|>", "a" * 3000]


def announce(**changes: object) -> pb.GetArtifactResponse:
    """The message of the header, in which some fields are others."""
    header = pb.ArtifactHeader()
    header.CopyFrom(HEADER)
    for name, value in changes.items():
        setattr(header, name, value)
    return pb.GetArtifactResponse(header=header)


def parts(data: bytes = DATA, offset: int = 0) -> list[pb.GetArtifactResponse]:
    """The messages of the bytes from the offset on."""
    return [
        pb.GetArtifactResponse(data=data[start : start + PART_BYTES])
        for start in range(offset, len(data), PART_BYTES)
    ]


def send(*messages: pb.GetArtifactResponse, then: Step | None = None) -> Step:
    """A stream of these messages, whatever was asked for; `then` may end it otherwise than well."""

    def step(request: Any, context: grpc.ServicerContext) -> Iterator[pb.GetArtifactResponse]:
        yield from messages
        if then is not None:
            then(request, context)

    return step


def honest(request: Any, _context: grpc.ServicerContext) -> Any:
    """Answers GetTokenizer and GetArtifact as the service does."""
    if isinstance(request, pb.GetTokenizerRequest):
        return pb.GetTokenizerResponse(tokenizer=pb.TokenizerInfo(digest=HEADER.digest, sha256=SHA256))
    return iter([announce(), *parts(offset=request.offset)])


@pytest.fixture
def service(service: FakeService) -> FakeService:
    """The scripted service, honest after its script."""
    service.default = honest
    return service


def offsets(service: FakeService) -> list[int]:
    """The offset of each GetArtifact that came."""
    return [request.offset for request in service.requests if isinstance(request, pb.GetArtifactRequest)]


def test_an_artifact_is_all_that_makes_the_tokenizer(ask: Ask, service: FakeService) -> None:
    """Bytes, digest and the options to load them with, as announced."""
    artifact = ask(service.address, "get_artifact", "t")
    assert artifact == tokenwire.Artifact(
        data=DATA,
        digest=HEADER.digest,
        format="tiktoken",
        sha256=SHA256,
        pattern=made_up.GPT2_PATTERN,
        special_tokens=made_up.SPECIAL_TOKENS,
        control_tokens=(),
    )
    assert offsets(service) == [0]


def test_a_repr_shows_no_bytes(ask: Ask, service: FakeService) -> None:
    """The repr of an artifact is for a log: its megabytes are left out."""
    assert "data" not in repr(ask(service.address, "get_artifact", "t"))


@pytest.mark.parametrize("n_parts", [0, 1, 2, len(parts())])
def test_a_broken_stream_goes_on_where_it_broke(ask: Ask, service: FakeService, n_parts: int) -> None:
    """Whatever came is kept: the next request begins behind it and insists on the digest."""
    unavailable = fail(grpc.StatusCode.UNAVAILABLE)
    service.script = [
        send(then=unavailable),
        send(announce(), *parts()[:n_parts], then=unavailable),
        send(announce(), then=unavailable),
    ]
    assert ask(service.address, "get_artifact", "t").data == DATA
    had = min(n_parts * PART_BYTES, len(DATA))
    assert offsets(service) == [0, 0, had, had]
    assert [request.expect_digest for request in service.requests] == ["", "", HEADER.digest, HEADER.digest]


def test_a_reader_that_lost_its_place_goes_on(ask: Ask, service: FakeService) -> None:
    """OVERLOADED in the middle of a stream is waited out like before it."""
    overloaded = refuse(rich_status("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after_s=0.001))
    service.script = [send(announce(), parts()[0], then=overloaded)]
    assert ask(service.address, "get_artifact", "t").data == DATA
    assert offsets(service) == [0, PART_BYTES]


def test_attempts_are_bounded(ask: Ask, service: FakeService) -> None:
    """A stream that breaks each time ends in the last error."""
    service.default = send(announce(), then=fail(grpc.StatusCode.UNAVAILABLE))
    with pytest.raises(tokenwire.TransportError):
        ask(service.address, "get_artifact", "t")
    assert len(service.requests) == 4


def test_a_refusal_is_typed(ask: Ask, service: FakeService) -> None:
    """The service's own refusals are raised as on every call, at once."""
    service.default = refuse(
        rich_status("ARTIFACT_UNAVAILABLE", grpc.StatusCode.FAILED_PRECONDITION, metadata={"tokenizer": "t"})
    )
    with pytest.raises(tokenwire.errors.ArtifactUnavailableError) as caught:
        ask(service.address, "get_artifact", "t")
    assert caught.value.metadata == {"tokenizer": "t"}
    assert len(service.requests) == 1


TAMPERED = {
    "a wrong byte": [announce(), *parts(DATA[:-1] + b"x")],
    "one byte more": [announce(), *parts(DATA + b"x")],
    "one part more": [announce(), *parts(), pb.GetArtifactResponse(data=b"x")],
    "one byte less": [announce(), *parts(DATA[:-1])],
    "one part less": [announce(), *parts()[:-1]],
    "no part": [announce()],
    "parts in another order": [announce(), parts()[1], parts()[0], *parts()[2:]],
    "another sha256": [announce(sha256="0" * 64), *parts()],
    "a sha256 that is a path": [announce(sha256="../../" + SHA256), *parts()],
    "nothing": [],
    "no header": parts(),
    "the header twice": [announce(), announce(), *parts()],
    "the header again at the end": [announce(), *parts(), announce()],
    "a part of no kind": [announce(), pb.GetArtifactResponse(), *parts()],
    "a first part of no kind": [pb.GetArtifactResponse(), announce(), *parts()],
    "a part of no bytes": [announce(), pb.GetArtifactResponse(data=b""), *parts()],
    "a size one too large": [announce(n_bytes=len(DATA) + 1), *parts()],
    "a size one too small": [announce(n_bytes=len(DATA) - 1), *parts()],
    "a size beyond all": [announce(n_bytes=2**64 - 1), *parts()],
}


def test_a_file_that_goes_away_is_fetched_again(tmp_path: Path) -> None:
    """What is not there, or is no file, is not kept."""
    assert _local.kept(tmp_path, SHA256, 1 << 20) is None
    (tmp_path / SHA256).mkdir()
    assert _local.kept(tmp_path, SHA256, 1 << 20) is None
    (tmp_path / SHA256).rmdir()
    os.mkfifo(tmp_path / SHA256)
    assert _local.kept(tmp_path, SHA256, 1 << 20) is None


@pytest.mark.parametrize("messages", TAMPERED.values(), ids=TAMPERED)
@pytest.mark.parametrize("method", ["get_artifact", "local_encoder"])
def test_a_tampered_stream_gives_nothing(
    ask: Ask, service: FakeService, method: str, messages: list[pb.GetArtifactResponse]
) -> None:
    """Anything but the announced bytes is BadArtifactError, raised at once and not asked for again."""
    service.default = send(*messages)
    with pytest.raises(tokenwire.BadArtifactError) as caught:
        ask(service.address, method, "t")
    assert (caught.value.reason, caught.value.code) == ("", grpc.StatusCode.DATA_LOSS)
    assert len(service.requests) == 1


def test_another_digest_than_expected_is_refused(ask: Ask, service: FakeService) -> None:
    """A service that sends an artifact of another digest than asked for is not believed."""
    with pytest.raises(tokenwire.DigestMismatchError) as caught:
        ask(service.address, "get_artifact", "t", expect_digest="0" * 64)
    assert service.requests[0].expect_digest == "0" * 64
    assert caught.value.metadata == {"digest": HEADER.digest}


def test_another_artifact_after_a_break_is_refused(ask: Ask, service: FakeService) -> None:
    """Parts of two artifacts are never put together, also where the digest is said to be the same."""
    service.script = [send(announce(), parts()[0], then=fail(grpc.StatusCode.UNAVAILABLE))]
    service.default = send(announce(sha256="0" * 64), *parts(offset=PART_BYTES))
    with pytest.raises(tokenwire.BadArtifactError, match="another artifact"):
        ask(service.address, "get_artifact", "t")


def test_max_artifact_bytes_bounds_what_is_taken(ask: Ask, service: FakeService) -> None:
    """At the bound it is taken; one byte and far over it are refused with the numbers, by the header alone."""
    bound = {"max_artifact_bytes": len(DATA)}
    assert ask(service.address, "get_artifact", "t", client=bound).data == DATA
    for got in (len(DATA) + 1, 2**40):
        service.default = send(announce(n_bytes=got))
        with pytest.raises(tokenwire.BadArtifactError, match="max_artifact_bytes") as caught:
            ask(service.address, "get_artifact", "t", client=bound)
        assert caught.value.metadata == {"limit": str(len(DATA)), "got": str(got)}


@pytest.fixture
def cancelled(service: FakeService) -> threading.Event:
    """Set once the stream that the service then sends, which goes on beyond what it announces, is cancelled."""
    event = threading.Event()

    def endless(_request: Any, context: grpc.ServicerContext) -> Iterator[pb.GetArtifactResponse]:
        context.add_callback(event.set)
        yield announce()
        while context.is_active():
            yield parts()[0]

    service.default = endless
    return event


def test_an_endless_stream_is_cancelled(service: FakeService, cancelled: threading.Event) -> None:
    """A stream that is refused is not left running at the service."""
    with tokenwire.Client(service.address) as client:
        with pytest.raises(tokenwire.BadArtifactError) as caught:
            client.get_artifact("t", timeout_s=300)
        assert cancelled.wait(30)
    assert caught.tb  # Kept till now, and with it the frames: the cancel is not the collector's doing.


def test_an_endless_stream_is_cancelled_by_asyncio_too(
    service: FakeService, cancelled: threading.Event
) -> None:
    """The same for the asyncio client."""

    async def run() -> None:
        async with tokenwire.AsyncClient(service.address) as client:
            with pytest.raises(tokenwire.BadArtifactError) as caught:
                await client.get_artifact("t", timeout_s=300)
            assert await asyncio.to_thread(cancelled.wait, 30)
            assert caught.tb

    asyncio.run(run())


@pytest.mark.parametrize(
    "changes",
    [
        {"digest": "0" * 64},
        {"pattern": made_up.OWN_PATTERN},
        {"pattern": made_up.GPT2_PATTERN + "|x"},
    ],
    ids=["digest", "pattern", "longer pattern"],
)
def test_an_encoder_of_another_digest_is_never_given(
    ask: Ask, service: FakeService, changes: dict[str, str]
) -> None:
    """Right bytes with a header that makes another tokenizer of them than it says."""
    service.default = send(announce(**changes), *parts())
    with pytest.raises(tokenwire.DigestMismatchError) as caught:
        ask(service.address, "local_encoder", "t")
    made = tokenwire_core.load(
        DATA, pattern=changes.get("pattern", made_up.GPT2_PATTERN), special_tokens=made_up.SPECIAL_TOKENS
    )
    assert caught.value.metadata == {"digest": made.digest}


@pytest.mark.parametrize(
    ("data", "changes", "reason"),
    [
        (DATA, {"format": "novel"}, "UNSUPPORTED_FORMAT"),
        (DATA, {"pattern": ""}, "MISSING_PATTERN"),
        (b"no rank file\n", {}, "BAD_LINE"),
    ],
)
def test_what_the_core_cannot_read_is_a_bad_artifact(
    ask: Ask, service: FakeService, data: bytes, changes: dict[str, str], reason: str
) -> None:
    """The core's refusal of right bytes becomes the client's, with its reason."""
    announced = {"sha256": hashlib.sha256(data).hexdigest(), "n_bytes": len(data), **changes}
    service.default = send(announce(**announced), *parts(data))
    with pytest.raises(tokenwire.BadArtifactError, match=reason) as caught:
        ask(service.address, "local_encoder", "t")
    assert caught.value.metadata == {"reason": reason}


def test_without_the_core_the_command_is_named(
    ask: Ask, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that was installed without the extra says how to get it, before it fetches anything."""
    monkeypatch.setitem(sys.modules, "tokenwire_core", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tokenwire\[local\]'") as caught:
        ask(service.address, "local_encoder", "t")
    assert caught.value.name == "tokenwire_core"
    assert service.requests == []
    assert ask(service.address, "get_artifact", "t").data == DATA


def test_the_core_is_imported_only_for_a_local_encoder() -> None:
    """Opening clients of both kinds leaves it out."""
    program = (
        "import sys, tokenwire;"
        "tokenwire.Client('localhost:1').close(); tokenwire.AsyncClient('localhost:1');"
        "sys.exit('tokenwire_core' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)


def test_the_asyncio_client_loads_beside_its_loop(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file nor the load is worked off in the thread of the event loop."""
    threads: set[int] = set()

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            threads.add(threading.get_ident())
            return function(*arguments)

        return call

    for name in ("encoder", "kept", "keep"):
        monkeypatch.setattr(_local, name, noted(getattr(_local, name)))

    async def run() -> None:
        async with tokenwire.AsyncClient(service.address) as client:
            assert (await client.local_encoder("t", cache_dir=tmp_path)).digest == HEADER.digest

    asyncio.run(run())
    assert threads
    assert threading.get_ident() not in threads


def test_a_cache_keeps_the_bytes(ask: Ask, service: FakeService, tmp_path: Path) -> None:
    """The first call stores the file under its sha256, the next ones ask for no byte of it."""
    folder = tmp_path / "new" / "folder"
    for _ in range(3):
        assert ask(service.address, "local_encoder", "t", cache_dir=str(folder)).digest == HEADER.digest
        assert os.listdir(folder) == [SHA256]
        assert (folder / SHA256).read_bytes() == DATA
    assert offsets(service) == [0, len(DATA), len(DATA)]
    asked = [request for request in service.requests if isinstance(request, pb.GetArtifactRequest)]
    assert {request.expect_digest for request in asked} == {HEADER.digest}


@pytest.mark.parametrize(
    "damaged",
    [DATA[:-1] + b"x", DATA[:-1], DATA + b"x", b"", b"x" * (len(DATA) + 100)],
    ids=["a wrong byte", "shorter", "longer", "empty", "larger than any artifact"],
)
def test_a_damaged_file_is_fetched_again(
    ask: Ask, service: FakeService, tmp_path: Path, damaged: bytes
) -> None:
    """A file that is not what its name says is never used, and is replaced."""
    (tmp_path / SHA256).write_bytes(damaged)
    bound = {"max_artifact_bytes": len(DATA) + 10}
    assert (
        ask(service.address, "local_encoder", "t", cache_dir=tmp_path, client=bound).digest == HEADER.digest
    )
    assert offsets(service) == [0]
    assert os.listdir(tmp_path) == [SHA256]
    assert (tmp_path / SHA256).read_bytes() == DATA


@pytest.mark.parametrize("messages", TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_stream_leaves_no_file(
    ask: Ask, service: FakeService, tmp_path: Path, messages: list[pb.GetArtifactResponse]
) -> None:
    """Nothing of a stream that was refused is kept."""
    service.script = [honest, send(*messages)]
    with pytest.raises(tokenwire.BadArtifactError):
        ask(service.address, "local_encoder", "t", cache_dir=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("sha256", ["", "../" + SHA256, SHA256.upper(), SHA256 + "\n", "0" * 63])
def test_only_a_sha256_names_a_file(ask: Ask, service: FakeService, tmp_path: Path, sha256: str) -> None:
    """A service that names the artifact by a path is refused before the folder is touched."""
    (tmp_path / SHA256).write_bytes(DATA)
    folder = tmp_path / "cache"
    service.script = [
        lambda *_: pb.GetTokenizerResponse(tokenizer=pb.TokenizerInfo(digest=HEADER.digest, sha256=sha256))
    ]
    with pytest.raises(tokenwire.BadArtifactError, match="no sha256"):
        ask(service.address, "local_encoder", "t", cache_dir=folder)
    assert not folder.exists()


def test_a_file_has_its_name_only_when_it_is_whole(
    ask: Ask, service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where writing fails at the last step the error is raised and nothing is left in the folder."""

    def refuse_sync(_descriptor: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", refuse_sync)
    with pytest.raises(OSError, match="no space"):
        ask(service.address, "local_encoder", "t", cache_dir=tmp_path)
    assert os.listdir(tmp_path) == []


def test_an_unusable_folder_is_an_error(ask: Ask, service: FakeService, tmp_path: Path) -> None:
    """A cache that cannot be written is not passed over in silence."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        ask(service.address, "local_encoder", "t", cache_dir=tmp_path / "file")


@pytest.fixture(scope="module")
def real_service() -> Iterator[Service]:
    """The embedded tokenizers."""
    with running_service() as running:
        yield running


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_local_encoder_is_the_services(
    ask: Ask, real_service: Service, name: str, tmp_path: Path
) -> None:
    """One digest, and for every text and policy the same ids, counts and decoded text."""
    address = real_service.address
    info = ask(address, "get_tokenizer", name)
    encoder = ask(address, "local_encoder", name, expect_digest=info.digest, cache_dir=tmp_path)
    assert encoder.digest == info.digest
    assert (encoder.vocab_size, encoder.control_tokens) == (info.vocab_size, dict(info.control_tokens))
    texts = [*TEXTS, "<|endoftext|>" + TEXTS[2] + "<|endofprompt|>"]
    for policy in ("text", "allow"):
        encodings = ask(address, "encode", name, texts, special=policy)
        assert [encoder.encode(text, special=policy).ids for text in texts] == [
            encoding.ids for encoding in encodings
        ]
        assert {encoding.digest for encoding in encodings} == {encoder.digest}
        counts = ask(address, "count", name, texts, special=policy)
        assert [encoder.count(text, special=policy) for text in texts] == counts
    assert (tmp_path / info.sha256).stat().st_size == len(ask(address, "get_artifact", name).data)


def test_the_service_refuses_another_digest(ask: Ask, real_service: Service, tmp_path: Path) -> None:
    """An expected digest is held to by the real service, with and without a cache."""
    for options in ({}, {"cache_dir": tmp_path}):
        with pytest.raises(tokenwire.DigestMismatchError):
            ask(real_service.address, "local_encoder", "gpt-4o", expect_digest="0" * 64, **options)
    assert os.listdir(tmp_path) == []
