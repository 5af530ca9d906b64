"""The Hugging Face hub: the address of a file of a repository, as the hub's own client of this machine is set up.

That client's settings are environment variables and one file with a token; its cache is not used.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Access, Located, Remote
from tokenwire_server.pull.urls import check_encrypted, header_value, read_address
from tokenwire_server.sources import HubSource

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_TOKEN_BYTES = 4096
_TRUE = ("1", "ON", "YES", "TRUE")


def locate(source: HubSource) -> Located:
    """Where the source's file is; the network is not asked.

    Raises `PullError`: BAD_SETTING for a setting that cannot be used, and where the client is set to be offline;
    INSECURE_URL for an endpoint without TLS beyond this machine.
    """
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if _is_true(name):
            raise PullError("BAD_SETTING", f"{name} is set, so the hub is not asked; unset it for a pull")
    endpoint = read_address(os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT)
    if endpoint is None:
        raise PullError(
            "BAD_SETTING", f"HF_ENDPOINT is no https address; the hub's own is {DEFAULT_ENDPOINT}"
        )
    check_encrypted(endpoint, "HF_ENDPOINT")
    path = f"{quote(source.repo)}/resolve/{quote(source.revision, safe='')}/{quote(source.file)}"
    ca = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    access = Access(
        ca=Path(ca).expanduser() if ca else None,
        authorization=_token() or endpoint.authorization,
        allow_plain_http=endpoint.scheme == "http",
    )
    return Located(remote=Remote(f"{endpoint.url.partition('?')[0].rstrip('/')}/{path}", access))


def _token() -> str | None:
    """The Authorization header of the user's token, if there is one."""
    if _is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        return None
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if token := os.environ.get(name, "").strip():
            return header_value("Bearer", token, name)
    path = _token_path()
    try:
        with path.open("rb") as file:
            token = file.read(MAX_TOKEN_BYTES).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise PullError("BAD_SETTING", f"the hub's token in {path} cannot be read") from None
    return header_value("Bearer", token, f"the hub's token in {path}") if token else None


def _token_path() -> Path:
    if path := os.environ.get("HF_TOKEN_PATH"):
        return Path(path).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "token"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "token"


def _is_true(name: str) -> bool:
    return os.environ.get(name, "").upper() in _TRUE
