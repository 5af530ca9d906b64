"""From a stage to the compiled code that does it, which its class names."""

from __future__ import annotations

from importlib import import_module

from tokenwire_core.pipeline import Stage


def compiled_steps(stage: Stage) -> list[object]:
    """What `stage` is compiled to, in the order in which it is done.

    Raises:
        ArtifactError: what the code cannot do: BAD_CHARSMAP, BAD_PATTERN, UNSUPPORTED_PATTERN.
    """
    module, _, name = stage.compiled.partition(".")
    compiled = getattr(import_module(f"tokenwire_core.{module}"), name)(stage)
    return compiled if isinstance(compiled, list) else [compiled]
