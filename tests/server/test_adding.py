"""Adding writes artifact, golden vectors, lock and table in this order, or nothing at all."""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tokenwire_server import artifacts, config, embedded, folders, known_rank_files, lockfile
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError
from tokenwire_server.known_rank_files import KnownRankFile
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Bounds
from tokenwire_server.pull.store import Store
from tokenwire_server.tools import adding, golden_texts, proving, reference_library
from tokenwire_server.tools.adding import Added, Wish
from tokenwire_server.tools.detect import DetectError

from tests.server import made_up, other_formats

SHA256 = hashlib.sha256(made_up.rank_file()).hexdigest()
SETTINGS = '# ours\nlisten = "127.0.0.1:0"  # any\n'


def source(folder: Path, data: bytes | None = None, name: str = "tiny.tiktoken") -> str:
    """A file outside the deployment, as a source."""
    path = folder.parent / f"{folder.name}-{name}"
    path.write_bytes(made_up.rank_file() if data is None else data)
    return f"file:{path}"


def wish(folder: Path, **fields: Any) -> Wish:
    """The made-up rank file with all that it needs."""
    given: dict[str, Any] = {
        "source": fields.get("source") or source(folder),
        "name": "tiny",
        "pattern": made_up.GPT2_PATTERN,
        "special_tokens": made_up.SPECIAL_TOKENS,
    }
    return Wish(**(given | fields))


def add(folder: Path, wanted: Wish) -> Added:
    with Store(folder, Bounds()) as store:
        return adding.add(wanted, folder / "tokenwire.toml", store)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def served(folder: Path) -> dict[str, TokenizerConfig]:
    """What `serve` would serve, each proven."""
    tokenizers = config.load({"config": folder / "tokenwire.toml"}, {}).tokenizers
    for item in tokenizers:
        artifacts.prove(item, 1 << 24)
    return {item.name: item for item in tokenizers}


def refused(folder: Path, wanted: Wish, kind: type[Exception]) -> Exception:
    """The refusal, after which the deployment is byte for byte what it was."""
    before = files(folder)
    with pytest.raises(kind) as caught:
        add(folder, wanted)
    assert files(folder) == before
    return caught.value


def reason(folder: Path, wanted: Wish) -> str:
    error: Any = refused(folder, wanted, Exception)
    return str(error.reason)


def test_what_was_added_is_served(tmp_path: Path) -> None:
    """From no manifest at all to a tokenizer that is pinned, locked and proven by the reference library."""
    added = add(tmp_path, wish(tmp_path, aliases=("small",), models=("tiny-1",)))
    tokenizer = served(tmp_path)["tiny"]
    assert tokenizer.sha256 == SHA256
    assert tokenizer.aliases == ("small",)
    assert tokenizer.models == ("tiny-1",)
    assert tokenizer.proven_by == added.locked.proven_by == f"tiktoken {version('tiktoken')}"
    assert tokenizer.known_digest == added.locked.digest
    assert added.n_vectors > 100
    assert set(files(tmp_path)) == {"tokenwire.toml", "tokenwire.lock", "golden/tiny.json", tokenizer.file}


def test_what_a_person_wrote_stays(tmp_path: Path) -> None:
    """Settings, comments and tables above keep their bytes, and their permissions; a second table goes behind."""
    path = tmp_path / "tokenwire.toml"
    path.write_text(SETTINGS)
    path.chmod(0o600)
    add(tmp_path, wish(tmp_path))
    one = path.read_text()
    add(tmp_path, wish(tmp_path, name="second", pattern=made_up.OWN_PATTERN))
    assert path.read_text().startswith(one)
    assert one.startswith(SETTINGS)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(served(tmp_path)) == ["tiny", "second"]


def test_without_a_library_the_tokenizer_is_unproven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin's vectors are served by, and nothing claims that anybody else made them."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    added = add(tmp_path, wish(tmp_path))
    assert added.locked.proven_by == ""
    assert added.n_vectors > 100
    assert served(tmp_path)["tiny"].proven_by == ""


