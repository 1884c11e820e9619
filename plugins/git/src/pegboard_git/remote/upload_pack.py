"""What is said to a server to get objects: version 0 of the protocol, in one question.

The host says it and hands the objects to git in the sandbox, so that nothing in the sandbox needs a
network, and credentials never get there. All haves are told at once, with the word that ends the
talk: a server then sends what is missing without asking back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard_git.remote.pkt_line import FLUSH, ProtocolError, packet, packets

_WANTED: Final = ("side-band-64k", "ofs-delta", "thin-pack", "include-tag", "no-progress")
_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEADS: Final = "refs/heads/"
_HEAD: Final = f"symref=HEAD:{_HEADS}"
_DENSE: Final = 64
_MOST: Final = 256
_PACK, _PROGRESS, _ERROR = 1, 2, 3
_WORDS: Final = 500


@dataclass(frozen=True, slots=True)
class Advertised:
    """What a server has.

    Args:
        refs: Object by name.
        peeled: For annotated tags, what they point at.
        capabilities: What it can do.
    """

    refs: Mapping[str, str]
    peeled: Mapping[str, str]
    capabilities: frozenset[str]

    @property
    def object_format(self) -> str:
        """The hash that its objects have."""
        found = [item for item in self.capabilities if item.startswith("object-format=")]
        return found[0].partition("=")[2] if found else "sha1"

    @property
    def default_branch(self) -> str:
        """The branch that a clone begins with; "" = there is none."""
        named = [item for item in self.capabilities if item.startswith(_HEAD)]
        if named:
            return named[0].removeprefix(_HEAD)
        at_head = [
            name.removeprefix(_HEADS)
            for name, commit in self.refs.items()
            if name.startswith(_HEADS) and commit == self.refs.get("HEAD")
        ]
        return at_head[0] if at_head else ""


def parse_advertised(data: bytes) -> Advertised:
    """Return what a server says that it has.

    Raises:
        ProtocolError: When it says something else.
    """
    refs: dict[str, str] = {}
    peeled: dict[str, str] = {}
    capabilities: frozenset[str] = frozenset()
    for line in packets(data):
        if line is None or line.startswith((b"# service=", b"version ", b"shallow ")):
            continue
        if line.startswith(b"ERR "):
            raise ProtocolError(line[4:].decode("utf-8", "replace").strip()[:_WORDS])
        text, zero, tail = line.partition(b"\0")
        if zero:
            capabilities = frozenset(tail.decode("utf-8", "replace").split())
        commit, _, name = text.decode("utf-8", "surrogateescape").rstrip("\n").partition(" ")
        if _ID.fullmatch(commit) is None or not name:
            raise ProtocolError("the answer is not git's protocol")
        if name.endswith("^{}"):
            peeled[name.removesuffix("^{}")] = commit
        elif name != "capabilities^{}":
            refs[name] = commit
    return Advertised(refs, peeled, capabilities)


def request(
    advertised: Advertised,
    *,
    wants: Sequence[str],
    haves: Iterable[str],
    shallow: Iterable[str] = (),
) -> bytes:
    """Return the question for all of `wants` that is not in `haves`.

    Raises:
        ProtocolError: When the server is too old to be understood.
    """
    chosen = [name for name in _WANTED if name in advertised.capabilities]
    if "side-band-64k" not in chosen:
        raise ProtocolError("the server is too old: it can't say where its objects end")
    words = " ".join([*chosen, "agent=pegboard"])
    lines = [packet(f"want {wants[0]} {words}\n".encode())]
    lines += [packet(f"want {item}\n".encode()) for item in wants[1:]]
    lines += [packet(f"shallow {item}\n".encode()) for item in shallow]
    lines.append(FLUSH)
    lines += [packet(f"have {item}\n".encode()) for item in haves]
    lines.append(packet(b"done\n"))
    return b"".join(lines)


def parse_pack(data: bytes) -> bytes:
    """Return the objects of an answer, as one pack.

    Raises:
        ProtocolError: When the server reports an error, or sends no pack.
    """
    pieces: list[bytes] = []
    for line in packets(data):
        if line is None or line.startswith((b"NAK", b"ACK ", b"shallow ", b"unshallow ")):
            continue
        if line.startswith(b"ERR ") or line[:1] == bytes([_ERROR]):
            said = line.removeprefix(b"ERR ").lstrip(b"\x03")
            raise ProtocolError(said.decode("utf-8", "replace").strip()[:_WORDS])
        if line[:1] == bytes([_PACK]):
            pieces.append(line[1:])
        elif line[:1] != bytes([_PROGRESS]):
            raise ProtocolError("the answer is not git's protocol")
    pack = b"".join(pieces)
    if not pack.startswith(b"PACK"):
        raise ProtocolError("the server sent no objects")
    return pack


def sampled(commits: Sequence[str]) -> list[str]:
    """Return a few hundred of many commits: the newest all, older ones in growing steps.

    Args:
        commits: The newest first.
    """
    found = list(commits[:_DENSE])
    place, step = float(_DENSE), 1.0
    while int(place) < len(commits) and len(found) < _MOST:
        found.append(commits[int(place)])
        step *= 1.05
        place += step
    return found
