"""The import directions of the house: who may know whom."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tokenwire_core.formats.hf_normalizers import NORMALIZERS
from tokenwire_core.formats.hf_pretokenizers import PRE_TOKENIZERS

from tests.house.imports import Import, imports_of, module_name

ROOT = Path(__file__).parents[2]
ROOTS = {
    "tokenwire_core": ROOT / "fastcore",
    "tokenwire_server": ROOT / "server",
    "tokenwire": ROOT / "clients" / "python",
}

LAYERS = {
    "tokenwire_core": (
        {
            *(
                "byte_alphabet",
                "char_kinds",
                "char_script",
                "errors",
                "json_fields",
                "pipeline",
                "reference_aligned",
                "reference_tables",
                "segment",
            ),
            *("tokenizer_config", "unicode_class", "unicode_ranges"),
        },
        {
            "charset",
            "charsmap",
            "compiled_steps",
            "reference_models",
            "sentencepiece_spec",
            "spec",
            "split_scalar",
            "trie",
            "vocab",
        },
        {
            "alphabet",
            "decoder_stage_types",
            "denormalize",
            "reference_unicode",
            "split_deepseek",
            "split_mask",
        },
        {
            "appearance",
            "bpe",
            "describe",
            "ids",
            "long_pieces",
            "pattern",
            "special",
            "split",
            "utf8",
        },
        {
            *("aligned", "char_words", "cuts", "merge_table", "model", "pattern_table", "pieces", "scratch"),
            *("reference_offsets", "reference_patterns", "reference_sentencepiece_normalizer", "regex_split"),
            *("byte_merges", "char_starts", "one_piece", "template", "text_input"),
        },
        {
            *("char_stages", "safe_edges", "sentencepiece_normalizer", "sentencepiece_rules"),
            *("text_stages", "unigram", "wordpiece"),
        },
        {"sentencepiece_output", "sentencepiece_words"},
        {"sentencepiece_bpe", "sentencepiece_unigram"},
        {"sentencepiece_models"},
        {"normal_parts", "pattern_matches", "rewriting"},
        {"character_maps", "normal_forms", "precompiled", "replace_decoder", "replacing", "split_stages"},
        {"edge_normalizers"},
        {"normalizers"},
        {"formats"},
        {"kept_scripts", "reference_scripts", "token_scripts"},
        {"script_changes"},
        {"byte_bpe", "char_bpe", "engine", "reference_decode", "reference_normalize"},
        {"decoder_stages", "token_decoder"},
        {"added", "decoders", "pretokenizers", "reference_added", "reference_pretokenize", "tally"},
        {"encoding", "ledger", "pipeline_engine", "rank_engine", "sentencepiece_engine"},
        {"reference", "reference_pipeline", "reference_sentencepiece", "truncate"},
        {"encoder"},
        {"load"},
        {""},
    ),
    "tokenwire_server": (
        {""},
        {"errors"},
        {"detector", "folders", "golden", "limits", "logs", "models", "sources", "toml_text"},
        {"manifest"},
        {"lockfile"},
        {"embedded"},
        {"known_rank_files"},
        {"config", "language", "artifacts", "call", "wire_messages"},
        {"pull"},
        {
            "catalogue",
            "http",
            "meter",
            "metric_table",
            "ports",
            "ready_text",
            "requests",
            "security",
            "series",
        },
        {"counting", "tokenizer_info"},
        {"guard", "service"},
        {"health", "transport_aio"},
        {"app", "cli_backend", "cli_render"},
        {"cli_ids"},
        {"cli_text"},
        {"tools.reference_library", "tools"},
        {"tools.detect", "tools.findings", "tools.golden_texts", "tools.manifest_edit", "tools.walking"},
        {"tools.deployment", "tools.corpus"},
        {"tools.proving", "tools.diffing"},
        {"tools.verifying"},
        {"tools.model_config", "tools.diff_sides", "tools.adding"},
        {"tools.cli_progress", "tools.cli_add", "tools.cli_verify", "tools.cli_diff"},
        {"tools.cli_artifacts", "tools.report"},
        {"cli"},
    ),
    "tokenwire": (
        {"v1"},
        {"errors", "_options", "_results"},
        {"_artifact", "_channels", "_info", "_inputs", "_retry"},
        {"_calls"},
        {"_connections", "_async_connections", "_local"},
        {"_client", "_async_client"},
        {""},
    ),
}
"""Rooms of each package from the ground up. A room may import from its own floor and those below, never in a circle;
the empty name is the package's own `__init__`."""

