"""What a provider said, kept as it was on the wire, and sent back unchanged.

Reasoning that is signed or encrypted must come back exactly as it was, together with the calls that
followed from it. It is bound to one provider, dialect, model and route; anywhere else the portable
messages say all that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pegboard import Message, ProviderState, ToolCall

MAX_KEPT: Final = 100
"""Steps of one run that are kept."""


class Echoes:
    """The assistant messages of a run, by the calls that they asked for.

    Args:
        state: State of the run's last answer, or None.
        provider: Type of the provider.
        dialect: Its dialect.
        model: The model that is asked.
        route: What tells its address and key from others.

    Attributes:
        paused: The last answer as it was on the wire, when it paused and shall go on; else None.
    """

    def __init__(
        self, state: ProviderState | None, *, provider: str, dialect: str, model: str, route: str
    ) -> None:
        self._facts = (provider, dialect, model, route)
        fits = state is not None and state.fits(*self._facts)
        self._kept: list[dict[str, Any]] = _kept(state.payload) if fits and state else []
        self.paused: Any = None
        if self._kept and not self._kept[-1]["calls"]:
            self.paused = self._kept.pop()["wire"]
        self._by_calls = {tuple(item["calls"]): item["wire"] for item in self._kept}

    def find(self, message: Message) -> Any:
        """Return how an assistant message was on the wire, or None when that is not known."""
        if not message.calls:
            return None
        return self._by_calls.get(tuple(call.id for call in message.calls))

    def state(self, calls: Sequence[ToolCall], wire: Any, *, paused: bool = False) -> ProviderState:
        """Return the state after one more answer.

        Args:
            calls: The calls that it asked for; without any it need not be sent back.
            wire: The answer as it was on the wire; JSON-serialisable. It holds what came before it
                when that paused.
            paused: True when the answer shall go on where it stopped.
        """
        kept = list(self._kept)
        if calls or paused:
            kept.append({"calls": [call.id for call in calls], "wire": wire})
        return ProviderState(*self._facts, payload=kept[-MAX_KEPT:])


def _kept(payload: Any) -> list[dict[str, Any]]:
    """Return what a state holds; one that is not of this form holds nothing."""
    if not isinstance(payload, list):
        return []
    return [item for item in payload if isinstance(item, dict) and _is_echo(item)]


def _is_echo(item: dict[str, Any]) -> bool:
    calls = item.get("calls")
    return "wire" in item and isinstance(calls, list) and all(isinstance(id, str) for id in calls)
