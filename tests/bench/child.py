"""The process of one library: loads it when it is told, and encodes when it is its turn. See `tests.bench.worker`."""

from __future__ import annotations

import collections
import gc
import hashlib
import itertools
import os
import sys
import time
from array import array
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from tests.bench.peers import Call, UnsupportedError
from tests.bench.worker import Answer, Ready, Refused, Timed, Turn


def take(call: Call, turn: Turn) -> Timed:
    """Carry out a turn, with the garbage collector off as `timeit` has it.

    A result is dropped when the next is made, as a service does; of texts that come once, results are kept instead,
    since it is the first encoding that must be compared.
    """
    gc.collect()
    gc.disable()
    if turn.warm:
        _drop(_results(call, turn.warm, turn.one_by_one))
    if not turn.least_s:
        start = time.process_time_ns()
        kept = list(_results(call, turn.texts, turn.one_by_one))
        ns_per_pass = float(time.process_time_ns() - start)
    else:
        n_passes, spent_ns, start = 0, 0, time.process_time_ns()
        while spent_ns < turn.least_s * 1e9:
            _drop(_results(call, turn.texts, turn.one_by_one))
            n_passes += 1
            spent_ns = time.process_time_ns() - start
        ns_per_pass = spent_ns / n_passes
        kept = list(_results(call, turn.texts, turn.one_by_one))
    gc.enable()
    found = itertools.chain.from_iterable(map(call.read, kept)) if call.is_batch else call.read(kept)
    return Timed(ns_per_pass, [_answer(each) for each in found])


def _results(call: Call, texts: Sequence[str], one_by_one: bool) -> Iterable[Any]:
    """What the library makes of the texts, which are encoded as the results are drawn."""
    if not call.is_batch:
        return cast("Iterable[Any]", call.work(texts))
    return map(call.work, ([text] for text in texts) if one_by_one else [texts])


def _drop(results: Iterable[Any]) -> None:
    collections.deque(results, maxlen=0)


def _answer(found: int | Sequence[int]) -> Answer:
    if isinstance(found, int):
        return found, b""
    return len(found), hashlib.blake2b(array("I", found), digest_size=8).digest()


def _resident_bytes() -> int | None:
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else None


def main(connection: Connection) -> None:
    peer, vocabulary = connection.recv()
    start = time.process_time()
    try:
        calls = peer.load(vocabulary)
        # What a library builds at its first call is part of getting ready.
        for call in calls.values():
            take(call, Turn("list", ["a"]))
    except UnsupportedError as unsupported:
        connection.send(Refused(str(unsupported)))
        return
    spent_s = time.process_time() - start
    connection.send(Ready(frozenset(calls), spent_s, _resident_bytes()))
    while True:
        try:
            turn = connection.recv()
        except EOFError:
            return
        connection.send(take(calls[turn.call], turn))


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
