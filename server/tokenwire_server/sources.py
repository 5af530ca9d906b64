"""Sources: where an artifact comes from, as the manifest spells it.

    file:PATH                          a file, relative to the manifest's folder
    https://HOST/PATH                  that very file
    hf:ORG/REPO@REVISION/FILE          a file of a Hugging Face repository
    pypi:PACKAGE==VERSION/MEMBER       a member of a wheel or sdist
    npm:[@SCOPE/]PACKAGE@VERSION/MEMBER    a member of the package's tarball

A version or revision is always named: a source means the same bytes on every day, and the pin proves it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from tokenwire_server.errors import ConfigError, shorten

_SPELLINGS = (
    "file:PATH, https://HOST/PATH, hf:ORG/REPO@REVISION/FILE, pypi:PACKAGE==VERSION/MEMBER or "
    "npm:PACKAGE@VERSION/MEMBER"
)
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_HF = re.compile(
    rf"(?P<repo>{_WORD}(?:/{_WORD})?)@(?P<revision>[A-Za-z0-9][A-Za-z0-9._-]*)/(?P<file>.+)", re.S
)
_PYPI = re.compile(rf"(?P<package>{_WORD})==(?P<version>[A-Za-z0-9.!+_-]+)/(?P<member>.+)", re.S)
_NPM = re.compile(
    r"(?P<package>(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*)"
    r"@(?P<version>[A-Za-z0-9.+-]+)/(?P<member>.+)",
    re.S,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass(frozen=True, slots=True)
class FileSource:
    """A local file; `path` is as it was written."""

    path: str


@dataclass(frozen=True, slots=True)
class HttpsSource:
    """A file behind a URL without user, password or fragment."""

    url: str


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file of a repository of the Hugging Face hub at one revision."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class PypiSource:
    """A member of the wheel or sdist of one version of a package."""

    package: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class NpmSource:
    """A member of the tarball of one version of a package; `package` has its scope, if any."""

    package: str
    version: str
    member: str


Source = FileSource | HttpsSource | HubSource | PypiSource | NpmSource


def parse_source(text: str) -> Source:
    """The source that `text` spells. Raises `ConfigError` with the spellings there are."""
    kind, colon, rest = text.partition(":")
    source: Source | None = None
    if not colon or _CONTROL.search(text) or len(text) > 2048:
        raise _refusal(text)
    if kind == "file" and rest:
        source = FileSource(rest)
    elif kind == "https":
        source = _https(text)
    elif kind == "hf" and (match := _HF.fullmatch(rest)):
        source = HubSource(match["repo"], match["revision"], _inside(match["file"], text))
    elif kind == "pypi" and (match := _PYPI.fullmatch(rest)):
        source = PypiSource(match["package"], match["version"], _inside(match["member"], text))
    elif kind == "npm" and (match := _NPM.fullmatch(rest)):
        source = NpmSource(match["package"], match["version"], _inside(match["member"], text))
    if source is None:
        raise _refusal(text)
    return source


def shown(text: str) -> str:
    """A source for messages: without the query of a URL, which may be a signature."""
    return text.partition("?")[0] if text.startswith("https:") else text


def _https(text: str) -> HttpsSource:
    try:
        url = urlsplit(text)
        sound = bool(url.hostname) and url.port != 0 and not url.fragment
    except ValueError:
        sound = False
    if not sound:
        raise _refusal(text)
    if "@" in url.netloc:
        raise ConfigError(
            "a source has no user or password in its URL, for it is printed and locked; put them into ~/.netrc"
        )
    return HttpsSource(text)


def _inside(path: str, text: str) -> str:
    """A member's path that stays inside its package by its spelling."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "." in path.split("/") or "" in path.split("/"):
        raise _refusal(text)
    return path


def _refusal(text: str) -> ConfigError:
    return ConfigError(f"{shorten(text, 80)!r} is not a source; write {_SPELLINGS}")
