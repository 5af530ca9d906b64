"""A least artifact that still breaks the law in the same way."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.artifact import Artifact, Loader
from tests.fuzz.mutate_wire import Field, join, split


def reduced(
    artifact: Artifact, loader: Loader, is_same: Callable[[Artifact], bool], most_tries: int
) -> Artifact:
    """`artifact` without all that can go one after the other, in at most so many tries."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(artifact, loader):
            most_tries -= 1
            if most_tries < 0:
                return artifact
            if is_same(smaller):
                artifact, progress = smaller, True
                break
    return artifact


def _smaller(artifact: Artifact, loader: Loader) -> Iterator[Artifact]:
    """What has less of one thing, the larger parts first."""
    options = dict(artifact.options)
    for name in options:
        if name != "pattern":
            yield Artifact(artifact.data, {key: value for key, value in options.items() if key != name})
    parts = {"tiktoken": _fewer_lines, "hf_json": _fewer_members, "sentencepiece": _fewer_fields}[loader]
    for data in parts(artifact.data):
        if len(data) < len(artifact.data):
            yield Artifact(data, options)
    if "pattern" in options:
        pattern = options["pattern"]
        for start, end in _stretches(len(pattern)):
            yield Artifact(artifact.data, options | {"pattern": pattern[:start] + pattern[end:]})
    for start, end in _stretches(len(artifact.data)) if len(artifact.data) < 2000 else ():
        yield Artifact(artifact.data[:start] + artifact.data[end:], options)


def _stretches(size: int) -> Iterator[tuple[int, int]]:
    """All of it, its halves, quarters and so on."""
    step = size
    while step:
        for start in range(0, size, step):
            yield start, min(start + step, size)
        step //= 2


def _fewer_lines(data: bytes) -> Iterator[bytes]:
    lines = data.splitlines(keepends=True)
    for start, end in _stretches(len(lines)):
        yield b"".join(lines[:start] + lines[end:])


def _fewer_members(data: bytes) -> Iterator[bytes]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return
    for path in _paths(document):
        smaller = copy.deepcopy(document)
        container = smaller
        for key in path[:-1]:
            container = container[key]
        del container[path[-1]]
        yield json.dumps(smaller).encode()
        if isinstance(value := _at(document, path), dict) and isinstance(value.get("type"), str):
            for inner in value.values():
                for stage in inner if isinstance(inner, list) else ():
                    smaller = copy.deepcopy(document)
                    _at(smaller, path[:-1])[path[-1]] = stage
                    yield json.dumps(smaller).encode()
        if isinstance(value, str):
            for start, end in _stretches(len(value)):
                smaller = copy.deepcopy(document)
                _at(smaller, path[:-1])[path[-1]] = value[:start] + value[end:]
                yield json.dumps(smaller).encode()


def _paths(document: Any) -> Iterator[tuple[Any, ...]]:
    """Where all values are but the document itself, the outer ones first."""
    waiting: list[tuple[Any, ...]] = [()]
    while waiting:
        path = waiting.pop(0)
        if path:
            yield path
        value = _at(document, path)
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        waiting += [(*path, key) for key in keys]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _fewer_fields(data: bytes) -> Iterator[bytes]:
    fields = split(data)
    if not fields:
        return
    for start, end in _stretches(len(fields)):
        yield join(fields[:start] + fields[end:])
    for at, (number, wire_type, value) in enumerate(fields):
        if wire_type != 2:
            continue
        for inner in _fewer_fields(value) if at < 1000 and split(value) else ():
            smaller: list[Field] = [*fields[:at], (number, wire_type, inner), *fields[at + 1 :]]
            yield join(smaller)