@pytest.mark.parametrize("step", ["keep", "golden", "lock", "manifest"])
def test_a_killed_command_can_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Wherever it is killed, the manifest is as it was and what it serves is served; the same command then works."""
    add(tmp_path, wish(tmp_path))
    before = (tmp_path / "tokenwire.toml").read_bytes()
    wanted = wish(tmp_path, name="second")
    writes = {"golden": 1, "lock": 2, "manifest": 3}
    count = 0
    write_whole = folders.write_whole

    def killed(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    def killed_at_one(folder: Path, name: str, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == writes[step]:
            raise KeyboardInterrupt
        write_whole(folder, name, data)

    with monkeypatch.context() as patch:
        if step == "keep":
            patch.setattr(Store, "keep", killed)
        else:
            patch.setattr(folders, "write_whole", killed_at_one)
        with pytest.raises(KeyboardInterrupt):
            add(tmp_path, wanted)
    assert (tmp_path / "tokenwire.toml").read_bytes() == before
    assert list(served(tmp_path)) == ["tiny"]
    add(tmp_path, wanted)
    assert list(served(tmp_path)) == ["tiny", "second"]
    assert not [name for name in files(tmp_path) if ".partial" in name]


@pytest.mark.parametrize(
    "names",
    [
        {"name": "tiny"},
        {"name": "small"},
        {"name": "second", "aliases": ("tiny",)},
        {"name": "second", "aliases": ("second",)},
        {"name": "two words"},
        {"name": "second", "aliases": ("",)},
        {"name": "second", "models": ("two words",)},
        {"name": "second", "models": ("tiny-1",)},
        {"name": "second", "control_tokens": ("",)},
        {"name": "second", "aliases": ("gpt-oss-120b",)},
        {"name": "o200k_base", "aliases": ("cl100k_base",)},
    ],
)
def test_names_are_refused_before_anything_is_fetched(tmp_path: Path, names: dict[str, Any]) -> None:
    """A name that is taken, ill-formed or known to mean another tokenizer is refused without a look at the source."""
    add(tmp_path, wish(tmp_path, aliases=("small",), models=("tiny-1",)))
    refused(tmp_path, wish(tmp_path, source="file:/nowhere/at/all", **names), ConfigError)


def test_embedded_names_of_the_manifest_are_taken(tmp_path: Path) -> None:
    """An embedded tokenizer that the manifest asks for keeps its name; without that the name is free."""
    (tmp_path / "tokenwire.toml").write_text('embedded = ["cl100k_base"]\n')
    nowhere = wish(tmp_path, source="file:/nowhere/at/all", name="cl100k_base")
    assert "already" in str(refused(tmp_path, nowhere, ConfigError))
    (tmp_path / "tokenwire.toml").write_text("embedded = []\n")
    assert reason(tmp_path, nowhere) == "FILE_UNREADABLE"


def test_a_known_name_is_for_the_tokenizer_it_means(tmp_path: Path) -> None:
    """The embedded rank file may be called by its name and its models'; any other may not."""
    assert "known to mean" in str(refused(tmp_path, wish(tmp_path, name="cl100k_base"), ConfigError))
    assert "known to mean" in str(refused(tmp_path, wish(tmp_path, aliases=("gpt-4",)), ConfigError))
    data = lzma.decompress((embedded.DATA_FOLDER / "cl100k_base.tiktoken.xz").read_bytes())
    added = add(tmp_path, Wish(source=source(tmp_path, data, "x.bin"), aliases=("gpt-4",)))
    assert added.config.name == "cl100k_base"
    assert served(tmp_path)["cl100k_base"].known_digest == embedded.embedded(["cl100k_base"])[0].digest


def test_the_pin_decides(tmp_path: Path) -> None:
    """With a pin only those bytes are added; without one, what came is pinned."""
    assert reason(tmp_path, wish(tmp_path, sha256="0" * 64)) == "SHA256_MISMATCH"
    assert add(tmp_path, wish(tmp_path, sha256=SHA256)).config.sha256 == SHA256


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pattern": None}, "MISSING_PATTERN"),
        ({"pattern": "(unclosed"}, "BAD_PATTERN"),
        ({"pattern": r"\p{L}+"}, "LOSSY_PATTERN"),
        ({"special_tokens": {"<|end|>": 65}}, "COLLIDING_SPECIAL"),
        ({"special_tokens": {}, "control_tokens": ("<think>",)}, "UNKNOWN_CONTROL_TOKEN"),
        ({"format": "hf_json"}, "OTHER_FORMAT"),
        ({"source": "file:/nowhere/at/all"}, "FILE_UNREADABLE"),
    ],
)
def test_what_cannot_be_proven_leaves_nothing(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    """Each refusal has its reason, and not a byte is left behind."""
    assert reason(tmp_path, wish(tmp_path, **fields)) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (lzma.compress(made_up.rank_file()), "COMPRESSED"),
        (b"<html>", "HTML_PAGE"),
        (made_up.rank_file() + b"YWI= 900\n", "DUPLICATE_TOKEN"),
    ],
)
def test_what_is_no_tokenizer_leaves_nothing(tmp_path: Path, data: bytes, expected: str) -> None:
    """Bytes that are no artifact, or a malformed one, are refused by name."""
    assert reason(tmp_path, wish(tmp_path, source=source(tmp_path, data))) == expected


