"""Golden vectors: what they are made of, by whom, and that nobody gets any who would not hold them."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import Encoder
from tokenwire_server import artifacts, embedded, golden, lockfile, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.golden import Golden, Vector
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import golden_texts, proving, reference_library
from tokenwire_server.tools.reference_library import ReferenceFailedError

from tests.server import made_up

MAX_BYTES = 1 << 24
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def encoder(special_tokens: dict[str, int] | None = None, pattern: str = made_up.GPT2_PATTERN) -> Encoder:
    return tokenwire_core.load(
        made_up.rank_file(),
        pattern=pattern,
        special_tokens=made_up.SPECIAL_TOKENS if special_tokens is None else special_tokens,
    )


def made(tokenizer: Encoder) -> Golden:
    return proving.make_golden(tokenizer, made_up.rank_file())


def failure(tokenizer: Encoder) -> ProofError:
    with pytest.raises(ProofError) as caught:
        made(tokenizer)
    return caught.value


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without reference libraries."""
    for library in reference_library.LIBRARIES.values():
        monkeypatch.setitem(sys.modules, library, None)


@given(
    st.lists(
        st.builds(
            Vector,
            TEXTS,
            st.lists(st.integers(0, 2**21)).map(tuple),
            st.booleans(),
            st.booleans(),
            st.none() | TEXTS,
            st.none() | TEXTS,
            st.booleans(),
        ),
        min_size=1,
    ),
    st.text("tiktoken 0.14"),
)
def test_a_golden_file_gives_back_its_vectors(vectors: list[Vector], made_by: str) -> None:
    """Any texts and ids come back as they were, and there is one line for each."""
    written = golden.to_json(Golden(made_by, tuple(vectors)))
    assert golden.read(written) == Golden(made_by, tuple(vectors))
    assert len(written.splitlines()) == len(vectors) + 2


def test_a_golden_file_of_before_is_read() -> None:
    """What an entry does not say is no, and its ids are the text's own."""
    data = b'{"golden_version": 1, "made_by": "", "vectors": [{"text": "a", "ids": [5], "special": true}]}'
    assert golden.read(data) == Golden("", (Vector("a", (5,), special=True),))


@pytest.mark.parametrize(
    "entry",
    [
        {"text": None},
        {"text": 5},
        {"text": "\ud800"},
        {"ids": [True]},
        {"ids": 5},
        {"pair": 5},
        {"decoded": "\udfff"},
    ],
)
def test_what_no_vector_says_is_refused(entry: dict[str, object]) -> None:
    """A text that is none, or ids that are none, are a bad file and no other exception."""
    vector = {"text": "a", "ids": [1]} | entry
    data = json.dumps({"golden_version": 1, "made_by": "", "vectors": [vector]}).encode()
    with pytest.raises(golden.BadGoldenError):
        golden.read(data)


def test_the_fixed_texts_are_short_and_different() -> None:
    """Between 80 and 150 texts, none twice, none long: the twin encodes them in no time."""
    texts = golden_texts.TEXTS
    assert 80 <= len(texts) <= 150
    assert len(set(texts)) == len(texts)
    assert max(len(text.encode()) for text in texts) <= 400
    assert sum(len(text.encode()) for text in texts) < 16_000


@pytest.mark.parametrize("name", embedded.NAMES)
def test_the_committed_vectors_are_those_that_would_be_made(name: str) -> None:
    """The embedded tokenizers' golden files are, byte for byte, what `artifacts prove` makes of them."""
    (config,) = embedded.embedded([name])
    data = artifacts.read_pinned(config, MAX_BYTES)
    again = proving.make_golden(artifacts.load(config, data), data)
    assert config.golden == proving.golden_path(name, "embedded.toml")
    assert golden.to_json(again) == (config.folder / str(config.golden)).read_bytes()
    assert again.made_by == config.proven_by != ""


