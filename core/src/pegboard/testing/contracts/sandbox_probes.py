"""43 things that a command tries, and how each must end in a sandbox.

Four are meant to work. The others are attacks: on files outside, on the network and sockets of the
machine, on its other processes, on its kernel.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.sandbox import Command, Enforcement, Grant, Sandbox
from pegboard.testing.contracts.sandbox_suite import SandboxSuite
from pegboard.testing.pytest_plugin import TOLD

ALLOWED: Final = "ALLOWED"
"""How a try ends that the sandbox let happen."""
WORKS: Final = frozenset(
    {"write_in_the_workspace", "write_to_tmp", "listen_on_tcp", "open_netlink"}
)
"""What is meant to work; a sandbox may refuse the last two."""
ATTACKS: Final[Mapping[str, tuple[str, ...]]] = {
    "fs_write": (
        *("write_outside", "write_outside_by_a_link", "truncate_outside", "chmod_outside"),
        *("make_a_disk_device", "mount_a_file_system", "remount_the_root_writable"),
        *("remount_and_write_outside", "change_the_root", "open_sysrq", "write_a_kernel_setting"),
        "join_a_control_group",
    ),
    "fs_read": (
        *("link_a_secret_into_the_workspace", "read_a_secret_outside", "read_shadow"),
        *("read_the_accounts", "read_a_disk"),
    ),
    "net": (
        *("connect_to_the_host_by_tcp", "ask_the_host_by_udp", "connect_to_a_socket_file"),
        *("connect_to_an_abstract_socket", "open_a_raw_socket", "open_a_packet_socket"),
        "open_a_vsock",
    ),
    "signals": (
        *("signal_another_process", "trace_another_process", "read_the_memory_of_another_process"),
    ),
    "pids": (
        *("read_the_environment_of_another_process", "enter_the_root_of_another_process"),
        *("look_for_another_process", "open_another_process"),
    ),
    "kernel": (
        *("trace_an_own_child", "make_a_user_namespace", "set_up_io_uring", "make_a_bpf_map"),
        *("ask_for_a_keyring", "open_a_userfaultfd", "open_a_performance_counter"),
        "type_into_the_terminal",
    ),
}
"""The attacks by what holds them off: a key of `SandboxReport.enforced`, or the kernel's filter."""
PROGRAM: Final = Path(__file__).with_name("_probe_program.py")
_DISKS: Final = ("vda", "sda", "nvme0n1", "xvda", "mmcblk0", "dm-0", "loop0")
_GROUPS: Final = ("cgroup.procs", "unified/cgroup.procs", "pids/cgroup.procs")
_NO_DISK: Final = (254, 0)


@dataclass(frozen=True, slots=True)
class Probed:
    """What was tried in a sandbox, and how it ended.

    Args:
        ended: By name of the try: `ALLOWED`, or the name of the error.
        seen: What the program saw of itself: `capabilities`, `no_new_privileges`, `seccomp`,
            `processes`, `descriptors`, `variables`.
        changed: True when a file outside was made or holds something else now.
    """

    ended: Mapping[str, str]
    seen: Mapping[str, Any]
    changed: bool

    @property
    def allowed(self) -> frozenset[str]:
        """What the sandbox let happen."""
        return frozenset(name for name, how in self.ended.items() if how == ALLOWED)

    def figure(self, title: str) -> str:
        """Return a line with the number of attacks tried and held."""
        attacks = [name for names in ATTACKS.values() for name in names]
        through = [name for name in attacks if name in self.allowed]
        line = f"{title}: {len(attacks)} attacks tried, {len(attacks) - len(through)} held"
        return f"{line}; let through: {', '.join(through)}" if through else line


