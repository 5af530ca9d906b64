"""What metering costs: the service with its meter against the same without, in turn, in the same run.

`python -m tests.bench.metering` prints the CPU time of a call and what metering adds, twice: of the whole service as
clients see it, over a socket, and of the methods behind the guard alone, where nothing hides the meter. Without
`meter` nothing is added to the numbers; without `labels` texts get no language either, and without `scripts` a Count is
a number of tokens alone (an Encode still tells what they are). All of it again with the detector of languages, where it
is installed. Then what a scrape costs, by the number of tokenizers. All of it takes half an hour.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import grpc
from prometheus_client.exposition import generate_latest
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core import Encoder
from tokenwire_core.tally import Tally
from tokenwire_server import artifacts, config, counting, language
from tokenwire_server import detector as detectors
from tokenwire_server.call import Call
from tokenwire_server.catalogue import Catalogue
from tokenwire_server.config import Config
from tokenwire_server.detector import Detector
from tokenwire_server.guard import Guard
from tokenwire_server.meter import Meter
from tokenwire_server.requests import Options, Text
from tokenwire_server.service import SERVICE_NAME, TokenizerService
from tokenwire_server.transport_aio import AioTransport

from tests.bench.texts import DOCUMENT_CHARACTERS, texts_by_kind
from tests.service import IMPORT_PATH, ROOT, environment

TOKENIZER = "o200k_base"
PARTS = ("meter", "labels", "scripts")
N_ROUNDS = 200
ROUND_NS = 5_000_000
N_WINDOWS = 300
WINDOW_S = 0.05
N_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Workload:
    """One call, many times."""

    name: str
    rpc: str
    request: bytes


@functools.cache
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


class Bench:
    """One service in this process, whose metering can be turned off; the product has no such switch."""

    def __init__(self, detector: Detector | None = None) -> None:
        self.config = Config(listen="127.0.0.1:0", http=None)
        prove = functools.partial(artifacts.prove, max_bytes=self.config.limits.artifact_bytes)
        catalogue = Catalogue(config.load({"embedded": TOKENIZER}, {}).tokenizers, prove)
        catalogue.load()
        self.meter = Meter([TOKENIZER])
        self.guard = Guard(self.config.limits, self.meter)
        self.service = TokenizerService(catalogue, self.config.limits, detector)
        self.n_calls = 0

    def call(self, workload: Workload) -> bytes:
        """One call, as a transport makes it."""
        operation, method = self.service.methods()[workload.rpc]
        ticket = self.guard.admit(operation, len(workload.request), queued=False)
        call = Call(operation, self.guard.deadline_s(None))
        try:
            return self.guard.run(method, workload.request, call)
        finally:
            ticket.release()

    def cpu_us(self, workload: Workload) -> float:
        """CPU microseconds of a call of the methods alone, over `ROUND_NS`."""
        n_calls, spent_ns, start = 0, 0, time.thread_time_ns()
        while spent_ns < ROUND_NS:
            for _ in range(10):
                self.call(workload)
            n_calls += 10
            spent_ns = time.thread_time_ns() - start
        return spent_ns / n_calls / 1000

    async def over_a_socket(self, workload: Workload, without: tuple[str, ...]) -> tuple[float, float]:
        """CPU microseconds of the process for a call, metered and without, of windows that take turns.

        Other work of the machine makes windows differ, but neighbours alike: the second is a median, the first is what
        the median ratio of neighbours makes of it. A ratio is of two windows to two, in the order with, without,
        without, with: what drifts, or is slow by chance, is as likely on either side.
        """
        methods = {
            name: (operation, self._counted(method))
            for name, (operation, method) in self.service.methods().items()
        }
        transport = AioTransport(
            self.config, self.guard, SERVICE_NAME, methods, {}, self.service.may_run_long, lambda _: None
        )
        address = (await transport.start())["tcp"]
        number = str(workloads().index(workload))
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __spec__.name,
            address,
            number,
            cwd=ROOT,
            env=environment(PYTHONPATH=IMPORT_PATH),
            stdout=subprocess.PIPE,
        )
        assert client.stdout is not None
        await client.stdout.readline()
        without_it, ratios = [], []
        for _ in range(N_WINDOWS):
            metered_us = await self._window_us()
            with self.unmetered(without):
                without_it.append((await self._window_us() + await self._window_us()) / 2)
            metered_us += await self._window_us()
            ratios.append(metered_us / 2 / without_it[-1])
        client.terminate()
        await client.wait()
        await transport.stop(0)
        usual_us = statistics.median(without_it)
        return usual_us * statistics.median(ratios), usual_us

    async def _window_us(self) -> float:
        n_before, start = self.n_calls, time.process_time_ns()
        await asyncio.sleep(WINDOW_S)
        return (time.process_time_ns() - start) / max(1, self.n_calls - n_before) / 1000

    @contextmanager
    def unmetered(self, without: tuple[str, ...]) -> Iterator[None]:
        """These parts of metering turned off."""
        with ExitStack() as off:
            off.enter_context(mock.patch.multiple(self.meter, answered=_nothing, took=_nothing))
            if "labels" in without:
                off.enter_context(mock.patch.object(language, "label", _no_label))
            if "scripts" in without:
                off.enter_context(mock.patch.object(counting, "tally", _no_scripts))
            yield

    def _counted(self, method: Callable[[bytes, Call], bytes]) -> Callable[[bytes, Call], bytes]:
        def counted(request: bytes, call: Call) -> bytes:
            self.n_calls += 1
            return method(request, call)

        return counted


def _nothing(*_: object) -> None:
    pass


def _no_label(*_: object) -> tuple[str, str]:
    return language.UNDETERMINED, language.NONE


def _no_scripts(encoder: Encoder, text: Text, options: Options, limit: int | None = None) -> Tally:
    n_tokens = encoder.count(
        text.utf8,
        special=options.special,
        add_special=options.add_special,
        invalid=text.invalid,
        limit=limit,
    )
    return Tally(n_tokens, 0, 0, {})


def send(address: str, workload: Workload) -> None:
    """Call a service without end, some calls at once."""
    call = grpc.insecure_channel(address).unary_unary(f"/{SERVICE_NAME}/{workload.rpc}", None, None)
    call(workload.request)
    print("calling", flush=True)

    def forever(_: int) -> None:
        while True:
            call(workload.request)

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        list(pool.map(forever, range(N_AT_ONCE)))


def show(name: str, with_it: float, without: float) -> None:
    print(
        f"  {name:36} {with_it:8.2f} us against {without:8.2f} us: {100 * (with_it / without - 1):+5.1f}%",
        flush=True,
    )


def scrapes() -> None:
    """What a scrape costs, in CPU time and bytes."""
    print("a scrape, 10 tenants by name")
    for n_tokenizers in (2, 10, 30):
        meter = Meter([f"tokenizer_{n}" for n in range(n_tokenizers)], [f"tenant_{n}" for n in range(10)])
        page = meter.exposition()
        ours_ms, gzip_ms, theirs_ms = (
            min(_ms(work) for _ in range(5))
            for work in (
                meter.exposition,
                functools.partial(gzip.compress, page, 1),
                functools.partial(generate_latest, meter.registry),
            )
        )
        n_lines, n_small = page.count(b"\n"), len(gzip.compress(page, 1))
        print(
            f"  {n_tokenizers:2} tokenizers: {n_lines:6,} lines, {len(page):9,} bytes in {ours_ms:5.1f} ms "
            f"(prometheus_client alone {theirs_ms:5.1f} ms); gzip {n_small:7,} bytes in {gzip_ms:5.1f} ms"
        )


def _ms(work: Callable[[], object]) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


def over_a_socket(bench: Bench, without: tuple[str, ...], more: str = "") -> None:
    print(f"service over a socket{more}, medians, against none of: {', '.join(without)}")
    for workload in workloads():
        show(workload.name, *asyncio.run(bench.over_a_socket(workload, without)))


def methods_alone(bench: Bench, without: tuple[str, ...]) -> None:
    print(f"methods alone, least of many rounds, against none of: {', '.join(without)}")
    for workload in workloads():
        answer = bench.call(workload)
        rounds = []
        for _ in range(N_ROUNDS):
            with_it = bench.cpu_us(workload)
            with bench.unmetered(without):
                assert bench.call(workload) == answer, "the answers differ"
                rounds.append((with_it, bench.cpu_us(workload)))
        show(workload.name, *map(min, zip(*rounds, strict=True)))


def main() -> None:
    bench = Bench()
    for without in (PARTS[:1], PARTS[:2], PARTS):
        over_a_socket(bench, without)
    detector, state = detectors.load(detectors.AUTO)
    if detector is not None:
        over_a_socket(Bench(detector), PARTS, f", with {state}")
    for without in (PARTS[:1], PARTS[:2], PARTS):
        methods_alone(bench, without)
    scrapes()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send(sys.argv[1], workloads()[int(sys.argv[2])])
    else:
        main()
