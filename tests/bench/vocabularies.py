"""The vocabularies of the benchmark by name, laid out as the files that every library loads."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests import artifact_files
from tests.bench.peers import Vocabulary
from tests.rank_files import rank_file

FOLDER = Path(__file__).parents[2] / ".cache" / "bench"
JSON_OF_RANK_FILE = {"cl100k_base": "cl100k_hf", "o200k_base": "gpt_oss"}
"""Rank files, and the artifact that has the same ids as a tokenizer.json."""


class MissingError(Exception):
    """The artifact cannot be had here; the message says why."""


@functools.cache
def vocabulary(name: str) -> Vocabulary:
    """The named artifact, its files laid out under `.cache`; MissingError where it is nowhere."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if name in JSON_OF_RANK_FILE:
        file = rank_file(name)
        path = _laid_out(f"{name}.tiktoken", file.data)
        try:
            json_path = _artifact(JSON_OF_RANK_FILE[name]).path
        except MissingError as missing:
            print(f"{name} as a tokenizer.json: {missing}")
            json_path = None
        return Vocabulary(name, "tiktoken", path, json_path, file.pattern, file.special_tokens)
    return _artifact(name)


def _artifact(name: str) -> Vocabulary:
    try:
        data = artifact_files.artifact(name)
    except pytest.skip.Exception as skipped:
        raise MissingError(str(skipped)) from None
    if artifact_files.TABLE[name].format == "sentencepiece":
        return Vocabulary(name, "sentencepiece", _laid_out(f"{name}.model", data))
    path = _laid_out(f"{name}.tokenizer.json", data)
    return Vocabulary(name, "hf_json", path, path)


def _laid_out(file_name: str, data: bytes) -> Path:
    path = FOLDER / file_name
    path.write_bytes(data)
    return path
