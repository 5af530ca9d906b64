"""The blocking client. `_async_client.py` is its mirror; what a call sends and reads is in `_calls.py`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from tokenwire import _calls, _local
from tokenwire._artifact import DEFAULT_MAX_ARTIFACT_BYTES, Download
from tokenwire._channels import DEFAULT_MAX_MESSAGE_BYTES, Tls, resolve
from tokenwire._connections import Connections
from tokenwire._options import CountDetailsOptions, CountOptions, EncodeOptions, Text, TruncateOptions
from tokenwire._results import Artifact, Encoding, TokenCount, TokenizerInfo, Truncation
from tokenwire._retry import DEFAULT_RETRY, Retry
from tokenwire.errors import TokenwireError

if TYPE_CHECKING:
    from tokenwire_core import Encoder

T = TypeVar("T")

# `overload-overlap` below: a str is a Sequence[str] too, and the first overload is meant to take it.


class Client:
    """Connections to a Tokenwire service; safe to share between threads. Open it after a fork, not before.

    `address`: `HOST:PORT`, `unix:/path/to.sock`, or `unix:/directory/` for every `*.sock` in it.
    `tls`: a `Tls`; None is plain text.
    `token`: a bearer token, sent over TLS, a unix socket or loopback only.
    `timeout_s`: how long a call may take with all its retries (`math.inf`: no bound); each can set its own.
    `connections`: how many to open, used in turn, because a server balances connections and not calls.
    `max_message_bytes`: the largest request or reply, 64 MiB by default as on the service. A larger request is
    a `MessageTooLargeError` before anything is sent.
    `max_artifact_bytes`: the largest artifact to fetch, 256 MiB by default.
    `retry`: when failed calls are made again.

    In every method `tokenizer` is the name of a tokenizer, an alias, or a model that uses it. One text gives
    a value or raises a `TokenwireError`. A list gives a list in the same order, where a failed input is its
    error; what concerns the whole request (the tokenizer, the digest, the transport) is raised. The service
    bounds a list, by default to 4,096 inputs; split longer ones.

    Raises ValueError for a malformed address or token, and for a token that would travel in clear.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: Tls | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
        connections: int = 2,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        max_artifact_bytes: int = DEFAULT_MAX_ARTIFACT_BYTES,
        retry: Retry = DEFAULT_RETRY,
    ) -> None:
        endpoint = resolve(
            address, tls=tls, token=token, connections=connections, max_message_bytes=max_message_bytes
        )
        self._timeout_s = timeout_s
        self._max_message_bytes = max_message_bytes
        self._max_artifact_bytes = max_artifact_bytes
        self._connections = Connections(endpoint, retry)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; calls in flight in other threads end with a `TransportError` (CANCELLED)."""
        self._connections.close()

    @overload
    def encode(  # type: ignore[overload-overlap]
        self, tokenizer: str, text: Text, *, timeout_s: float | None = None, **options: Unpack[EncodeOptions]
    ) -> Encoding: ...
    @overload
    def encode(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[EncodeOptions],
    ) -> list[Encoding | TokenwireError]: ...
    def encode(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[EncodeOptions],
    ) -> Encoding | list[Encoding | TokenwireError]:
        """Text to token ids.

        Options and their defaults:
          pair (None): a second text, for tokenizers that take two; for a list of texts one for each.
          offsets (None): unit of `Encoding.offsets`: "byte", "codepoint" or "utf16"; None: no offsets.
          reference_offsets (False): give the offsets of the tokenizer's reference implementation.
          token_bytes (False): also give the bytes of each token.
          report_control_tokens (False): also give the control-token spellings found, whatever `special` is.
          type_ids (False): also give the number that the template gives to each token's text.
          special_tokens_mask (False): also tell for each token whether the template put it in.
          word_ids (False): also give the number of each token's piece (pre-token) in its text.
          sequence_ids (False): also tell which text of a pair each token comes from.
          special ("text"): what a control token's spelling in the text becomes: "text", ordinary tokens;
            "allow", the control id; "reject", a ControlTokenError; a set of spellings, the control id for
            these alone.
          add_special (False): add the tokens of the tokenizer's template (BOS, EOS).
          invalid ("error"): ill-formed UTF-8 in `bytes` is an InvalidUtf8Error, or with "replace" U+FFFD.
          language (""): BCP 47 tag for the service's metrics, one for all texts or a list of one for each.
          expect_digest (""): raise DigestMismatchError unless the tokenizer has this digest.
          timeout_s (None): seconds for this call with all its retries; None: the client's own.
        """
        return self._run(_calls.encode(tokenizer, text, **options), timeout_s)

    @overload
    def count(  # type: ignore[overload-overlap]
        self, tokenizer: str, text: Text, *, timeout_s: float | None = None, **options: Unpack[CountOptions]
    ) -> int: ...
    @overload
    def count(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountOptions],
    ) -> list[int | TokenwireError]: ...
    def count(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountOptions],
    ) -> int | list[int | TokenwireError]:
        """How many tokens a text has: len(encode(...).ids) of the same options. Text, not a chat request.

        Options and their defaults:
          pair (None): a second text, for tokenizers that take two; for a list of texts one for each.
          limit (None): tokens; stop counting as soon as a text has more, and give a number above `limit` that
            may be less than all.
          special ("text"): what a control token's spelling in the text becomes: "text", ordinary tokens;
            "allow", the control id; "reject", a ControlTokenError; a set of spellings, the control id for
            these alone.
          add_special (False): add the tokens of the tokenizer's template (BOS, EOS).
          invalid ("error"): ill-formed UTF-8 in `bytes` is an InvalidUtf8Error, or with "replace" U+FFFD.
          language (""): BCP 47 tag for the service's metrics, one for all texts or a list of one for each.
          expect_digest (""): raise DigestMismatchError unless the tokenizer has this digest.
          timeout_s (None): seconds for this call with all its retries; None: the client's own.
        """
        return self._run(_calls.count(tokenizer, text, **options), timeout_s)

    @overload
    def count_details(  # type: ignore[overload-overlap]
        self,
        tokenizer: str,
        text: Text,
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> TokenCount: ...
    @overload
    def count_details(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> list[TokenCount | TokenwireError]: ...
    def count_details(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> TokenCount | list[TokenCount | TokenwireError]:
        """`count` with bytes, code points, whether the text fits a context, and whether it is NFC.

        Options and their defaults:
          pair (None): a second text, for tokenizers that take two; for a list of texts one for each.
          limit (None): tokens; stop counting as soon as a text has more: `limit_exceeded` is then set.
          context_size (None): tokens; also answer `fits`.
          reserved_output_tokens (0): tokens of `context_size` kept for the model's answer.
          check_nfc (False): also answer `is_nfc`.
          special ("text"): what a control token's spelling in the text becomes: "text", ordinary tokens;
            "allow", the control id; "reject", a ControlTokenError; a set of spellings, the control id for
            these alone.
          add_special (False): add the tokens of the tokenizer's template (BOS, EOS).
          invalid ("error"): ill-formed UTF-8 in `bytes` is an InvalidUtf8Error, or with "replace" U+FFFD.
          language (""): BCP 47 tag for the service's metrics, one for all texts or a list of one for each.
          expect_digest (""): raise DigestMismatchError unless the tokenizer has this digest.
          timeout_s (None): seconds for this call with all its retries; None: the client's own.
        """
        return self._run(_calls.count_details(tokenizer, text, **options), timeout_s)

    @overload
    def truncate(  # type: ignore[overload-overlap]
        self,
        tokenizer: str,
        text: Text,
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> Truncation: ...
    @overload
    def truncate(
        self,
        tokenizer: str,
        text: Sequence[Text],
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> list[Truncation | TokenwireError]: ...
    def truncate(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> Truncation | list[Truncation | TokenwireError]:
        """The longest start or end of a text that has at most `max_tokens` tokens when encoded again.

        Options and their defaults:
          keep ("start"): the part to keep, "start" or "end".
          cut ("grapheme"): cut between grapheme clusters (what a reader sees as one character), or with
            "token" at any token boundary that is a character boundary.
          ids_only (False): the exact first or last `max_tokens` ids and no text; only with cut="token".
          return_ids (False): also give the ids of the text kept.
          special ("text"): what a control token's spelling in the text becomes: "text", ordinary tokens;
            "allow", the control id; "reject", a ControlTokenError; a set of spellings, the control id for
            these alone.
          add_special (False): add the tokens of the tokenizer's template (BOS, EOS).
          invalid ("error"): ill-formed UTF-8 in `bytes` is an InvalidUtf8Error, or with "replace" U+FFFD.
          language (""): BCP 47 tag for the service's metrics, one for all texts or a list of one for each.
          expect_digest (""): raise DigestMismatchError unless the tokenizer has this digest.
          timeout_s (None): seconds for this call with all its retries; None: the client's own.
        """
        return self._run(_calls.truncate(tokenizer, text, max_tokens, **options), timeout_s)

    @overload
    def decode(
        self,
        tokenizer: str,
        ids: Sequence[int],
        *,
        as_bytes: Literal[False] = False,
        skip_special: bool = False,
        reference: bool = False,
        language: str = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> str: ...
    @overload
    def decode(
        self,
        tokenizer: str,
        ids: Sequence[int],
        *,
        as_bytes: Literal[True],
        skip_special: bool = False,
        language: str = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> bytes: ...
    @overload
    def decode(
        self,
        tokenizer: str,
        ids: Sequence[Sequence[int]],
        *,
        as_bytes: Literal[False] = False,
        skip_special: bool = False,
        reference: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> list[str | TokenwireError]: ...
    @overload
    def decode(
        self,
        tokenizer: str,
        ids: Sequence[Sequence[int]],
        *,
        as_bytes: Literal[True],
        skip_special: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> list[bytes | TokenwireError]: ...
    def decode(
        self,
        tokenizer: str,
        ids: Sequence[int] | Sequence[Sequence[int]],
        *,
        as_bytes: bool = False,
        skip_special: bool = False,
        reference: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> Any:
        """Ids to text. An empty sequence is one input without ids, so it gives "".

        Options and their defaults:
          as_bytes (False): give the exact bytes; else a `str`, with U+FFFD for ill-formed parts.
          skip_special (False): leave control tokens out.
          reference (False): the very text of the tokenizer's reference implementation, oddities included.
          language (""): BCP 47 tag for the service's metrics, one for all inputs or a list of one for each.
          expect_digest (""): raise DigestMismatchError unless the tokenizer has this digest.
          timeout_s (None): seconds for this call with all its retries; None: the client's own.
        """
        call = _calls.decode(
            tokenizer,
            ids,
            skip_special=skip_special,
            as_bytes=as_bytes,
            reference=reference,
            language=language,
            expect_digest=expect_digest,
        )
        return self._run(call, timeout_s)

    def list_tokenizers(self, *, timeout_s: float | None = None) -> list[TokenizerInfo]:
        """The tokenizers the service is configured to serve, in the order of its manifest."""
        return self._run_single(_calls.list_tokenizers(), timeout_s)

    def get_tokenizer(
        self, name: str, *, expect_digest: str = "", timeout_s: float | None = None
    ) -> TokenizerInfo:
        """One tokenizer by its name, an alias, or a model that uses it."""
        return self._run_single(_calls.get_tokenizer(name, expect_digest=expect_digest), timeout_s)

    def get_artifact(
        self, tokenizer: str, *, expect_digest: str = "", timeout_s: float | None = None
    ) -> Artifact:
        """The pinned bytes of a tokenizer, with all that makes them the tokenizer, checked against their sha256.

        A stream that breaks goes on where it broke. Raises ArtifactUnavailableError where the service no longer
        has the file as it was proven, BadArtifactError where what came is not what was announced.
        """
        return self._fetch(tokenizer, expect_digest, b"", self._deadline_s(timeout_s))

    def local_encoder(
        self,
        tokenizer: str,
        *,
        expect_digest: str = "",
        cache_dir: str | os.PathLike[str] | None = None,
        timeout_s: float | None = None,
    ) -> Encoder:
        """The service's tokenizer as an encoder in this process, proven the same by its digest.

        Needs `tokenwire[local]`. `cache_dir`: a folder, made where missing, that keeps the artifact's bytes under
        their sha256, hash-checked at each use; the service is asked in any case, and sends them where they are
        missing or damaged. `timeout_s` bounds the calls; loading then takes some 0.2 s for 200,000 tokens.

        Raises what `get_artifact` does, DigestMismatchError where the encoder made here has another digest,
        ModuleNotFoundError without the extra, and OSError where the folder cannot be used.
        """
        _local.core()  # Before anything is fetched.
        deadline_s = self._deadline_s(timeout_s)
        if cache_dir is None:
            return _local.encoder(self._fetch(tokenizer, expect_digest, b"", deadline_s))
        info = self._send(_calls.get_tokenizer(tokenizer), deadline_s).tokenizer
        have = _local.kept(cache_dir, info.sha256, self._max_artifact_bytes)
        artifact = self._fetch(tokenizer, expect_digest or info.digest, have or b"", deadline_s)
        if have is None:
            _local.keep(cache_dir, artifact)
        return _local.encoder(artifact)

    def _fetch(self, tokenizer: str, expect_digest: str, have: bytes, deadline_s: float) -> Artifact:
        download = Download(tokenizer, expect_digest, self._max_artifact_bytes, have)
        self._connections.fetch(download, deadline_s)
        return download.artifact()

    def _run(self, call: _calls.Call[T], timeout_s: float | None) -> T | list[T | TokenwireError]:
        deadline_s = self._deadline_s(timeout_s)
        return call.answer(None if call.has_nothing_to_send else self._send(call, deadline_s))

    def _run_single(self, call: _calls.Call[T], timeout_s: float | None) -> T:
        return call.single_answer(self._send(call, self._deadline_s(timeout_s)))

    def _send(self, call: _calls.Call[Any], deadline_s: float) -> Any:
        return self._connections.ask(call.method, call.payload(self._max_message_bytes), deadline_s)

    def _deadline_s(self, timeout_s: float | None) -> float:
        return time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
