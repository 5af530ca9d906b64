"""The settings of this machine's pip: where it looks for packages, and how it reaches those places.

pip is asked for them (`pip config list` knows its files and their order); without a pip the PIP_* environment
alone is read. As in pip, the environment goes before a command's section and that before `[global]`; of the
commands `[install]` and `[download]` count, the latter first.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tokenwire_server.pull.errors import PullError

DEFAULT_INDEX = "https://pypi.org/simple"
ANSWER_TIMEOUT_S = 60.0
_ORDER = ("global", "install", "download", ":env:")
_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


@dataclass(frozen=True, slots=True)
class PipSettings:
    """What of pip's settings matters here. Places and the proxy may hold credentials."""

    index_urls: tuple[str, ...] = field(default=(DEFAULT_INDEX,), repr=False)
    """Where packages have a page each; none with no-index."""
    find_links: tuple[str, ...] = field(default=(), repr=False)
    """Folders, files and pages that list files of any package."""
    cert: Path | None = None
    client_cert: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    trusted_hosts: tuple[str, ...] = ()
    """Hosts and host:ports that may be asked without TLS. Certificates are checked all the same."""


def read() -> PipSettings:
    """The settings as they are now; costs about a second, for pip is started.

    Raises `PullError` (BAD_SETTING) for a setting that cannot be used, and where pip refuses its own files.
    """
    command = _pip()
    values = _merged(_listed(command) if command else _of_environment())
    indexes = [values.get("index-url", DEFAULT_INDEX), *values.get("extra-index-url", "").split()]
    return PipSettings(
        index_urls=() if _is_true(values, "no-index") else tuple(dict.fromkeys(indexes)),
        find_links=tuple(dict.fromkeys(values.get("find-links", "").split())),
        cert=_existing(values.get("cert"), "pip's cert") or _requests_ca(),
        client_cert=_existing(values.get("client-cert"), "pip's client-cert"),
        proxy=values.get("proxy"),
        trusted_hosts=tuple(host.lower() for host in values.get("trusted-host", "").split()),
    )


def _pip() -> list[str] | None:
    """This Python's pip, else the one on PATH, else none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]  # -P: a pip.py of the current folder is not meant
    found = shutil.which("pip")
    return [found] if found else None


def _listed(command: list[str]) -> Iterator[tuple[str, str]]:
    try:
        answer = subprocess.run(  # noqa: S603  the machine's own pip
            [*command, "config", "list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_TIMEOUT_S,
            check=True,
        )
        return _parse(answer.stdout.decode())
    except (OSError, subprocess.SubprocessError, ValueError, SyntaxError) as error:
        # What pip says may quote its files, and those hold credentials.
        raise PullError(
            "BAD_SETTING",
            f"pip does not tell its settings ({type(error).__name__}); see what `pip config list` says",
        ) from None


def _parse(text: str) -> Iterator[tuple[str, str]]:
    """The lines `section.key='value'`. Raises `ValueError` or `SyntaxError` for any other line."""
    entries = []
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        read_value = ast.literal_eval(value) if equals else None
        if not isinstance(read_value, str):
            raise ValueError("a line that is no setting")
        entries.append((name.strip(), read_value))
    return iter(entries)


def _of_environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name.upper().startswith("PIP_"):
            yield ":env:." + name[len("PIP_") :].lower().replace("_", "-"), value


def _merged(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One value for each key; empty ones do not count, as in pip."""
    found: dict[str, tuple[int, str]] = {}
    for name, value in entries:
        section, _, key = name.partition(".")
        if section in _ORDER and value.strip():
            rank = _ORDER.index(section)
            if key not in found or rank >= found[key][0]:
                found[key] = rank, value.strip()
    return {key: value for key, (_, value) in found.items()}


def _is_true(values: Mapping[str, str], key: str) -> bool:
    value = values.get(key, "no").lower()
    if value not in _TRUE + _FALSE:
        raise PullError("BAD_SETTING", f"pip's {key} is neither {', '.join(_TRUE)} nor {', '.join(_FALSE)}")
    return value in _TRUE


def _requests_ca() -> Path | None:
    """The certificates that pip's HTTP library takes from the environment."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if path := _existing(os.environ.get(name), name):
            return path
    return None


def _existing(text: str | None, setting: str) -> Path | None:
    if not text:
        return None
    path = Path(text).expanduser()
    if not path.exists():
        raise PullError("BAD_SETTING", f"{setting} is a path where nothing is; set it to a PEM file")
    return path
