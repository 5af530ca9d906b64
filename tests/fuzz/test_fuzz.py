"""Fuzzing, in short and without instruments: the loaders keep the law, and the loop finds what does not."""

from __future__ import annotations

import pytest
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats import hf_models, sentencepiece_model, tiktoken_ranks

from tests.fuzz import check
from tests.fuzz.artifact import LOADERS, Artifact, Loader
from tests.fuzz.driver import fuzz
from tests.fuzz.loop import Loop, find
from tests.fuzz.reduce import reduced
from tests.fuzz.seeds import seeds

N_MUTANTS = 40


@pytest.mark.parametrize("loader", LOADERS)
def test_nothing_is_found(loader: Loader) -> None:
    """Each first artifact and some changed ones are refused by name, or encode as their twin does."""
    corpus = seeds(loader)
    tally = Loop(loader, corpus, seed=1).run(most_runs=len(corpus) + N_MUTANTS)
    assert {key: (found.artifact, found.report) for key, found in tally.findings.items()} == {}
    assert tally.outcomes["loaded"] > len(corpus) // 3
    assert len(tally.outcomes) > 5
    assert tally.n_kept > 0


@pytest.mark.parametrize("loader", LOADERS)
def test_a_run_can_be_repeated(loader: Loader) -> None:
    """A seed decides everything that a run tries."""
    tried: list[list[Artifact]] = [[], []]
    for each in tried:
        loop = Loop(loader, seeds(loader)[:3], seed=7, before_each=each.append)
        loop.run(most_runs=20)
    assert tried[0] == tried[1]


@pytest.mark.parametrize("loader", LOADERS)
def test_a_corpus_may_hold_anything(loader: Loader) -> None:
    """What was kept of a run, also what is no artifact at all, is what the next one can begin with."""
    kept = [
        Artifact(data, {"pattern": "."} if loader == "tiktoken" else {})
        for data in (b"", b"\xff", b"[" * 9999)
    ]
    tally = Loop(loader, [*seeds(loader)[:2], *kept], seed=1).run(most_runs=30)
    assert tally.n_runs == 30
    assert tally.findings == {}


@pytest.mark.parametrize(
    ("loader", "module", "function"),
    [
        ("tiktoken", tiktoken_ranks, "_check_ranks"),
        ("hf_json", hf_models, "_check_size"),
        ("sentencepiece", sentencepiece_model, "_rules"),
    ],
)
def test_what_escapes_is_found(
    loader: Loader, module: object, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault in a reader is one finding, however many artifacts show it, with an artifact that shows it again."""

    def fails(*_: object, **__: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(module, function, fails)
    corpus = seeds(loader)[:10]
    (found,) = Loop(loader, corpus, seed=1).run(most_runs=20).findings.values()
    assert "KeyError" in found.key
    again = find(Artifact.from_bytes(found.artifact.to_bytes()), loader)
    assert again is not None
    assert again.key == found.key


def test_a_difference_from_the_twin_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that says something else makes a finding of a tokenizer."""
    (artifact,) = seeds("tiktoken")[:1]
    assert find(artifact, "tiktoken") is None
    monkeypatch.setattr(check._RankFileTwin, "ids", lambda *_: [1, 2, 3])
    found = find(artifact, "tiktoken")
    assert found is not None
    assert found.key == "BreachError ids"


def test_an_unknown_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal must have a reason that is documented, and a message of a size to be read."""
    for error in (ArtifactError("NO_REASON", "short"), ArtifactError("EMPTY", "long" * 1000)):

        def refuses(*_: object, error: ArtifactError = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(check, "read_spec", refuses)
        assert find(Artifact(b""), "tiktoken") is not None


def test_a_finding_is_made_smaller() -> None:
    """What has nothing to do with a fault goes: lines, members, fields and options."""
    ranks = seeds("tiktoken")[3]
    least = reduced(ranks, "tiktoken", lambda artifact: b"IQ== 33" in artifact.data, 500)
    assert (least.data.strip(), dict(least.options)) == (b"IQ== 33", {"pattern": ""})
    document = Artifact(b'{"a": {"b": [1, 2, {"type": "NFC"}]}, "c": "xyz"}', {"control_tokens": []})
    least = reduced(document, "hf_json", lambda artifact: b"NFC" in artifact.data, 500)
    assert (least.data, dict(least.options)) == (b"NFC", {})
    model = seeds("sentencepiece")[0]
    least = reduced(model, "sentencepiece", lambda artifact: b"\xe6\xbc\xa2" in artifact.data, 500)
    assert least.data == b"\xe6\xbc\xa2"


@pytest.mark.long
@pytest.mark.parametrize("loader", LOADERS)
def test_ten_minutes_find_nothing(loader: Loader, seed: int) -> None:
    """With feedback of the compiled core, ten minutes run at least nine in ten lines of a loader, and find nothing."""
    report = fuzz(loader, 600, seed, "edges")
    assert report.findings == []
    assert report.line_coverage >= 0.9, report.missed


@pytest.mark.long
@pytest.mark.parametrize("loader", LOADERS)
def test_sanitizers_find_nothing(loader: Loader, seed: int) -> None:
    """With AddressSanitizer and UBSan in the compiled core, two minutes find nothing."""
    assert fuzz(loader, 120, seed, "asan").findings == []
