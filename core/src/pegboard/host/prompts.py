"""The bases of the agents' prompts, each made once, so that providers can cache them."""

from __future__ import annotations

from pathlib import Path

from pegboard.agent.prompt import PromptBase
from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import RunProfile
from pegboard.host.agents import Agents


class Prompts:
    """Makes the bases of prompts.

    Args:
        agents: The named agents.
        workspace: Folder of the runs.
        trust: Knows whether the person trusts it; only then anything in it is read.
    """

    def __init__(self, agents: Agents, workspace: Path, trust: FolderTrust) -> None:
        self._agents = agents
        self._workspace = workspace
        self._trust = trust
        self._trusted = False
        self._bases: dict[tuple[str, RunProfile], PromptBase] = {}

    def forget(self) -> None:
        """Make every base anew: settings have changed."""
        self._bases.clear()

    def base(self, agent: str, run_profile: RunProfile = "") -> PromptBase:
        """Return the base of an agent's prompt, made anew once the person trusts the folder.

        Raises:
            UsageError: When there is no such agent.
        """
        trusted = bool(self._trust.known(self._workspace))
        if self._trusted is not trusted:
            self._trusted = trusted
            self._bases.clear()
        base = self._bases.get((agent, run_profile))
        if base is None:
            base = self._bases[agent, run_profile] = PromptBase(
                workspace=self._workspace,
                trusted=trusted,
                instructions=self._agents.instructions(agent, run_profile),
            )
        return base
