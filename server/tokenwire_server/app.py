"""The app: the one place that knows all rooms and puts a serving process together.

`supervise` owns what must outlive a worker: tokenizers, metrics, the HTTP port. It never imports grpc, so
that workers can be forked from it. `work` imports grpc and the service, and answers calls. For now both run
in one process.

The life of a process: listen → load and prove (calls and health are answered meanwhile) → ready line →
SIGTERM or SIGINT: NOT_SERVING, admit nothing new, finish what is in flight (`limits.drain_s` at most),
close, exit 0. A second signal exits at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tokenwire_server import artifacts, detector, logs, ports
from tokenwire_server.catalogue import Catalogue, State
from tokenwire_server.config import Config
from tokenwire_server.detector import Detector
from tokenwire_server.http import HttpPort
from tokenwire_server.meter import Meter
from tokenwire_server.ready_text import ready_text

_FLUSH_S = 1.0  # For answers that are finished but not yet sent, and to tell watchers of health.


@dataclass(frozen=True)
class Process:
    """What supervisor and worker share."""

    config: Config
    catalogue: Catalogue
    meter: Meter
    detector: Detector | None
    detector_state: str
    """Its name, or why there is none."""
    listening: threading.Event = field(default_factory=threading.Event)
    draining: threading.Event = field(default_factory=threading.Event)


def supervise(config: Config) -> int:
    """Serve until a signal comes; gives the exit code. Raises `ConfigError` where an address cannot be had.

    The code is 0 after a signal, also where calls had to be cut off; 1 where no tokenizer could be proven.
    """
    logs.set_up()
    ports.check({"listen": config.listen, "http": config.http})
    process = _process(config)
    http = None
    if config.http is not None:
        conditions = {
            "listening": process.listening.is_set,
            "tokenizers": process.catalogue.all_ready,
            "not_draining": lambda: not process.draining.is_set(),
        }
        http = HttpPort(
            config.http,
            process.meter.exposition,
            conditions,
            functools.partial(_not_ready, process.catalogue),
            config.limits.http_connections,
        )
    process.catalogue.start_loading()
    code, idle = work(process, http.address if http is not None else None)
    if http is not None:
        http.close()
    if not idle:
        # A thread that will not end must not keep the process alive.
        logs.error("drain_cut_off", after_s=config.limits.drain_s)
        os._exit(code)
    return code


def check(config: Config) -> int:
    """Prove every tokenizer and the TLS files, offline; one JSON line on stdout. 0 if all is well, else 1."""
    logs.set_up()
    if config.tls is not None:
        from tokenwire_server import security

        security.check(config.tls)
    process = _process(config)
    process.catalogue.load()
    ok = process.catalogue.all_ready()
    _print_line(
        {
            "event": "check",
            "ok": ok,
            "language_detector": process.detector_state,
            "tokenizers": _report(process.catalogue),
        }
    )
    return 0 if ok else 1


def work(process: Process, http_address: str | None) -> tuple[int, bool]:
    """Answer calls until a signal comes; gives the exit code, and whether every call had ended by then."""
    return asyncio.run(_work(process, http_address))


async def _work(process: Process, http_address: str | None) -> tuple[int, bool]:
    from tokenwire_server.guard import Guard
    from tokenwire_server.health import Health
    from tokenwire_server.service import SERVICE_NAME, TokenizerService
    from tokenwire_server.transport_aio import AioTransport

    config, catalogue = process.config, process.catalogue
    loop = asyncio.get_running_loop()
    changed, stopped = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, functools.partial(_on_signal, stopped))
    guard = Guard(config.limits, process.meter)
    health = Health(catalogue)
    service = TokenizerService(catalogue, config.limits, process.detector)
    transport = AioTransport(
        config,
        guard,
        SERVICE_NAME,
        service.methods(),
        service.streams(),
        service.may_run_long,
        health.add_to,
    )
    await health.publish()
    addresses = await transport.start()
    if http_address is not None:
        addresses["http"] = http_address
    process.listening.set()
    logs.info("listening", **addresses)
    catalogue.on_change(lambda: _wake(loop, changed))
    changed.set()
    following = loop.create_task(_follow(process, health.publish, changed, stopped, addresses))
    await stopped.wait()
    following.cancel()

    process.draining.set()
    await health.drain()
    guard.drain()
    logs.info("draining")
    idle = await asyncio.to_thread(guard.wait_idle, config.limits.drain_s)
    await transport.stop(_FLUSH_S if idle else 0)
    logs.info("stopped", idle=idle)
    served = any(entry.state is not State.FAILED for entry in catalogue.entries())
    return (0 if served else 1), idle


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of the loop from another thread. A loop that has ended needs no telling."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)


def _on_signal(stopped: asyncio.Event) -> None:
    if stopped.is_set():
        os._exit(1)
    stopped.set()


async def _follow(
    process: Process,
    publish: Callable[[], Awaitable[None]],
    changed: asyncio.Event,
    stopped: asyncio.Event,
    addresses: dict[str, str],
) -> None:
    """Publish each change of the catalogue until no tokenizer is loading any more; announce the result."""
    settled = False
    ready: list[tuple[str, str, str]] = []
    while not settled:
        await changed.wait()
        changed.clear()
        settled = process.catalogue.settled.is_set()
        await publish()
        ready = [
            (entry.config.name, entry.encoder.digest, entry.config.format)
            for entry in process.catalogue.entries()
            if entry.encoder is not None
        ]
        process.meter.serving(ready)
    if not ready:
        logs.error("nothing_to_serve")
        stopped.set()
        return
    _print_line(
        {
            "event": "ready",
            "ready": process.catalogue.all_ready(),
            "addresses": addresses,
            "language_detector": process.detector_state,
            "tokenizers": _report(process.catalogue),
        }
    )
    sys.stderr.write(ready_text(process.config, addresses, ready[0][0]) + "\n")


def _process(config: Config) -> Process:
    prove = functools.partial(artifacts.prove, max_bytes=config.limits.artifact_bytes)
    catalogue = Catalogue(config.tokenizers, prove)
    found, state = detector.load(config.language_detector)
    logs.info("language_detector", state=state)
    meter = Meter([item.name for item in config.tokenizers], config.tenants)
    return Process(config, catalogue, meter, found, state)


def _not_ready(catalogue: Catalogue) -> list[str]:
    """A line for each tokenizer that is not READY: its state, and the reason where it failed."""
    return [
        f"tokenizer {entry.config.name}: {entry.state.value} {entry.failure.partition(':')[0]}".rstrip()
        for entry in catalogue.entries()
        if entry.state is not State.READY
    ]


def _report(catalogue: Catalogue) -> list[dict[str, object]]:
    report = []
    for entry in catalogue.entries():
        line: dict[str, object] = {"name": entry.config.name, "aliases": list(entry.config.aliases)}
        line["state"] = entry.state.value
        if entry.encoder is not None:
            line["digest"] = entry.encoder.digest
            line["proven_by"] = entry.config.proof
        if entry.failure:
            line["failure"] = entry.failure
        report.append(line)
    return report


def _print_line(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=True) + "\n")
    sys.stdout.flush()