FORBIDDEN = {
    "tokenwire_core": re.compile(
        r"(grpc|google|prometheus_client|tokenwire|tokenwire_server|socket|ssl|http|urllib|requests|asyncio)(\.|$)"
    ),
    "tokenwire_server": re.compile(r"(requests|urllib\.request|http\.client)(\.|$)"),
    "tokenwire": re.compile(r"(tokenwire_server|tokenwire_core)(\.|$)"),
}
EXCEPTIONS = {
    ("tokenwire", "_local"): re.compile(r"tokenwire_core(\.|$)"),
    ("tokenwire_server", "pull"): re.compile(r"(urllib\.request|http\.client)(\.|$)"),
}
"""What one room of a package may import though the package may not."""
PULL = "tokenwire_server.pull"
"""The one part that fetches. The process that serves never imports it."""
PULLERS = {"tools.adding", "tools.cli_add", "tools.cli_artifacts", "pull"}
"""Rooms that may."""
ENVIRONMENT = re.compile(r"\b(os\.environ|getenv|environb)\b")


def room(package: str, module: str) -> str:
    """The first name below the package, or the first two in `tools`: what the layers are made of."""
    names = module.removeprefix(package).removeprefix(".").split(".")
    return ".".join(names[: 2 if names[0] == "tools" else 1])


def sources(package: str, root: Path) -> list[Path]:
    return sorted(path for path in (root / package).rglob("*.p*") if path.suffix in {".py", ".pyx", ".pxd"})


def faults(package: str, root: Path) -> list[str]:
    """Every breach of the directions in one package, as sentences."""
    floor = {name: number for number, rooms in enumerate(LAYERS[package]) for name in rooms}
    found: list[str] = []
    graph: dict[str, set[str]] = {}
    for path in sources(package, root):
        source = room(package, module_name(path, root))
        if source not in floor:
            found.append(f"{package}.{source} has no floor in LAYERS")
            continue
        if package == "tokenwire_core" and ENVIRONMENT.search(path.read_text()):
            found.append(f"{package}.{source} reads the environment")
        for entry in imports_of(path, root):
            found += breaches(package, source, entry, floor)
            target = room(package, entry.module)
            if entry.eager and is_within(package, entry.module) and target != source:
                graph.setdefault(source, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"{package} imports in a circle: {' -> '.join(error.args[1])}")
    return sorted(set(found))


def breaches(package: str, source: str, entry: Import, floor: dict[str, int]) -> list[str]:
    allowed = EXCEPTIONS.get((package, source))
    if FORBIDDEN[package].match(entry.module) and not (allowed and allowed.match(entry.module)):
        return [f"{entry.importer} imports {entry.module}"]
    if package == "tokenwire_server" and re.match(r"tokenwire(\.(?!v1)|$)", entry.module):
        if source in {"cli", "cli_backend"} and not entry.eager:
            return []
        return [f"{entry.importer} imports the client {entry.module}; only cli may, and only when it is used"]
    if is_within(PULL, entry.module) and source not in PULLERS:
        return [f"{entry.importer} imports {entry.module}; only {', '.join(sorted(PULLERS))} may"]
    if is_within(package, entry.module):
        target = room(package, entry.module)
        if floor.get(target, -1) > floor[source]:
            return [f"{entry.importer} imports {entry.module}, which stands above it"]
    return []


def is_within(package: str, module: str) -> bool:
    return module == package or module.startswith(package + ".")


