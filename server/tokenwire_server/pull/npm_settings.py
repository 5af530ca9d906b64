"""The settings of this machine's npm: registries, credentials and how to reach them.

npm is asked for its settings (`npm config list --json`), but tells neither credentials nor an address that has
some in it. So the environment, the project's .npmrc, the user's and the global one are read here, too, in npm's
order, and give what npm left out; without an npm they are all there is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from tokenwire_server.pull.errors import PullError

ANSWER_TIMEOUT_S = 60.0
MAX_FILE_BYTES = 1 << 20
_ENVIRONMENT = "npm_config_"
_VARIABLE = re.compile(r"(?<!\\)(\\*)\$\{([^${}?]+)(\?)?\}")
_UNSET_VARIABLE = re.compile(r"\$\{[^${}]+\}")


@dataclass(frozen=True, slots=True)
class NpmSettings:
    """Values by npm's names for them, `//host/path/:_authToken` and `@scope:registry` among them."""

    values: Mapping[str, str] = field(repr=False)
    """As npm spells them, lists with commas; they hold credentials."""

    def get(self, key: str) -> str | None:
        """The value, None where it is not set or names a variable that is not."""
        value = self.values.get(key)
        return None if not value or _UNSET_VARIABLE.search(value) else value


def read() -> NpmSettings:
    """The settings as npm has them in the current folder; costs up to a second, for npm is started.

    Raises `PullError` (BAD_SETTING) where npm does not tell them, or one of its files cannot be read.
    """
    npm = shutil.which("npm")
    told = _told(npm) if npm else {}
    own = dict(_of_environment())
    user_file = told.get("userconfig") or own.get("userconfig") or "~/.npmrc"
    global_file = told.get("globalconfig") or own.get("globalconfig")
    files = [global_file, user_file, str(_project_folder() / ".npmrc")]
    layers = [dict(_of_file(Path(name).expanduser())) for name in files if name]
    values = dict(chain.from_iterable(layer.items() for layer in (*layers, own)))
    for key, value in told.items():
        values[key] = value or ""
    return NpmSettings(MappingProxyType({key: value for key, value in values.items() if value}))


def _told(npm: str) -> dict[str, str | None]:
    """What npm tells, None where it says that a setting has no value."""
    try:
        answer = subprocess.run(  # noqa: S603  the machine's own npm
            [npm, "config", "list", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_TIMEOUT_S,
            check=True,
        )
        document = json.loads(answer.stdout)
        if not isinstance(document, dict):
            raise ValueError("no table")
    except (OSError, subprocess.SubprocessError, ValueError, RecursionError) as error:
        # What npm says may quote its files, and those hold credentials.
        raise PullError(
            "BAD_SETTING",
            f"npm does not tell its settings ({type(error).__name__}); see what `npm config list` says",
        ) from None
    return {key: _as_text(value) for key, value in document.items()}


def _as_text(value: object) -> str | None:
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _of_environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name.lower().startswith(_ENVIRONMENT) and value:
            key = name[len(_ENVIRONMENT) :]
            if not key.startswith("//"):
                key = key[:1] + key[1:].replace("_", "-")
                key = key.lower()
            yield key, _with_variables(value)


def _project_folder() -> Path:
    """The nearest folder upwards that npm takes for a project's, else the current one."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "package.json").is_file() or (folder / "node_modules").is_dir():
            return folder
    return here


def _of_file(path: Path) -> Iterator[tuple[str, str]]:
    """The settings of an .npmrc, none if it is not there. Sections and lists (`key[]`) have nothing for us."""
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise PullError("BAD_SETTING", f"npm's settings in {path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise PullError("BAD_SETTING", f"npm's settings in {path} have over {MAX_FILE_BYTES} bytes")
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            return
        if text and text[0] not in ";#":
            key, equals, value = text.partition("=")
            yield _with_variables(_unquoted(key)), _with_variables(_unquoted(value)) if equals else "true"


def _unquoted(text: str) -> str:
    """A key or value as npm's format has it: in quotes, or up to a `;` or `#` that no backslash keeps."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1] if text[0] == "'" else text
        try:
            read_value = json.loads(inner)
        except ValueError:
            return inner
        return read_value if isinstance(read_value, str) else inner
    kept = re.match(r"(?:\\.|[^;#\\]|\\$)*", text, re.S)
    return re.sub(r"\\([\\;#])", r"\1", kept[0] if kept else "").strip()


def _with_variables(text: str) -> str:
    """`${NAME}` by the environment's value; one that is not set stays, with `${NAME?}` it is empty."""

    def value(match: re.Match[str]) -> str:
        backslashes, name, optional = match[1], match[2], match[3]
        if len(backslashes) % 2:
            return match[0][(len(backslashes) + 1) // 2 :]
        unset = "" if optional else f"${{{name}}}"
        return backslashes[len(backslashes) // 2 :] + os.environ.get(name, unset)

    return _VARIABLE.sub(value, text)
