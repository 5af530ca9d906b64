"""From start to exit: ready line, drain, signals, refusals to start."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract import raw_http2
from tests.contract.process import PATIENCE_S, Refused, Service, serving
from tests.server import made_up

TEXT = "The quick brown fox jumps over the lazy dog. 東京 " * 40_000
LARGE = pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=TEXT)], offsets=pb.OFFSET_UNIT_UTF16)


def run_serve(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`tokenwire serve` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "tokenwire_server.cli", "serve", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
    )


def test_the_ready_line_says_where_and_what(service: Service) -> None:
    """One JSON line has the addresses with their real ports, and each tokenizer with its digest."""
    assert service.ready["event"] == "ready"
    assert service.ready["ready"] is True
    assert set(service.addresses) == {"tcp", "http"}
    assert not any(address.endswith(":0") for address in service.addresses.values())
    (tokenizer,) = service.ready["tokenizers"]
    assert tokenizer["name"] == "cl100k_base"
    assert tokenizer["digest"].startswith("ca1a961b1f5a")


def test_how_to_call_it_is_said_on_stderr() -> None:
    """The Python line printed at the start works as it stands."""
    with serving("--embedded", "cl100k_base") as service:
        service.stop()
        hint = next(line for line in service.stderr if "import tokenwire" in line)
    assert service.addresses["tcp"] in hint
    with serving("--embedded", "cl100k_base", "--listen", service.addresses["tcp"]):
        done = subprocess.run(
            shlex.split(hint),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert done.stdout.strip() == "4"


@pytest.mark.case("BR-271")
def test_calls_in_flight_finish_after_sigterm() -> None:
    """On SIGTERM health turns, new calls are refused, every call in flight is answered, and the exit code is 0."""
    with serving("--embedded", "cl100k_base", "--limit", "encoder_threads=1") as service:
        watch = health_pb2_grpc.HealthStub(service.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        calls = [service.start_call("Encode", LARGE) for _ in range(4)]
        service.wait_until_admitted("encode", 4)
        service.process.send_signal(signal.SIGTERM)
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        service.wait_for_event("draining")
        assert not all(call.done() for call in calls), "the calls were over before the drain began"
        with pytest.raises(Refused) as caught:
            service.call("Count", pb.CountRequest(tokenizer="gpt-4"), pb.CountResponse)
        assert caught.value.code == grpc.StatusCode.UNAVAILABLE
        assert caught.value.reason == "SHUTTING_DOWN"
        assert service.page("/readyz") == (503, "listening: yes\ntokenizers: yes\nnot_draining: no\n")
        n_tokens = {
            len(pb.EncodeResponse.FromString(call.result()).results[0].encoding.ids) for call in calls
        }
        assert len(n_tokens) == 1
        assert service.process.wait(PATIENCE_S) == 0


@pytest.mark.case("BR-272")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_calls_that_never_end_do_not_keep_the_process_alive(number: signal.Signals) -> None:
    """A call whose body never comes and a watch that never ends are cut off, and the exit code is 0."""
    with serving("--embedded", "cl100k_base") as service:
        watch = health_pb2_grpc.HealthStub(service.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        with raw_http2.Connection(service.addresses["tcp"]) as connection:
            connection.open_calls("/tokenwire.v1.TokenizerService/Count", 10)
            assert service.stop(number) == 0


def test_calls_that_outlast_the_drain_are_cut_off() -> None:
    """When the time for draining is over the process ends, whatever still runs, and says so."""
    with serving(
        "--embedded", "cl100k_base", "--limit", "encoder_threads=1", "--limit", "drain_s=0.01"
    ) as service:
        calls = [service.start_call("Encode", LARGE) for _ in range(8)]
        service.wait_until_admitted("encode", 8)
        assert service.stop() == 0
        codes = {call.code() for call in calls if call.exception() is not None}
        assert codes <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert codes
        assert service.wait_for_event("drain_cut_off")


@pytest.mark.case("BR-272")
def test_a_second_signal_ends_the_process_at_once() -> None:
    """An operator who asks twice does not wait for the drain."""
    with serving("--embedded", "cl100k_base", "--limit", "encoder_threads=1") as service:
        calls = [service.start_call("Encode", LARGE) for _ in range(8)]
        service.wait_until_admitted("encode", 8)
        service.process.send_signal(signal.SIGTERM)
        service.wait_for_event("draining")
        assert service.stop() == 1
        assert any(call.exception() is not None for call in calls)
        assert not any("stopped" in line for line in service.stderr)


def test_the_process_ends_where_there_is_nothing_to_serve(tmp_path: Path) -> None:
    """With no tokenizer proven, `serve` says why and exits 1 without a ready line."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path, sha256="0" * 64))
    done = run_serve("--config", str(path), "--listen", "127.0.0.1:0", "--http", "")
    assert (done.returncode, done.stdout) == (1, "")
    assert "SHA256_MISMATCH" in done.stderr


