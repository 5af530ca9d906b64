"""Who answers a command on text: an encoder in this process, or a running service. Both give the same answers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.segment import InvalidPolicy, OffsetUnit

from tokenwire_server import artifacts, config
from tokenwire_server.artifacts import ProofError
from tokenwire_server.catalogue import Catalogue
from tokenwire_server.config import Config
from tokenwire_server.errors import Fault, from_core
from tokenwire_server.manifest import TokenizerConfig

T = TypeVar("T")

REQUEST_REASONS = frozenset({"UNKNOWN_TOKENIZER", "TOKENIZER_NOT_LOADED", "INVALID_REQUEST"})
"""Refusals of what was asked for, not of an input: wrong usage."""

_CLOSED_ON_US = re.compile("socket closed|connection reset|handshake", re.I)
"""How gRPC words it when the other side hangs up at the first bytes, as TLS does on plain text."""


class RefusalError(Exception):
    """Why an input, or with `is_usage` the whole command, was refused. `reason` is empty for the transport."""

    def __init__(self, reason: str, message: str, metadata: Mapping[str, str]) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = dict(sorted(metadata.items()))  # a map on the wire has no order

    @property
    def is_usage(self) -> bool:
        return self.reason in REQUEST_REASONS


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How text becomes ids."""

    special: Literal["text", "allow", "reject"]
    add_special: bool
    invalid: InvalidPolicy


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a service is, and the files of TLS (PEM) and of the bearer token, each None or a path."""

    address: str
    ca: str | None
    cert: str | None
    key: str | None
    token_file: str | None

    @property
    def is_plain_tcp(self) -> bool:
        return not (self.ca or self.cert or self.key or self.address.startswith("unix:"))


@dataclass(frozen=True, slots=True)
class Encoded:
    """`offsets` and `token_bytes` are None where they were not asked for."""

    ids: list[int]
    offsets: list[tuple[int, int]] | None
    token_bytes: list[bytes] | None


@dataclass(frozen=True, slots=True)
class Counted:
    """Sizes of the input as it was given."""

    n_tokens: int
    n_bytes: int
    n_codepoints: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """`kept` are byte ranges of the input."""

    text: str
    ids: list[int]
    n_tokens: int
    n_tokens_before: int
    kept: list[tuple[int, int]]
    truncated: bool


class Backend(Protocol):
    """One tokenizer. Every method raises `RefusalError`."""

    digest: str
    control_ids: frozenset[int]

    def encode(
        self, data: bytes, options: TextOptions, offsets: OffsetUnit | None, *, token_bytes: bool
    ) -> Encoded: ...
    def count(self, data: bytes, options: TextOptions) -> Counted: ...
    def truncate(
        self,
        data: bytes,
        options: TextOptions,
        max_tokens: int,
        keep: Literal["start", "end"],
        cut: Literal["token", "grapheme"],
        *,
        ids_only: bool,
    ) -> Truncated: ...
    def decode(self, ids: Sequence[int], *, skip_special: bool, as_bytes: bool) -> str | bytes: ...
    def __enter__(self) -> Backend: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def find(name: str, loaded: Config) -> TokenizerConfig:
    """The tokenizer of a configuration with this name or alias, or that of a model. Raises `RefusalError`."""
    catalogue = Catalogue(loaded.tokenizers, partial(artifacts.prove, max_bytes=loaded.limits.artifact_bytes))
    try:
        return catalogue.entry(name).config
    except Fault as fault:
        raise RefusalError(fault.reason, fault.message, fault.metadata) from None


def load_encoder(tokenizer: TokenizerConfig, loaded: Config) -> Encoder:
    """The proven encoder of a tokenizer. Raises `RefusalError`."""
    try:
        return artifacts.prove(tokenizer, loaded.limits.artifact_bytes)
    except ProofError as error:
        raise RefusalError(
            "TOKENIZER_NOT_READY",
            f"the tokenizer {tokenizer.name} could not be proven: {error.reason}: {error}",
            {},
        ) from None


class Local:
    """The tokenizers of a configuration, or the embedded ones; only the one that is used is loaded and proven."""

    def __init__(self, name: str | None, config_path: str | None) -> None:
        """Raises `RefusalError`, and `ConfigError` for a configuration that cannot be used."""
        loaded = config.load({"config": config_path}, os.environ)
        if not name:
            raise _no_tokenizer(item.name for item in loaded.tokenizers)
        self._encoder = load_encoder(find(name, loaded), loaded)
        self.digest = self._encoder.digest
        self.control_ids = frozenset(self._encoder.control_tokens.values())

    def __enter__(self) -> Local:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def encode(
        self, data: bytes, options: TextOptions, offsets: OffsetUnit | None, *, token_bytes: bool
    ) -> Encoded:
        encoding = _ask(self._encoder.encode, data, **_text_options(options))
        return Encoded(
            encoding.ids,
            None if offsets is None else encoding.offsets(offsets),
            encoding.token_bytes() if token_bytes else None,
        )

    def count(self, data: bytes, options: TextOptions) -> Counted:
        n_tokens = _ask(self._encoder.count, data, **_text_options(options))
        return Counted(n_tokens, len(data), len(data.decode("utf-8", "replace")))

    def truncate(
        self,
        data: bytes,
        options: TextOptions,
        max_tokens: int,
        keep: Literal["start", "end"],
        cut: Literal["token", "grapheme"],
        *,
        ids_only: bool,
    ) -> Truncated:
        kept = _ask(
            self._encoder.truncate,
            data,
            min(max_tokens, 2**31 - 1),  # more than any text has
            keep=keep,
            cut=cut,
            ids_only=ids_only,
            **_text_options(options),
        )
        return Truncated(
            "" if ids_only else kept.text,
            list(kept.ids),
            kept.n_tokens,
            kept.n_tokens_before,
            [] if ids_only else list(kept.kept),
            kept.truncated,
        )

    def decode(self, ids: Sequence[int], *, skip_special: bool, as_bytes: bool) -> str | bytes:
        if as_bytes:
            return _ask(self._encoder.decode_bytes, ids, skip_special)
        return _ask(self._encoder.decode, ids, skip_special)


class Remote:
    """A tokenizer of a running service."""

    def __init__(self, name: str | None, connection: Connection) -> None:
        """Raises `RefusalError`."""
        # gRPC's own log lines would stand between ours; what went wrong is in its errors too.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        # Imported here, so that commands in process do not wait for gRPC to load.
        import tokenwire

        self._error = tokenwire.TokenwireError
        self._name = name or ""
        self._is_plain_tcp = connection.is_plain_tcp
        files = (connection.ca, connection.cert, connection.key)
        try:
            self._client = tokenwire.Client(
                connection.address,
                tls=tokenwire.Tls(*files) if any(files) else None,
                token=_read_token(connection.token_file),
                connections=1,
            )
        except OSError as error:
            raise RefusalError(
                "INVALID_REQUEST", f"{error.filename}: cannot be read: {error.strerror}", {}
            ) from None
        except ValueError as error:
            raise RefusalError("INVALID_REQUEST", str(error), {}) from None
        try:
            if not name:
                raise _no_tokenizer(info.name for info in self._ask(self._client.list_tokenizers))
            info: tokenwire.TokenizerInfo = self._ask(self._client.get_tokenizer, name)
        except RefusalError:
            self._client.close()
            raise
        self.digest = info.digest
        self.control_ids = frozenset(info.control_tokens.values())

    def __enter__(self) -> Remote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def encode(
        self, data: bytes, options: TextOptions, offsets: OffsetUnit | None, *, token_bytes: bool
    ) -> Encoded:
        encoding = self._ask(
            self._client.encode,
            self._name,
            data,
            offsets=offsets,
            token_bytes=token_bytes,
            **self._options(options),
        )
        return Encoded(encoding.ids, encoding.offsets, encoding.token_bytes)

    def count(self, data: bytes, options: TextOptions) -> Counted:
        count = self._ask(self._client.count_details, self._name, data, **self._options(options))
        return Counted(count.n_tokens, count.n_bytes, count.n_codepoints)

    def truncate(
        self,
        data: bytes,
        options: TextOptions,
        max_tokens: int,
        keep: Literal["start", "end"],
        cut: Literal["token", "grapheme"],
        *,
        ids_only: bool,
    ) -> Truncated:
        kept = self._ask(
            self._client.truncate,
            self._name,
            data,
            max_tokens,
            keep=keep,
            cut=cut,
            ids_only=ids_only,
            return_ids=True,
            **self._options(options),
        )
        return Truncated(
            kept.text, kept.ids or [], kept.n_tokens, kept.n_tokens_before, kept.kept, kept.truncated
        )

    def decode(self, ids: Sequence[int], *, skip_special: bool, as_bytes: bool) -> str | bytes:
        result: str | bytes = self._ask(
            self._client.decode,
            self._name,
            ids,
            skip_special=skip_special,
            as_bytes=as_bytes,
            expect_digest=self.digest,
        )
        return result

    def _options(self, options: TextOptions) -> dict[str, Any]:
        """One command is answered by one tokenizer throughout, also where the service is replaced meanwhile."""
        return {**_text_options(options), "expect_digest": self.digest}

    def _ask(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except self._error as error:
            is_tls_port = self._is_plain_tcp and not error.reason and _CLOSED_ON_US.search(error.message)
            hint = "; is it a TLS port? use --ca" if is_tls_port else ""
            raise RefusalError(error.reason, error.message + hint, error.metadata) from None


def _read_token(path: str | None) -> str | None:
    """The token in a file, without the line's end; the client refuses what is none."""
    return None if path is None else Path(path).read_bytes().decode("utf-8", "replace").strip()


def _text_options(options: TextOptions) -> dict[str, Any]:
    return {"special": options.special, "add_special": options.add_special, "invalid": options.invalid}


def _ask(method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    try:
        return method(*args, **kwargs)
    except TokenizerError as error:
        fault = from_core(error)
        raise RefusalError(fault.reason, fault.message, fault.metadata) from None


def _no_tokenizer(names: Iterable[str]) -> RefusalError:
    return RefusalError(
        "INVALID_REQUEST",
        f"no tokenizer is named; add -t NAME, one of {', '.join(names)} or a model's name",
        {},
    )
