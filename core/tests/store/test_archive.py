from __future__ import annotations

import hashlib
import json

import pytest

from pegboard.contracts.approval import Approval
from pegboard.contracts.archive import Scope
from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.message import Message
from pegboard.contracts.spending import Spending
from pegboard.contracts.store import FencedError
from pegboard.contracts.transcript import Conversation
from pegboard.contracts.turn import Begun, CallRecord, Incoming
from pegboard.contracts.wire import CALLER, MESSAGE
from pegboard.store import search_rows
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.plugin_storage import PluginStorage

pytestmark = pytest.mark.anyio

ANN, BOB = "chat:ann", "chat:bob"
BLOB = hashlib.sha256(b"a picture").hexdigest()
OTHER_BLOB = hashlib.sha256(b"another").hexdigest()


class Told:
    """A store into which people speak."""

    def __init__(self, store) -> None:
        self.store = store
        self.archive = EmbeddedArchive(store.database)
        self._turns = 0

    async def begin(self, sender: str, text: str, key: str, *, agent: str = "main", at=100.0):
        self._turns += 1
        turn = f"turn-{self._turns:03}"
        caller = CALLER.write(Caller(trust="operator", sender=sender))
        await self.store.ingest(
            Incoming(
                turn=turn,
                key=key,
                channel="chat",
                chat=key,
                agent=agent,
                message={"text": text},
                caller=caller,
                at=at,
            )
        )
        begun = await self.store.begin(turn, now=at, max_attempts=3)
        assert isinstance(begun, Begun)
        return begun

    async def say(
        self, sender: str, text: str, key: str = "chat/1", *, agent="main", at=100.0, blob=""
    ) -> str:
        begun = await self.begin(sender, text, key, agent=agent, at=at)
        turn, fence = begun.turn.ref.turn, begun.turn.fence
        call = CallRecord(id="c1", kind="tool", name="files:file_read", digest="d")
        await self.store.intend(turn, fence, [call])
        result = {"output": "read", "blob": blob} if blob else {"output": "read"}
        await self.store.record(turn, fence, "c1", result)
        await self.store.reply(turn, fence, [{"text": f"answer to {text}"}], now=at)
        await self.store.spend(Spending(at=at, turn=turn, key=key, sender=sender, cost=0.5))
        await self.store.finish(
            turn,
            fence,
            state="done",
            now=at,
            messages=[
                MESSAGE.write(Message.of("user", text)),
                MESSAGE.write(Message.of("assistant", f"answer to {text}")),
            ],
            tokens=5,
        )
        return turn

    async def ask(self, turn: str, key: str) -> None:
        await self.store.ask(
            Approval(
                turn=turn,
                call="c1",
                key=key,
                tool="files:file_write",
                subject="s",
                question="May I?",
                rule="guard",
                token="T1",
                asked_at=100.0,
                expires_at=1e12,
            )
        )

    async def found(self, query: str, scope: Scope) -> list[tuple[str, int]]:
        return [(hit.key, hit.seq) for hit in await self.archive.search(query, scope, limit=10)]

    async def keys(self, scope: Scope) -> list[str]:
        return [item.key for item in await self.archive.conversations(scope)]

    async def exported(self, sender: str) -> list[dict]:
        items = [item async for item in self.archive.person(sender)]
        return json.loads(json.dumps(items))

    async def kinds(self, sender: str) -> list[str]:
        return sorted(item["kind"] for item in await self.exported(sender))

    async def everything(self) -> str:
        """Return all that any table holds, as one text."""

        def dump(connection) -> str:
            tables = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            ).fetchall()
            return "\n".join(
                repr(row)
                for (table,) in tables
                for row in connection.execute(f'SELECT * FROM "{table}"')
            )

        return await self.store.database.read(dump)


@pytest.fixture
def told(store):
    return Told(store)


async def test_a_person_has_the_conversations_in_which_they_wrote(told) -> None:
    await told.say(ANN, "hello", "chat/1")
    await told.say(BOB, "hello", "chat/2", at=101.0)
    await told.say(ANN, "again", "chat/3", at=102.0)
    assert await told.keys(Scope(sender=ANN)) == ["chat/3", "chat/1"]
    assert await told.keys(Scope(sender=BOB)) == ["chat/2"]


