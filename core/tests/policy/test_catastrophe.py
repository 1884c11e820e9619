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
        "find / -delete",
        "find -L / -delete",
        "find -O3 -- / -delete",
        "find . /usr -type f -delete",
        "find ~ -execdir /bin/rm {} ;",
        "find / -exec sudo rm {} +",
        "rm -rf ~/.",
    ),
    "change_root": (
        "chmod -R 777 /",
        "chmod -R -rwx /",
        "chown -R me:me /usr",
        "chown -R --reference=x /etc",
        "chgrp --recursive me /home/me",
    ),
    "make_file_system": (
        "mkfs.ext4 /dev/sda1",
        "mkfs -t ext4 disk.img",
        "mkfs -V -t ext4 disk.img",
        "mkfs.vfat -n BOOT /dev/sdb1",
        "wipefs -a /dev/sdb",
    ),
    "overwrite_device": (
        "dd if=/dev/zero of=/dev/sda bs=1M",
        "cat image > /dev/nvme0n1",
        "shred /dev/vda",
        "echo x | tee /dev/mmcblk0",
        "cp image /dev/disk2",
        "tee /dev/sda",
        "cp x /dev/sda",
        "mv x /dev/sda",
        "echo x >> /dev/sda",
        "dd if=x of=/dev/disk/by-id/usb-x",
    ),
    "fork_bomb": (":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"),
    "kill_all": ("kill -9 -1", "kill -- -1", "kill -s KILL -1", "kill -1 -1", "killall5 -9"),
    "shut_down": (
        "shutdown -h now",
        "shutdown -r +5",
        "reboot",
        "systemctl poweroff",
        "systemctl --force poweroff",
        "init 0",
        "init 6",
        "telinit 0",
    ),
    "guess_password": (
        "echo hunter2 | sudo -S id",
        "sudo -kS id",
        "sudo -k -S id",
        "sudo --stdin id",
        "sudo -p '' -S id",
        "sudo -u me -S id",
        "sudo -nu me -S id",
        "sudo --user me -S id",
    ),
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
    "git commit -m 'not that; rm -rf / '",
    "rm -- -r /",
    "echo / -delete",
    "find . -name '*.pyc' -delete",
    "find . -delete",
    "find src -path /usr -delete",
    "find -path /usr -delete",
    "find / -name x",
    "find / -name rm",
    "find / -name rm -exec ls {} +",
    "chmod -R u+w build",
    "chmod -R u+x src",
    "chmod 755 /",
    "chmod -- -R /",
    "grep -R word /etc",
    "dd if=/dev/zero of=disk.img",
    "dd if=/dev/sda of=backup.img",
    "cp /dev/sda backup.img",
    "cp -- /dev/sda -backup.img",
    "gzip < /dev/sda > backup.gz",
    "fdisk -l /dev/sda",
    "echo x > /dev/null",
    "mkfs.ext4 --help",
    "mkfs.ext4",
    "mkfs -V",
    "mkfs.ext4 -n /dev/sda1",
    "wipefs --no-act -a /dev/sdb",
    "head -n -1 log",
    "kill -1",
    "kill -1 1234",
    "kill -1 4711",
    "kill -9 4711",
    "kill -9 -4711",
    "systemctl status reboot",
    "systemctl poweroff --help",
    "shutdown --help",
    "shutdown -c",
    "init 3",
    "sleep 0",
    "echo reboot",
    "sudo -n id",
    "sudo grep -S x y",
    "sudo -- grep -S x y",
    "sudo -p -S id",
    "sudo -u me grep -S x y",
    "sudo -uSteve id",
    "sudo --preserve-env=SHELL make",
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
    assert catastrophe(("echo", "x; rm -rf / ")) is None


def test_source_in_a_list_of_words_is_read_too() -> None:
    test = "if [[ $x -eq 1 ]]; then {}; fi"
    assert catastrophe(("bash", "-c", "cd x && rm -rf /")) is not None
    assert catastrophe(("bash", "-c", test.format("rm -rf /"))) is not None
    assert catastrophe(("bash", "-c", test.format("rm -rf build"))) is None


def test_each_kind_is_tried() -> None:
    assert set(REFUSED) == set(REASONS)


@pytest.mark.parametrize(
    "source",
    [
        "a" * 200_000,
        "a(){" * 50_000,
        f"rm {'-r ' * 50_000}x",
        f"rm -{'r' * 200_000}! /",
        f"sudo -{'k' * 200_000}! x",
    ],
)
def test_long_source_is_read_in_one_pass(source: str) -> None:
    """One that took the square of its length would hold every other conversation up."""
    assert catastrophe(source) is None
