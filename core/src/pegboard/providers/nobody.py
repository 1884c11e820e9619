"""What is told where no provider can answer."""

from __future__ import annotations

from collections.abc import Sequence

from pegboard.config.keys import split_key
from pegboard.config.schema import Problem
from pegboard.contracts.errors import NoProviderError
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.kinds import configured, why_absent, why_none
from pegboard.plugins.discovery.first_party import TYPE_PACKAGES
from pegboard.providers.choice import Standing
from pegboard.providers.ways import ways


def nobody(boot: Boot, found: Sequence[Standing]) -> NoProviderError:
    """Return the error that names what is wrong, or else all ways to a model.

    Args:
        boot: What was found and decided.
        found: The providers, none of which can be taken.
    """
    wrong = _wrong(boot)
    if wrong is not None:
        return NoProviderError(
            f"No model provider can be used: {wrong.message}.", fix=wrong.fix or None
        )
    there = {fact.name for _, fact in boot.contributions("provider")}
    if not there and why_none(boot, "provider") is None:
        return NoProviderError(
            "No model provider is installed.", fix="pip install pegboard-standard"
        )

    def lacks(type: str) -> str | None:
        problem = None if type in there else why_absent(boot, "provider", type)
        return problem.fix if problem is not None else None

    names = ", ".join(item.name for item in found)
    lack = f"{names} lack their keys" if len(found) > 1 else f"{names} lacks its key"
    why = f": {lack}" if found else ": no provider of one is set up"
    return NoProviderError(f"No model answers here{why}.", fix=ways(found, lacks))


def _wrong(boot: Boot) -> Problem | None:
    """Return what somebody set up wrongly, or what a provider of others waits for."""
    problems = configured(boot, "provider").problems
    if problems:
        return problems[0]
    why = why_none(boot, "provider")
    if why is None or not why.path or split_key(why.path)[1] in TYPE_PACKAGES["provider"]:
        return None
    return why
