"""Numbers of the system calls that a confined command may not make, by architecture."""

from __future__ import annotations

from typing import Final

AUDIT_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls an architecture when it asks a filter."""
X32_BIT: Final = {"x86_64": 0x40000000}
"""Added to the numbers of a second table of the same calls, which a filter must not forget."""

SOCKET: Final = {"x86_64": 41, "aarch64": 198}
IOCTL: Final = {"x86_64": 16, "aarch64": 29}
CLONE: Final = {"x86_64": 56, "aarch64": 220}
CLONE3: Final = {"x86_64": 435, "aarch64": 435}

_BOTH: Final = {
    "fanotify_mark": (301, 263),
    "fanotify_init": (300, 262),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
_X86: Final = {"iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "ustat": 136}

DENIED: Final[dict[str, dict[str, int]]] = {
    "x86_64": {name: numbers[0] for name, numbers in _BOTH.items()} | _X86,
    "aarch64": {name: numbers[1] for name, numbers in _BOTH.items()},
}
"""Answered with "not permitted"."""
