"""What metering costs: the service with its meter against the same without, in turn, in the same run.

`python -m tests.bench.metering` prints CPU time for each call and the ratio, twice: of the whole service as its clients
see it (the server's process over a socket, all its threads), and of the methods behind the guard alone, where nothing
hides the meter. Without `meter` nothing is added to the numbers; without `labels` texts get no language either.
Then what a scrape costs, by the number of tokenizers.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import grpc
from prometheus_client.exposition import generate_latest
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_server import artifacts, config, language
from tokenwire_server.call import Call
from tokenwire_server.catalogue import Catalogue
from tokenwire_server.guard import Guard
from tokenwire_server.meter import Meter
from tokenwire_server.service import SERVICE_NAME, TokenizerService

from tests.bench.texts import DOCUMENT_CHARACTERS, texts_by_kind
from tests.service import COMMAND, running_service

TOKENIZER = "o200k_base"
N_ROUNDS = 200
ROUND_US = 5_000
N_WIRE_ROUNDS = 25
N_WIRE_CALLS = 250
N_AT_ONCE = 4
STOPPED = """
import sys
from tokenwire_server import language
from tokenwire_server.meter import Meter
Meter.answered = Meter.took = Meter.refused = lambda *_: None
if "labels" in {without}:
    language.label = lambda *_: ("und", "none")
from tokenwire_server.cli import main
sys.exit(main())
"""
"""A server without a meter: there is no switch for it."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One call, many times."""

    name: str
    rpc: str
    request: bytes


def workloads() -> list[Workload]:
    """Counts of 200 bytes, one and many in a call; documents of 4 KB, counted and encoded. All are English."""
    text = texts_by_kind()["English"].encode().decode("ascii", "ignore")
    short = [text[start : start + 200] for start in range(0, 64 * 200, 200)]
    document = pb.Input(text=text[:DOCUMENT_CHARACTERS])

    def count(inputs: list[pb.Input]) -> bytes:
        return pb.CountRequest(tokenizer=TOKENIZER, inputs=inputs).SerializeToString()

    return [
        Workload("count of 200 bytes", "Count", count([pb.Input(text=short[0])])),
        Workload(
            "count of 200 bytes, language told", "Count", count([pb.Input(text=short[0], language="en")])
        ),
        Workload("count of 64 times 200 bytes", "Count", count([pb.Input(text=item) for item in short])),
        Workload("count of a 4 KB document", "Count", count([document])),
        Workload(
            "encode of a 4 KB document",
            "Encode",
            pb.EncodeRequest(tokenizer=TOKENIZER, inputs=[document]).SerializeToString(),
        ),
    ]


class Unmetered(Meter):
    """A meter that adds nothing."""

    def answered(self, call: Call) -> None:
        pass

    def took(self, operation: str, duration_s: float) -> None:
        pass


class Methods:
    """The methods behind a guard."""

    def __init__(self, catalogue: Catalogue, meter: Meter) -> None:
        limits = config.Config().limits
        self._guard = Guard(limits, meter)
        self._methods = TokenizerService(catalogue, limits).methods()

    def call(self, workload: Workload) -> bytes:
        """One call, as a transport makes it."""
        operation, method = self._methods[workload.rpc]
        ticket = self._guard.admit(operation, len(workload.request), queued=False)
        call = Call(operation, self._guard.deadline_s(None))
        try:
            return self._guard.run(method, workload.request, call)
        finally:
            ticket.release()

    def cpu_us(self, workload: Workload) -> float:
        """CPU microseconds for each of the calls that `ROUND_US` has room for."""
        n_calls, spent_us, start = 0, 0.0, time.thread_time_ns()
        while spent_us < ROUND_US:
            for _ in range(10):
                self.call(workload)
            n_calls += 10
            spent_us = (time.thread_time_ns() - start) / 1000
        return spent_us / n_calls


