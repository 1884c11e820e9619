"""The operator's named agents: who answers whom, as what, and who may have whom work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pegboard.config.agents import MAIN
from pegboard.config.load import Config
from pegboard.config.nearest import did_you_mean
from pegboard.contracts.caller import RunProfile, ToolFilter
from pegboard.contracts.errors import UsageError
from pegboard.host.model_choice import ModelChoice, names
from pegboard.policy.agents import AgentPolicies, AgentPolicy
from pegboard.policy.profiles import resolve
from pegboard.policy.senders import normalized, sender_id

HEIRS: Final = "You can hand this conversation over to another agent:"
WORKERS: Final = "Agents that can do a part of the work for you, each named in a task:"
ULTRA: Final = """\
The person asked for exhaustive work in this turn. Take the request apart into as many independent
parts as it has, and have each done by a worker of its own with `subagents_ultra`, which takes more
tasks at once than `subagents`. Give every worker all that it needs to know: it sees nothing of this
conversation. Where it matters let further workers check what others found, and send new ones after
what is missing or in doubt. Answer when nothing is open any more: what holds, what each finding
rests on, and what could not be settled."""
"""Added to the prompt of a turn that the owner began with `/ultra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One named agent, as the configuration has it.

    Args:
        id: Its name.
        role: `main` = it talks to people; `sub` = it only does work that another agent gives it.
        description: What it is for, in a line.
        prompt: Text of its system prompt, or "".
        provider: Provider instance, or "".
        model: Model, or "".
        fallbacks: Who is asked when it fails; None = as everywhere.
        effort: Reasoning effort, or None.
        max_steps: Model calls in one run at most; None = as everywhere.
        timeout_s: Seconds that one run may take; None = as long as it needs.
        delegates: Agents that it may hand over to, or give work.
    """

    id: str
    role: Literal["main", "sub"] = "main"
    description: str = ""
    prompt: str = ""
    provider: str = ""
    model: str = ""
    fallbacks: tuple[str, ...] | None = None
    effort: str | None = None
    max_steps: int | None = None
    timeout_s: float | None = None
    delegates: tuple[str, ...] = ()

    @property
    def model_choice(self) -> ModelChoice:
        """Whom it asks."""
        return ModelChoice(self.provider, self.model, self.fallbacks)


class Agents:
    """All agents of a host.

    Args:
        config: The settings, already found valid.
    """

    def __init__(self, config: Config) -> None:
        self.take(config)

    def take(self, config: Config) -> None:
        """Go by other settings, already found valid, from now on."""
        self._config = config
        tables = {MAIN: {}, **config.section("agents")}
        self._agents = {name: _agent(name, table) for name, table in tables.items()}
        self._senders = {
            sender: name for name, table in tables.items() for sender in table.get("senders", ())
        }
        self.policies = AgentPolicies(
            {name: self._policy(self._agents[name], table) for name, table in tables.items()}
        )
        """What each of them may use."""

    def get(self, id: str) -> Agent:
        """Return an agent.

        Raises:
            UsageError: When there is none of that name; suggests another.
        """
        found = self._agents.get(id)
        if found is None:
            raise UsageError(
                f"There is no agent {id!r}{did_you_mean(id, self._agents)}",
                fix=f"There is: {', '.join(sorted(self._agents))}.",
            )
        return found

    def known(self, id: str) -> Agent | None:
        """Return an agent, or None."""
        return self._agents.get(id)

    def delegates(self, of: str) -> list[Agent]:
        """Return the agents that one delegates to, in the order in which it names them."""
        return [self._agents[name] for name in self.get(of).delegates if name in self._agents]

    def delegate(self, of: str, id: str) -> Agent:
        """Return an agent that another one delegates to.

        Raises:
            UsageError: When there is no such agent, or the other one does not name it.
        """
        return self._named(of, id, self.delegates(of))

    def heir(self, of: str, id: str) -> Agent:
        """Return an agent that another one may hand a conversation over to.

        Raises:
            UsageError: When there is no such agent, or the other one does not name it, or it does
                not talk to people.
        """
        return self._named(of, id, [item for item in self.delegates(of) if item.role == "main"])

    def answering(self, channel: str, type: str, sender: str) -> str:
        """Return the id of the agent that answers a message.

        Args:
            channel: Instance name of the channel.
            type: Type of the channel, or "".
            sender: The sender's id, in any spelling.
        """
        plain = sender_id(channel, type, sender)
        for key, agent in self._senders.items() if plain is not None else ():
            if normalized(channel, type, key) == plain:
                return agent
        settings = self._config.section("channels").get(channel)
        agent = settings.get("agent", MAIN) if isinstance(settings, Mapping) else MAIN
        return str(agent)

    def instructions(self, id: str, run_profile: RunProfile = "") -> str:
        """Return what an agent's prompt says beside the text that all prompts begin with.

        Args:
            id: Name of the agent.
            run_profile: That of the run.
        """
        agent = self.get(id)
        delegates = self.delegates(id)
        heirs = [item for item in delegates if item.role == "main"]
        blocks = [
            agent.prompt or self._config.get("agent.instructions", ""),
            _listed(HEIRS, heirs),
            _listed(WORKERS, delegates),
            ULTRA if run_profile == "ultra" else "",
        ]
        return "\n\n".join(block.strip() for block in blocks if block.strip())

    def _named(self, of: str, id: str, among: Iterable[Agent]) -> Agent:
        found = {item.id: item for item in among}
        if id in found:
            return found[id]
        known = ", ".join(found) or "none"
        raise UsageError(
            f"The agent {of} can't delegate this to {id!r}{did_you_mean(id, found)}",
            fix=f"It delegates to: {known}.",
        )

    def _policy(self, agent: Agent, table: Mapping[str, Any]) -> AgentPolicy:
        tools, servers, profile = table.get("tools"), table.get("mcp"), table.get("profile")
        heirs = (self._agents.get(name) for name in agent.delegates)
        return AgentPolicy(
            filter=ToolFilter(
                allowed_tools=None if tools is None else frozenset(tools),
                mcp=() if servers is None else (frozenset(servers),),
            ),
            capabilities=None if profile is None else self._capabilities(profile),
            heirs=frozenset(item.id for item in heirs if item is not None and item.role == "main"),
        )

    def _capabilities(self, profile: str) -> frozenset[Any]:
        return resolve({**self._config.section("autonomy"), "profile": profile}).capabilities


def _agent(id: str, table: Mapping[str, Any]) -> Agent:
    kept = {
        key: table[key]
        for key in (
            "role",
            "description",
            "prompt",
            "provider",
            "model",
            "effort",
            "max_steps",
            "timeout_s",
        )
        if key in table
    }
    return Agent(
        id=id,
        delegates=tuple(table.get("delegates", ())),
        fallbacks=names(table.get("fallbacks")),
        **kept,
    )


def _listed(title: str, agents: Iterable[Agent]) -> str:
    lines = [f"- {item.id}: {item.description}".rstrip(": ") for item in agents]
    return "\n".join([title, *lines]) if lines else ""
