"""An artifact as it comes in, over as many streams as it takes, each part checked as it comes. Here is no I/O."""

from __future__ import annotations

import hashlib
import re

import grpc

from tokenwire._results import Artifact
from tokenwire.errors import BadArtifactError, DigestMismatchError
from tokenwire.v1 import tokenizer_pb2 as pb

DEFAULT_MAX_ARTIFACT_BYTES = 256 * 1024 * 1024
"""The largest artifact taken, as on the service by default."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Download:
    """One artifact under way: `request`, then `take` each message of its stream; again after one that broke.

    `have` is what the caller has of the artifact already, from its first byte on. At most `max_bytes` are ever kept.
    """

    def __init__(self, tokenizer: str, expect_digest: str, max_bytes: int, have: bytes = b"") -> None:
        self._request = pb.GetArtifactRequest(tokenizer=tokenizer, expect_digest=expect_digest)
        self._max_bytes = max_bytes
        self._data = bytearray(have)
        self._header: pb.ArtifactHeader | None = None
        self._stream_header: pb.ArtifactHeader | None = None

    def request(self) -> bytes:
        """The request of the next stream, which begins at the first byte that is missing."""
        self._stream_header = None
        self._request.offset = len(self._data)
        return self._request.SerializeToString()

    def take(self, message: pb.GetArtifactResponse) -> None:
        """The next message of the stream. Raises `BadArtifactError` and `DigestMismatchError`."""
        kind = message.WhichOneof("part")
        if self._stream_header is None:
            if kind != "header":
                raise bad_artifact("the stream of the service does not begin with a header")
            self._take_header(message.header)
            return
        n_bytes = self._stream_header.n_bytes
        if kind != "data" or not 0 < len(message.data) <= n_bytes - len(self._data):
            raise bad_artifact(
                f"after {len(self._data)} of {n_bytes} bytes the service sends {len(message.data)} in a part that is "
                f"{kind or 'unknown'}; parts of at least 1 byte must come to {n_bytes}"
            )
        self._data += message.data

    def artifact(self) -> Artifact:
        """What came, once a stream has ended well; takes the time of one sha256. Raises `BadArtifactError`."""
        header = self._header
        if header is None:
            raise bad_artifact("the stream of the service is empty")
        if len(self._data) != header.n_bytes:
            raise bad_artifact(
                f"the stream of the service ended after {len(self._data)} of {header.n_bytes} bytes"
            )
        sha256 = hashlib.sha256(self._data).hexdigest()
        if sha256 != header.sha256:
            raise bad_artifact(f"the bytes that came have sha256 {sha256}, announced was {header.sha256}")
        return Artifact(
            data=bytes(self._data),
            digest=header.digest,
            format=header.format,
            sha256=sha256,
            pattern=header.pattern,
            special_tokens={special.token: special.id for special in header.special_tokens},
            control_tokens=tuple(header.control_tokens),
        )

    def _take_header(self, header: pb.ArtifactHeader) -> None:
        if self._header not in (None, header):
            raise bad_artifact("the service has another artifact than when the stream broke; begin anew")
        check_sha256(header.sha256)
        if self._request.expect_digest not in ("", header.digest):
            raise DigestMismatchError(
                "the service sends an artifact of another digest than the one expected",
                metadata={"digest": header.digest},
            )
        if header.n_bytes > self._max_bytes:
            raise bad_artifact(
                f"the artifact has {header.n_bytes} bytes, the client's max_artifact_bytes is {self._max_bytes};"
                " raise it if that is the one you want",
                limit=self._max_bytes,
                got=header.n_bytes,
            )
        self._header = self._stream_header = header
        self._request.expect_digest = header.digest  # Whatever comes after a break is of the same artifact.


def check_sha256(sha256: str) -> str:
    """`sha256` where it is one, in hex, and so can be the name of a file. Raises `BadArtifactError`."""
    if not _SHA256.fullmatch(sha256):
        raise bad_artifact("the service names an artifact by what is no sha256 in hex")
    return sha256


def bad_artifact(message: str, **metadata: object) -> BadArtifactError:
    """The error for an artifact that cannot be used, with the numbers of its fault."""
    return BadArtifactError(
        message,
        code=grpc.StatusCode.DATA_LOSS,
        metadata={name: str(value) for name, value in metadata.items()},
    )
