"""Tokenwire's client: encode, decode, count and truncate text with the pinned tokenizers of a service.

    with tokenwire.Client("127.0.0.1:50051") as client:
        client.count("gpt-4o", "Grüße aus Tōkyō")

Names are loaded on first use, so that importing `tokenwire.v1` alone does not import gRPC: a process that
forks must not have it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenwire import errors
    from tokenwire._async_client import AsyncClient
    from tokenwire._channels import Tls
    from tokenwire._client import Client
    from tokenwire._results import (
        Artifact,
        ControlTokenMatch,
        Encoding,
        Pipeline,
        TokenCount,
        TokenizerConfig,
        TokenizerInfo,
        Truncation,
    )
    from tokenwire._retry import Retry
    from tokenwire.errors import (
        BadArtifactError,
        BudgetTooSmallError,
        ControlTokenError,
        DeadlineExceededError,
        DigestMismatchError,
        IdOutOfRangeError,
        InvalidUtf8Error,
        OverloadedError,
        TextTooLongError,
        TokenwireError,
        TransportError,
        UnknownTokenizerError,
    )

__all__ = [
    "Artifact",
    "AsyncClient",
    "BadArtifactError",
    "BudgetTooSmallError",
    "Client",
    "ControlTokenError",
    "ControlTokenMatch",
    "DeadlineExceededError",
    "DigestMismatchError",
    "Encoding",
    "IdOutOfRangeError",
    "InvalidUtf8Error",
    "OverloadedError",
    "Pipeline",
    "Retry",
    "TextTooLongError",
    "Tls",
    "TokenCount",
    "TokenizerConfig",
    "TokenizerInfo",
    "TokenwireError",
    "TransportError",
    "Truncation",
    "UnknownTokenizerError",
    "errors",
]

_MODULE_OF_NAME = {
    "Artifact": "_results",
    "AsyncClient": "_async_client",
    "Client": "_client",
    "ControlTokenMatch": "_results",
    "Encoding": "_results",
    "Pipeline": "_results",
    "Retry": "_retry",
    "Tls": "_channels",
    "TokenCount": "_results",
    "TokenizerConfig": "_results",
    "TokenizerInfo": "_results",
    "Truncation": "_results",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tokenwire' has no attribute {name!r}")
    module = import_module(f"tokenwire.{_MODULE_OF_NAME.get(name, 'errors')}")
    value = module if name == "errors" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
