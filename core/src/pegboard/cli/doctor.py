"""`pegboard doctor`: whether everything is here that an agent needs."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from pegboard._version import __version__
from pegboard.cli import exit_codes
from pegboard.cli.fatal_calls import fatal_tools
from pegboard.cli.fault import innermost
from pegboard.cli.findings import Finding, Level, any_broken, findings_json, print_findings
from pegboard.cli.plugins.doctor import state_findings
from pegboard.cli.provider_findings import provider_findings
from pegboard.cli.session import Session, json_option
from pegboard.cli.settings import problems
from pegboard.contracts.errors import ConfigError, PegboardError

_REFUSED: Final = 10
"""Grants that are proposed at most."""


@click.command("doctor")
@json_option
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check this installation and say how to mend it; exit code 1 when something is broken."""
    session: Session = ctx.obj
    findings = [*_program(), *_places(session)]
    try:
        findings += _settings(session)
        findings += state_findings(session.boot)
        findings += _profile(session)
        findings += _senders(session)
        findings += provider_findings(session)
        findings += _sandbox(session)
        findings += _trust(session)
        findings += _refused(session)
        findings += _fatal(session)
    except PegboardError as error:
        findings.append(Finding("broken", "settings", error.message, error.fix))
    if session.output.json_wanted:
        session.output.json(findings_json(findings))
    else:
        print_findings(session.output, findings)
    if any_broken(findings):
        ctx.exit(exit_codes.FAILED)


def _program() -> Iterator[Finding]:
    yield Finding("ok", "pegboard", f"{__version__} in {Path(__file__).parents[1]}")
    yield Finding("ok", "python", f"{platform.python_version()} at {sys.executable}")
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    if sys.platform.startswith("linux"):
        yield Finding("ok", "system", system)
    else:
        yield Finding("warning", "system", f"{system}: less confinement than on Linux")
    found = shutil.which("pegboard")
    own = Path(sys.executable).parent / "pegboard"
    if found and own.exists() and Path(found).resolve() != own.resolve():
        yield Finding(
            "warning",
            "command",
            f"`pegboard` on PATH is {found}, another installation than {own}.",
            f"run {own}",
        )


def _places(session: Session) -> Iterator[Finding]:
    paths = session.paths
    for about, folder in (
        ("config", paths.config),
        ("state", paths.state),
        ("data", paths.data),
        ("cache", paths.cache),
    ):
        yield _private(about, folder, 0o700) or Finding("ok", about, str(folder))
    yield _private("secrets", paths.secrets_file, 0o600) or Finding(
        "ok", "secrets", str(paths.secrets_file)
    )


def _private(about: str, path: Path, wanted: int) -> Finding | None:
    """Return what is wrong with the permissions of a path, or None; nothing there is right."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return Finding("broken", about, f"{path}: {error.strerror}")
    if hasattr(os, "getuid") and facts.st_uid not in (os.getuid(), 0):
        return Finding("broken", about, f"{path} belongs to another user.")
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding("broken", about, f"{path} can't be written.", f"chmod u+rw {path}")
    mode = stat.S_IMODE(facts.st_mode)
    if os.name == "posix" and mode & 0o077:
        level: Level = "broken" if wanted == 0o600 else "warning"
        return Finding(
            level,
            about,
            f"{path} can be read by others (mode {mode:04o}).",
            f"chmod {wanted:o} {path}",
        )
    return None


def _settings(session: Session) -> Iterator[Finding]:
    config = session.config
    found = [item for item in problems(config, session.boot) if item not in session.boot.problems]
    for problem in found:
        yield Finding("broken", "settings", problem.message, problem.fix)
    if not found:
        files = ", ".join(str(file) for file in config.files)
        yield Finding("ok", "settings", files or "no config file: every setting has its default")


def _profile(session: Session) -> Iterator[Finding]:
    from pegboard.policy.explain import profile_facts
    from pegboard.policy.profiles import resolve

    try:
        autonomy = resolve(session.config.section("autonomy"))
    except ConfigError:  # told among the settings
        return
    text = "\n".join([autonomy.profile, *profile_facts(autonomy)])
    if autonomy.profile == "max":
        fix = "pegboard config set autonomy.profile standard"
        yield Finding("warning", "profile", text, fix)
    else:
        yield Finding("ok", "profile", text)


def _senders(session: Session) -> Iterator[Finding]:
    """Tell which senders are named with the type of a channel, so that they are nobody."""
    types = {
        name.lower(): str(table.get("type", name)).rpartition(":")[2].lower()
        for name, table in session.config.section("channels").items()
    }
    for key in session.config.section("policy").get("senders", ()):
        named, colon, id = key.partition(":")
        named = named.strip().lower()
        meant = [name for name, type in types.items() if type == named]
        if colon and meant and named not in types:
            yield Finding(
                "warning",
                "senders",
                f"{key!r} in [policy.senders] is nobody: {named} is a type, and no channel's name.",
                f'write "{meant[0]}:{id.strip()}"',
            )


def _sandbox(session: Session) -> Iterator[Finding]:
    from pegboard.sandboxes.missing import NONE

    async def look() -> Finding:
        async with session.open_host() as host:
            report = await host.sandbox_report()
        if report.sandbox == NONE:
            text, *fix = report.notes
            return Finding("warning", "sandbox", text, fix[0] if fix else None)
        enforced = ", ".join(f"{what} {how}" for what, how in report.enforced.items())
        notes = "".join(f"\n{note}" for note in report.notes)
        level: Level = "ok" if "no" not in report.enforced.values() else "warning"
        return Finding(level, "sandbox", f"{report.sandbox}: {enforced}{notes}")

    try:
        yield session.run(look)
    except Exception as caught:  # a broken plugin is a finding, not the end of the check
        error = innermost(caught)
        if not isinstance(error, PegboardError):
            raise
        yield Finding("broken", "sandbox", error.message, error.fix)


def _trust(session: Session) -> Iterator[Finding]:
    from pegboard.config.trust import FolderTrust

    folder = Path.cwd()
    known = FolderTrust(session.paths).known(folder)
    speaks = [name for name in ("AGENTS.md", ".pegboard") if (folder / name).exists()]
    if known is None and speaks:
        yield Finding(
            "warning",
            "folder",
            f"{folder} is not trusted yet, so its {' and '.join(speaks)} is not read.",
            "pegboard trust",
        )
    else:
        answer = {True: "trusted", False: "refused", None: "nothing here asks for trust"}[known]
        yield Finding("ok", "folder", f"{folder}: {answer}")


def _fatal(session: Session) -> Iterator[Finding]:
    """Tell during which calls a host died in the last week."""
    for tool in fatal_tools(session):
        yield Finding("warning", tool.plugin, tool.sentence(), tool.fix)


def _refused(session: Session) -> Iterator[Finding]:
    """Tell what tools were refused in the last week that a grant would allow."""
    from pegboard.sandboxes.explain import grant_command
    from pegboard.sandboxes.refused import RefusedLog

    granted = {
        grant_command(grant["path"], mode)
        for grant in session.config.get("sandbox.grants", ())
        for mode in (("ro", "rw") if grant.get("mode") == "rw" else ("ro",))
    }
    # the system's clock, as hosts use: this is about what they wrote
    refused = RefusedLog(session.paths.state).recent(time.time())
    for item in [item for item in refused if item.fix not in granted][:_REFUSED]:
        often = "" if item.times == 1 else f" {item.times} times"
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(item.at))
        text = f"{item.tool} was refused{often} this week, last on {when}. What would allow it:"
        yield Finding("warning", "refused", text, item.fix)