def test_a_reference_that_disagrees_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GOLDEN_MISMATCH stops the tokenizer before anything is written."""

    class Liar:
        name = "liar 1.0"
        finds_control_tokens = True

        def encode(self, *_: object) -> list[int]:
            return [7]

        def decode(self, *_: object) -> str:
            return "liar"

    monkeypatch.setattr(reference_library, "installed", lambda *_, **__: Liar())
    assert reason(tmp_path, wish(tmp_path)) == "GOLDEN_MISMATCH"


def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system refuses while writing is STORE_UNWRITABLE, with the folder."""

    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(proving, "write", full)
    with pytest.raises(PullError, match="No space left") as caught:
        add(tmp_path, wish(tmp_path))
    assert caught.value.reason == "STORE_UNWRITABLE"


def known_as(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """The made-up rank file as one that is published under these names; the second has one more special token."""
    special_tokens = ({"<|end|>": 300}, {"<|end|>": 300, "<|more|>": 311})
    table = {
        name: KnownRankFile(name, SHA256, made_up.GPT2_PATTERN, tokens)
        for name, tokens in zip(names, special_tokens, strict=False)
    }
    monkeypatch.setattr(known_rank_files, "known", lambda: table)


def test_a_published_file_needs_no_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pattern, special tokens and name of a known file are known; a name chooses among its variants."""
    known_as(monkeypatch, "published", "variant")
    assert add(tmp_path, Wish(source=source(tmp_path))).config.name == "published"
    added = add(tmp_path, Wish(source=source(tmp_path), name="variant"))
    assert added.config.special_tokens == {"<|end|>": 300, "<|more|>": 311}
    assert set(served(tmp_path)) == {"published", "variant"}
    # A second time its own name is taken, and an explicit pattern needs a name of its own.
    assert "already" in str(refused(tmp_path, Wish(source=source(tmp_path)), ConfigError))


def test_options_stand_over_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--special adds to a known file's; --pattern leaves nothing of what is known."""
    known_as(monkeypatch, "published")
    more = add(tmp_path, Wish(source=source(tmp_path), name="more", special_tokens={"<|x|>": 320}))
    assert more.config.special_tokens == {"<|end|>": 300, "<|x|>": 320}
    own = add(tmp_path, Wish(source=source(tmp_path), pattern=made_up.OWN_PATTERN))
    assert own.config.special_tokens is None
    assert own.config.pattern == made_up.OWN_PATTERN
    assert own.config.name == f"{tmp_path.name}-tiny"


def test_like_takes_pattern_and_special_tokens(tmp_path: Path) -> None:
    """From a tokenizer of the manifest by name or alias, or from a published one; an unknown name is refused."""
    add(tmp_path, wish(tmp_path, aliases=("small",)))
    second = add(
        tmp_path, Wish(source=source(tmp_path), name="second", like="small", special_tokens={"<|x|>": 320})
    )
    assert second.config.pattern == made_up.GPT2_PATTERN
    assert second.config.special_tokens == {**made_up.SPECIAL_TOKENS, "<|x|>": 320}
    third = add(tmp_path, Wish(source=source(tmp_path), name="third", like="gpt2"))
    assert third.config.special_tokens == {"<|endoftext|>": 50256}
    error = refused(tmp_path, Wish(source=source(tmp_path), name="fourth", like="gtp2"), ConfigError)
    assert "did you mean 'gpt2'" in str(error)


@pytest.mark.parametrize(
    ("data", "library"),
    [(other_formats.tokenizer_json(), "tokenizers"), (other_formats.sentencepiece_model(), "sentencepiece")],
)
@pytest.mark.parametrize("control_tokens", [(), ("<think>",)])
def test_other_formats_are_proven_and_served(
    tmp_path: Path, data: bytes, library: str, control_tokens: tuple[str, ...]
) -> None:
    """Each has golden vectors of its own library, also where tokens are made control tokens that it does not flag."""
    wanted = Wish(source=source(tmp_path, data), name="other", control_tokens=control_tokens)
    added = add(tmp_path, wanted)
    assert added.locked.proven_by.startswith(f"{library} ")
    assert added.n_vectors > len(golden_texts.TEXTS)
    assert added.findings["proposed_control_tokens"] == ([] if control_tokens else ["<think>"])
    assert (tmp_path / added.config.file).read_bytes() == data
    encoder = artifacts.prove(served(tmp_path)["other"], 1 << 20)
    assert encoder.digest == added.locked.digest
    assert ("<think>" in encoder.control_tokens) == bool(control_tokens)
    refused(tmp_path, Wish(source=source(tmp_path, data), name="x", like="gpt2"), ConfigError)


@pytest.mark.parametrize("data", [other_formats.tokenizer_json(), other_formats.sentencepiece_model()])
def test_other_formats_without_their_library_are_unproven(
    tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow twins make the same vectors as the libraries, and prove nothing."""
    proven = add(tmp_path, Wish(source=source(tmp_path, data), name="proven"))
    for library in reference_library.LIBRARIES.values():
        monkeypatch.setitem(sys.modules, library, None)
    unproven = add(tmp_path, Wish(source=source(tmp_path, data), name="unproven"))
    assert (unproven.locked.proven_by, unproven.locked.digest) == ("", proven.locked.digest)
    first, second = (
        json.loads((tmp_path / item.locked.golden).read_bytes())["vectors"] for item in (proven, unproven)
    )
    assert first == second


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("file:some/where/mine.tiktoken", "mine"),
        ("https://example.org/a/mine.tiktoken?x=1", "mine"),
        ("hf:org/model-7b@main/tokenizer.json", "model-7b"),
        ("hf:org/model-7b@main/sub/other.json", "other"),
        ("pypi:package==1.0/package/vocab.tiktoken", "package"),
        ("npm:@scope/package@1.0.0/package/tokenizer.model", "package"),
        ("npm:package@1.0.0/data/r50k.tiktoken", "r50k"),
    ],
)
def test_a_name_is_taken_from_the_source(spelling: str, name: str) -> None:
    """The last part names the tokenizer, or where that says nothing the package or repository."""
    assert adding._name_from(spelling) == name


def test_a_stale_lock_entry_is_replaced(tmp_path: Path) -> None:
    """What the lock had under the name, of a table that was removed, goes; the lock keeps the manifest's order."""
    path = tmp_path / "tokenwire.toml"
    path.write_text(SETTINGS)
    add(tmp_path, wish(tmp_path))
    first = path.read_text().removeprefix(SETTINGS)
    add(tmp_path, wish(tmp_path, name="second"))
    path.write_text(path.read_text().replace(first, ""))
    add(tmp_path, wish(tmp_path, special_tokens={"<|other|>": 400}))
    assert served(tmp_path)["tiny"].special_tokens == {"<|other|>": 400}
    lock = lockfile.read(tmp_path / "tokenwire.lock")
    assert lock is not None
    assert list(lock.tokenizers) == ["second", "tiny"]


def test_a_manifest_that_cannot_be_read_is_refused_first(tmp_path: Path) -> None:
    """Nothing is fetched for a manifest that is no TOML."""
    (tmp_path / "tokenwire.toml").write_text("listen = \n")
    refused(tmp_path, wish(tmp_path, source="file:/nowhere/at/all"), ConfigError)


def test_golden_vectors_are_those_of_the_reference(tmp_path: Path) -> None:
    """The golden file holds the ids of tiktoken for the added tokenizer."""
    added = add(tmp_path, wish(tmp_path))
    document = json.loads((tmp_path / added.locked.golden).read_bytes())
    reference = reference_library.installed(
        made_up.rank_file(), "tiktoken", pattern=made_up.GPT2_PATTERN, special_tokens=made_up.SPECIAL_TOKENS
    )
    assert reference is not None
    assert document["made_by"] == reference.name
    for entry in document["vectors"]:
        assert reference.encode(entry["text"], entry.get("special", False)) == entry["ids"]


def test_refusals_are_of_these_kinds(tmp_path: Path) -> None:
    """Whatever is wrong with the bytes is one of the exceptions that the command answers."""
    for data in (b"", b"\xff" * 100, b"{}", b"= x\n", made_up.rank_file()[:-5]):
        error = refused(tmp_path, wish(tmp_path, source=source(tmp_path, data)), Exception)
        assert isinstance(error, DetectError | ProofError)
