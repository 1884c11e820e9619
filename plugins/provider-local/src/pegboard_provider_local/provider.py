"""The provider that runs its models itself."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from pegboard_provider_openai.chat import ChatProvider

from pegboard import (
    ChatRequest,
    Clock,
    ModelCaps,
    ModelInfo,
    Notice,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
)
from pegboard.providers import ModelFileError, ModelFiles, family_caps
from pegboard_provider_local.model import LocalModel, model_at
from pegboard_provider_local.server import MEMORY, ModelServer, ServerSettings

if TYPE_CHECKING:
    from pegboard_provider_local.config import LocalSettings


@dataclass(slots=True)
class _Running:
    """A model that is loaded.

    Args:
        model: The model.
        server: Its process.
        chat: Speaks to it.
        requests: How many are open.
    """

    model: LocalModel
    server: ModelServer
    chat: ChatProvider
    requests: int = 0

    async def aclose(self) -> None:
        await self.chat.aclose()
        await self.server.aclose()


class LocalProvider:
    """Models on this machine, each loaded at its first request.

    One that nobody asks makes room for the next.

    Args:
        settings: What the operator decided.
        folder: Where added models are.
        clock: Time.
    """

    def __init__(self, settings: LocalSettings, folder: Path, clock: Clock) -> None:
        self.info = ProviderInfo(
            id="local", dialect="openai-chat", network="loopback", title="llama.cpp"
        )
        self._settings = settings
        self._folder = folder
        self._files = ModelFiles(folder)
        self._clock = clock
        self._models: dict[str, LocalModel] = {}
        self._running: dict[str, _Running] = {}
        self._told: set[str] = set()
        self._lock = anyio.Lock()

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings first, then what its file says."""
        name = model or self._settings.model
        try:
            return self._found(name).caps
        except ModelFileError:
            return family_caps(name)  # the request tells what is wrong

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model.

        Raises:
            ProviderError: When its file is missing or broken, it can't be loaded, or it fails.
        """
        running = await self._loaded(request.model or self._settings.model)
        try:
            banner = running.model.banner
            if banner and running.model.name not in self._told:
                self._told.add(running.model.name)
                yield Notice("small_model", banner)
            try:
                async with aclosing(running.chat.stream(request)) as events:
                    async for event in events:
                        yield event
            except ProviderError as error:
                lost = error.kind in ("network", "empty_stream", "protocol")
                ended = await running.server.broke() if lost else ""
                if not ended:
                    raise
                raise ProviderError(
                    f"The server of {running.model.title} ended {ended}",
                    kind="server",
                    fix=MEMORY,
                    started=error.started,
                ) from error
        finally:
            running.requests -= 1

    async def models(self) -> list[ModelInfo]:
        """Return the models that were added, and the one of the settings."""
        names = dict.fromkeys([self._settings.model, *(item.name for item in self._files.all())])
        found = []
        for name in names:
            try:
                model = await anyio.to_thread.run_sync(self._found, name)
            except ModelFileError:
                continue
            # the longest answer and whether it calls tools follow from what the file says
            told = frozenset({"context", "max_output", "tools", "images"})
            found.append(ModelInfo(id=name, title=model.title, caps=model.caps, told=told))
        return found

    async def aclose(self) -> None:
        """End every model."""
        for name in list(self._running):
            await self._running.pop(name).aclose()

    def _found(self, name: str) -> LocalModel:
        known = self._models.get(name)
        if known is None:
            known = self._models[name] = model_at(name, self._files, self._settings)
        return known

    async def _loaded(self, name: str) -> _Running:
        """Return a model that is loaded, counted as in use."""
        async with self._lock:
            running = self._running.get(name)
            if running is not None and running.server.ended():
                await self._running.pop(name).aclose()
                running = None
            if running is None:
                for idle in [key for key, item in self._running.items() if not item.requests]:
                    await self._running.pop(idle).aclose()
                running = self._running[name] = await self._load(name)
            running.requests += 1
            return running

    async def _load(self, name: str) -> _Running:
        self._models.pop(name, None)  # the file may have changed since
        try:
            model = await anyio.to_thread.run_sync(self._found, name)
            template = await self._template()
        except ModelFileError as error:
            raise ProviderError(error.message, kind="not_found", fix=error.fix) from error
        settings = self._settings
        server = await ModelServer.started(
            ServerSettings(
                path=model.path,
                alias=name,
                context=model.caps.context,
                max_output=model.caps.max_output,
                threads=settings.threads or max(1, (os.cpu_count() or 2) - 1),
                template=template,
                temperature=settings.temperature,
                start_s=settings.start_s,
                log=self._folder / "server.log",
            )
        )
        from pegboard_provider_openai.config import CompatibleSettings

        made = CompatibleSettings(
            server="llamacpp",
            base_url=f"{server.url}/v1",
            model=name,
            context=model.caps.context,
            max_output=model.caps.max_output,
            tools=model.caps.tools,
            images=False,
            idle_s=settings.idle_s,
        )
        chat = ChatProvider(made, server.key, self._clock, info=self.info)
        return _Running(model, server, chat)

    async def _template(self) -> str | None:
        path = self._settings.chat_template
        if path is None:
            return None
        try:
            return await anyio.Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelFileError(f"The chat template {path} can't be read: {error}.") from error
