"""Properties of the argument list that no real command would show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_sandbox_bubblewrap.arguments import View, sandbox_arguments
from pegboard_sandbox_bubblewrap.host_system import HostSystem

from pegboard import Grant
from pegboard.sandboxes import ClosedPlace, Places

SYSTEM = HostSystem(
    links=(("/bin", "usr/bin"),), folders=("/usr", "/etc/ld.so.cache"), comforts=("/etc/ssl/certs",)
)
PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(
    lambda names: "/home/" + "/".join(names)
)


def places(*grants: Grant, closed: tuple[ClosedPlace, ...] = (), **more) -> Places:
    return Places(grants=grants, closed=closed, **{"links": (), "pinned": (), **more})


def triples(arguments: list[str], *options: str) -> list[tuple[str, str]]:
    """Return what is laid over where, in order."""
    found = []
    for place, word in enumerate(arguments):
        if word in options:
            target = place + (2 if word.endswith("bind") else 1)
            found.append((word, arguments[target]))
    return found


def view(*grants: Grant, **more) -> View:
    inner = {name: more.pop(name) for name in ("closed", "links", "pinned") if name in more}
    return View(system=SYSTEM, places=places(*grants, **inner), **more)


@pytest.mark.parametrize("mode", ["strict", "standard", "open"])
def test_the_profile_is_whole_in_every_mode(mode: str) -> None:
    words = sandbox_arguments(view(Grant(Path("/home/ws")), mode=mode, cwd="/home/ws"))
    for option in (
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
        *("--disable-userns", "--die-with-parent", "--new-session", "--clearenv"),
    ):
        assert option in words, option
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert ("--remount-ro", "/proc") in triples(words, "--remount-ro")
    assert ("--remount-ro", "/dev") in triples(words, "--remount-ro")
    assert (("--remount-ro", "/") in triples(words, "--remount-ro")) == (mode != "open")


def test_only_a_shared_network_is_shared() -> None:
    for network, apart in (("none", True), ("guarded", True), ("shared", False)):
        assert ("--unshare-net" in sandbox_arguments(view(network=network))) == apart


def test_strict_leaves_comforts_out() -> None:
    assert "/etc/ssl/certs" in sandbox_arguments(view())
    assert "/etc/ssl/certs" not in sandbox_arguments(view(mode="strict"))


@given(grants=st.lists(st.tuples(PATHS, st.sampled_from(["ro", "rw"])), max_size=6))
def test_what_is_inside_is_laid_over_what_holds_it(grants: list) -> None:
    chosen = dict(grants)
    words = sandbox_arguments(view(*(Grant(Path(path), mode) for path, mode in chosen.items())))
    laid = [pair for pair in triples(words, "--bind", "--ro-bind") if pair[1] in chosen]
    assert {path: option for option, path in laid} == {
        path: "--bind" if mode == "rw" else "--ro-bind" for path, mode in chosen.items()
    }
    order = [path for _, path in laid]
    for outer in order:
        for inner in order:
            if inner.startswith(f"{outer}/"):
                assert order.index(outer) < order.index(inner)


def test_what_is_closed_comes_after_its_grant_and_before_what_is_granted_in_it() -> None:
    words = sandbox_arguments(
        view(
            Grant(Path("/home/x")),
            Grant(Path("/home/x/.aws/deep/open")),
            closed=(
                ClosedPlace("/home/x/.aws", True, "secret"),
                ClosedPlace("/home/x/.aws/config", False, "secret"),
                ClosedPlace("/home/x/.envrc", False, "control"),
                ClosedPlace("/home/x/id_rsa", False, "key"),
            ),
            pinned=("/home/x/.aws", "/home/x/.aws/deep"),
        )
    )
    laid = triples(words, "--bind", "--ro-bind", "--tmpfs", "--remount-ro")
    own = [pair for pair in laid if pair[1].startswith("/home/x")]
    assert own == [
        ("--bind", "/home/x"),
        ("--bind", "/home/x/.aws"),
        ("--tmpfs", "/home/x/.aws"),
        ("--ro-bind", "/home/x/.envrc"),
        ("--ro-bind", "/home/x/id_rsa"),
        ("--bind", "/home/x/.aws/deep/open"),
        ("--remount-ro", "/home/x/.aws"),
    ]
    place = words.index("/dev/null")
    assert words[place - 1 : place + 2] == ["--ro-bind", "/dev/null", "/home/x/id_rsa"]
    rights = words.index("--perms", words.index("/home/x/.aws"))
    assert words[rights + 1] == "0111"


def test_tmp_is_its_own_unless_it_is_granted() -> None:
    assert ("--tmpfs", "/tmp") in triples(
        sandbox_arguments(view(Grant(Path("/tmp/ws")))), "--tmpfs"
    )
    granted = sandbox_arguments(view(Grant(Path("/tmp"))))
    assert ("--tmpfs", "/tmp") not in triples(granted, "--tmpfs")


def test_open_hides_no_secret_that_its_own_tmp_hides_already() -> None:
    closed = (
        ClosedPlace("/tmp/home/.ssh", True, "secret"),
        ClosedPlace("/home/x/.ssh", True, "secret"),
    )
    words = sandbox_arguments(view(Grant(Path("/home/ws")), mode="open", closed=closed))
    assert ("--tmpfs", "/home/x/.ssh") in triples(words, "--tmpfs")
    assert "/tmp/home/.ssh" not in words
