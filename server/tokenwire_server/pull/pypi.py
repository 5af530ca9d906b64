"""PyPI: the wheel or sdist of a source, found in the places where this machine's pip looks.

Like pip, all places are searched and those that do not answer are passed over as long as another has the file.
Unlike pip, the choice does not depend on the machine, so that two machines take the same file: a member that
begins with `<name>-<version>/` is the sdist's, any other a wheel's; a wheel for every platform goes before the
others, then the name of the file decides, then the order of places (find-links, index-url, extra-index-url).
A yanked file is taken: its version was named.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tokenwire_server.errors import shorten
from tokenwire_server.folders import open_regular
from tokenwire_server.pull import pip_settings
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.package_names import (
    PackageFile,
    near_versions,
    normal_name,
    normal_version,
    read_filename,
    stem_version,
)
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Access, Bounds, FetchSmall, Located, Remote
from tokenwire_server.pull.simple_index import ACCEPT, MAX_FILES, Link, read_page
from tokenwire_server.pull.urls import Address, check_encrypted, is_listed, read_address
from tokenwire_server.sources import PypiSource

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class _Offer:
    """A file of the package that some place has: behind an address, or on this machine."""

    file: PackageFile
    link: Link
    place: Address | None
    """The index that offers it, None for a folder of this machine."""


def locate(
    source: PypiSource, bounds: Bounds, fetch: FetchSmall, settings: PipSettings | None = None
) -> Located:
    """Where the file with the source's member is.

    Reads one page of each place that pip is set to look in, at most `bounds.index_bytes` each. `settings` are
    pip's own, asked for here unless they are given. Raises `PullError`: NOT_FOUND, BAD_INDEX, BAD_SETTING,
    INSECURE_URL, and whatever `fetch` raises.
    """
    settings = settings or pip_settings.read()
    if not settings.index_urls and not settings.find_links:
        raise PullError(
            "BAD_SETTING", "pip is set to no-index and has no find-links, so it has nowhere to look"
        )
    name = normal_name(source.package)
    version = normal_version(source.version)
    offers: list[_Offer] = []
    faults: list[PullError] = []
    places = [("find-links", location) for location in settings.find_links]
    places += [("index-url", f"{location.rstrip('/')}/{name}/") for location in settings.index_urls]
    for setting, location in places:
        try:
            offers += _look(location, setting, name, settings, bounds, fetch)
        except PullError as fault:
            if fault.reason != "NOT_FOUND":
                faults.append(fault)
    of_version = [each for each in offers if normal_version(each.file.version) == version]
    stem = stem_version(source.member.partition("/")[0], name)
    is_sdist = stem is not None and normal_version(stem) == version
    fitting = [each for each in of_version if each.file.is_wheel != is_sdist]
    for offer in sorted(fitting, key=_preference):
        try:
            return _located(offer, source.member, settings)
        except PullError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    raise PullError("NOT_FOUND", _absent(source, offers, of_version))


def _preference(offer: _Offer) -> tuple[bool, bool, str]:
    """Pure wheels first; of sdists .tar.gz first; then by name."""
    file = offer.file
    return file.is_wheel and not file.is_pure, not file.is_wheel and file.archive == "zip", file.filename


def _absent(source: PypiSource, offers: list[_Offer], of_version: list[_Offer]) -> str:
    """What there is instead of the file."""
    if not offers:
        return f"no place that pip looks in has files of {source.package}; see the spelling, and `pip config list`"
    what = f"{source.package}=={source.version}"
    if of_version:
        kind = "sdist" if of_version[0].file.is_wheel else "wheel"
        filenames = ", ".join(sorted({each.file.filename for each in of_version}))
        return (
            f"{what} has no {kind}, only {shorten(filenames, 160)}; a member is sought in the sdist "
            "exactly if it begins with <name>-<version>/"
        )
    return f"{what} is not there; there are {near_versions(source.version, {each.file.version for each in offers})}"


# Places


def _look(
    location: str, setting: str, name: str, settings: PipSettings, bounds: Bounds, fetch: FetchSmall
) -> list[_Offer]:
    """The files of the package that one place has."""
    path = _local_path(location)
    if path is not None:
        links, place = _local_links(path, setting, bounds), None
    else:
        place = read_address(location)
        if place is None:
            raise PullError(
                "BAD_SETTING", f"pip's {setting} has what is neither a folder nor an http(s) or file URL"
            )
        check_encrypted(place, f"pip's {setting}", settings.trusted_hosts)
        remote = Remote(place.url, _access(place, place, settings), ACCEPT)
        links = read_page(fetch(remote, bounds, bounds.index_bytes), place.url, place.shown)
    named = ((read_filename(link.filename, name), link) for link in links)
    return [_Offer(file, link, place) for file, link in named if file]


def _local_path(location: str) -> Path | None:
    """The path a location names, None for a URL of the network and for what is no path."""
    if not _SCHEME.match(location):
        return Path(location).expanduser()
    if not location.lower().startswith("file:"):
        return None
    try:
        parts = urlsplit(location)
    except ValueError:
        return None
    path = unquote(parts.path)
    return Path(path) if parts.netloc in ("", "localhost") and "\0" not in path else None


def _local_links(path: Path, setting: str, bounds: Bounds) -> list[Link]:
    """The links of a package's folder in an index; with find-links those of a folder, of a page, or one file."""
    try:
        if setting == "index-url":
            path = path / "index.html"
        elif path.is_dir():
            with os.scandir(path) as entries:
                names = sorted(entry.name for entry in islice(entries, MAX_FILES + 1))
            if len(names) > MAX_FILES:
                raise PullError("BAD_INDEX", f"{path} of pip's {setting} has over {MAX_FILES} files")
            return [Link(name, (path / name).absolute().as_uri()) for name in names]
        elif path.suffix not in (".html", ".htm"):
            return [Link(path.name, path.absolute().as_uri())]
        with open_regular(path) as file:
            page = file.read(bounds.index_bytes + 1)
    except FileNotFoundError:
        raise PullError("NOT_FOUND", f"pip's {setting} has {path}, which is not there") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a path has no NUL"
        raise PullError("FILE_UNREADABLE", f"cannot read {path} of pip's {setting}: {reason}") from None
    if len(page) > bounds.index_bytes:
        raise PullError("TOO_LARGE", f"{path} of pip's {setting} has over {bounds.index_bytes} bytes")
    return read_page(page, path.absolute().as_uri(), str(path))


