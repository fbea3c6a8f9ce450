"""What several test files share: how a peer is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType

import hypothesis
import pytest

# how long an example takes says more about what else the machine does; speed is for benchmarks/
hypothesis.settings.register_profile(
    "any_machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any_machine")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that is given below."""
    config.addinivalue_line("markers", "peers: asks an implementation that is not ours; given to every user of `need`")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that needs a peer, so that ``-m peers`` finds them all."""
    for item in items:
        if "need" in getattr(item, "fixturenames", ()):
            item.add_marker("peers")


@pytest.fixture(scope="session")
def need() -> Callable[..., None]:
    """``need(torch_cast, cuda_host)``: go on only if these oracles can be used.

    A missing peer skips the test and says why. Where FPFORMATS_REQUIRE_PEERS=1 it fails it: CI must not be green
    because nothing was compared.
    """

    def need(*oracles: ModuleType) -> None:
        for oracle in oracles:
            if reason := oracle.available():
                if os.environ.get("FPFORMATS_REQUIRE_PEERS") == "1":
                    pytest.fail(f"FPFORMATS_REQUIRE_PEERS=1, but {reason}")
                pytest.skip(reason)

    return need
