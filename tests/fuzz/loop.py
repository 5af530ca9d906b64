"""The loop: change an artifact, hold it to the law, and keep it for more changes if it reached something new."""

from __future__ import annotations

import contextlib
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final

from tokenwire_core import charsmap, json_fields
from tokenwire_core.formats import (
    hf_added,
    hf_decoders,
    hf_json,
    hf_models,
    hf_normalizers,
    hf_patterns,
    hf_post_processor,
    hf_pretokenizers,
    hf_stages,
    protobuf_wire,
    sentencepiece_model,
    strict_json,
    tiktoken_ranks,
    tokenizer_config_json,
)

from tests.fuzz.artifact import Artifact, Loader
from tests.fuzz.check import TEXTS, BreachError, Watched, load, texts, use
from tests.fuzz.feedback import Edges
from tests.fuzz.lines import Lines
from tests.fuzz.mutate import Mutator

READERS: Final[dict[Loader, list[ModuleType]]] = {
    "tiktoken": [tiktoken_ranks],
    "hf_json": [
        *(charsmap, hf_added, hf_decoders, hf_json, hf_models, hf_normalizers, hf_patterns, hf_post_processor),
        *(hf_pretokenizers, hf_stages, json_fields, strict_json, tokenizer_config_json),
    ],
    "sentencepiece": [charsmap, protobuf_wire, sentencepiece_model],
}  # fmt: skip
"""What each loader is in Python: the modules whose lines count."""

LOOKUPS: Final = frozenset(("Charsmap",))
"""Classes there that do nothing when an artifact is loaded: the twins look things up with them."""

MAX_MUTATIONS: Final = 4
N_FINDINGS: Final = 20
"""After so many different ones a run ends."""


@dataclass(slots=True)
class Finding:
    """An artifact that breaks the law. `key` tells apart what has different causes."""

    artifact: Artifact
    key: str
    report: str


@dataclass(slots=True)
class Tally:
    """What a run did."""

    n_runs: int = 0
    n_kept: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)


def check(
    artifact: Artifact,
    loader: Loader,
    lines: Watched = contextlib.nullcontext,
    edges: Watched = contextlib.nullcontext,
    n_fixed: int = 2,
) -> str:
    """Load and use an artifact: the reason of a refusal, or `loaded`. Raises as `load` and `use` do.

    Its lines and edges are `watched` while it is loaded, edges also while it is used.
    """
    with lines(), edges():
        loaded = load(artifact, loader)
    if isinstance(loaded, str):
        return loaded
    spec, encoder = loaded
    use(spec, encoder, texts(artifact, spec, n_fixed), edges)
    return "loaded"


def find(artifact: Artifact, loader: Loader) -> Finding | None:
    """What is wrong with an artifact, or nothing; tried with all texts."""
    try:
        check(artifact, loader, n_fixed=len(TEXTS))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
        return finding(artifact, error)
    return None


def finding(artifact: Artifact, error: Exception) -> Finding:
    """What escaped, told apart from others by its type and where in the project it was raised."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "tokenwire_core" in frame.filename
    ]
    where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    respect = error.respect if isinstance(error, BreachError) else where
    key = f"{type(error).__name__} {respect}"
    return Finding(artifact, key, "".join(traceback.format_exception(error))[-4000:])


class Loop:
    """One run of fuzzing in this process.

    Args:
        corpus: what to start from.
        edges: feedback of compiled code, if it is built to give any.
        before_each: called with each artifact before it is loaded, so that one that ends the process is known.
        on_new: called with each artifact that is kept.
        on_finding: called with the first artifact of each kind that breaks the law.
    """

    def __init__(
        self,
        loader: Loader,
        corpus: Sequence[Artifact],
        seed: int,
        *,
        edges: Edges | None = None,
        before_each: Callable[[Artifact], None] = lambda _: None,
        on_new: Callable[[Artifact], None] = lambda _: None,
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        self.lines = Lines(READERS[loader], LOOKUPS)
        self.tally = Tally()
        self._loader = loader
        self._rng = random.Random(f"{loader}/{seed}")
        self._edges = edges
        self._watched_edges: Watched = edges.watched if edges else contextlib.nullcontext
        self._before_each, self._on_new, self._on_finding = before_each, on_new, on_finding
        self._corpus: list[Artifact] = []
        self._loaded: list[Artifact] = []
        self._mutator = Mutator(loader, corpus)
        self._first = list(corpus)

    def run(self, seconds: float = float("inf"), most_runs: int | None = None) -> Tally:
        """Run the corpus once, then changes of it until the time or the number of runs is over."""
        until = time.monotonic() + seconds
        for artifact in self._first:
            self._keep(artifact, self.run_one(artifact)[0])
        while time.monotonic() < until and (most_runs is None or self.tally.n_runs < most_runs):
            if len(self.tally.findings) >= N_FINDINGS:
                break
            artifact = self._changed()
            outcome, is_new = self.run_one(artifact)
            if is_new:
                self._keep(artifact, outcome)
                self.tally.n_kept += 1
                self._on_new(artifact)
        return self.tally

    def run_one(self, artifact: Artifact) -> tuple[str, bool]:
        """What becomes of the artifact, and whether it reached something new."""
        self._before_each(artifact)
        steps_before = self.lines.n_steps
        self.tally.n_runs += 1
        try:
            outcome = check(artifact, self._loader, self.lines.watched, self._watched_edges)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
            found = finding(artifact, error)
            if found.key not in self.tally.findings:
                self.tally.findings[found.key] = found
                self._on_finding(found)
            outcome = "FINDING"
        self.tally.outcomes[outcome] += 1
        n_news = self._edges.take() if self._edges else 0
        return outcome, bool(n_news) or self.lines.n_steps > steps_before

    def _keep(self, artifact: Artifact, outcome: str) -> None:
        self._corpus.append(artifact)
        if outcome == "loaded":
            self._loaded.append(artifact)

    def _changed(self) -> Artifact:
        """A kept artifact, changed a few times: mostly one that loads, and every second time one of the latest."""
        rng = self._rng
        among = self._loaded if self._loaded and rng.random() < 0.7 else self._corpus
        latest = among[-max(len(among) // 8, 8) :]
        artifact = rng.choice(latest if rng.random() < 0.5 else among)
        for _ in range(rng.choice((1, 1, 2, MAX_MUTATIONS))):
            artifact = self._mutator.mutate(artifact, rng.choice(self._corpus), rng)
        return artifact
