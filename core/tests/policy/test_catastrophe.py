"""What is refused as a catastrophe, and what only looks like one."""

from __future__ import annotations

import pytest

from pegboard.policy.catastrophe import REASONS, catastrophe

REFUSED = {
    "delete_root": (
        "rm -rf /",
        "rm -fr /*",
        "rm -r -f //",
        "rm --recursive --force /etc/../",
        "rm -rf -- /usr",
        "rm -rf ~",
        "rm -rf ~/*",
        "rm -rf ~root/",
        "rm -Rf /home/me",
        "rm -rf $HOME",
        'rm -rf "$HOME"/*',
        'rm -rf "/$unset"',
        "rm -rf x --no-preserve-root /y",
        "sudo rm -rf /var",
        "cd /tmp && bash -c 'rm -rf /'",
        "echo / | xargs -0 rm -rf /",
        "r\\m -rf '/'",
        "if [[ $x -eq 1 ]]; then rm -rf /; fi",
        "find / -name x -delete",
        "find /etc -exec rm {} +",
    ),
    "change_root": ("chmod -R 777 /", "chown -R me:me /usr"),
    "make_file_system": ("mkfs.ext4 /dev/sda1", "mkfs -t ext4 disk.img", "wipefs -a /dev/sdb"),
    "overwrite_device": (
        "dd if=/dev/zero of=/dev/sda bs=1M",
        "cat image > /dev/nvme0n1",
        "shred /dev/vda",
        "echo x | tee /dev/mmcblk0",
        "cp image /dev/disk2",
    ),
    "fork_bomb": (":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"),
    "kill_all": ("kill -9 -1", "kill -- -1", "kill -s KILL -1", "killall5 -9"),
    "shut_down": ("shutdown -h now", "reboot", "systemctl --force poweroff", "init 0"),
    "guess_password": ("echo hunter2 | sudo -S id", "sudo -kS id"),
}
LET_PASS = (
    "rm -rf build",
    "rm -rf ./*",
    "rm -r /tmp/x",
    "rm -rf ~/project/build",
    "rm -rf $HOME/.cache/x",
    "rm /",
    "rm -rf /home/me/project",
    "rm -rf /srv/app/current",
    "echo 'rm -rf /'",
    "grep -r 'rm -rf /' docs",
    "git commit -m 'mkfs'",
    "find . -name '*.pyc' -delete",
    "find / -name x",
    "chmod -R u+w build",
    "dd if=/dev/zero of=disk.img",
    "dd if=/dev/sda of=backup.img",
    "echo x > /dev/null",
    "mkfs.ext4 --help",
    "kill -1 4711",
    "kill -9 4711",
    "kill -9 -4711",
    "systemctl status reboot",
    "sudo -n id",
    "sudo grep -S x y",
    "f() { g | h & }; f",
    "",
)


@pytest.mark.parametrize(
    ("kind", "source"), [(kind, source) for kind, found in REFUSED.items() for source in found]
)
def test_it_is_seen(kind: str, source: str) -> None:
    found = catastrophe(source)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("source", LET_PASS)
def test_what_only_looks_like_one_is_let_pass(source: str) -> None:
    assert catastrophe(source) is None


def test_a_list_of_words_is_read_as_it_is() -> None:
    assert catastrophe(("rm", "-rf", "/")) is not None
    assert catastrophe(("echo", "rm -rf /")) is None


def test_each_kind_is_tried() -> None:
    assert set(REFUSED) == set(REASONS)


@pytest.mark.parametrize("source", ["a" * 200_000, "a(){" * 50_000, f"rm {'-r ' * 50_000}x"])
def test_long_source_is_read_in_one_pass(source: str) -> None:
    """One that took the square of its length would hold every other conversation up."""
    assert catastrophe(source) is None
