"""The fixtures that pytest finds by itself wherever Pegboard is installed.

Every test run of every project in the environment loads this module, so it imports nothing but
pytest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pegboard.testing.host import HostFactory

pytest.register_assert_rewrite("pegboard.testing.contracts")
TOLD: Final = "pegboard"
"""Name of a property of a test (`record_property`) that is printed when all tests have ended."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have to tell, in whatever process they ran."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == TOLD and report.when == "call":
                    terminalreporter.write_line(str(text))


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostFactory]:
    """Open isolated hosts: own home and workspace, named plugins only, no network.

    `async with host("weather", model=ScriptedModel([...])) as running: ...`
    """
    from pegboard.testing.host import HostFactory
    from pegboard.testing.no_network import no_network

    with no_network():
        yield HostFactory(tmp_path)
