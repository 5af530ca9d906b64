"""Limits: every bound of the service in one table, with its default, its unit and what happens beyond it.

`python -m tokenwire_server.limits` prints the table. Each can be set under `[limits]` in the configuration
file, as `TOKENWIRE_SERVE_LIMITS_<NAME>` in the environment, or by `--limit NAME=VALUE`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import Field, dataclass, field, fields
from typing import Any

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
MOST = 2**31 - 1  # What the transport can take: its numbers have 32 bits, and its times are in milliseconds.
MOST_S = 2_000_000


def _limit(default: float, doc: str, most: float = MOST) -> Any:
    return field(default=default, metadata={"doc": doc, "most": most})


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds in force. Every value is positive and at most `most`; names end in their unit, counts have none."""

    message_bytes: int = _limit(64 * MIB, "one request or response message; MESSAGE_TOO_LARGE beyond", GIB)
    text_bytes: int = _limit(16 * MIB, "one text; TEXT_TOO_LONG beyond")
    regex_text_bytes: int = _limit(
        64 * KIB, "one text for a tokenizer whose pattern runs on the regex engine; TEXT_TOO_LONG beyond"
    )
    inputs: int = _limit(4096, "inputs in one request; TOO_MANY_INPUTS beyond")
    decode_ids: int = _limit(8 * MIB, "ids in one input of Decode; TOO_MANY_IDS beyond")
    queue_bytes: int = _limit(
        256 * MIB,
        "requests off the inline path, waiting or running, and artifacts being sent; OVERLOADED beyond",
        2**40,
    )
    inline_bytes: int = _limit(
        16 * KIB,
        "requests below this size run at once; larger ones, and any for a tokenizer whose pattern runs on the "
        "regex engine, on the encoder threads",
    )
    encoder_threads: int = _limit(
        max(1, min(4, (os.cpu_count() or 1) - 1)), "threads for the larger requests", 1024
    )
    deadline_s: float = _limit(
        60.0, "the longest a call may wait for its work to begin; DEADLINE_EXCEEDED beyond", MOST_S
    )
    drain_s: float = _limit(
        25.0, "after SIGTERM, how long calls in flight may take before they are cut off", 3600
    )
    metadata_bytes: int = _limit(
        16 * KIB, "request metadata of one call; the transport refuses more", 16 * MIB
    )
    streams_per_connection: int = _limit(
        100, "concurrent calls on one connection; the transport queues more", 2**14
    )
    connections: int = _limit(512, "connections at once; the transport refuses more", 2**16)
    connection_idle_s: float = _limit(60.0, "a connection without calls is closed after this", MOST_S)
    connection_age_s: float = _limit(
        300.0, "a connection is asked to close after this, so that clients rebalance", MOST_S
    )
    connection_age_grace_s: float = _limit(30.0, "calls on an aged connection may take this long", MOST_S)
    http_connections: int = _limit(16, "requests at once on the metrics port; more are closed", 2**16)
    artifact_streams: int = _limit(16, "GetArtifact streams at once; OVERLOADED beyond", 1024)
    artifact_stream_s: float = _limit(
        60.0,
        "how long one GetArtifact stream may take before a slow reader loses its place; OVERLOADED beyond, and the "
        "client can go on from what it has",
        3600,
    )
    artifact_bytes: int = _limit(256 * MIB, "one artifact file; the tokenizer is not served beyond", GIB)


def limit_fields() -> dict[str, Field[Any]]:
    """The fields of `Limits` by name."""
    return {item.name: item for item in fields(Limits)}


def table() -> str:
    """The limits as a Markdown table: name, default, the most it can be set to, meaning."""
    rows = ["| limit | default | at most | what it bounds |", "|---|---|---|---|"]
    for name, item in limit_fields().items():
        default = "by cores" if name == "encoder_threads" else f"{item.default:,}"
        rows.append(f"| `{name}` | {default} | {item.metadata['most']:,} | {item.metadata['doc']} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
