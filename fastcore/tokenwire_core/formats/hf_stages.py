"""The stages of a tokenizer.json, whatever they do: one or a sequence, each found by its name in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, dataclass_transform

from tokenwire_core.errors import ArtifactError
from tokenwire_core.json_fields import Fields
from tokenwire_core.pipeline import Stage

MAX_STAGES: Final = 256
MAX_SEQUENCE_DEPTH: Final = 16

_Stage = TypeVar("_Stage")
_Row = TypeVar("_Row", bound=Stage)
Readers = Mapping[str, Callable[[Fields], _Stage]]
"""From `type` to what reads the other members of such a stage."""


@dataclass_transform(frozen_default=True)
def row(table: dict[str, Any], *, compiled: str) -> Callable[[type[_Row]], type[_Row]]:
    """Makes a class a stage and a row of `table`, by its name. `compiled`: see `pipeline.Stage`."""

    def add(stage: type[_Row]) -> type[_Row]:
        made = dataclass(frozen=True, slots=True)(stage)
        made.compiled = compiled
        table[made.__name__] = made
        return made

    return add


def read_stages(value: object, path: str, readers: Readers[_Stage], sequence_key: str) -> tuple[_Stage, ...]:
    """A stage, or a `Sequence` of them under `sequence_key`, in order; null is none.

    Raises:
        ArtifactError: UNSUPPORTED_STAGE, TOO_MANY_STAGES, TOO_DEEP, and those of the stages.
    """
    stages: list[_Stage] = []
    for fields, kind in _flat(value, path, sequence_key, 0) if value is not None else ():
        if kind not in readers:
            known = ", ".join([*readers, "Sequence"])
            message = f"there is no stage {kind[:64]!a} here; this version has {known}"
            raise ArtifactError("UNSUPPORTED_STAGE", message, path=fields.path)
        stages.append(readers[kind](fields))
        fields.finish()
        if len(stages) > MAX_STAGES:
            raise ArtifactError("TOO_MANY_STAGES", f"there are more than {MAX_STAGES} stages", path=path)
    return tuple(stages)


def _flat(value: object, path: str, sequence_key: str, depth: int) -> Iterator[tuple[Fields, str]]:
    """The stages of sequences within sequences, which do the same one after the other."""
    if depth > MAX_SEQUENCE_DEPTH:
        raise ArtifactError("TOO_DEEP", f"sequences are more than {MAX_SEQUENCE_DEPTH} deep", path=path[:64])
    fields = Fields(value, path)
    kind = fields.text("type")
    if kind != "Sequence":
        yield fields, kind
        return
    for index, item in enumerate(fields.array(sequence_key)):
        yield from _flat(item, f"{fields.at(sequence_key)}[{index}]", sequence_key, depth + 1)
    fields.finish()
