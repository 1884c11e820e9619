"""The files by which a system starts the host: a systemd unit, or a launchd agent. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

MARK: Final = "Written by `pegboard service install`"
"""What tells a file of ours from one that somebody else has written."""
STOP_MARGIN_S: Final = 30
"""Seconds that a host may take to end beside those that its turns have."""
WATCHDOG_S: Final = 60
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_UNSAFE: Final = re.compile(r"[\"'\\$\x00-\x1f]")
_ENV: Final = "/usr/bin/env"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A host as the system starts it.

    Args:
        name: Name of the service.
        command: The words of the command, the first of them an absolute path.
        folder: The folder that it is started in, in which turns of channels work.
        env: What it finds in its environment beside what the system gives.
        drain_s: Seconds that turns have when it ends.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    drain_s: float

    @property
    def stop_s(self) -> int:
        """Seconds after which the system may kill it."""
        return int(self.drain_s) + STOP_MARGIN_S


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a service."""
    return _NAME.fullmatch(text) is not None


def systemd_unit(service: Service) -> str:
    """Return a unit for the user's own systemd."""
    environment = [_quoted(f"{name}={value}") for name, value in sorted(service.env.items())]
    lines = [
        f"# {MARK}; changes are lost when it is written again.",
        "[Unit]",
        "Description=Pegboard, an agent host",
        "After=network-online.target",
        "StartLimitIntervalSec=300",
        "StartLimitBurst=10",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={_words(service.command)}",
        "ExecReload=/bin/kill -HUP $MAINPID",
        f"WorkingDirectory={_specifier(str(service.folder))}",
        *(f"Environment={item}" for item in environment),
        "Restart=on-failure",
        "RestartSec=5",
        f"WatchdogSec={WATCHDOG_S}",
        f"TimeoutStopSec={service.stop_s}",
        "UMask=0077",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    return "\n".join(lines)


def launchd_agent(service: Service) -> str:
    """Return an agent for the user's own launchd."""
    variables = [
        line
        for name, value in sorted(service.env.items())
        for line in (f"    <key>{escape(name)}</key>", f"    <string>{escape(value)}</string>")
    ]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
        '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
        f"<!-- {MARK}; changes are lost when it is written again. -->",
        '<plist version="1.0">',
        "<dict>",
        "  <key>Label</key>",
        f"  <string>{escape(service.name)}</string>",
        "  <key>ProgramArguments</key>",
        "  <array>",
        *(f"    <string>{escape(word)}</string>" for word in service.command),
        "  </array>",
        "  <key>WorkingDirectory</key>",
        f"  <string>{escape(str(service.folder))}</string>",
        "  <key>EnvironmentVariables</key>",
        "  <dict>",
        *variables,
        "  </dict>",
        "  <key>RunAtLoad</key>",
        "  <true/>",
        "  <key>KeepAlive</key>",
        "  <dict>",
        "    <key>SuccessfulExit</key>",
        "    <false/>",
        "  </dict>",
        "  <key>ExitTimeOut</key>",
        f"  <integer>{service.stop_s}</integer>",
        "  <key>Umask</key>",
        "  <integer>63</integer>",
        "</dict>",
        "</plist>",
        "",
    ]
    return "\n".join(lines)


def _words(command: Sequence[str]) -> str:
    program = command[0]
    if _UNSAFE.search(program):  # systemd runs no program of such a name, but passes it on
        command = (_ENV, *command)
    # a dollar begins a variable in the words of a command
    return " ".join(_quoted(word).replace("$", "$$") for word in command)


def _quoted(text: str) -> str:
    """Return a text as one word of a unit, with nothing in it that systemd would expand."""
    text = _specifier(text)
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _specifier(text: str) -> str:
    return text.replace("%", "%%")
