"""The encoder of an artifact, in this process, and a folder that keeps artifacts. Needs the extra `local`.

`tokenwire_core` is imported here alone, and only when it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenwire._artifact import bad_artifact, check_sha256
from tokenwire._results import Artifact
from tokenwire.errors import DigestMismatchError

if TYPE_CHECKING:
    from tokenwire_core import Encoder


def core() -> Any:
    """The module `tokenwire_core`. Raises ModuleNotFoundError that says how to install it."""
    try:
        import tokenwire_core
    except ModuleNotFoundError as error:
        if error.name != "tokenwire_core":
            raise
        raise ModuleNotFoundError(
            "a local encoder needs tokenwire_core; install it with: pip install 'tokenwire[local]'",
            name=error.name,
        ) from None
    return tokenwire_core


def encoder(artifact: Artifact) -> Encoder:
    """The encoder of `artifact`, proven by its digest to be the one of the service. Takes the time of one load.

    Raises `DigestMismatchError`, and `BadArtifactError` where the core installed here cannot read the artifact.
    """
    tokenwire_core = core()
    try:
        made: Encoder = tokenwire_core.load(
            artifact.data,
            format=artifact.format,
            pattern=artifact.pattern or None,
            special_tokens=dict(artifact.special_tokens) or None,
            control_tokens=artifact.control_tokens or None,
        )
    except (tokenwire_core.ArtifactError, tokenwire_core.TokenizerError) as error:
        raise bad_artifact(
            f"the tokenwire_core installed here cannot read the artifact ({error.reason}: {error});"
            " install the version the service has",
            reason=error.reason,
        ) from error
    if made.digest != artifact.digest:
        raise DigestMismatchError(
            f"the encoder made here has digest {made.digest}, the service's has {artifact.digest};"
            " they could give other ids, so it is not used",
            metadata={"digest": made.digest},
        )
    return made


def kept(folder: str | os.PathLike[str], sha256: str, max_bytes: int) -> bytes | None:
    """The bytes of this sha256 in `folder`; None where they are not there, or the file holds others.

    Raises `BadArtifactError` where `sha256` is none, and OSError where the file cannot be read.
    """
    path = Path(folder) / check_sha256(sha256)
    try:
        # Without waiting for the writer of a fifo.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(max_bytes + 1)
    except (FileNotFoundError, IsADirectoryError):
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None


def keep(folder: str | os.PathLike[str], artifact: Artifact) -> None:
    """Put the bytes of `artifact` into `folder`, made where missing; the file has its name once it is whole.

    Raises OSError where the folder cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".partial-")
    try:
        with open(descriptor, "wb") as file:
            file.write(artifact.data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, folder / artifact.sha256)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