class Server:
    """A service in a process of its own."""

    def __init__(self, address: str, pid: int) -> None:
        self._tasks = Path(f"/proc/{pid}/task")
        self._channel = grpc.insecure_channel(address)

    def call(self, workload: Workload) -> bytes:
        """One call over the socket."""
        answer = self._channel.unary_unary(f"/{SERVICE_NAME}/{workload.rpc}", None, None)(workload.request)
        assert isinstance(answer, bytes)
        return answer

    def cpu_us(self, workload: Workload) -> float:
        """CPU microseconds that the server takes for each of `N_WIRE_CALLS` calls, some at once."""
        start = self._cpu_ns()
        with ThreadPoolExecutor(N_AT_ONCE) as pool:
            for _ in pool.map(lambda _: self.call(workload), range(N_WIRE_CALLS)):
                pass
        return (self._cpu_ns() - start) / N_WIRE_CALLS / 1000

    def _cpu_ns(self) -> int:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in self._tasks.iterdir())


@contextlib.contextmanager
def server(without: tuple[str, ...]) -> Iterator[Server]:
    """`tokenwire serve`, without these parts of its metering."""
    command = (sys.executable, "-c", STOPPED.format(without=without)) if without else COMMAND
    with running_service(*("--embedded", TOKENIZER), command=command) as service:
        yield Server(service.address, service.process.pid)


def race(name: str, on: Callable[[], float], off: Callable[[], float], n_rounds: int) -> None:
    """Print the least of many short rounds in turn: what a busy machine adds to one is no part of either."""
    on(), off()
    with_it, without = map(min, zip(*((on(), off()) for _ in range(n_rounds)), strict=True))
    print(
        f"  {name:36} {with_it:8.2f} us against {without:8.2f} us: {100 * (with_it / without - 1):+5.1f}%",
        flush=True,
    )


def main() -> None:
    prove = functools.partial(artifacts.prove, max_bytes=1 << 28)
    catalogue = Catalogue(config.load({"embedded": TOKENIZER}, {}).tokenizers, prove)
    catalogue.load()
    metered, unmetered = Methods(catalogue, Meter([TOKENIZER])), Methods(catalogue, Unmetered([TOKENIZER]))
    all_workloads = workloads()
    for workload in all_workloads:
        assert metered.call(workload) == unmetered.call(workload), "the answers differ"
    for without in (("meter",), ("meter", "labels")):
        print(f"methods alone, against none of: {', '.join(without)}")
        for workload in all_workloads:

            def off(workload: Workload = workload, without: tuple[str, ...] = without) -> float:
                if "labels" not in without:
                    return unmetered.cpu_us(workload)
                with mock.patch.object(language, "label", _no_label):
                    return unmetered.cpu_us(workload)

            race(workload.name, functools.partial(metered.cpu_us, workload), off, N_ROUNDS)
    for without in (("meter",), ("meter", "labels")):
        print(f"service over a socket, against none of: {', '.join(without)}")
        with server(()) as with_it, server(without) as without_it:
            for workload in all_workloads:
                assert with_it.call(workload) == without_it.call(workload), "the answers differ"
                race(
                    workload.name,
                    functools.partial(with_it.cpu_us, workload),
                    functools.partial(without_it.cpu_us, workload),
                    N_WIRE_ROUNDS,
                )
    print("a scrape, 10 tenants by name")
    for n_tokenizers in (2, 10, 30):
        meter = Meter([f"tokenizer_{n}" for n in range(n_tokenizers)], [f"tenant_{n}" for n in range(10)])
        page = meter.exposition()
        ours = statistics.median(_ms(meter.exposition) for _ in range(9))
        theirs = _ms(lambda: generate_latest(meter.registry))  # noqa: B023  it is called at once
        n_lines = page.count(b"\n")
        small = gzip.compress(page, 1)
        pressed = statistics.median(_ms(lambda: gzip.compress(page, 1)) for _ in range(9))  # noqa: B023  the same
        print(
            f"  {n_tokenizers:2} tokenizers: {n_lines:6,} lines, {len(page):9,} bytes in {ours:5.1f} ms "
            f"(prometheus_client alone {theirs:5.1f} ms); gzip {len(small):7,} bytes in {pressed:5.1f} ms"
        )


def _no_label(_tag: str, _utf8: bytes) -> tuple[str, str]:
    return language.UNDETERMINED, language.NONE


def _ms(work: Callable[[], object]) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


if __name__ == "__main__":
    main()