@pytest.mark.parametrize("name", embedded.NAMES)
@pytest.mark.usefixtures("no_library")
def test_twin_and_library_make_the_same_vectors(name: str) -> None:
    """Without tiktoken the twin makes the same vectors, and says that nobody else stands behind them."""
    (config,) = embedded.embedded([name])
    data = artifacts.read_pinned(config, MAX_BYTES)
    by_twin = proving.make_golden(artifacts.load(config, data), data)
    by_library = artifacts.read_golden(config)
    assert by_library is not None
    assert by_twin == Golden("", by_library.vectors)


def test_each_special_token_is_asked_for_as_text_and_allowed() -> None:
    """Every special token is in a text that is asked both ways, and all stand in one row."""
    vectors = made(encoder()).vectors
    for spelling, id_ in made_up.SPECIAL_TOKENS.items():
        by_policy = {item.special: item.ids for item in vectors if item.text == f"a{spelling} b"}
        assert id_ in by_policy[True]
        assert id_ not in by_policy[False]
    assert Vector("<|end|><|pad|>", (300, 301), True) in vectors


def test_many_special_tokens_are_asked_for_from_both_ends() -> None:
    """Of more than `MOST_SPECIAL_TOKENS` the lowest and highest ids have texts; the row still has all."""
    many = {f"<|t{n}|>": 300 + n for n in range(golden_texts.MOST_SPECIAL_TOKENS + 9)}
    vectors = made(encoder(many)).vectors
    asked = [item.text for item in vectors if item.special]
    assert len(asked) == golden_texts.MOST_SPECIAL_TOKENS + 1
    assert asked[0] == "a<|t0|> b"
    assert asked[-2] == "a<|t72|> b"
    assert vectors[-1].ids == tuple(many.values())


def test_special_tokens_that_begin_alike_are_asked_for_as_text_only() -> None:
    """Where one spelling begins with another, tiktoken finds either: only their text proves anything."""
    vectors = made(encoder({"<|a": 300, "<|a|>": 301, "<|b|>": 302})).vectors
    assert [item.text for item in vectors if item.special] == ["a<|b|> b"]
    assert {"a<|a b", "a<|a|> b"} <= {item.text for item in vectors}


def test_the_longest_and_last_tokens_are_asked_for() -> None:
    """A tokenizer's own rare entries are among its texts, as far as they are text."""
    texts = {item.text for item in made(encoder()).vectors}
    assert {"abc", " a", "th", "the", "ab"} <= texts
    assert len(texts) < len(golden_texts.TEXTS) + 2 * golden_texts.MOST_ENTRIES + 4


class Liar:
    """A reference that gives other ids for texts with a `z`."""

    name = "liar 1.0"
    finds_control_tokens = True

    def __init__(self, tokenizer: Encoder) -> None:
        self._encoder = tokenizer

    def encode(
        self, text: str, special: bool, add_special: bool = False, pair: str | None = None
    ) -> list[int]:
        ids = self._encoder.encode(text, pair, "allow" if special else "text", add_special).ids
        return [7] if "z" in text else ids

    def decode(self, ids: Sequence[int]) -> str:
        return self._encoder.decode(ids)

    def byte_starts(self, text: str, special: bool) -> list[int]:
        raise NotImplementedError


def test_a_reference_that_disagrees_stops_the_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal says how many texts differ, which is the first, and both answers."""
    tokenizer = encoder()
    monkeypatch.setattr(reference_library, "installed", lambda *_, **__: Liar(tokenizer))
    error = failure(tokenizer)
    expected = sum("z" in text for text in golden_texts.TEXTS)
    assert error.reason == "GOLDEN_MISMATCH"
    assert f"liar 1.0 gives other answers for {expected} of " in str(error)
    assert '"The quick brown fox jumps over the lazy dog."' in str(error)
    assert "[7]" in str(error)


def test_a_reference_that_fails_stops_the_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot read the artifact proves nothing, and nothing else is taken in its place."""

    def fails(*_: object, **__: object) -> Any:
        raise ReferenceFailedError("tiktoken 9 fails")

    monkeypatch.setattr(reference_library, "installed", fails)
    assert failure(encoder()).reason == "REFERENCE_FAILED"


