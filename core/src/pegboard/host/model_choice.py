"""Whom a run asks: a provider, a model, and those that stand in for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class ModelChoice(NamedTuple):
    """Whom a run asks.

    Args:
        provider: Provider instance; "" = as the host is configured.
        model: Model; "" = as configured, or the default of a provider that is named.
        fallbacks: Who is asked when it fails, each `PROVIDER` or `PROVIDER/MODEL`; None = those of
            `[agent]` where neither provider nor model is named, else nobody.
    """

    provider: str = ""
    model: str = ""
    fallbacks: tuple[str, ...] | None = None

    @property
    def alone(self) -> bool:
        """True when nobody stands in for it, whatever an agent says."""
        return self.fallbacks == ()

    def within(self, outer: ModelChoice) -> ModelChoice:
        """Return whom an agent asks that has less to say than the run that it belongs to.

        Args:
            outer: Whom that run asks.
        """
        if self.provider:
            return self
        if self.model:
            return self._replace(provider=outer.provider)
        if self.fallbacks is None or outer.alone:
            return outer
        return outer._replace(fallbacks=self.fallbacks)


AS_CONFIGURED: Final = ModelChoice()


def names(given: object) -> tuple[str, ...] | None:
    """Return a setting `fallbacks`; None when it is not set."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return None
    return tuple(str(item) for item in given)


def read_fallback(text: str) -> tuple[str, str]:
    """Return provider and model of a fallback; models may have `/` in their names."""
    provider, _, model = text.partition("/")
    return provider, model
