"""A program that tries, from inside a sandbox, what a command must not be able to do.

It is not imported: its text is given to a Python inside, with the facts that it needs as one JSON
argument, and it prints one JSON object: how each try ended (`ALLOWED`, else the name of the error),
and what it sees of itself. Nothing it does harms the machine when it is let do it.
"""

# ruff: noqa: PTH101, PTH108, PTH118, PTH119, PTH120, PTH123, PTH208, PTH211
# the calls of the system are what is tried, with as little as can be between

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable

FACTS = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
X86 = os.uname().machine == "x86_64"
WAIT_S = 1.0
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
PTRACE_SEIZE = 0x4206
TRIES: dict[str, Callable[[], object]] = {}


def attempt(do: Callable[[], object]) -> Callable[[], object]:
    TRIES[do.__name__] = do
    return do


def call(number: tuple[int, int], *arguments: object) -> int:
    return checked(LIBC.syscall(number[0 if X86 else 1], *arguments))


def checked(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


def in_child(do: Callable[[], object]) -> None:
    """Do something in a process of its own; its error is raised here."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            do()
        except OSError as error:
            code = error.errno or errno.EIO
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(abs(code), os.strerror(abs(code)))


def in_own_mounts(do: Callable[[], object]) -> None:
    """Do something to mounts in a copy of them where that is allowed, else to those that are."""

    def apart() -> None:
        if LIBC.unshare(CLONE_NEWNS) == 0:
            LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
        do()

    in_child(apart)


def inside(name: str) -> str:
    return os.path.join(FACTS["inside"], name)


def outside(name: str) -> str:
    return os.path.join(FACTS["outside"], name)


def write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# --- what is meant to work


@attempt
def write_in_the_workspace() -> None:
    write(inside("made"))


@attempt
def write_to_tmp() -> None:
    folder = os.environ.get("TMPDIR", "/tmp")
    path = os.path.join(folder, f"probe-{os.getpid()}")
    write(path)
    os.unlink(path)


@attempt
def listen_on_tcp() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)


@attempt
def open_netlink() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


# --- files


@attempt
def write_outside() -> None:
    write(outside("made"))


@attempt
def write_outside_by_a_link() -> None:
    os.symlink(outside("made-by-link"), inside("link-out"))
    write(inside("link-out"))


@attempt
def truncate_outside() -> None:
    os.truncate(outside("kept"), 0)


@attempt
def chmod_outside() -> None:
    os.chmod(outside("kept"), 0o600)


@attempt
def link_a_secret_into_the_workspace() -> None:
    os.link(outside("secret"), inside("linked"))


@attempt
def read_a_secret_outside() -> None:
    read(outside("secret"))


@attempt
def read_shadow() -> None:
    read("/etc/shadow")


@attempt
def read_the_accounts() -> None:
    if read("/etc/passwd") != bytes.fromhex(FACTS["accounts"]):
        raise FileNotFoundError(errno.ENOENT, "another file stands there")


@attempt
def read_a_disk() -> None:
    os.close(os.open(FACTS["disk"], os.O_RDONLY))


@attempt
def make_a_disk_device() -> None:
    path = inside("disk")
    os.mknod(path, 0o60600, os.makedev(*FACTS["disk_numbers"]))
    try:
        os.close(os.open(path, os.O_RDONLY))
    finally:
        os.unlink(path)


@attempt
def mount_a_file_system() -> None:
    in_own_mounts(lambda: checked(LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None)))


@attempt
def remount_the_root_writable() -> None:
    in_own_mounts(lambda: checked(LIBC.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None)))


@attempt
def remount_and_write_outside() -> None:
    def do() -> None:
        checked(LIBC.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None))
        write(outside("made-by-remount"))

    in_own_mounts(do)


@attempt
def change_the_root() -> None:
    in_child(lambda: os.chroot("/usr"))


# --- network and sockets


@attempt
def connect_to_the_host_by_tcp() -> None:
    with socket.socket() as client:
        client.settimeout(WAIT_S)
        client.connect(("127.0.0.1", FACTS["tcp"]))


@attempt
def ask_the_host_by_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(WAIT_S)
        client.sendto(b"hello", ("127.0.0.1", FACTS["udp"]))
        client.recv(10)


@attempt
def connect_to_a_socket_file() -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_S)
        client.connect(FACTS["socket_file"])


@attempt
def connect_to_an_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_S)
        client.connect("\0" + FACTS["abstract"])


@attempt
def open_a_raw_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()


@attempt
def open_a_packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


@attempt
def open_a_vsock() -> None:
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


# --- other processes


@attempt
def read_the_environment_of_another_process() -> None:
    if b"PROBED_SECRET" not in read(f"/proc/{FACTS['victim']}/environ"):
        raise FileNotFoundError(errno.ENOENT, "another process has that number")


@attempt
def enter_the_root_of_another_process() -> None:
    if os.path.basename(FACTS["outside"]) not in os.listdir(
        f"/proc/{FACTS['victim']}/root{os.path.dirname(FACTS['outside'])}"
    ):
        raise FileNotFoundError(errno.ENOENT, "another process has that number")


@attempt
def look_for_another_process() -> None:
    os.kill(FACTS["victim"], 0)


@attempt
def signal_another_process() -> None:
    os.kill(FACTS["victim"], signal.SIGCONT)


@attempt
def open_another_process() -> None:
    os.close(os.pidfd_open(FACTS["victim"]))


@attempt
def trace_another_process() -> None:
    checked(LIBC.ptrace(PTRACE_SEIZE, FACTS["victim"], 0, 0))


@attempt
def read_the_memory_of_another_process() -> None:
    try:
        address = int(read(f"/proc/{FACTS['victim']}/maps").partition(b"-")[0], 16)
    except (OSError, ValueError):
        address = 0x400000
    buffer = ctypes.create_string_buffer(8)
    ours = struct.pack("PN", ctypes.addressof(buffer), 8)
    theirs = struct.pack("PN", address, 8)
    call((310, 270), FACTS["victim"], ours, 1, theirs, 1, ctypes.c_long(0))


@attempt
def trace_an_own_child() -> None:
    child = os.fork()
    if child == 0:
        time.sleep(WAIT_S)
        os._exit(0)
    try:
        checked(LIBC.ptrace(PTRACE_SEIZE, child, 0, 0))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


# --- the kernel


@attempt
def make_a_user_namespace() -> None:
    in_child(lambda: checked(LIBC.unshare(CLONE_NEWUSER)))


@attempt
def set_up_io_uring() -> None:
    os.close(call((425, 425), 4, ctypes.create_string_buffer(120)))


@attempt
def make_a_bpf_map() -> None:
    os.close(call((321, 280), 0, struct.pack("IIIII", 2, 4, 4, 1, 0).ljust(72, b"\0"), 72))


@attempt
def ask_for_a_keyring() -> None:
    call((250, 219), 0, -3, 1)


@attempt
def open_a_userfaultfd() -> None:
    os.close(call((323, 282), 1))


@attempt
def open_a_performance_counter() -> None:
    # counts this program's own page faults, which needs the fewest rights
    event = struct.pack("IIQ", 1, 112, 2) + struct.pack("QQQ", 0, 0, 0) + struct.pack("Q", 1 << 5)
    os.close(call((298, 241), event.ljust(112, b"\0"), 0, -1, -1, 0))


@attempt
def type_into_the_terminal() -> None:
    terminal = os.open("/dev/tty", os.O_RDWR)
    fcntl.ioctl(terminal, termios.TIOCSTI, b"x")


@attempt
def open_sysrq() -> None:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


@attempt
def write_a_kernel_setting() -> None:
    path = "/proc/sys/kernel/core_pattern"
    same = read(path)
    with open(path, "wb") as file:
        file.write(same)


@attempt
def join_a_control_group() -> None:
    os.close(os.open(FACTS["control_group"], os.O_WRONLY))


def ended(do: Callable[[], object]) -> str:
    try:
        do()
    except TimeoutError:
        return "TIMEOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "ALLOWED"


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False  # the folder itself was open while it was listed
    return True


def seen() -> dict[str, object]:
    """Return what this program sees of itself."""
    status: dict[str, str] = {}
    try:
        lines = read("/proc/self/status").decode().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        processes = sum(name.isdigit() for name in os.listdir("/proc"))
        descriptors = [int(name) for name in os.listdir("/proc/self/fd") if is_open(int(name))]
    except OSError:
        processes, descriptors = 0, []
    return {
        "capabilities": status.get("CapEff", "").strip(),
        "no_new_privileges": status.get("NoNewPrivs", "").strip(),
        "seccomp": status.get("Seccomp", "").strip(),
        "processes": processes,
        "descriptors": [number for number in descriptors if number > 2],
        "variables": sorted(os.environ),
    }


if __name__ == "__main__":
    print(json.dumps({"ended": {name: ended(do) for name, do in TRIES.items()}, "seen": seen()}))
