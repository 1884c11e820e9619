"""The process that runs one model."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from pegboard import ProviderError

_PROGRAM: Final = Path(__file__).with_name("serve.py")
_END_S: Final = 3.0
_NOTICED_S: Final = 1.0
_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
"""All that the process gets of the environment: no key, and no setting of llama.cpp's."""
MEMORY: Final = "a smaller `context` or a smaller model, if it was memory that was missing"
_TOLD: Final = 600
"""Characters of the log that an error repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What a server is started with.

    Args:
        path: The model file.
        alias: Name to ask for.
        context: Context window in tokens.
        max_output: Longest answer in tokens.
        threads: Processors.
        template: Chat template, or None for the model's own.
        temperature: Of the sampling, or None.
        start_s: Seconds that loading may take.
        log: File for what it prints.
    """

    path: Path
    alias: str
    context: int
    max_output: int
    threads: int
    template: str | None
    temperature: float | None
    start_s: float
    log: Path


@dataclass(slots=True)
class ModelServer:
    """A server on a free port of this machine, which asks for a key that nobody else knows.

    Its process ends when this one does, however that ends.

    Attributes:
        url: Its address.
        key: Its key.
    """

    url: str
    key: str = field(repr=False)
    _process: Process
    _log: Path

    @classmethod
    async def started(cls, settings: ServerSettings) -> ModelServer:
        """Return a server that has loaded its model.

        Raises:
            ProviderError: When it does not come up.
        """
        if find_spec("xllamacpp") is None:
            raise ProviderError(
                "xllamacpp is not installed; there is no ready-made package for every system.",
                kind="not_found",
                fix='pip install xllamacpp, or your own llama-server: type = "openai-compatible", '
                'server = "llamacpp"',
            )
        key = secrets.token_urlsafe(32)
        given = {
            "path": str(settings.path),
            "alias": settings.alias,
            "key": key,
            "context": settings.context,
            "max_output": settings.max_output,
            "threads": settings.threads,
            "template": settings.template,
            "temperature": settings.temperature,
        }
        process = await _opened(settings.log)
        server = cls("", key, process, settings.log)
        is_up = False
        try:
            with anyio.move_on_after(settings.start_s) as within:
                server.url = await server._address(json.dumps(given) + "\n")
            if within.cancelled_caught:
                raise ProviderError(
                    f"The model {settings.alias} was not loaded within {settings.start_s:g} s.",
                    kind="timeout",
                    fix="start_s = 900 below the provider's table",
                )
            is_up = True
        finally:
            if not is_up:
                await server.aclose()
        return server

    def ended(self) -> str:
        """Return how the process ended, or "" while it runs."""
        code = self._process.returncode
        if code is None:
            return ""
        how = f"with exit code {code}" if code >= 0 else f"by {_signal(-code)}"
        said = self._log.read_text("utf-8", "replace")[-_TOLD:].strip()
        return f"{how}: {said}" if said else how

    async def broke(self) -> str:
        """Return how the process ended, or "": a lost connection is noticed before its end is."""
        with anyio.move_on_after(_NOTICED_S):
            await self._process.wait()
        return self.ended()

    async def aclose(self) -> None:
        """End the process."""
        with anyio.CancelScope(shield=True):
            try:
                with anyio.move_on_after(_END_S):
                    if self._process.stdin is not None:
                        await self._process.stdin.aclose()
                    await self._process.wait()
                if self._process.returncode is None:
                    self._process.kill()
            finally:
                await self._process.aclose()

    async def _address(self, given: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = b""
        try:
            await self._process.stdin.send(given.encode())
            while not answer.endswith(b"\n"):
                answer += await self._process.stdout.receive()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            await self._process.wait()
            raise ProviderError(
                f"The model's server ended {self.ended()}", kind="not_found", fix=MEMORY
            ) from None
        told = json.loads(answer)
        if "url" not in told:
            raise ProviderError(
                f"The model can't be loaded: {str(told.get('error')).rstrip('.')}. More in "
                f"{self._log}",
                kind="not_found",  # to load it once more would end as this did
                fix=MEMORY,
            )
        return str(told["url"])


async def _opened(log: Path) -> Process:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return await anyio.open_process(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=handle,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            start_new_session=True,  # Ctrl-C ends a turn, not the model
        )
    finally:
        os.close(handle)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
