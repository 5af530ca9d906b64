"""A mixed load through the real methods: the counters equal sums of what the reference libraries compute."""

from __future__ import annotations

import functools
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tokenwire_core
from prometheus_client.parser import text_string_to_metric_families
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core.reference_scripts import token_scripts
from tokenwire_core.tally import SCRIPTS
from tokenwire_server import artifacts, config, language
from tokenwire_server.call import Call
from tokenwire_server.catalogue import Catalogue
from tokenwire_server.detector import Detector
from tokenwire_server.errors import CODES, Fault
from tokenwire_server.guard import Guard
from tokenwire_server.limits import Limits
from tokenwire_server.meter import Meter
from tokenwire_server.metric_table import SHED_CAUSES
from tokenwire_server.service import TokenizerService
from tokenwire_server.tools import reference_library

from tests import families
from tests.server import made_up
from tests.texts_20 import LABELS, TEXTS

TENANTS = ("acme", "globex")
TENANT_OF = {
    "": "none",
    "acme": "acme",
    "globex": "globex",
    "initech": "other",
    "none": "other",
    "other": "other",
}
"""The label of each identity."""
LIMITS = Limits(message_bytes=1 << 16, text_bytes=1 << 12)

Series = dict[tuple[str, ...], float]


class Deployment:
    """The methods behind the guard, as a transport has them, and what the meter shows."""

    def __init__(self, catalogue: Catalogue, detector: Detector | None = None) -> None:
        self.meter = Meter([entry.config.name for entry in catalogue.entries()], TENANTS)
        self.guard = Guard(LIMITS, self.meter)
        self.methods = TokenizerService(catalogue, LIMITS, detector).methods()

    def call(self, rpc: str, request: bytes, identity: str = "") -> bytes:
        """The response to one call."""
        operation, method = self.methods[rpc]
        call = Call(operation, time.monotonic() + 60, identity=identity)
        ticket = self.guard.admit(operation, len(request), queued=False)
        try:
            return self.guard.run(method, request, call)
        finally:
            ticket.release()

    def samples(self, *, zeros: bool = True) -> dict[str, Series]:
        """The samples of each name, by the values of their labels in the order of the labels' names."""
        lines = self.meter.exposition().decode().splitlines()
        if not zeros:
            lines = [line for line in lines if not line.endswith(" 0")]
        found: dict[str, Series] = {}
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                labels = tuple(value for _, value in sorted(sample.labels.items()))
                assert labels not in found.setdefault(sample.name, {}), "a series is shown twice"
                found[sample.name][labels] = sample.value
        return found

    def counted(self, name: str) -> Series:
        """The samples of a name that are not zero."""
        return self.samples(zeros=False).get(name, {})


@dataclass
class Sums:
    """What the counters must hold, added up here."""

    tokens: Counter[tuple[str, ...]] = field(default_factory=Counter)
    n_bytes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    n_characters: Counter[tuple[str, ...]] = field(default_factory=Counter)
    unknown: Counter[tuple[str, ...]] = field(default_factory=Counter)
    byte_fallback: Counter[tuple[str, ...]] = field(default_factory=Counter)
    scripts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    by_tenant: Counter[tuple[str, ...]] = field(default_factory=Counter)
    request_tokens: Counter[tuple[str, ...]] = field(default_factory=Counter)
    decisions: Counter[tuple[str, ...]] = field(default_factory=Counter)
    errors: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, text: str, n_tokens: int, label: str, operation: str, tokenizer: str, tenant: str) -> None:
        key = (label, operation, tokenizer)
        self.tokens[key] += n_tokens
        self.n_bytes[key] += len(text.encode())
        self.n_characters[key] += len(text)
        self.by_tenant[operation, tenant, tokenizer] += n_tokens
        self.request_tokens[(operation,)] += n_tokens

    def add_gaps(
        self, ids: Sequence[int], spec: tokenwire_core.TokenizerSpec, label: str, tokenizer: str
    ) -> None:
        self.unknown[label, tokenizer] += sum(id_ == spec.unknown_id for id_ in ids)
        self.byte_fallback[label, tokenizer] += sum(id_ in spec.byte_fallback_ids for id_ in ids)

    def by_name(self) -> dict[str, Series]:
        """As the exposition has them."""
        sums = {
            "tokens_total": self.tokens,
            "input_bytes_total": self.n_bytes,
            "input_characters_total": self.n_characters,
            "unknown_tokens_total": self.unknown,
            "byte_fallback_tokens_total": self.byte_fallback,
            "script_tokens_total": self.scripts,
            "tenant_tokens_total": self.by_tenant,
            "request_tokens_sum": self.request_tokens,
            "language_decisions_total": self.decisions,
            "errors_total": self.errors,
        }
        return {
            f"tokenwire_{name}": {k: float(n) for k, n in sum_.items() if n} for name, sum_ in sums.items()
        }


