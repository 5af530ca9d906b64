"""Names, versions and files of Python packages are told apart as the packaging standards have it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.version import InvalidVersion, Version
from tokenwire_server.pull.package_names import (
    near_versions,
    normal_name,
    normal_version,
    read_filename,
    stem_version,
)

_NUMBER = st.sampled_from(["", "0", "1", "01", "10"])
_SEPARATOR = st.sampled_from(["", ".", "-", "_"])
_RELEASE = st.lists(st.sampled_from(["0", "1", "01", "10", "2025"]), min_size=1, max_size=4).map(".".join)


def _suffix(words: list[str]) -> st.SearchStrategy[str]:
    return st.just("") | st.builds("{}{}{}{}".format, _SEPARATOR, st.sampled_from(words), _SEPARATOR, _NUMBER)


_VERSIONS = st.builds(
    "{}{}{}{}{}{}{}".format,
    st.sampled_from(["", "v", "V", " "]),
    st.sampled_from(["", "0!", "1!"]),
    _RELEASE,
    _suffix(["a", "alpha", "B", "beta", "c", "rc", "pre", "preview"]),
    _suffix(["post", "rev", "r"]) | st.sampled_from(["-1", "-01"]),
    _suffix(["dev", "DEV"]),
    st.sampled_from(["", "+cpu", "+CPU", "+cu12.01", "+cu12-1", "+cu12_1"]),
)


@given(_VERSIONS, _VERSIONS)
@example("1.0", "1")
@example("1.0.post1", "1-1")
@example("1.0c1", "v1.rc-01")
def test_versions_are_equal_exactly_if_the_standard_says_so(one: str, other: str) -> None:
    """Two spellings have one normal form exactly if the reference implementation takes them for equal."""
    try:
        expected = Version(one) == Version(other)
    except InvalidVersion:
        return
    assert (normal_version(one) == normal_version(other)) is expected


@given(_VERSIONS)
def test_a_normal_form_is_its_own(version: str) -> None:
    """A normal form names the same version as the spelling, and has no other normal form."""
    normal = normal_version(version)
    assert normal_version(normal) == normal
    try:
        expected = Version(version)
    except InvalidVersion:
        return
    assert Version(normal) == expected


def test_a_number_without_end_is_a_version() -> None:
    """Numbers too long for Python's integers are compared all the same."""
    assert normal_version("0" * 9000 + "7" * 9000 + ".0") == "7" * 9000


@pytest.mark.parametrize("name", ["openai-whisper", "openai_whisper", "OpenAI.Whisper", "openai-_.whisper"])
def test_spellings_of_a_name(name: str) -> None:
    """Case and the kind of separator do not make another package."""
    assert normal_name(name) == "openai-whisper"


@pytest.mark.parametrize(
    ("filename", "version", "kind"),
    [
        ("tiny_pack-1.0-py3-none-any.whl", "1.0", "pure"),
        ("Tiny.Pack-1.0-py2.py3-none-any.whl", "1.0", "pure"),
        ("tiny_pack-1.0-1-py3-none-any.whl", "1.0", "pure"),
        ("tiny_pack-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "1.0", "wheel"),
        ("tiny_pack-1.0-py3-none-win32.whl", "1.0", "wheel"),
        ("tiny_pack-1.0+cpu-py3-none-any.whl", "1.0+cpu", "pure"),
        ("tiny_pack-1.0.tar.gz", "1.0", "tar.gz"),
        ("tiny-pack-1.0.tar.gz", "1.0", "tar.gz"),
        ("tiny-pack-1.0-beta.zip", "1.0-beta", "zip"),
        ("tiny_pack-1.0.tar.bz2", None, ""),
        ("tiny_pack-1.0.exe", None, ""),
        ("tiny_pack-1.0.whl", None, ""),
        ("tiny_pack.tar.gz", None, ""),
        ("tiny_pack-.tar.gz", None, ""),
        ("tiny_pack2-1.0.tar.gz", None, ""),
        ("..", None, ""),
        ("", None, ""),
    ],
)
def test_files_of_a_package(filename: str, version: str | None, kind: str) -> None:
    """A file is known as wheel or sdist, with its version, or as none of the package's."""
    file = read_filename(filename, "tiny-pack")
    if version is None:
        assert file is None
    else:
        assert file is not None
        assert file.version == version
        assert (file.is_wheel, file.is_pure) == (kind in ("wheel", "pure"), kind == "pure")
        assert file.archive == ("zip" if file.is_wheel else kind)


@given(st.text(max_size=40))
def test_any_stem_is_read(text: str) -> None:
    """A stem of the package gives back what follows its name, any other nothing."""
    assert stem_version(f"tiny-{text}", "tiny") == (text or None)
    assert stem_version(text, "no") is None or text.startswith(("no", "No", "NO", "nO"))


def test_near_versions_have_the_latest() -> None:
    """By numbers, not by letters, and those alike."""
    known = [f"{major}.{minor}.0" for major in range(1, 12) for minor in range(3)]
    assert near_versions("4.0.1", known).endswith("11.0.0, 11.1.0, 11.2.0, 33 in all")
    assert "4.0.0" in near_versions("4.0.1", known)