async def test_a_person_has_those_with_the_same_agent_only(told) -> None:
    await told.say(ANN, "hello", "chat/1")
    await told.say(ANN, "hello", "@research/chat/1", agent="research")
    assert await told.keys(Scope(sender=ANN)) == ["chat/1"]
    assert await told.keys(Scope(sender=ANN, agent="research")) == ["@research/chat/1"]


async def test_nobody_in_particular_has_no_conversations(told) -> None:
    await told.say("", "a job", "job/1")
    assert await told.keys(Scope(sender="")) == []
    assert await told.keys(Scope()) == []


async def test_a_key_is_a_scope_of_its_own(told) -> None:
    await told.say(ANN, "hello", "chat/1")
    await told.say(ANN, "hello", "chat/2")
    assert await told.keys(Scope(key="chat/2")) == ["chat/2"]
    assert await told.found("hello", Scope(key="chat/2")) == [("chat/2", 1)]


async def test_words_are_found_in_ones_own_conversations_only(told) -> None:
    await told.say(ANN, "the secret is under the oak", "chat/1")
    await told.say(BOB, "what is the weather", "chat/2")
    assert await told.found("secret oak", Scope(sender=ANN)) == [("chat/1", 1)]
    assert await told.found("secret oak", Scope(sender=BOB)) == []
    assert await told.found("secret oak", Scope(key="chat/2")) == []


async def test_what_holds_all_words_comes_before_what_holds_some(told) -> None:
    await told.say(ANN, "a red boat", at=100.0)
    await told.say(ANN, "a blue boat", at=101.0)
    assert await told.found("red boat", Scope(sender=ANN)) == [("chat/1", 1)]
    assert {seq for _, seq in await told.found("green boat", Scope(sender=ANN))} == {1, 2}


async def test_long_words_are_found_in_their_other_forms(told) -> None:
    await told.say(ANN, "we painted the boats")
    assert await told.found("boat paint", Scope(sender=ANN)) == [("chat/1", 1)]


@pytest.mark.parametrize(
    "query", ['"', "C++", "a AND", "boat OR", "foo:bar", "-x", "NEAR(", "*", "(", "\x00", "'; --"]
)
async def test_nothing_that_somebody_writes_is_syntax(told, query) -> None:
    await told.say(ANN, "hello there")
    await told.found(query, Scope(sender=ANN))


async def test_words_are_found_whatever_their_case_and_accents(told) -> None:
    await told.say(ANN, "Das Café war GESCHLOSSEN")
    assert await told.found("cafe geschlossen", Scope(sender=ANN)) == [("chat/1", 1)]


async def test_scripts_without_spaces_are_found_as_well(told) -> None:
    await told.say(ANN, "我的船是红色的")
    assert await told.found("红色", Scope(sender=ANN)) == [("chat/1", 1)]


async def test_without_the_index_of_words_they_are_found_too(told, monkeypatch) -> None:
    monkeypatch.setattr(search_rows, "has_index", lambda connection: False)
    await told.say(ANN, "the secret is under the oak")
    await told.say(BOB, "the secret is elsewhere", "chat/2")
    hits = await told.archive.search("Oak secret", Scope(sender=ANN), limit=5)
    assert [(hit.key, hit.seq) for hit in hits] == [("chat/1", 1)]
    assert "under the oak" in hits[0].excerpt


async def test_a_summary_is_not_found(told) -> None:
    await told.say(ANN, "hello")
    summary = [MESSAGE.write(Message.of("assistant", "they spoke of pirates"))]
    assert await told.store.summarize("chat/1", through=1, messages=summary, tokens=None, now=101.0)
    assert await told.found("pirates", Scope(sender=ANN)) == []
    assert await told.found("hello", Scope(sender=ANN)) == [("chat/1", 1)]


async def test_turns_are_read_backwards_in_pages(told) -> None:
    for number in range(1, 6):
        await told.say(ANN, f"message {number}")
    last = await told.archive.said("chat/1", limit=2)
    assert [turn.seq for turn in last] == [4, 5]
    assert [turn.seq for turn in await told.archive.said("chat/1", before=4, limit=2)] == [2, 3]
    assert len(await told.archive.said("chat/1")) == 5