def loaded(path: Path) -> Catalogue:
    """All tokenizers of a manifest."""
    prove = functools.partial(artifacts.prove, max_bytes=1 << 26)
    catalogue = Catalogue(config.load({"config": path}, {}).tokenizers, prove)
    catalogue.load()
    assert catalogue.all_ready()
    return catalogue


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return loaded(families.manifest(tmp_path_factory.mktemp("load")))


@pytest.fixture
def deployment(catalogue: Catalogue) -> Deployment:
    """All families, with counters at zero."""
    return Deployment(catalogue)


@pytest.fixture
def tiny(tmp_path: Path) -> Deployment:
    """One tokenizer."""
    return Deployment(loaded(made_up.manifest(tmp_path, made_up.table(tmp_path))))


def batches(rng: random.Random) -> Iterator[list[str]]:
    """The tags of all texts in a new order, in batches of one to six."""
    tags = list(TEXTS)
    rng.shuffle(tags)
    while tags:
        n = rng.randint(1, 6)
        yield tags[:n]
        tags = tags[n:]


def test_counters_equal_sums_of_the_reference_libraries(deployment: Deployment, seed: int) -> None:
    """20 languages, all families, operations and kinds of tenants, bad inputs between them: every counter is exact."""
    rng = random.Random(seed)
    sums = Sums()
    for name in families.NAMES:
        item = families.family(name)
        encoder = tokenwire_core.load(item.data, **families.options(name))
        spec = encoder.spec
        library = reference_library.of_spec(item.data, spec)
        assert library is not None
        ids = {tag: library.encode(text, special=False) for tag, text in TEXTS.items()}
        scripts = {tag: token_scripts(text, encoder.encode(text).offsets()) for tag, text in TEXTS.items()}
        for rpc, operation in (("Encode", "encode"), ("Count", "count"), ("Truncate", "truncate")):
            for tags in batches(rng):
                identity = rng.choice(list(TENANT_OF))
                inputs = [pb.Input(text=TEXTS[tag], language=tag) for tag in tags]
                inputs.insert(rng.randint(0, len(tags)), pb.Input(utf8=b"wrong \xff", language="en"))
                deployment.call(rpc, _request(rpc, name, inputs), identity)
                sums.errors[("INVALID_UTF8",)] += 1
                for tag in tags:
                    place = (LABELS[tag], operation, name, TENANT_OF[identity])
                    sums.add(TEXTS[tag], len(ids[tag]), *place)
                    sums.add_gaps(ids[tag], spec, LABELS[tag], name)
                    sums.scripts.update((script, name) for script in scripts[tag])
                    sums.decisions[("declared",)] += 1
        for tags in batches(rng):
            identity = rng.choice(list(TENANT_OF))
            lists = [pb.TokenIds(ids=ids[tag], language=tag) for tag in tags]
            lists.append(pb.TokenIds(ids=[2**31], language="en"))
            deployment.call(
                "Decode", pb.DecodeRequest(tokenizer=name, inputs=lists).SerializeToString(), identity
            )
            sums.errors[("ID_OUT_OF_RANGE",)] += 1
            for tag in tags:
                decoded = library.decode(ids[tag])
                sums.add(decoded, len(ids[tag]), LABELS[tag], "decode", name, TENANT_OF[identity])
                sums.decisions[("declared",)] += 1
    for name, expected in sums.by_name().items():
        assert deployment.counted(name) == expected
    assert set(LABELS.values()) <= language.LANGUAGES
    assert len(set(LABELS.values())) == 20
    n_of_text = sum(n for (_, operation, _), n in sums.tokens.items() if operation != "decode")
    assert sum(deployment.counted("tokenwire_script_tokens_total").values()) == n_of_text
    assert len({script for script, _ in sums.scripts}) > 8
    assert sums.unknown
    assert sums.byte_fallback


