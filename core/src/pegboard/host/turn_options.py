"""What a turn asks for in place of what its host would choose: a folder, a provider, a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pegboard.contracts.message import InboundMessage
from pegboard.host.model_choice import ModelChoice, names

if TYPE_CHECKING:
    from pegboard.host.places import Place
    from pegboard.turns.setup import Turn

_FOLDER: Final = "_folder"
_PROVIDER: Final = "_provider"
_MODEL: Final = "_model"
_EFFORT: Final = "_effort"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """What the person at this machine wants for one turn.

    It is kept with the message, so that whichever host runs the turn goes by it, also after a
    crash. Ingress takes such fields out of whatever comes in, so that only the host can set them.

    Args:
        folder: The folder to work in; None = the host's own.
        provider: Provider instance; "" = as configured.
        model: Model; "" = as configured.
        effort: Reasoning effort; "" = as configured.
    """

    folder: Path | None = None
    provider: str = ""
    model: str = ""
    effort: str = ""

    def marked(self, message: InboundMessage) -> InboundMessage:
        """Return a message that says so."""
        wanted = {
            _FOLDER: "" if self.folder is None else str(self.folder),
            _PROVIDER: self.provider,
            _MODEL: self.model,
            _EFFORT: self.effort,
        }
        given = {name: value for name, value in wanted.items() if value}
        if not given:
            return message
        return replace(message, metadata={**message.metadata, **given})

    def model_choice(self, place: Place, own: ModelChoice) -> ModelChoice:
        """Return whom to ask in a place; what a turn names is asked alone.

        Args:
            place: The folder.
            own: What the agent says, which names neither provider nor model.
        """
        provider = self.provider or str(place.config.get("agent.provider", ""))
        model = self.model or str(place.config.get("agent.model", ""))
        if self.provider or self.model:
            return ModelChoice(provider, model, ())
        if place.stamp is None:
            return own
        given = names(place.config.get("agent.fallbacks"))
        return ModelChoice(provider, model, given if own.fallbacks is None else own.fallbacks)

    @classmethod
    def of_options(cls, folder: Path, overrides: Mapping[str, Any]) -> TurnOptions:
        """Return what the options of a host say for its turns.

        Args:
            folder: The folder to work in.
            overrides: Settings that count before all files. Where they name fallbacks, what they
                name is not asked alone, so it is no option of a turn: the settings say it already.
        """
        given = {} if "agent.fallbacks" in overrides else overrides
        return cls(
            folder=folder,
            provider=str(given.get("agent.provider", "")),
            model=str(given.get("agent.model", "")),
            effort=str(overrides.get("agent.effort", "")),
        )

    @classmethod
    def of(cls, turn: Turn) -> TurnOptions:
        """Return what the message of a turn says, as it was kept and before any hook saw it."""
        kept = turn.message.metadata if turn.begun is None else _metadata(turn.begun.turn.message)
        folder = kept.get(_FOLDER, "")
        return cls(
            folder=Path(folder) if folder else None,
            provider=kept.get(_PROVIDER, ""),
            model=kept.get(_MODEL, ""),
            effort=kept.get(_EFFORT, ""),
        )


NO_TURN_OPTIONS: Final = TurnOptions()


def _metadata(message: Mapping[str, Any]) -> Mapping[str, str]:
    given: Mapping[str, str] = message.get("metadata", {})
    return given
