"""The catalogue: names, digests, states, and failures that stay where they are."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

import pytest
from tokenwire_core import Encoder
from tokenwire_server import artifacts, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.catalogue import Catalogue, State
from tokenwire_server.errors import Fault
from tokenwire_server.manifest import TokenizerConfig

from tests.server import made_up

PROVE = functools.partial(artifacts.prove, max_bytes=1 << 20)


@pytest.fixture
def configs(tmp_path: Path) -> tuple[TokenizerConfig, ...]:
    """Two good tokenizers, one of them named for a public tokenizer, around a bad one."""
    path = made_up.manifest(
        tmp_path,
        made_up.table(tmp_path, extra='aliases = ["small"]'),
        made_up.table(tmp_path, "bad", sha256="0" * 64),
        made_up.table(tmp_path, "cl100k_base"),
    )
    return manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)


def fault_of(catalogue: Catalogue, name: str, digest: str = "") -> Fault:
    with pytest.raises(Fault) as caught:
        catalogue.find(name, digest)
    return caught.value


def test_a_name_an_alias_and_a_model_find_their_tokenizer(configs: tuple[TokenizerConfig, ...]) -> None:
    """Each kind of name gives the configured tokenizer it stands for."""
    catalogue = Catalogue(configs, PROVE)
    catalogue.load()
    for name, found in (("tiny", "tiny"), ("small", "tiny"), ("gpt-4", "cl100k_base")):
        assert catalogue.find(name)[0] == found


@pytest.fixture
def own_names(tmp_path: Path) -> tuple[TokenizerConfig, ...]:
    """Three tokenizers with names of models of their own, one of them cl100k_base by its name."""
    path = made_up.manifest(
        tmp_path,
        made_up.table(
            tmp_path, extra='models = ["acme-1"]\nmodel_prefixes = ["ft:acme-", "gpt-", "claude-"]'
        ),
        made_up.table(
            tmp_path, "big", extra='models = ["ft:acme-x"]\nmodel_prefixes = ["ft:acme-1-big", "azure/"]'
        ),
        made_up.table(tmp_path, "cl100k_base", extra='model_prefixes = ["gpt-4-turbo-acme-"]'),
        made_up.table(tmp_path, "gpt2", extra='aliases = ["qwen3"]'),
    )
    return manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("acme-1", "tiny"),
        ("ft:acme-1:org::id", "tiny"),
        ("ft:acme-1-big:org::id", "big"),
        ("ft:acme-x", "big"),
        ("ft:acme-xy", "tiny"),
        ("gpt-6", "tiny"),
        ("claude-sonnet-4-5", "tiny"),
        ("azure/acme", "big"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("gpt-4-turbo-acme-1", "cl100k_base"),
        ("azure/gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("openrouter/openai/gpt-4:online", "cl100k_base"),
        ("davinci", "gpt2"),
        ("r50k_base", "gpt2"),
        ("groq/qwen/qwen3-32b", "gpt2"),
    ],
)
def test_a_model_of_the_deployment_finds_its_tokenizer(
    own_names: tuple[TokenizerConfig, ...], name: str, found: str
) -> None:
    """Exact before prefix, longer before shorter, the configuration and the table of models in one order."""
    catalogue = Catalogue(own_names, PROVE)
    catalogue.load()
    assert catalogue.find(name)[0] == catalogue.entry(name).config.name == found


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-5.1-codex",
        "o200k_base",
        "azure/gpt-4o-2024-08-06",
        "azure/text-davinci-003",
    ],
)
def test_a_known_model_is_never_taken_by_a_prefix_of_the_deployment(
    own_names: tuple[TokenizerConfig, ...], name: str
) -> None:
    """A model that needs a tokenizer not configured here is not answered by one with a shorter prefix."""
    assert fault_of(Catalogue(own_names, PROVE), name).reason == "TOKENIZER_NOT_LOADED"


def test_models_of_the_deployment_are_suggested(own_names: tuple[TokenizerConfig, ...]) -> None:
    """A name near a model or a prefix of the configuration is answered with it."""
    catalogue = Catalogue(own_names, PROVE)
    assert "acme-1" in fault_of(catalogue, "acme1").metadata["known"].split(", ")
    assert "acme-1" in fault_of(catalogue, "openrouter/acme-2").metadata["known"].split(", ")
    assert "ft:acme-..." in fault_of(catalogue, "ft:acme").metadata["known"].split(", ")


def test_a_name_is_suggested_once(own_names: tuple[TokenizerConfig, ...]) -> None:
    """Also where a tokenizer of the configuration has the name of a known model."""
    near = fault_of(Catalogue(own_names, PROVE), "gpt22").metadata["known"].split(", ")
    assert near.count("gpt2") == 1


@pytest.mark.case("BR-214")
@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("", "INVALID_REQUEST", "no tokenizer is named"),
        ("tinny", "UNKNOWN_TOKENIZER", "tiny"),
        ("gpt-4o-", "TOKENIZER_NOT_LOADED", "o200k_base"),
        ("p50k_base", "TOKENIZER_NOT_LOADED", "p50k_base"),
        ("gpt2", "TOKENIZER_NOT_LOADED", "the tokenizer gpt2 or r50k_base is not configured here"),
        ("gpt-4o", "TOKENIZER_NOT_LOADED", "the model gpt-4o needs the tokenizer o200k_base, which is not"),
        ("o200k_base", "TOKENIZER_NOT_LOADED", 'embedded = ["o200k_base"]'),
        ("davinci", "TOKENIZER_NOT_LOADED", "r50k_base, which is not configured here; add it"),
        ("gpt4", "UNKNOWN_TOKENIZER", "gpt-4"),
        (
            "azure/eu/gpt-4o",
            "TOKENIZER_NOT_LOADED",
            "the model azure/eu/gpt-4o needs the tokenizer o200k_base, which",
        ),
        ("Qwen/Qwen3-8B", "TOKENIZER_NOT_LOADED", "qwen3, which is not configured here; add it"),
        ("openai/gpt-6", "UNKNOWN_TOKENIZER", "no tokenizer or model openai/gpt-6 is known; nearest: "),
        (
            "claude-sonnet-4-5",
            "UNKNOWN_TOKENIZER",
            "no tokenizer of the model claude-sonnet-4-5 is published",
        ),
        ("x" * 100_000, "UNKNOWN_TOKENIZER", "tiny"),
    ],
)
def test_no_name_falls_back_to_another_tokenizer(
    configs: tuple[TokenizerConfig, ...], name: str, reason: str, says: str
) -> None:
    """A name that stands for nothing served here is refused, and the message says what is near or needed."""
    catalogue = Catalogue(configs, PROVE)
    catalogue.load()
    fault = fault_of(catalogue, name)
    assert fault.reason == reason
    assert says in fault.message


def test_only_what_is_served_is_suggested(configs: tuple[TokenizerConfig, ...]) -> None:
    """The nearest names are those of tokenizers here and of models they serve, not of models that need others."""
    fault = fault_of(Catalogue(configs, PROVE), "gpt-4oo")
    near = fault.metadata["known"].split(", ")
    assert "gpt-4" in near
    assert not any(name.startswith("gpt-4o") for name in near)


def test_an_expected_digest_is_held_to(configs: tuple[TokenizerConfig, ...]) -> None:
    """The tokenizer's own digest passes, another is refused with the one in force."""
    catalogue = Catalogue(configs, PROVE)
    catalogue.load()
    digest = catalogue.find("tiny")[1].digest
    assert catalogue.find("tiny", digest)[0] == "tiny"
    fault = fault_of(catalogue, "tiny", "0" * 64)
    assert (fault.reason, fault.metadata["digest"]) == ("DIGEST_MISMATCH", digest)


