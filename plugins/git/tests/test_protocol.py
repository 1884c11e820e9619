"""The pure parts: what is parsed, and what is made of it."""

from __future__ import annotations

import pytest
from pegboard_git.commits import parse_commits
from pegboard_git.hardening import answers
from pegboard_git.reading.differences import parse_numstat
from pegboard_git.reading.lines import parse_grep
from pegboard_git.remote.pkt_line import FLUSH, ProtocolError, packet, packets
from pegboard_git.remote.remote_url import parse_remote, without_password
from pegboard_git.remote.ssh_server import ssh_arguments
from pegboard_git.remote.upload_pack import parse_advertised, parse_pack, request, sampled
from pegboard_git.status import parse_status

from pegboard import ToolFailure

ONE, TWO = "1" * 40, "2" * 40
OFFER = packet(f"{ONE} HEAD\0side-band-64k ofs-delta object-format=sha1\n".encode()) + packet(
    f"{ONE} refs/heads/main\n".encode()
)


def test_what_a_server_offers_is_read() -> None:
    tag = packet(f"{TWO} refs/tags/v1\n".encode()) + packet(f"{ONE} refs/tags/v1^{{}}\n".encode())
    found = parse_advertised(packet(b"# service=git-upload-pack\n") + FLUSH + OFFER + tag + FLUSH)
    assert found.refs == {"HEAD": ONE, "refs/heads/main": ONE, "refs/tags/v1": TWO}
    assert found.peeled == {"refs/tags/v1": ONE}
    assert found.object_format == "sha1"
    nothing = packet(f"{'0' * 40} capabilities^{{}}\0side-band-64k\n".encode()) + FLUSH
    assert parse_advertised(nothing).refs == {}


def test_all_is_asked_at_once() -> None:
    asked = request(parse_advertised(OFFER + FLUSH), wants=[ONE, TWO], haves=["3" * 40])
    lines = [None if line is None else line.decode() for line in packets(asked)]
    assert lines == [
        f"want {ONE} side-band-64k ofs-delta agent=pegboard\n",
        f"want {TWO}\n",
        None,
        f"have {'3' * 40}\n",
        "done\n",
    ]


def test_objects_are_taken_out_of_an_answer() -> None:
    answer = packet(b"NAK\n") + packet(b"\x02Counting") + packet(b"\x01PACK") + packet(b"\x01abc")
    assert parse_pack(answer + FLUSH) == b"PACKabc"


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"0009ab",
        packet(b"\x03no such thing"),
        packet(b"ERR no"),
        packet(b"\x01nothing of a pack"),
        packet(b"hello"),
        b"",
        b"\xff\xff\xff\xff",
    ],
)
def test_nonsense_is_told(answer: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_pack(answer)


@pytest.mark.parametrize(
    "offer", [b"0008abcd", b"zzzz", packet(b"x y\n"), packet(b"ERR not found"), b"00"]
)
def test_nonsense_is_no_offer(offer: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_advertised(offer)


def test_of_many_commits_a_few_hundred_are_told() -> None:
    many = [str(number) for number in range(4096)]
    found = sampled(many)
    assert len(found) <= 256 and found[:64] == many[:64] and len(set(found)) == len(found)
    assert int(found[-1]) > 2000
    assert sampled(["a"]) == ["a"]


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("https://Example.org/a/b.git", "https://example.org", "/a/b.git"),
        ("https://me:token@example.org:8443/x", "https://example.org:8443", "/x"),
        ("ssh://git@example.org:2222/~me/x", "ssh://example.org:2222", "/~me/x"),
        ("git@example.org:a/b.git", "ssh://example.org", "a/b.git"),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]", "/x"),
    ],
)
def test_urls_are_read(url: str, origin: str, path: str) -> None:
    found = parse_remote(url)
    assert (found.origin, found.path) == (origin, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "https://",
        "https:///x",
        "https://example.org/../x/..",
        "https://example.org/x?y",
        "https://example.org:0/x",
        "https://example.org:99999/x",
        "ssh://-x@example.org/x",
        "ssh://example.org/x y",
        "https://example.org/x\ny",
        "git@-example.org:x",
        "ext::sh",
        "https://example.org\\@evil.org/x",
    ],
)
def test_what_is_no_usable_url_is_refused(url: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        parse_remote(url)
    assert caught.value.tool_code == "remote_refused"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://me:secret@example.org/x", "https://me:***@example.org/x"),
        ("https://me:se@cret@example.org/x@y", "https://me:***@example.org/x@y"),
        ("https://token@example.org/x", "https://***@example.org/x"),
        ("https://example.org/x?token=secret", "https://example.org/x?***"),
        ("ssh://git@example.org:22/x", "ssh://git@example.org:22/x"),
        ("git@example.org:x", "git@example.org:x"),
    ],
)
def test_passwords_and_tokens_are_not_shown(url: str, told: str) -> None:
    assert without_password(url) == told


def test_ssh_takes_nothing_of_a_url_for_an_option() -> None:
    words = ssh_arguments(parse_remote("ssh://git@example.org/~me/it's-%.git".replace("'", "")))
    assert words[-4:] == ["git", "--", "example.org", "git-upload-pack '~me/its-%.git'"]


def test_each_dangerous_key_is_answered() -> None:
    keys = ("filter.a.b.clean", "diff.x.textconv", "alias.st", "trailer.y.command", "core.bare")
    found = dict(answers((*keys, "branch.mytool.remote", "hook.z.command", "merge.m.driver")))
    assert found["filter.a.b.clean"] == "" and found["filter.a.b.required"] == "false"
    assert found["hook.z.enabled"] == "false" and found["trailer.y.command"] == ""
    assert found["merge.m.driver"].startswith("git merge-file ")
    assert not {"core.bare", "branch.mytool.remote"} & set(found)


def test_a_cut_output_loses_only_its_last_entry() -> None:
    status, more = parse_status(b"# branch.head main\0? a\0? b", limit=9)
    assert (status.untracked, more) == (["a"], False)
    fields = [ONE, "", "A", "a@b", "2026-01-01T00:00:00Z", "", "S", ""]
    whole = "\0".join(fields).encode() + b"\0\n"
    assert [item.subject for item in parse_commits(whole + whole[:50])] == ["S"]


def test_renames_and_binaries_are_counted() -> None:
    assert parse_numstat(b"1\t2\t\0old\0new\0-\t-\timage\0") == [
        {"old_path": "old", "path": "new", "added": 1, "deleted": 2},
        {"path": "image", "binary": True},
    ]


def test_a_name_that_holds_the_end_of_a_line_is_found_by_a_search() -> None:
    data = b"new\nline\x001\x003\x00a hit\nnew\nline\x002\x00near\n--\nb\x007\x001\x0012\x00tail"
    found = [(item["path"], item["line"], item["text"], item["match"]) for item in parse_grep(data)]
    assert found == [
        ("new\\nline", 1, "a hit", True),
        ("new\\nline", 2, "near", False),
        ("b", 7, "12\\x00tail", True),
    ]