def test_code_that_stages_name_is_below_them() -> None:
    """What a stage's row names is imported when it is needed, and is no exception to the directions."""
    floor = {name: number for number, rooms in enumerate(LAYERS["tokenwire_core"]) for name in rooms}
    for table, chain in ((NORMALIZERS, "normalizers"), (PRE_TOKENIZERS, "pretokenizers")):
        for stage in table.values():
            assert floor[stage.compiled.partition(".")[0]] < floor[chain]


@pytest.mark.parametrize("package", ROOTS)
def test_imports_go_downwards(package: str) -> None:
    """Each room imports only from its own floor and those below it, and no package imports in a circle."""
    assert sources(package, ROOTS[package]), "nothing was scanned"
    assert faults(package, ROOTS[package]) == []


@pytest.mark.parametrize(
    ("package", "file", "text", "fault"),
    [
        ("tokenwire_core", "vocab.pyx", "from tokenwire_core.encoder cimport Encoder\n", "stands above"),
        ("tokenwire_core", "bpe.pxd", "cimport tokenwire_core.encoder\n", "stands above"),
        ("tokenwire_core", "spec.py", "from tokenwire_core import encoder\n", "stands above"),
        ("tokenwire_core", "spec.py", "def f():\n    import grpc.aio\n", "imports grpc.aio"),
        ("tokenwire_core", "bpe.pyx", "    from google.protobuf import message\n", "imports google.protobuf"),
        ("tokenwire_core", "spec.py", "import os\nx = os.environ['HOME']\n", "reads the environment"),
        ("tokenwire_core", "novel.py", "", "no floor"),
        ("tokenwire_server", "service.py", "import tokenwire\n", "the client"),
        ("tokenwire_server", "cli.py", "from tokenwire import Client\n", "the client"),
        ("tokenwire_server", "limits.py", "from tokenwire_server.app import run\n", "stands above"),
        ("tokenwire_server", "limits.py", "import http.client\n", "imports http.client"),
        ("tokenwire_server", "limits.py", "from http import client\n", "imports http.client"),
        (
            "tokenwire_server",
            "tools/cli_add.py",
            "def f():\n    import urllib.request\n",
            "imports urllib.request",
        ),
        (
            "tokenwire_server",
            "app.py",
            "from tokenwire_server.pull.fetch import fetch\n",
            "only pull, tools.adding",
        ),
        ("tokenwire_server", "service.py", "from tokenwire_server import pull\n", "only pull, tools.adding"),
        (
            "tokenwire_server",
            "cli.py",
            "def f():\n    import tokenwire_server.pull\n",
            "only pull, tools.adding",
        ),
        ("tokenwire_server", "app.py", "from tokenwire_server.tools import detect\n", "stands above"),
        ("tokenwire_server", "pull/fetch.py", "import requests\n", "imports requests"),
        ("tokenwire_server", "pull/fetch.py", "import tokenwire_server.app\n", "stands above"),
        ("tokenwire", "errors.py", "import tokenwire_core\n", "imports tokenwire_core"),
        ("tokenwire", "_client.py", "def f():\n    import tokenwire_core\n", "imports tokenwire_core"),
        ("tokenwire", "_local.py", "import tokenwire_server\n", "imports tokenwire_server"),
    ],
)
def test_a_planted_breach_is_found(tmp_path: Path, package: str, file: str, text: str, fault: str) -> None:
    """The check reports each kind of breach, so its silence means something."""
    for name in ("encoder.pyx", "app.py", "pull/__init__.py", "tools/__init__.py"):
        (tmp_path / package / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / package / name).touch()
    (tmp_path / package / file).write_text(text)
    assert [found for found in faults(package, tmp_path) if fault in found]


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    """Two rooms of one floor that import each other are reported."""
    package = tmp_path / "tokenwire_server"
    package.mkdir()
    (package / "limits.py").write_text("import tokenwire_server.logs\n")
    (package / "logs.py").write_text("import tokenwire_server.limits\n")
    assert "circle" in faults("tokenwire_server", tmp_path)[0]
