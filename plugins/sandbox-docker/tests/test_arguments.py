from __future__ import annotations

from pathlib import Path

import pytest
from pegboard_sandbox_docker.arguments import Container, run_arguments
from pegboard_sandbox_docker.config import DockerSettings

from pegboard import Grant
from pegboard.sandboxes import ClosedPlace, Places

LIFE = Path("/life")


def arguments(*argv: str, grants=(), closed=(), pinned=(), links=(), **facts) -> list[str]:
    given = {
        "name": "pegboard-1",
        "host": "7.99",
        "settings": DockerSettings(image="debian@sha256:1"),
        "places": Places(grants=grants, closed=closed, pinned=pinned, links=links),
        "network": False,
        "cwd": "/ws",
        "lifeline": LIFE,
        **facts,
    }
    return run_arguments(Container(**given), argv)


def mounts(found: list[str]) -> list[str]:
    return [found[place + 1] for place, word in enumerate(found) if word == "--mount"]


def after(found: list[str], option: str) -> list[str]:
    return [found[place + 1] for place, word in enumerate(found) if word == option]


def test_the_command_is_what_follows_the_image_and_no_option_of_the_engine() -> None:
    found = arguments("--privileged", "-v", "/:/host")
    place = found.index("debian@sha256:1")
    assert found[place + 1] == "-c"
    assert found[-3:] == ["--privileged", "-v", "/:/host"]
    assert "--privileged" not in found[:place]


def test_nothing_is_left_of_what_a_container_may_do_beyond_running() -> None:
    found = arguments("true")
    assert after(found, "--cap-drop") == ["ALL"]
    assert after(found, "--network") == ["none"]
    assert "no-new-privileges" in after(found, "--security-opt")
    assert {"--read-only", "--rm", "--init"} <= set(found)
    assert after(found, "--pull") == ["never"]
    assert not any("docker.sock" in word for word in found)


def test_the_network_is_there_only_where_the_call_needs_one() -> None:
    assert after(arguments("true", network=True), "--network") == ["bridge"]


def test_what_holds_something_is_mounted_before_it() -> None:
    found = mounts(
        arguments(
            "true",
            grants=(Grant(Path("/ws/in"), "ro"), Grant(Path("/ws"), "rw")),
            pinned=("/ws/.git",),
            closed=(
                ClosedPlace("/ws/.git/config", folder=False, why="control"),
                ClosedPlace("/ws/.ssh", folder=True, why="secret"),
                ClosedPlace("/ws/.ssh/id", folder=False, why="key"),
                ClosedPlace("/ws/.env", folder=False, why="secret"),
            ),
        )
    )
    assert found == [
        "type=bind,src=/ws,dst=/ws",
        "type=bind,src=/life,dst=/run/pegboard,readonly",
        "type=bind,src=/life/nothing,dst=/ws/.env,readonly",
        "type=bind,src=/ws/.git,dst=/ws/.git",
        "type=bind,src=/life/empty,dst=/ws/.ssh,readonly",
        "type=bind,src=/ws/in,dst=/ws/in,readonly",
        "type=bind,src=/ws/.git/config,dst=/ws/.git/config,readonly",
    ]


def test_a_folder_with_a_comma_or_a_quote_in_its_name_is_one_field() -> None:
    odd = '/ws/a,readonly=false,"b'
    (_, found) = mounts(arguments("true", grants=(Grant(Path(odd), "ro"),)))
    assert (
        found == 'type=bind,"src=/ws/a,readonly=false,""b","dst=/ws/a,readonly=false,""b",readonly'
    )


def test_a_folder_with_a_line_break_in_its_name_is_one_field() -> None:
    (_, found) = mounts(arguments("true", grants=(Grant(Path("/ws/a\nb"), "rw"),)))
    assert found == 'type=bind,"src=/ws/a\nb","dst=/ws/a\nb"'


def test_a_spelling_through_a_link_leads_to_the_same_folder_with_the_same_mode() -> None:
    found = mounts(
        arguments("true", grants=(Grant(Path("/real"), "rw"),), links=(("/spelled", "/real"),))
    )
    assert "type=bind,src=/real,dst=/spelled" in found


def test_values_of_this_process_are_for_nobody_who_lists_processes() -> None:
    found = arguments("true", environment={"A": "1"}, passed=("TOKEN",))
    assert after(found, "--env") == ["A=1", "TOKEN"]


@pytest.mark.parametrize(
    ("limits", "given"),
    [
        ((-1, -1), ["1024", "32768"]),
        ((512, 1_000), ["512", "1000"]),
        ((2**20, 2**20), ["1024", "32768"]),
    ],
)
def test_no_limit_is_wider_than_this_process_may_give(limits, given) -> None:
    files, processes = after(arguments("true", limits=limits), "--ulimit")
    assert [files, processes] == [f"nofile={given[0]}:{given[0]}", f"nproc={given[1]}:{given[1]}"]


def test_it_runs_as_the_user_unless_the_engine_keeps_users_apart() -> None:
    assert after(arguments("true", user=(1000, 100)), "--user") == ["1000:100"]
    assert "--user" not in arguments("true")


def test_what_the_engine_can_not_limit_it_is_not_asked_to() -> None:
    found = arguments("true", controls=frozenset({"pids"}))
    assert "--memory" not in found
    assert after(found, "--pids-limit") == ["512"]