async def test_all_that_is_kept_of_a_person_is_exported(told) -> None:
    turn = await told.say(ANN, "my name is Ann", blob=BLOB)
    await told.ask(turn, "chat/1")
    await told.say(BOB, "and mine is Bob")
    items = await told.exported(ANN)
    assert sorted(item["kind"] for item in items) == [
        "approval",
        "call",
        "conversation",
        "reply",
        "said",
        "spending",
        "turn",
    ]
    text = json.dumps(items)
    assert "my name is Ann" in text
    assert BLOB in text
    assert "Bob" not in text


async def test_a_person_whom_nobody_knows_has_nothing(told) -> None:
    await told.say(ANN, "hello")
    assert await told.exported("chat:nobody") == []
    erased = await told.archive.erase_person("chat:nobody")
    assert (erased.conversations, erased.turns, erased.spendings) == (0, 0, 0)


async def test_a_person_is_erased_with_all_that_was_theirs(told) -> None:
    await told.say(ANN, "my name is Ann", "chat/1", blob=BLOB)
    await told.say(ANN, "and I like oaks", "chat/2")
    await told.say(BOB, "mine is Bob", "chat/3", blob=OTHER_BLOB)
    erased = await told.archive.erase_person(ANN)
    assert (erased.conversations, erased.turns, erased.spendings) == (2, 2, 2)
    assert erased.blobs == {BLOB}
    assert await told.exported(ANN) == []
    await told.archive.settle(await told.archive.erasures(), now=1.0)
    left = await told.everything()
    assert "Ann" not in left
    assert "oaks" not in left
    assert ANN not in left
    assert "Bob" in left


async def test_an_erased_person_can_not_be_found(told) -> None:
    await told.say(ANN, "under the oak", "chat/1")
    await told.say(BOB, "hello", "chat/1")
    await told.archive.erase_person(ANN)
    assert await told.found("oak", Scope(key="chat/1")) == []
    assert await told.found("hello", Scope(key="chat/1")) == [("chat/1", 2)]


async def test_nothing_of_an_erased_person_is_left_in_the_file(told, store) -> None:
    await told.say(ANN, "xylophonist zebrafish")
    await told.archive.erase_person(ANN)
    path = store.database.path
    await store.aclose()  # what waits beside the file is written into it now
    assert b"zebrafish" not in path.read_bytes()


async def test_where_others_wrote_too_only_their_turns_go(told) -> None:
    await told.say(ANN, "my name is Ann")
    await told.say(BOB, "mine is Bob")
    summary = [MESSAGE.write(Message.of("assistant", "Ann told her name"))]
    await told.store.summarize("chat/1", through=1, messages=summary, tokens=None, now=101.0)
    erased = await told.archive.erase_person(ANN)
    assert (erased.conversations, erased.turns) == (0, 1)
    transcript = await told.store.transcript("chat/1")
    assert [turn.seq for turn in transcript.turns] == [2]
    assert transcript.tokens is None
    assert "Ann" not in await told.everything()


@pytest.mark.parametrize(
    ("first", "second", "title"),
    [
        ((ANN, "my oaks"), (BOB, "your  elms"), "your elms"),  # it came from who is erased
        ((BOB, "your elms"), (ANN, "my oaks"), "your elms"),  # it did not
        ((ANN, "my oaks"), (BOB, "  "), ""),  # nothing that is left gives one
        ((ANN, "/ultra my oaks"), (BOB, "your elms"), "your elms"),
    ],
)
async def test_a_conversation_of_several_loses_its_title_only_with_who_gave_it(
    told, first, second, title
) -> None:
    for sender, text in (first, second):
        await told.say(sender, text)
    await told.archive.erase_person(ANN)
    assert [item.title for item in await told.store.conversations()] == [title]


