from __future__ import annotations

from pathlib import Path

from pegboard.testing import PluginContract, ToolContract

NEEDS = ("sandbox-local",)


BOOK = (
    '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["a"]}], '
    '"metadata": {}, "nbformat": 4, "nbformat_minor": 4}\n'
)


class TestPlugin(PluginContract):
    plugin = "files"


class FileContract(ToolContract):
    needs = NEEDS

    def prepare(self, workspace: Path) -> None:
        (workspace / "docs").mkdir(exist_ok=True)
        (workspace / "docs/a.md").write_text("# Title\n\nalpha beta\n")
        (workspace / "b.txt").write_text("one\ntwo\n")
        (workspace / "data.bin").write_bytes(b"\x7fELF\0\0")
        (workspace / "book.ipynb").write_text(BOOK)
        (workspace / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")


class TestFileRead(FileContract):
    tool = "files:file_read"
    works = ({"path": "docs/a.md"}, {"path": "b.txt", "offset": 2, "limit": 1})
    fails = (
        ({"path": "gone.md"}, "not_found"),
        ({"path": "docs"}, "is_a_folder"),
        ({"path": "data.bin"}, "binary"),
        ({"path": "b.txt", "offset": 9}, "past_the_end"),
        ({"path": "b.txt/x"}, "not_a_folder"),
        ({"path": "../outside"}, "sandbox_refused"),
    )


class TestReadManyFiles(FileContract):
    tool = "files:read_many_files"
    works = ({"paths": ["b.txt", "docs/*.md", "gone"]},)
    fails = (({"paths": ["gone"]}, "not_found"), ({"paths": ["[a"]}, "invalid_pattern"))


class TestListDir(FileContract):
    tool = "files:list_dir"
    works = ({}, {"path": "docs"}, {"depth": 3})
    fails = (({"path": "gone"}, "not_found"), ({"path": "b.txt"}, "not_a_folder"))


class TestGlobSearch(FileContract):
    tool = "files:glob_search"
    works = ({"pattern": "**/*.md"}, {"pattern": "nothing*"})
    fails = (
        ({"pattern": "/etc/*"}, "invalid_pattern"),
        ({"pattern": "*", "path": "gone"}, "not_found"),
        ({"pattern": "*", "path": "b.txt"}, "not_a_folder"),
    )


class TestContentSearch(FileContract):
    tool = "files:content_search"
    works = ({"pattern": "al.ha"}, {"pattern": "nothing at all"})
    fails = (
        ({"pattern": "(unclosed"}, "invalid_pattern"),
        ({"pattern": "a", "path": "x"}, "not_found"),
    )


class TestFileWrite(FileContract):
    tool = "files:file_write"
    works = ({"path": "new/f.txt", "content": "x\n"}, {"path": "b.txt", "content": ""})
    fails = (
        ({"path": "docs", "content": "x"}, "is_a_folder"),
        ({"path": "b.txt/x", "content": "x"}, "not_a_folder"),
        ({"path": "/etc/passwd", "content": "x"}, "sandbox_refused"),
    )


class TestFileEdit(FileContract):
    tool = "files:file_edit"
    works = ({"path": "b.txt", "old_string": "one", "new_string": "two", "replace_all": True},)
    fails = (
        ({"path": "docs/a.md", "old_string": "a", "new_string": "b"}, "several_matches"),
        ({"path": "docs/a.md", "old_string": "zzz", "new_string": "b"}, "no_match"),
        ({"path": "docs/a.md", "old_string": "a", "new_string": "a"}, "no_change"),
        ({"path": "docs/a.md", "old_string": "", "new_string": "a"}, "invalid_arguments"),
        ({"path": "image.png", "old_string": "P", "new_string": "a"}, "binary"),
        ({"path": "gone", "old_string": "P", "new_string": "a"}, "not_found"),
    )

    async def test_it_can_be_cancelled(self, host) -> None:
        """Its first call changes the file, so the second is another one."""
        self.works = (
            {"path": "b.txt", "old_string": "\n", "new_string": "\n\n", "replace_all": True},
        )
        await super().test_it_can_be_cancelled(host)


class TestApplyPatch(FileContract):
    tool = "files:apply_patch"
    works = (
        {"patch": "*** Begin Patch\n*** Update File: b.txt\n-one\n+1\n*** End Patch"},
        {"patch": "*** Begin Patch\n*** Add File: n/f\n+x\n*** Delete File: b.txt\n*** End Patch"},
    )
    fails = (
        ({"patch": "hello"}, "invalid_patch"),
        ({"patch": "*** Begin Patch\n*** Update File: b.txt\n-x\n+1\n*** End Patch"}, "no_match"),
        ({"patch": "*** Begin Patch\n*** Delete File: gone\n*** End Patch"}, "not_found"),
        ({"patch": "*** Begin Patch\n*** Add File: docs/a.md\n+x\n*** End Patch"}, "exists"),
        ({"patch": "*** Begin Patch\n*** Add File: /etc/x\n+x\n*** End Patch"}, "sandbox_refused"),
    )


class TestUndoChanges(FileContract):
    tool = "files:undo_changes"
    works = ({}, {"limit": 1})
    fails = (({"run": "nope"}, "no_such_run"), ({"run": "last"}, "no_such_run"))


class TestNotebookEdit(FileContract):
    tool = "files:notebook_edit"
    works = ({"path": "book.ipynb", "action": "insert", "source": "b"},)
    fails = (
        ({"path": "book.ipynb", "cell": 7, "source": "b"}, "no_such_cell"),
        ({"path": "book.ipynb", "cell": 0}, "invalid_arguments"),
        ({"path": "b.txt", "cell": 0, "source": "b"}, "no_notebook"),
        ({"path": "gone.ipynb", "cell": 0, "source": "b"}, "not_found"),
        ({"path": "docs", "cell": 0, "source": "b"}, "is_a_folder"),
    )
