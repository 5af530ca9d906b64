"""What every test shares: one printed seed for everything random, and the folder of larger reference data."""

from __future__ import annotations

import os
import random
from pathlib import Path

import hypothesis
import pytest
from tokenwire_core import bpe

SEED = int(os.environ.setdefault("TOKENWIRE_SEED", str(random.SystemRandom().randrange(2**32))))
"""The seed of this run; the header prints it, and TOKENWIRE_SEED repeats a run. Set for worker processes too."""

hypothesis.settings.register_profile(
    "tokenwire",
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # a busy machine is no fault of the code
)
hypothesis.settings.load_profile("tokenwire")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> list[str]:
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    data = f"reference data: {folder}" if folder else "reference data: none (TOKENWIRE_TEST_DATA is not set)"
    return [f"TOKENWIRE_SEED={SEED}", data]


def pytest_sessionstart() -> None:
    """Tests of another build of the core (`tests.builds`) run on no other than that."""
    folder = os.environ.get("TOKENWIRE_CORE")
    if folder and not Path(bpe.__file__).is_relative_to(folder):
        pytest.exit(f"the core is not the one of {folder}, but {bpe.__file__}", returncode=1)


@pytest.fixture
def seed() -> int:
    """The seed of this run."""
    return SEED


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder named by TOKENWIRE_TEST_DATA; tests that need it say by name that they did not run without it."""
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    if not folder:
        pytest.skip("TOKENWIRE_TEST_DATA is not set")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"TOKENWIRE_TEST_DATA names no folder: {folder}")
    return path
