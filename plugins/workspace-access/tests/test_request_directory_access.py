"""The owner is asked, the grant is kept, and the request goes on; or nobody is asked at all."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Caller, ChannelInfo, Delivery, InboundMessage, Inbox, OutboundMessage
from pegboard.testing import Call, HostFactory, HostUnderTest, ScriptedModel

pytestmark = pytest.mark.anyio
ASK = "request_directory_access"


class Chat:
    """A chat in which the owner agrees, or refuses, as soon as they are asked."""

    def __init__(self, word: str = "confirm", **facts: Any) -> None:
        self.info = ChannelInfo(**{"surface": "chat", "slash_commands": True, **facts})
        self.texts: list[str] = []
        self._word = word
        self._inbox: Inbox | None = None

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        self.texts.append(message.text)
        return Delivery()

    async def write(self, text: str, sender: str = "owner") -> None:
        while self._inbox is None:
            await anyio.sleep(0.001)
        await self._inbox.receive(
            InboundMessage(channel="chat", chat="1", sender=sender, text=text)
        )

    async def talk(self, text: str, end: str) -> list[str]:
        """Write a message, answer every question, and return what came up to `end`."""
        await self.write(text)
        answered = 0
        with anyio.fail_after(10):
            while end not in self.texts:
                for said in self.texts[answered:]:
                    answered += 1
                    if "/confirm " in said:
                        token = said.partition("/confirm ")[2][:8]
                        await self.write(f"/{self._word} {token}")
                await anyio.sleep(0.002)
        return self.texts


@asynccontextmanager
async def running(
    host: HostFactory, script: list[Any], chat: Chat | None = None, **options: Any
) -> AsyncIterator[HostUnderTest]:
    config = {
        "policy.senders": {"chat:owner": "admin", "chat:other": "operator", "chat:guest": "guest"},
        "policy.guest_tools": [ASK],
        **options.pop("config", {}),
    }
    async with (
        host(
            "workspace-access",
            "files",
            "sandbox-local",
            model=ScriptedModel(script),
            config=config,
            record=False,
            **options,
        ) as world,
        anyio.create_task_group() as group,
    ):
        if chat is not None:
            group.start_soon(world.host.run_channel, chat)
        yield world
        group.cancel_scope.cancel()


def owner(world: HostUnderTest) -> Caller:
    return replace(world.host.local_caller(), slash_commands=True)


def results(world: HostUnderTest) -> list[str]:
    assert world.model is not None
    return [
        result.text for message in world.model.requests[-1].messages for result in message.results
    ]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "may.txt").write_text("three of them")
    return folder


async def test_the_owner_agrees_and_the_request_goes_on_in_the_same_turn(
    host: HostFactory, photos: Path
) -> None:
    chat = Chat()
    read = Call("file_read", path=str(photos / "may.txt"))
    script = [read, Call(ASK, path=str(photos), reason="To look."), read, "Three of them."]
    async with running(host, script, chat) as world:
        texts = await chat.talk("Which photos are from May?", "Three of them.")
        first, asked, then = results(world)
        assert "outside the granted roots" in first
        assert asked.startswith("The owner agreed: you may read")
        assert "three of them" in then
        assert texts[0].startswith(
            f"```\nMay I read {photos} and all that is in it, from now on?\n"
        )
        assert "  reason: To look.\n" in texts[0]
        assert f'  sandbox.grants += {{path = "{photos}", mode = "ro"}}\n' in texts[0]
        assert "always" not in texts[0]
        written = await world.host.call_tool(
            "file_write", {"path": str(photos / "june.txt"), "content": "x"}, owner(world)
        )
        assert written.error is not None
    settings = tomllib.loads((world.home / "config" / "config.toml").read_text())
    assert settings == {"sandbox": {"grants": [{"path": str(photos), "mode": "ro"}]}}
    async with running(host, []) as world:
        again = await world.host.call_tool(
            "file_read", {"path": str(photos / "may.txt")}, owner(world)
        )
        assert "three of them" in again.text


async def test_more_than_was_granted_is_asked_for_and_replaces_it(
    host: HostFactory, photos: Path
) -> None:
    config = host.home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'# mine\n[[sandbox.grants]]\npath = "{photos}" # the photos\nmode = "ro"\n')
    chat = Chat()
    ask = {"path": str(photos), "reason": "To look."}
    script = [
        Call(ASK, **ask),
        Call(ASK, **ask, mode="write"),
        Call("file_write", path=str(photos / "june.txt"), content="two"),
        "Done.",
    ]
    async with running(host, script, chat) as world:
        texts = await chat.talk("Add June", "Done.")
        assert len([text for text in texts if "/confirm" in text]) == 1
        assert "already" in results(world)[0]
    assert (photos / "june.txt").read_text() == "two"
    text = config.read_text()
    assert text.startswith("# mine\n")
    assert tomllib.loads(text)["sandbox"]["grants"] == [{"path": str(photos), "mode": "rw"}]


async def test_a_no_grants_nothing(host: HostFactory, photos: Path) -> None:
    chat = Chat("deny")
    async with running(host, [Call(ASK, path=str(photos), reason="x"), "As you wish."], chat):
        await chat.talk("Look", "As you wish.")
    assert not (host.home / "config" / "config.toml").exists()


@pytest.mark.parametrize("path", ["~", "~/.ssh", "/", "/etc", "/usr", "/proc", "/dev", "/root"])
async def test_what_is_never_granted_is_refused_before_anybody_is_asked(
    host: HostFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "me" / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    async with running(host, []) as world:
        for mode in ("read", "write"):
            result = await world.host.call_tool(
                ASK, {"path": path, "reason": "x", "mode": mode}, owner(world)
            )
            assert result.control is None
            assert result.error is not None
            assert result.error.code == "unsafe_folder"


async def test_pegboards_own_folders_are_refused_by_the_host(host: HostFactory) -> None:
    async with running(host, []) as world:
        for folder in (world.home / "config", world.home / "state"):
            folder.mkdir(parents=True, exist_ok=True)
            result = await world.host.call_tool(
                ASK, {"path": str(folder), "reason": "x"}, owner(world)
            )
            assert result.control is None
            assert result.error is not None
            assert "belongs to Pegboard itself" in result.error.message


async def test_a_link_is_asked_about_as_the_place_that_it_leads_to(
    host: HostFactory, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    link = tmp_path / "link"
    async with running(host, []) as world:
        link.symlink_to(photos)
        result = await world.host.call_tool(ASK, {"path": str(link), "reason": "x"}, owner(world))
        assert result.control is not None
        assert f"May I read {photos} " in result.control.question
        link.unlink()
        link.symlink_to(tmp_path / "me")
        agreed = [result.control.subject]
        again = await world.host.call_tool(
            ASK, {"path": str(link), "reason": "x"}, owner(world), agreed=agreed
        )
        assert again.error is not None
        assert again.error.code == "unsafe_folder"


async def test_a_yes_counts_for_exactly_what_was_asked(host: HostFactory, photos: Path) -> None:
    async with running(host, []) as world:

        async def ask(agreed: list[str], **more: str) -> Any:
            arguments = {"path": str(photos), "reason": "x", **more}
            return await world.host.call_tool(ASK, arguments, owner(world), agreed=agreed)

        asked = await ask([])
        agreed = [asked.control.subject]
        for more in ({"mode": "write"}, {"reason": "y"}, {"path": str(photos.parent)}):
            other = await ask(agreed, **more)
            assert other.error.code == "needs_approval"
        assert (await ask(agreed)).error is None


async def test_nothing_that_is_no_folder_is_asked_for(host: HostFactory, photos: Path) -> None:
    async with running(host, []) as world:
        for path, code in {
            str(photos / "may.txt"): "no_folder",
            str(photos / "gone"): "not_found",
            "a\0b": "invalid_arguments",
            "~nobody-of-this-name/x": "not_found",
        }.items():
            result = await world.host.call_tool(ASK, {"path": path, "reason": "x"}, owner(world))
            assert result.error is not None
            assert result.error.code == code


async def test_only_a_present_owner_who_is_an_admin_sees_it(host: HostFactory) -> None:
    async with running(host, []) as world:
        present = owner(world)
        verdicts = {
            "owner": present,
            "guest": replace(present, trust="guest", admin=False),
            "no admin": replace(present, admin=False),
            "no commands": replace(present, slash_commands=False),
            "no reply": replace(present, live_reply=False),
            "nobody there": replace(present, attended=False),
            "job": replace(present, origin="job", job="j", job_creator="operator"),
            "delegated": present.narrow(),
            "script": replace(present, origin="script"),
        }
        allowed = [who for who, caller in verdicts.items() if world.host.why(ASK, caller).allowed]
        assert allowed == ["owner"]
        assert not world.host.why(ASK, verdicts["guest"]).disclosed


async def test_words_of_the_model_can_not_forge_the_question(
    host: HostFactory, photos: Path
) -> None:
    reason = "x\nThis changes the configuration:\n  nothing\u202e" + "y" * 1000
    async with running(host, []) as world:
        result = await world.host.call_tool(
            ASK, {"path": str(photos), "reason": reason}, owner(world)
        )
        assert result.control is not None
        lines = result.control.question.split("\n")
        assert len(lines) == 4
        assert "\u202e" not in result.control.question
        assert len(lines[1]) < 330
