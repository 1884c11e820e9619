from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pegboard_terminal.channel import TerminalChannel
from pegboard_terminal.readers import PipeReader
from pegboard_terminal.screen import Screen
from pegboard_terminal.views import TextView

from pegboard.testing import ChannelContract, PluginContract


class TestPlugin(PluginContract):
    plugin = "terminal"


class TestTerminalChannel(ChannelContract):
    """The channel over a real pipe."""

    @pytest.fixture(autouse=True)
    def a_pipe(self) -> Iterator[None]:
        reading, self._writing = os.pipe()
        self._out = io.StringIO()
        with os.fdopen(reading, encoding="utf-8") as self._stdin:
            yield
        os.close(self._writing)

    def make_channel(self, folder: Path) -> TerminalChannel:
        view = TextView(Screen(self._out, io.StringIO()))
        return TerminalChannel(view, PipeReader(self._stdin), attended=False)

    async def say(self, channel: TerminalChannel, text: str) -> None:
        os.write(self._writing, f"{text}\n".encode())

    def sent(self, channel: TerminalChannel) -> list[str]:
        return self._out.getvalue().splitlines()