class SandboxProbes(SandboxSuite):
    """Laws of what a command can't do.

    Subclass it, define `make_backend`, and name in `allowed` all that the sandbox lets happen. The
    laws run a real Python (`/usr/bin/python3`, or this one, granted) inside.
    """

    allowed: frozenset[str] | None = WORKS
    """Names of what is not refused; None = it depends on the machine, for a sandbox that confines
    no command."""

    async def test_each_attack_ends_as_it_is_known_to(
        self, tmp_path: Path, record_property: Callable[[str, object], None]
    ) -> None:
        """What is let happen is what the author says, no more and no less."""
        grants = python_grants()
        async with self.opened(tmp_path, grants=grants) as sandbox:
            probed = await probe(sandbox, tmp_path)
            report = sandbox.explain()
        record_property(TOLD, probed.figure(f"{report.sandbox}, {user_title()}"))
        if self.allowed is not None:
            through = sorted(probed.allowed - self.allowed)
            assert not through, f"let through: {', '.join(through)}"
            refused = [f"{name} ({probed.ended[name]})" for name in self.allowed - probed.allowed]
            assert not refused, f"refused, though `allowed` names it: {', '.join(refused)}"
            assert not probed.changed, "something outside was changed"
        claimed = overstated(report.enforced, probed.allowed)
        assert not claimed, f"`explain` says that it enforces these, but let through: {claimed}"


def overstated(
    enforced: Mapping[str, Enforcement], allowed: frozenset[str]
) -> dict[str, list[str]]:
    """Return what was let happen although the sandbox says that it enforces the opposite."""
    return {
        what: found
        for what, names in ATTACKS.items()
        if enforced.get(what) == "yes" and (found := [name for name in names if name in allowed])
    }


async def probe(sandbox: Sandbox, folder: Path) -> Probed:
    """Try all of it in an opened sandbox.

    Args:
        sandbox: The sandbox.
        folder: An own folder outside of what it grants; things to attack are put there.
    """
    with _targets(folder, sandbox.workspace) as facts:
        command = Command(
            argv=(python_inside(), "-I", "-", json.dumps(facts)),
            stdin=PROGRAM.read_bytes(),
            timeout_s=60,
        )
        done = await sandbox.run(command)
        lines = done.stdout.text().splitlines()
        assert lines, f"the probes did not run: {done}"
        said = json.loads(lines[-1])
        outside = Path(facts["outside"])
        changed = sorted(path.name for path in outside.iterdir()) != ["kept", "secret"]
        changed = changed or (outside / "kept").read_text() != "kept"
    return Probed(said["ended"], said["seen"], changed)


def python_inside() -> str:
    """Return a Python that a sandbox shows: one of the system, else this one."""
    own = os.path.realpath(sys.executable)
    for path in (own, "/usr/bin/python3", "/usr/local/bin/python3"):
        if path.startswith("/usr/") and os.access(path, os.X_OK):
            return path
    return own


def python_grants() -> tuple[Grant, ...]:
    """Return what must be granted so that this Python runs inside."""
    return () if python_inside().startswith("/usr/") else (Grant(Path(sys.base_prefix), "ro"),)


def user_title() -> str:
    """Return who runs this, for the figures."""
    return "as root" if os.getuid() == 0 else "as an ordinary user"


@contextmanager
def _targets(folder: Path, workspace: Path) -> Iterator[dict[str, Any]]:
    """Put up what is attacked, and yield the facts that the program needs."""
    outside = folder / "attacked"
    outside.mkdir()
    for name in ("kept", "secret"):
        (outside / name).write_text(name)
        (outside / name).chmod(0o640)
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        threading.Thread(target=_echo, args=(udp,), daemon=True).start()
        # a socket's path may not be long
        path = f"/tmp/pegboard-probe-{os.getpid()}"
        stack.callback(_unlink, path)
        files = stack.enter_context(socket.socket(socket.AF_UNIX))
        files.bind(path)
        files.listen()
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0pegboard-probe-{os.getpid()}")
        abstract.listen()
        victim = subprocess.Popen(["sleep", "120"], env={"PROBED_SECRET": "x", "PATH": "/usr/bin"})
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        disk = next((f"/dev/{name}" for name in _DISKS if Path(f"/dev/{name}").exists()), None)
        numbers = Path(disk).stat().st_rdev if disk else None
        groups = (Path("/sys/fs/cgroup") / name for name in _GROUPS)
        yield {
            "inside": str(workspace),
            "outside": str(outside),
            "accounts": Path("/etc/passwd").read_bytes().hex(),
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "socket_file": path,
            "abstract": f"pegboard-probe-{os.getpid()}",
            "victim": victim.pid,
            "disk": disk or "/dev/none",
            "disk_numbers": _NO_DISK if numbers is None else (os.major(numbers), os.minor(numbers)),
            "control_group": str(next((path for path in groups if path.exists()), "/none")),
        }


def _echo(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            _, sender = server.recvfrom(100)
            server.sendto(b"pong", sender)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - a string