@pytest.mark.case("BR-275")
def test_calls_are_answered_while_a_tokenizer_loads(configs: tuple[TokenizerConfig, ...]) -> None:
    """While a load hangs, its tokenizer is not ready, others answer, and nothing waits."""
    loading, finish = threading.Event(), threading.Event()

    def prove(config: TokenizerConfig) -> Encoder:
        if config.name == "cl100k_base":
            loading.set()
            assert finish.wait(60)
        return PROVE(config)

    catalogue = Catalogue(configs, prove)
    catalogue.start_loading()
    assert loading.wait(60)
    assert fault_of(catalogue, "cl100k_base").reason == "TOKENIZER_NOT_READY"
    assert catalogue.find("tiny")[0] == "tiny"
    assert not catalogue.all_ready()
    finish.set()
    assert catalogue.settled.wait(60)
    assert catalogue.find("cl100k_base")[0] == "cl100k_base"


@pytest.mark.case("BR-275")
def test_a_failed_load_is_remembered_and_never_tried_again(configs: tuple[TokenizerConfig, ...]) -> None:
    """A thousand calls for a tokenizer that failed load nothing."""
    tried: list[str] = []

    def prove(config: TokenizerConfig) -> Encoder:
        tried.append(config.name)
        return PROVE(config)

    catalogue = Catalogue(configs, prove)
    catalogue.load()
    for _ in range(1000):
        fault = fault_of(catalogue, "bad")
    assert fault.reason == "TOKENIZER_NOT_READY"
    assert "SHA256_MISMATCH" in fault.message
    assert tried == ["tiny", "bad", "cl100k_base"]


def test_one_failure_takes_no_other_tokenizer_down(configs: tuple[TokenizerConfig, ...]) -> None:
    """A tokenizer that cannot be proven, and even a loader that breaks, leave the others READY."""

    def prove(config: TokenizerConfig) -> Encoder:
        if config.name == "tiny":
            raise ZeroDivisionError
        return PROVE(config)

    catalogue = Catalogue(configs, prove)
    catalogue.load()
    assert [entry.state for entry in catalogue.entries()] == [State.FAILED, State.FAILED, State.READY]
    assert catalogue.settled.is_set()
    assert not catalogue.all_ready()
    assert catalogue.entries()[0].failure == "INTERNAL: ZeroDivisionError"


def test_listeners_hear_of_each_change(configs: tuple[TokenizerConfig, ...]) -> None:
    """A listener is called after each tokenizer, and once all are settled."""

    def prove(_config: TokenizerConfig) -> Encoder:
        raise ProofError("EMPTY", "empty")

    catalogue = Catalogue(configs, prove)
    seen: list[tuple[int, bool]] = []
    catalogue.on_change(
        lambda: seen.append(
            (
                sum(entry.state is State.FAILED for entry in catalogue.entries()),
                catalogue.settled.is_set(),
            )
        )
    )
    catalogue.load()
    assert seen == [(1, False), (2, False), (3, False), (3, True)]
