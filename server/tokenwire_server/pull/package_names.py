"""Names, versions and files of packages: Python's as its standards compare them (PEP 440, 427, 503, 625)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from tokenwire_server.errors import shorten
from tokenwire_server.pull.remote import Archive

_SDISTS: dict[str, Archive] = {".tar.gz": "tar.gz", ".zip": "zip"}
_VERSION = re.compile(
    r"v?(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_n>[0-9]*))?"
    r"(?:(?P<post>-)(?P<post_n>[0-9]+)|[-_.]?(?P<post_word>post|rev|r)[-_.]?(?P<post_word_n>[0-9]*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>[0-9]*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_NUMBER = re.compile("[0-9]+")
_PRE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of a package by its name."""

    filename: str
    version: str
    """As the file spells it; `normal_version` makes it comparable."""
    archive: Archive
    is_wheel: bool
    is_pure: bool = False
    """A wheel for every platform and interpreter's ABI."""


def normal_name(name: str) -> str:
    """The one spelling of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def normal_version(version: str) -> str:
    """One spelling for each version: two are the same version exactly if these are equal.

    Trailing zeros of the release are left out (`1.0` is `1.0.0`), the local part after `+` stays; what is no
    version by PEP 440 is only put into lower case.
    """
    text = version.strip().lower()
    match = _VERSION.fullmatch(text)
    if not match:
        return text
    release = [_number(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == "0":
        release.pop()
    epoch = _number(match["epoch"] or "0")
    normal = ("" if epoch == "0" else f"{epoch}!") + ".".join(release)
    if match["pre"]:
        normal += _PRE.get(match["pre"], match["pre"]) + _number(match["pre_n"])
    if match["post"] or match["post_word"]:
        normal += ".post" + _number(match["post_n"] or match["post_word_n"])
    if match["dev"]:
        normal += ".dev" + _number(match["dev_n"])
    if match["local"]:
        parts = re.split(r"[-_.]", match["local"])
        normal += "+" + ".".join(_number(part) if part.isdigit() else part for part in parts)
    return normal


def _number(digits: str | None) -> str:
    """Without leading zeros, and as text: a stranger's number may have more digits than `int` takes."""
    return (digits or "").lstrip("0") or "0"


def read_filename(filename: str, package: str) -> PackageFile | None:
    """The file if it is a wheel or sdist of `package` (a normal name), else None."""
    if filename.endswith(".whl"):
        parts = filename.removesuffix(".whl").split("-")
        if len(parts) not in (5, 6) or normal_name(parts[0]) != package:
            return None
        return PackageFile(filename, parts[1], "zip", is_wheel=True, is_pure=parts[-2:] == ["none", "any"])
    for suffix, archive in _SDISTS.items():
        version = stem_version(filename.removesuffix(suffix), package) if filename.endswith(suffix) else None
        if version is not None:
            return PackageFile(filename, version, archive, is_wheel=False)
    return None


def stem_version(stem: str, package: str) -> str | None:
    """The version of `<name>-<version>` as it is spelled there, None where that is not `package`.

    Old sdists have dashes in their names, so each dash is tried as the one between name and version.
    """
    for dash in re.finditer("-", stem[:256]):
        if normal_name(stem[: dash.start()]) == package and dash.end() < len(stem):
            return stem[dash.end() :]
    return None


def near_versions(version: str, known: Collection[str]) -> str:
    """What a message says of the versions there are: some near the one that is not, and how many in all."""
    # A stranger may have millions, and likeness is slow to tell.
    some = sorted(islice(known, 10_000), key=_numbers)
    near = difflib.get_close_matches(version, some, n=4, cutoff=0.5)
    shown = sorted({*near, *some[-3:]}, key=_numbers)
    return f"{shorten(', '.join(shown), 160)}, {len(known)} in all"


def _numbers(version: str) -> tuple[list[int], str]:
    """An order of versions that is right for most: by their numbers."""
    return [int(number[:9]) for number in _NUMBER.findall(version[:64])], version
