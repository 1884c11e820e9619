"""`pegboard service`: let the system start the host, without rights of root."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import GOOD, WARN
from pegboard.cli.service_units import MARK, Service, is_name, launchd_agent, systemd_unit
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import PegboardError, UsageError

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "install": ("service:install", "Write the file by which the system starts the host."),
    "uninstall": ("service:uninstall", "Remove the file."),
    "status": ("service:status", "Tell whether the file is there."),
}
_LAUNCHD_PREFIX: Final = "dev.pegboard."
_PASSED: Final = ("PATH", "LANG", "LC_ALL", "TZ", "PEGBOARD_PLUGINS")
_XDG: Final = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
_name_option = click.option(
    "--name", default="pegboard", show_default=True, help="Name of the service."
)


@click.group("service", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Let the system start the host, and keep it running.

    On Linux it is a unit of your own systemd, on macOS an agent of your own launchd. Nothing here
    needs root, and nothing is started: what to run next is printed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a service is described, and what is run about it.

    Args:
        file: The file.
        start: Commands that start it.
        stop: Commands that end it.
        logs: Command that shows what it prints.
        hint: What else may be needed, or "".
    """

    file: Path
    start: tuple[str, ...]
    stop: tuple[str, ...]
    logs: str
    hint: str = ""


@click.command("install")
@_name_option
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder that turns of channels work in; the current one by default.",
)
@click.option("--replace", is_flag=True, help="Replace a file that somebody else has written.")
@json_option
@click.pass_obj
def install(session: Session, name: str, workspace: Path | None, replace: bool) -> None:
    """Write the file by which the system starts the host, and print what to run next."""
    target, service = _target(session, name), _service(session, name, workspace)
    text = _rendered(service)
    if target.file.exists() and not replace and MARK not in _text(target.file):
        raise UsageError(
            f"{target.file} is there already and was not written by this command.",
            fix=f"pegboard service install --name {name} --replace",
        )
    changed = not target.file.exists() or _text(target.file) != text
    target.file.parent.mkdir(parents=True, exist_ok=True)
    target.file.write_text(text, encoding="utf-8")
    if session.output.json_wanted:
        session.output.json(
            {
                "file": str(target.file),
                "changed": changed,
                "workspace": str(service.folder),
                "next": list(target.start),
            }
        )
        return
    output = session.output
    output.line(f"{target.file} is {'written' if changed else 'as it was'}.", GOOD)
    output.line(f"Turns of channels work in {service.folder}.")
    output.line("Start it:")
    for line in target.start:
        output.line(f"  {line}")
    if target.hint:
        output.line(target.hint)


@click.command("uninstall")
@_name_option
@json_option
@click.pass_obj
def uninstall(session: Session, name: str) -> None:
    """Remove the file, and print how to end a host that runs."""
    target = _target(session, name)
    there = target.file.exists()
    if there and MARK not in _text(target.file):
        raise UsageError(
            f"{target.file} was not written by `pegboard service install`.", fix=f"rm {target.file}"
        )
    target.file.unlink(missing_ok=True)
    if session.output.json_wanted:
        session.output.json({"file": str(target.file), "removed": there, "next": list(target.stop)})
        return
    session.output.line(
        f"{target.file} is removed." if there else f"There is no {target.file}.",
        GOOD if there else WARN,
    )
    session.output.line("End a host that it has started:")
    for line in target.stop:
        session.output.line(f"  {line}")


@click.command("status")
@_name_option
@json_option
@click.pass_obj
def status(session: Session, name: str) -> None:
    """Tell whether the file is there and as it would be written now, and whether the host runs."""
    target = _target(session, name)
    there = target.file.exists()
    service = _service(session, name, _folder_in(target.file))
    current = there and _text(target.file) == _rendered(service)

    async def ask() -> dict[str, Any] | None:
        async with session.resident() as client:
            return None if client is None else dict(client.greeting)

    host = session.run(ask)
    facts = {
        "file": str(target.file),
        "installed": there,
        "current": current,
        "running": None if host is None else host["pid"],
    }
    if session.output.json_wanted:
        session.output.json(facts)
        return
    if not there:
        session.output.line(f"Not installed: there is no {target.file}.", WARN)
    elif current:
        session.output.line(f"Installed: {target.file}.", GOOD)
    else:
        session.output.line(
            f"Installed, but not as it would be written now: {target.file}. "
            "Write it again: pegboard service install",
            WARN,
        )
    session.output.line(
        "No host is running." if host is None else f"The host runs as process {host['pid']}."
    )
    session.output.line(f"What it prints: {target.logs}")


def _service(session: Session, name: str, workspace: Path | None) -> Service:
    """Return the host as it is to be started."""
    folder = session.folder_for(workspace)
    return Service(
        name=f"{_LAUNCHD_PREFIX}{name}" if sys.platform == "darwin" else name,
        command=(sys.executable, "-m", "pegboard", "serve"),
        folder=folder,
        env=_environment(session),
        drain_s=float(session.config.get("serve.drain_s", 30)),
    )


def _environment(session: Session) -> Mapping[str, str]:
    """Return what the host needs of this environment: its folders, and where programs are."""
    env = session.env
    found = {key: env[key] for key in _PASSED if env.get(key)}
    if env.get("PEGBOARD_HOME"):
        root = session.paths.config.parent
        return {**found, "PEGBOARD_HOME": str(root)}
    return {**found, **{key: env[key] for key in _XDG if env.get(key)}}


def _rendered(service: Service) -> str:
    return launchd_agent(service) if sys.platform == "darwin" else systemd_unit(service)


def _target(session: Session, name: str) -> Target:
    """Return where the service of a name belongs on this system.

    Raises:
        UsageError: When the name can't be one.
        PegboardError: When the system has neither systemd nor launchd.
    """
    if not is_name(name):
        raise UsageError(
            f"{name!r} can't be the name of a service.", fix="use letters, digits, '-' and '_'"
        )
    env = session.env
    user = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        label = f"{_LAUNCHD_PREFIX}{name}"
        file = user / "Library" / "LaunchAgents" / f"{label}.plist"
        domain = f"gui/{os.getuid()}"
        return Target(
            file=file,
            start=(f"launchctl bootstrap {domain} {file}",),
            stop=(f"launchctl bootout {domain}/{label}",),
            logs="pegboard logs",
        )
    if not sys.platform.startswith("linux"):
        raise PegboardError(
            "This system has neither systemd nor launchd.", fix="pegboard serve --ready-file FILE"
        )
    own = env.get("XDG_CONFIG_HOME", "")
    base = Path(own) if own.startswith("/") else user / ".config"
    return Target(
        file=base / "systemd" / "user" / f"{name}.service",
        start=("systemctl --user daemon-reload", f"systemctl --user enable --now {name}"),
        stop=(f"systemctl --user disable --now {name}", "systemctl --user daemon-reload"),
        logs=f"journalctl --user -u {name}; the log itself: pegboard logs",
        hint="So that it also runs while you are not logged in: loginctl enable-linger",
    )


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _folder_in(file: Path) -> Path | None:
    """Return the folder that a file of ours names, so that it is compared with its like."""
    if not file.exists():
        return None
    lines = _text(file).splitlines()
    for number, line in enumerate(lines):
        if line.startswith("WorkingDirectory="):
            folder = Path(line.partition("=")[2].replace("%%", "%"))
            return folder if folder.is_dir() else None
        if "<key>WorkingDirectory</key>" in line and number + 1 < len(lines):
            named = lines[number + 1].strip().removeprefix("<string>").removesuffix("</string>")
            return Path(named) if Path(named).is_dir() else None
    return None