# Files


def _located(offer: _Offer, member: str, settings: PipSettings) -> Located:
    """Raises `PullError` for an address or hash that cannot be used."""
    file, link = offer.file, offer.link
    shown = shorten(file.filename, 100)
    path = _local_path(link.url) if link.url.lower().startswith("file:") else None
    if path is not None and offer.place is None:
        return Located(path=path, archive=file.archive, member=member)
    address = read_address(link.url)
    if address is None:
        where = offer.place.shown if offer.place else "a page of this machine"
        raise PullError("BAD_INDEX", f"{where} gives an address for {shown} that is not https://HOST/PATH")
    check_encrypted(address, f"the address of {shown}", settings.trusted_hosts)
    is_own = offer.place is None or offer.place.origin == address.origin
    if link.sha256 is not None and not _SHA256.fullmatch(link.sha256.lower()):
        raise PullError("BAD_INDEX", f"the index gives a sha256 for {shown} that is not 64 hex digits")
    remote = Remote(
        address.url,
        _access(address, offer.place, settings),
        size_bytes=link.size_bytes,
        checksum=("sha256", link.sha256.lower()) if link.sha256 else None,
        given_by_registry=not is_own and not is_listed(address, settings.trusted_hosts),
    )
    return Located(remote=remote, archive=file.archive, member=member)


def _access(address: Address, place: Address | None, settings: PipSettings) -> Access:
    """Credentials are those in the address itself, else the index's for files of its own host."""
    authorization = address.authorization
    if authorization is None and place is not None and place.origin == address.origin:
        authorization = place.authorization
    return Access(
        ca=settings.cert,
        client_cert=settings.client_cert,
        proxy=settings.proxy,
        authorization=authorization,
        allow_plain_http=address.scheme == "http",
    )