def test_ports_that_are_taken_are_told_at_once(service: Service) -> None:
    """A second service on the ports of a first does not share them: one line names each taken one."""
    grpc_address, http_address = service.addresses["tcp"], service.addresses["http"]
    for flags, taken in (
        (("--listen", grpc_address, "--http", ""), [f"{grpc_address} (listen: Address"]),
        (("--listen", "127.0.0.1:0", "--http", http_address), [f"{http_address} (http: Address"]),
        (
            ("--listen", grpc_address, "--http", http_address),
            [f"{grpc_address} (listen: Address", f"{http_address} (http: Address"],
        ),
        (("--listen", f"localhost:{http_address.rpartition(':')[2]}", "--http", ""), ["(listen: Address"]),
    ):
        done = run_serve("--embedded", "cl100k_base", *flags)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert all(part in line for part in taken)
        assert "choose another with --listen / --http" in line


def test_a_configuration_mistake_is_one_line_and_exit_code_1() -> None:
    """A mistake is told in one line, without a trace."""
    done = run_serve("--limit", "text_byte=1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tokenwire: unknown setting 'limits.text_byte'; did you mean 'limits.text_bytes'?\n"
    assert run_serve("--limit", "text_bytes").returncode == 1


def test_an_unknown_flag_is_answered_with_the_one_near_it() -> None:
    """A misspelt flag names the one that is meant; one like no other names the help; both exit 2."""
    for flag, says in (
        ("--listn", "--listn; did you mean --listen?"),
        ("--zzz=1", "--zzz; --help lists them"),
    ):
        done = run_serve(flag, "127.0.0.1:0")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith(f"error: unknown flag {says}\n")
    assert run_serve("127.0.0.1:0").returncode == 2


def test_check_proves_everything_offline(tmp_path: Path) -> None:
    """`--check` opens no port, proves each tokenizer, and exits 0 or 1 with a report."""
    path = made_up.manifest(tmp_path, made_up.table(tmp_path))
    done = run_serve("--check", "--config", str(path))
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (0, True)
    assert [(item["name"], item["state"]) for item in report["tokenizers"]] == [("tiny", "READY")]
    path = made_up.manifest(
        tmp_path, made_up.table(tmp_path), made_up.table(tmp_path, "bad", sha256="0" * 64)
    )
    done = run_serve("--check", "--config", str(path))
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (1, False)
    assert [item["state"] for item in report["tokenizers"]] == ["READY", "FAILED"]
    assert report["tokenizers"][1]["failure"].startswith("SHA256_MISMATCH")


def test_the_environment_configures_too() -> None:
    """A variable reaches the running service."""
    environment = {"TOKENWIRE_SERVE_LIMITS_INPUTS": "2", "TOKENWIRE_SERVE_EMBEDDED": "cl100k_base"}
    with serving(environment=environment) as service:
        request = pb.CountRequest(tokenizer="gpt-4", inputs=[pb.Input(text="a")] * 3)
        with pytest.raises(Refused) as caught:
            service.call("Count", request, pb.CountResponse)
        assert caught.value.metadata["limit"] == "2"


def test_an_interrupt_before_anything_is_served_is_quiet() -> None:
    """Exit code 130 and no traceback, also while the command still imports."""
    code = (
        "import signal; from tokenwire_server import cli;"
        "cli._add_serve = lambda _: signal.raise_signal(signal.SIGINT); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
