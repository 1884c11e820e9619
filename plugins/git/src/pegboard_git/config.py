"""Settings of the git tools: `[plugins.git]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class GitSettings(BaseModel):
    """Who commits, and what may be fetched from where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    author_name: str = Field(
        default="", description="Name in commits; empty = GIT_AUTHOR_NAME, else the repository's."
    )
    author_email: str = Field(
        default="", description="Address in commits; empty = GIT_AUTHOR_EMAIL, likewise."
    )
    safe_directories: list[str] = Field(
        default=[], description="Repositories that are used although somebody else owns them."
    )
    allow_hosts: list[str] | None = Field(
        default=None,
        description="Hosts to fetch from over https, such as github.com or *.example.org; empty = "
        "none, absent = every public one.",
    )
    ssh_hosts: list[str] = Field(
        default=[],
        description="Hosts to fetch from over ssh with the keys of your user, such as github.com.",
    )
    allow_private: list[str] = Field(
        default=[],
        description="host:port pairs of your own network to fetch from; plain http is taken there.",
    )
    max_fetch_mb: int = Field(
        default=256, ge=1, le=2048, description="Megabytes that one fetch may bring."
    )
    fetch_seconds: float = Field(
        default=120.0, gt=0, le=300, description="Seconds that a server has for one fetch."
    )