async def test_a_copy_loses_the_title_that_an_erased_person_gave_it(told) -> None:
    await told.say(ANN, "my oaks")
    await told.say(BOB, "your elms")
    copy = Conversation(key="chat/9", channel="chat", chat="9", title="my oaks", created_at=1.0)
    assert await told.store.fork("chat/1", copy)
    own = Conversation(key="chat/8", channel="chat", chat="8", title="trees", created_at=1.0)
    assert await told.store.fork("chat/1", own)
    await told.archive.erase_person(ANN)
    titles = {item.key: item.title for item in await told.store.conversations()}
    assert titles == {"chat/1": "your elms", "chat/9": "your elms", "chat/8": "trees"}


async def test_a_copy_of_what_an_erased_person_said_goes_as_well(told) -> None:
    await told.say(ANN, "my name is Ann")
    copy = Conversation(key="chat/9", channel="chat", chat="9", title="my name", created_at=1.0)
    assert await told.store.fork("chat/1", copy)
    await told.archive.erase_person(ANN)
    assert "Ann" not in await told.everything()
    assert await told.store.conversations() == []


async def test_a_turn_that_runs_while_its_person_is_erased_can_write_no_more(told) -> None:
    begun = await told.begin(ANN, "hello", "chat/1")
    await told.archive.erase_person(ANN)
    with pytest.raises(FencedError, match="erased"):
        await told.store.finish(
            begun.turn.ref.turn, begun.turn.fence, state="done", now=2.0, messages=[{"role": "x"}]
        )


async def test_a_word_that_an_erased_person_gave_loses_their_name(told) -> None:
    turn = await told.begin(BOB, "write it", "chat/1")
    await told.ask(turn.turn.ref.turn, "chat/1")
    assert await told.store.answer("chat/1", "T1", agreed=True, grain="once", by=ANN, now=101.0)
    assert await told.kinds(ANN) == ["answered"]
    await told.archive.erase_person(ANN)
    await told.archive.settle(await told.archive.erasures(), now=1.0)
    assert ANN not in await told.everything()


async def test_what_was_said_long_ago_expires(told) -> None:
    await told.say(ANN, "long ago", "chat/1", at=10.0)
    await told.say(ANN, "long ago too", "chat/2", at=10.0)
    await told.say(ANN, "just now", "chat/1", at=1_000.0)
    assert await told.archive.expire(500.0) == 2
    assert [turn.seq for turn in await told.store.messages("chat/1")] == [2]
    assert [item.key for item in await told.store.conversations()] == ["chat/1"]
    assert "long ago" not in json.dumps(
        [turn.messages for turn in await told.store.messages("chat/1")]
    )
    assert await told.archive.expire(500.0) == 0


async def test_a_turn_that_has_not_ended_does_not_expire(told) -> None:
    begun = await told.begin(ANN, "long ago", "chat/1", at=10.0)
    assert await told.archive.expire(500.0) == 0
    assert await told.store.turn(begun.turn.ref.turn) is not None


async def test_many_turns_expire_in_several_transactions(told) -> None:
    for number in range(205):
        await told.say(ANN, f"message {number}", at=10.0)
    assert await told.archive.expire(500.0) == 205
    assert await told.store.conversations() == []


async def test_every_blob_that_something_refers_to_is_known(told) -> None:
    await told.say(ANN, "look", blob=BLOB)
    assert BLOB in await told.archive.blob_references()
    assert OTHER_BLOB not in await told.archive.blob_references()
    await told.archive.erase_person(ANN)
    assert BLOB not in await told.archive.blob_references()


async def test_what_plugins_keep_refers_to_blobs_as_well(told, store, tmp_path) -> None:
    storage = PluginStorage("gallery", tmp_path / "storage" / "gallery", SystemClock())
    await storage.put("pictures", "one", {"blob": {"id": BLOB}})
    await storage.aclose()
    archive = EmbeddedArchive(store.database, beside=tmp_path / "storage")
    assert BLOB in await archive.blob_references()


async def test_the_blobs_of_one_conversation_are_known(told) -> None:
    await told.say(ANN, "look", "chat/1", blob=BLOB)
    await told.say(ANN, "look", "chat/2", blob=OTHER_BLOB)
    assert await told.archive.blobs_of("chat/1") == {BLOB}
    assert await told.archive.blobs_of("chat/9") == set()
