"""How much an agent may do on its own: the operator's profile and its switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pegboard.config.schema import CORE_SCHEMA, check
from pegboard.contracts.capability import Capability
from pegboard.contracts.errors import ConfigError
from pegboard.policy.capabilities import STANDARD

ProfileName = Literal["assistant", "standard", "unattended", "max"]

PROFILES: Final[tuple[ProfileName, ...]] = get_args(ProfileName)
_SCHEMA: Final[Mapping[str, Any]] = CORE_SCHEMA["properties"]["autonomy"]
_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Autonomy:
    """What a profile and its switches resolve to.

    Args:
        profile: The profile.
        capabilities: What runs hold.
        script_write: True when scripts may call tools that need `orch:write`.
        mcp_allow: Server and tool of each MCP tool that scripts may call.
        asks: False when nobody is there to answer, so that a question is a no.
        refusals: Refusals in a row after which a run is stopped; None = never.
        lease_s: Seconds that a lease lives at most.
    """

    profile: ProfileName
    capabilities: frozenset[Capability]
    script_write: bool
    mcp_allow: frozenset[tuple[str, str]]
    asks: bool
    refusals: int | None
    lease_s: float


def resolve(settings: Mapping[str, Any] | None = None) -> Autonomy:
    """Read the section `[autonomy]` of the configuration.

    Args:
        settings: The section; what is absent has its default.

    Raises:
        ConfigError: When a key or a value does not exist; suggests another.
    """
    given = settings or {}
    problems = check(given, _SCHEMA, "autonomy")
    if problems:
        raise ConfigError(problems[0].message, fix=problems[0].fix, path=problems[0].path)
    profile: ProfileName = given.get("profile", "standard")
    alone = profile == "unattended"
    return Autonomy(
        profile=profile,
        capabilities=_capabilities(profile, browse=given.get("browse", False)),
        script_write=given.get("write", False),
        mcp_allow=frozenset(
            (server, tool)
            for server, tools in given.get("mcp", {}).get("allow", {}).items()
            for tool in tools
        ),
        asks=not alone,
        refusals=given.get("denial_breaker", 5) if alone else None,
        lease_s=given.get("lease_max_minutes", 60) * _MINUTE_S,
    )


def _capabilities(profile: ProfileName, *, browse: bool) -> frozenset[Capability]:
    """Return what a profile holds; only `browse` adds to it, and nothing adds to `assistant`."""
    if profile == "assistant":
        return frozenset()
    return STANDARD | {"orch:browse"} if browse else STANDARD
