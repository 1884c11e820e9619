"""The judge of a soak: reads the log, and knows nothing of Pegboard.

Every line of the log was appended by one write, so the order of lines is the order of what
happened, whichever process wrote them:

    received CHAT N                    a channel was told that message N is received
    start TOOL CHAT N TURN ATTEMPT     written by a tool's own child process as it begins
    end TOOL CHAT N TURN ATTEMPT       and as it ends
    sent CHAT N ID WORD                a channel sent the reply ID to message N
    kill WORKER                        kill -9

Other lines are for those who read it.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

READS = frozenset({"look"})
"""Tools that only read: one that was interrupted may run again."""
Message = tuple[str, int]


@dataclass(slots=True)
class Verdict:
    """What a soak came to.

    Args:
        lost: Messages that were received and have no reply, or a reply that is not true.
        out_of_order: Messages that something was done for before the one ahead was answered.
        twice: Calls that ran again though they may not, and messages with two replies.
        turns: Messages that were answered.
        kills: Workers that were killed.
    """

    lost: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    turns: int = 0
    kills: int = 0

    @property
    def good(self) -> bool:
        return not (self.lost or self.out_of_order or self.twice)

    def __str__(self) -> str:
        return (
            f"lost {len(self.lost)}, out of order {len(self.out_of_order)}, "
            f"run twice {len(self.twice)}, turns {self.turns}, kills {self.kills}"
        )


@dataclass(slots=True)
class _Story:
    """What the log says of one message."""

    received: bool = False
    first_start: int | None = None
    first_sent: int | None = None
    replies: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    starts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    ended: set[str] = field(default_factory=set)
    again: list[str] = field(default_factory=list)

    def start(self, place: int, tool: str, attempt: int) -> None:
        """Note a start; one that may not be is noted in `again`."""
        starts = self.starts[tool]
        if tool not in READS:
            if starts:
                self.again.append(f"{tool} ran again")
        elif attempt in starts:
            # a recorded read, or one that another worker had begun as this very attempt
            self.again.append(f"attempt {attempt} of {tool} ran again")
        elif attempt > max(starts, default=0) and any(
            self.starts[other] for other in self.starts if other != tool
        ):
            # The turn has gone on, so this read is recorded. (A worker that slept between its
            # intent and its child comes late with an attempt that was begun before.)
            self.again.append(f"{tool} ran again after the turn had gone on")
        starts.append(attempt)
        if self.first_start is None:
            self.first_start = place

    def send(self, place: int, reply: str, word: str) -> None:
        """Note a reply; the channel shows one id once."""
        self.replies.add(reply)
        self.words.add(word)
        if self.first_sent is None:
            self.first_sent = place


def judge(lines: Iterable[str]) -> Verdict:
    """Return what a log says."""
    stories: dict[Message, _Story] = defaultdict(_Story)
    verdict = Verdict()
    for place, line in enumerate(lines):
        match line.split():
            case ["received", chat, number]:
                stories[chat, int(number)].received = True
            case ["start", tool, chat, number, _, attempt]:
                stories[chat, int(number)].start(place, tool, int(attempt))
            case ["end", tool, chat, number, _, _]:
                stories[chat, int(number)].ended.add(tool)
            case ["sent", chat, number, reply, word]:
                stories[chat, int(number)].send(place, reply, word)
            case ["kill", _]:
                verdict.kills += 1
    for message, story in sorted(stories.items()):
        _judge(message, story, verdict)
    _judge_order(stories, verdict)
    return verdict


def _judge(message: Message, story: _Story, verdict: Verdict) -> None:
    name = f"{message[0]} {message[1]}"
    verdict.turns += bool(story.replies)
    if story.received and not story.replies:
        verdict.lost.append(f"{name}: no reply")
    elif "paid" in story.words and "pay" not in story.ended:
        verdict.lost.append(f"{name}: the reply says that it was paid, and it was not")
    elif not story.words <= {"paid", "in-doubt"}:
        verdict.lost.append(f"{name}: {sorted(story.words)}")
    verdict.twice.extend(f"{name}: {what}" for what in story.again)
    if len(story.replies) > 1:
        verdict.twice.append(f"{name}: answered {len(story.replies)} times")


def _judge_order(stories: dict[Message, _Story], verdict: Verdict) -> None:
    for (chat, number), story in sorted(stories.items()):
        ahead = stories.get((chat, number - 1))
        if ahead is None or story.first_start is None:
            continue
        if ahead.first_sent is None or ahead.first_sent > story.first_start:
            verdict.out_of_order.append(f"{chat} {number} began before {number - 1} was answered")


def summary(lines: Iterable[str]) -> Counter[str]:
    """Return how many lines there are of each kind, reads that ran again among them."""
    counts: Counter[str] = Counter()
    for line in lines:
        words = line.split()
        counts[words[0]] += 1
        if words[0] == "start" and words[1] in READS and words[5] != "1":
            counts["read again"] += 1
        if words[0] == "sent" and words[4] == "in-doubt":
            counts["payments in doubt"] += 1
    return counts


if __name__ == "__main__":
    found = judge(Path(sys.argv[1]).read_text("utf-8").splitlines())
    for what in (*found.lost, *found.out_of_order, *found.twice):
        print(what)
    print(found)
    sys.exit(not found.good)