def test_pairs_and_templates_are_counted_whole(deployment: Deployment) -> None:
    """A pair with its template adds all its tokens, and the bytes and characters of both texts."""
    name, first, second = "wordpiece", TEXTS["en"], TEXTS["ru"]
    library = reference_library.of_spec(families.family(name).data, _spec(name))
    assert library is not None
    ids = library.encode(first, special=False, add_special=True, pair=second)
    options = pb.EncodeOptions(add_special=True)
    inputs = [pb.Input(text=first, pair_text=second, language="en")]
    for rpc, request in (
        ("Encode", pb.EncodeRequest(tokenizer=name, inputs=inputs, options=options)),
        ("Count", pb.CountRequest(tokenizer=name, inputs=inputs, options=options)),
    ):
        deployment.call(rpc, request.SerializeToString())
        key = ("en", rpc.lower(), name)
        assert deployment.counted("tokenwire_tokens_total")[key] == len(ids)
        assert deployment.counted("tokenwire_input_bytes_total")[key] == len((first + second).encode())
        assert deployment.counted("tokenwire_input_characters_total")[key] == len(first + second)
    unknown_id = _spec(name).unknown_id
    assert unknown_id is not None
    n_unknown = ids.count(unknown_id)
    assert n_unknown
    assert deployment.counted("tokenwire_unknown_tokens_total") == {("en", name): 2 * n_unknown}


@pytest.mark.parametrize("name", families.NAMES)
def test_a_count_with_a_limit_counts_what_was_walked(deployment: Deployment, name: str) -> None:
    """Over its limit it adds the tokens that it answers with, more than the limit, by script too; all its bytes."""
    text = " ".join(TEXTS.values())[:2000]
    request = pb.CountRequest(tokenizer=name, inputs=[pb.Input(text=text, language="en")], limit=3)
    answer = pb.CountResponse.FromString(deployment.call("Count", request.SerializeToString()))
    (result,) = answer.results
    walked = deployment.counted("tokenwire_tokens_total")["en", "count", name]
    assert walked == result.count.n_tokens > 3
    assert deployment.counted("tokenwire_input_bytes_total") == {("en", "count", name): len(text.encode())}
    assert sum(deployment.counted("tokenwire_script_tokens_total").values()) == walked
    assert sum(deployment.counted("tokenwire_unknown_tokens_total").values()) <= walked
    encoder = tokenwire_core.load(families.family(name).data, **families.options(name))
    assert walked <= encoder.count(text)


