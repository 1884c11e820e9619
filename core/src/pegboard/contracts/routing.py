"""Whom an agent asks, as a tool may look at it and ask to have it changed.

A host offers this as the service `routing` to plugins that declare the need. Which agent is meant
is the host's to say: the one of the call that is being answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pegboard.contracts.result import ChangeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A provider of a route.

    Args:
        provider: Instance name.
        model: Model; "" = the provider's default.
        rests: Why others are asked first at the moment, as a sentence, or "".
    """

    provider: str
    model: str = ""
    rests: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteInfo:
    """Whom an agent asks from the next turn on.

    Args:
        agent: Id of the agent.
        chain: The provider asked first, then those asked when it fails.
        effort: Reasoning effort; None = as the model does.
        providers: Instance names that can be chosen.
    """

    agent: str
    chain: tuple[ModelChoice, ...]
    effort: str | None = None
    providers: tuple[str, ...] = ()


class Routing(Protocol):
    """The service `routing`. Every method raises `PluginError` outside of a call of a tool."""

    async def view(self) -> RouteInfo:
        """Return whom the caller's agent asks.

        Raises:
            PegboardError: When there is nobody to ask.
        """
        ...

    async def change(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        fallbacks: Sequence[str] | None = None,
    ) -> ChangeConfig | None:
        """Return the change of the configuration that sets what is given, or None when it is so.

        Args:
            provider: Instance name; its default model is asked unless `model` is given too.
            model: Model; "" = the provider's default.
            effort: `low`, `medium` or `high`; "" = as the model does.
            fallbacks: Who is asked when it fails, each `PROVIDER` or `PROVIDER/MODEL`.

        Raises:
            UsageError: When nothing is given, or something that does not exist; names what is near.
        """
        ...