@pytest.mark.parametrize(
    ("pattern", "reason"), [(r"\p{L}+", "LOSSY_PATTERN"), (r"(?:\w|\w\w)+@@|[\s\S]", "PATTERN_TOO_SLOW")]
)
def test_a_pattern_that_cannot_serve_is_refused(pattern: str, reason: str) -> None:
    """A pattern that leaves text out, or takes a second for a short text, gets no vectors; the library is not asked."""
    assert failure(encoder(pattern=pattern)).reason == reason


@pytest.mark.parametrize("name", ["qwen", "org/model", "a/../../x", "a:b@c", "A.json/b", "a" + ":" * 127])
def test_golden_files_lie_in_their_folder(name: str) -> None:
    """Whatever a tokenizer is called, its golden file lies in the folder of its manifest, under a name that fits."""
    for manifest_name, folder in (("tokenwire.toml", "golden"), ("b.toml", "golden/b")):
        path = Path(proving.golden_path(name, manifest_name))
        assert path.parent == Path(folder)
        assert path.suffix == ".json"
        assert len(path.name) <= 105


@given(*[st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}", fullmatch=True)] * 2, st.integers(0, 127))
def test_golden_files_of_two_names_are_two(first: str, other: str, n_same: int) -> None:
    """No two names share a golden file, however much of them is the same."""
    second = first[:n_same] + other[n_same:]
    assert (proving.golden_path(first) == proving.golden_path(second)) == (first == second)


def listed(folder: Path) -> TokenizerConfig:
    """The made-up tokenizer in a manifest, with what the lock knows."""
    document = made_up.manifest(folder, made_up.table(folder))
    tokenizers = manifest.parse_tokenizers(manifest.read_toml(document)["tokenizer"], document)
    (config,) = lockfile.apply(tokenizers, lockfile.read(folder / "tokenwire.lock"))
    return config


def test_proving_locks_what_is_served(tmp_path: Path) -> None:
    """A listed tokenizer gets golden vectors and a lock entry, and is served by them."""
    proved = proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    locked = proved.locked
    config = listed(tmp_path)
    assert (config.golden, config.golden_sha256) == (locked.golden, locked.golden_sha256)
    assert config.proven_by.startswith("tiktoken ")
    assert proved.n_vectors > len(golden_texts.TEXTS)
    assert proved.changes == ()
    assert artifacts.prove(config, MAX_BYTES).digest == locked.digest == config.known_digest


def test_proving_anew_for_the_same_state_changes_nothing(tmp_path: Path) -> None:
    """Golden file and lock made anew have the same bytes, the time of the file too."""
    proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_proving_anew_tells_which_ids_changed(tmp_path: Path) -> None:
    """The texts whose ids are not those of the golden file before are given with both."""
    proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    config = listed(tmp_path)
    path = tmp_path / str(config.golden)
    document = json.loads(path.read_bytes())
    number = next(n for n, entry in enumerate(document["vectors"]) if entry["text"] == "Hello, world!")
    right = document["vectors"][number]["ids"]
    document["vectors"][number]["ids"] = [7]
    path.write_text(json.dumps(document))
    lock = lockfile.read(tmp_path / "tokenwire.lock")
    assert lock is not None
    (tmp_path / "tokenwire.lock").write_text(
        lockfile.text(lock).replace(str(config.golden_sha256), hashlib.sha256(path.read_bytes()).hexdigest())
    )
    proved = proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    assert proved.changes == (proving.Change("Hello, world!", False, (7,), tuple(right)),)


def test_lost_vectors_are_made_anew(tmp_path: Path) -> None:
    """A golden file that is gone or damaged does not stand in the way; what could not be compared is said."""
    path = tmp_path / str(proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"]).locked.golden)
    before = path.read_bytes()
    for damage in (path.unlink, lambda: path.write_bytes(b"{}")):
        damage()
        proved = proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
        assert "could not be compared" in proved.note
        assert path.read_bytes() == before


def test_a_proof_is_not_lost_by_proving_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of a reference library are not replaced by the twin's where the library is gone."""
    proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ProofError) as caught:
        proving.prove(listed(tmp_path), MAX_BYTES, ["tiny"])
    assert caught.value.reason == "REFERENCE_MISSING"
    assert listed(tmp_path).proven_by.startswith("tiktoken ")