def test_requests_that_are_refused_add_errors_alone(tiny: Deployment) -> None:
    """An unknown tokenizer, a wrong digest, a message and an answer over the limit, a text too long: no token."""
    text = "a" * (LIMITS.text_bytes // 2)
    for request, reason in (
        (pb.EncodeRequest(tokenizer="huge", inputs=[pb.Input(text="a")]), "UNKNOWN_TOKENIZER"),
        (pb.EncodeRequest(tokenizer="tiny", expect_digest="0" * 64), "DIGEST_MISMATCH"),
        (pb.EncodeRequest(tokenizer="tiny", inputs=[pb.Input(text="a" * 2**17)]), "MESSAGE_TOO_LARGE"),
        (
            pb.EncodeRequest(
                tokenizer="tiny",
                inputs=[pb.Input(text=text)] * 30,
                offsets=pb.OFFSET_UNIT_BYTE,
                token_bytes=True,
            ),
            "MESSAGE_TOO_LARGE",
        ),
    ):
        with pytest.raises(Fault) as caught:
            tiny.call("Encode", request.SerializeToString())
        assert caught.value.reason == reason
    long = pb.EncodeRequest(tokenizer="tiny", inputs=[pb.Input(text="a" * (LIMITS.text_bytes + 1))])
    tiny.call("Encode", long.SerializeToString())
    expected = {"UNKNOWN_TOKENIZER": 1, "DIGEST_MISMATCH": 1, "MESSAGE_TOO_LARGE": 2, "TEXT_TOO_LONG": 1}
    assert tiny.counted("tokenwire_errors_total") == {(reason,): n for reason, n in expected.items()}
    for name in ("tokens", "input_bytes", "input_characters", "tenant_tokens", "language_decisions"):
        assert tiny.counted(f"tokenwire_{name}_total") == {}


def test_strangers_leave_the_number_of_series_bounded(tiny: Deployment, seed: int) -> None:
    """10,000 random tags, tenants and names of tokenizers make no series: there are those of the table, and no more.

    One tokenizer has tokens, bytes and characters for each of 4 operations and each language, unknown and byte-fallback
    tokens for each language, tokens for each script, and tokens for each of 4 operations and each tenant: two by name,
    `other` and `none`.
    """
    n_languages, n_tenants, n_operations = len(language.LANGUAGES), len(TENANTS) + 2, 4
    bound = 3 * n_operations * n_languages + 2 * n_languages + n_operations * n_tenants
    bound += len(SCRIPTS)
    bound += 4 * (12 + 1 + 2) + 7 * (12 + 1 + 2)  # histograms: bounds, the infinite one, count and sum
    bound += len(language.SOURCES) + len(SHED_CAUSES) + len(CODES) + 2 + 1  # two gauges, and the version
    assert bound < 1_700
    before = {(name, labels) for name, series in tiny.samples().items() for labels in series}
    assert len(before) == bound
    rng = random.Random(seed)
    n_unknown = 0
    for _ in range(10_000):
        identity, tag, name = (_word(rng) for _ in range(3))
        inputs = [pb.Input(text="abc", language=tag)]
        tokenizer = rng.choice((name, "tiny"))
        request = pb.CountRequest(tokenizer=tokenizer, inputs=inputs).SerializeToString()
        try:
            tiny.call("Count", request, identity)
        except Fault:
            n_unknown += 1
    after = tiny.samples()
    assert {(name, labels) for name, series in after.items() for labels in series} == before
    assert sum(after["tokenwire_language_decisions_total"].values()) == 10_000 - n_unknown
    assert tiny.counted("tokenwire_tenant_tokens_total").keys() <= {
        ("count", "none", "tiny"),
        ("count", "other", "tiny"),
    }


def _request(rpc: str, tokenizer: str, inputs: list[pb.Input]) -> bytes:
    """A request for all of each text, except that Truncate cuts it."""
    if rpc == "Encode":
        return pb.EncodeRequest(tokenizer=tokenizer, inputs=inputs).SerializeToString()
    if rpc == "Count":
        return pb.CountRequest(tokenizer=tokenizer, inputs=inputs, limit=10_000).SerializeToString()
    return pb.TruncateRequest(tokenizer=tokenizer, inputs=inputs, max_tokens=5).SerializeToString()


def _word(rng: random.Random) -> str:
    """Something a client may send: a tag with subtags, words of any script, quotes and line feeds, or nothing."""
    if rng.random() < 0.5:
        parts = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 3)))]
        parts += ["".join(rng.choices("abcXYZ019", k=rng.randint(1, 8))) for _ in range(rng.randint(0, 3))]
        return "-".join(parts)
    return "".join(rng.choices('aZ9-_"\\\n{}=,\x00é漢🤚', k=rng.randint(0, 12)))


def _spec(name: str) -> tokenwire_core.TokenizerSpec:
    return tokenwire_core.load(families.family(name).data, **families.options(name)).spec
