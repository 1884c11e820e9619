"""What models call these tools and their arguments is taken for the right name, and recorded."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio
PLUGINS = ("files", "sandbox-local")


@pytest.mark.parametrize(
    ("name", "arguments", "shows"),
    [
        ("ls", {"directory": "src", "max_depth": 2}, "mod.py"),
        ("list_directory", {"target_directory": "src"}, "mod.py"),
        ("glob", {"glob_pattern": "**/*.py", "dir_path": "src", "head_limit": 5}, "src/mod.py"),
        ("file_search", {"query": "**/*.py", "root": "."}, "src/mod.py"),
        ("grep", {"regex": "val", "file_path": "src/mod.py", "-C": 1, "-i": True}, "VALUE = 1"),
        ("grep_files", {"query": "VALUE", "include": "*.py", "max_count": 3}, "VALUE = 1"),
        ("read_file", {"file_path": "src/mod.py", "start_line": 1, "num_lines": 1}, "VALUE = 1"),
        ("read_multiple_files", {"file_paths": ["src/mod.py"]}, "VALUE = 1"),
        ("create_file", {"filename": "new.py", "file_text": "x = 1\n"}, "new.py"),
        ("str_replace", {"path": "src/mod.py", "old_str": "1", "new_str": "2"}, "src/mod.py"),
        ("patch", {"input": "*** Begin Patch\n*** Add File: p\n+x\n*** End Patch"}, "A p"),
    ],
)
async def test_a_model_s_own_names_are_understood(host, name, arguments, shows) -> None:
    async with host(*PLUGINS, record=False) as running:
        (running.workspace / "src").mkdir()
        (running.workspace / "src/mod.py").write_text("VALUE = 1\n")
        if name == "str_replace":
            await running.call("file_read", path="src/mod.py")
        result = await running.call(name, **arguments)
        assert result.error is None, result.text
        assert shows in result.text
        told = " ".join(result.details["repairs"])
        for own in arguments.keys() - {"path"}:
            assert f"{own} -> " in told


ONE_LINE = "src/mod.py:1:VALUE = 1"


@pytest.mark.parametrize(
    ("name", "arguments", "shows"),
    [
        (
            "grep",
            {"pattern": "value", "path": "src", "-i": True, "-n": True, "-A": 0, "-B": 0},
            ONE_LINE,
        ),
        ("grep", {"pattern": "value", "-n": False, "-C": 1, "-i": "true", "type": "py"}, ONE_LINE),
        (
            "grep",
            {"pattern": "VAL", "glob": "*.py", "output_mode": "files_with_matches"},
            "src/mod.py",
        ),
        ("grep", {"pattern": "VAL", "output_mode": "count", "head_limit": 9}, "src/mod.py:1"),
        ("grep", {"pattern": "E = .\n", "multiline": True, "-n": True}, ONE_LINE),
        ("search_file_content", {"pattern": "value", "case_sensitive": False}, ONE_LINE),
        ("search_file_content", {"pattern": "value", "case_sensitive": True}, "[no match"),
        (
            "grep_search",
            {"query": "VALUE", "include_pattern": "*.py", "explanation": "x"},
            ONE_LINE,
        ),
        ("grep_search", {"query": "VALUE.=", "isRegexp": True, "includePattern": "*"}, ONE_LINE),
        ("grep_search", {"query": "V.LUE", "isRegexp": False}, "[no match"),
        ("grep", {"pattern": "VALUE", "no_ignore": True, "recursive": True}, ONE_LINE),
        ("glob", {"pattern": "**/MOD.*", "case_sensitive": False}, "src/mod.py"),
        ("glob", {"pattern": "SRC/mod.PY", "case_sensitive": "false"}, "src/mod.py"),
        ("glob", {"pattern": "**/MOD.*", "case_sensitive": True}, "[no file matches"),
        ("glob", {"pattern": "**/*.py", "respect_git_ignore": True}, "src/mod.py"),
        ("grep", {"pattern": "VALUE", "offset": 0, "head_limit": 0}, ONE_LINE),
        ("grep", {"pattern": "VALUE", "-l": True}, "src/mod.py"),
        (
            "grep_search",
            {
                **{"pattern": "VALUE", "dir_path": "src", "names_only": True},
                **{"max_matches_per_file": 1, "total_max_matches": 5, "no_ignore": False},
            },
            "src/mod.py",
        ),
        ("grep_search", {"query": "e", "exclude_pattern": "**/src/**"}, "[no match"),
        ("grep_search", {"query": "VALUE", "exclude_pattern": "*.txt, node_modules"}, ONE_LINE),
        ("read_file", {"filePath": "src/mod.py", "startLine": 1, "endLine": 5}, "VALUE = 1"),
        ("read_file", {"path": "src/mod.py", "start_line": 1, "end_line": 1}, "VALUE = 1"),
        ("read_file", {"file_path": "src/mod.py", "offset": 0, "limit": 9}, "VALUE = 1"),
        (
            "read_file",
            {
                **{"target_file": "src/mod.py", "should_read_entire_file": True},
                **{"start_line_one_indexed": 1, "end_line_one_indexed_inclusive": 9},
            },
            "VALUE = 1",
        ),
        ("view", {"path": "src/mod.py", "view_range": [1, -1]}, "VALUE = 1"),
        ("list_files", {"path": ".", "recursive": True}, "mod.py"),
        (
            "str_replace_based_edit_tool",
            {
                **{"command": "str_replace", "path": "src/mod.py", "old_str": "1", "new_str": "2"},
                **{"file_text": None, "insert_line": None, "view_range": None},
            },
            "Replaced 1 place",
        ),
        ("list_directory", {"dir_path": "src", "ignore": ["*.txt", "none/"]}, "mod.py  "),
        ("list_directory", {"path": "src", "ignore": ["mod.*"]}, "other.txt"),
        ("ls", {"path": ".", "depth": 2, "ignore": ["src/mod.py"]}, "other.txt"),
        ("read_many_files", {"paths": ["src/*"], "exclude": ["*.txt"], "recursive": True}, "VALUE"),
        ("read_many_files", {"include": ["src/*.py"], "useDefaultExcludes": False}, "VALUE"),
        (
            "read_many_files",
            {"paths": ["src/**"], "file_filtering_options": {"respect_git_ignore": True}},
            "VALUE",
        ),
        ("Read", {"file_path": "src/mod.py", "offset": 1, "limit": 5}, "VALUE = 1"),
        (
            "replace",
            {
                **{"file_path": "src/mod.py", "old_string": "1", "new_string": "2"},
                **{"expected_replacements": 1, "instruction": "Change it."},
            },
            "Replaced 1 place",
        ),
        (
            "Edit",
            {"file_path": "src/mod.py", "old_string": "1", "new_string": "2", "replace_all": False},
            "Replaced 1 place",
        ),
        (
            "MultiEdit",
            {
                "file_path": "src/mod.py",
                "edits": [
                    {"old_string": "VALUE", "new_string": "B"},
                    {"old_string": "1", "new_string": "2", "replace_all": True},
                ],
            },
            "Replaced 2 places",
        ),
        ("Write", {"file_path": "src/mod.py", "content": "x", "overwrite": True}, "Replaced"),
        ("write_file", {"file_path": "new.py", "content": "x", "overwrite": False}, "Created"),
    ],
)
async def test_the_calls_that_models_have_learnt_are_understood(
    host, name, arguments, shows
) -> None:
    async with host(*PLUGINS, record=False) as running:
        (running.workspace / "src").mkdir()
        (running.workspace / "src/mod.py").write_text("VALUE = 1\n")
        (running.workspace / "src/other.txt").write_text("other\n")
        await running.call("file_read", path="src/mod.py")
        result = await running.call(name, **arguments)
        assert result.error is None, result.text
        assert shows in result.text
        if "ignore" in arguments or "exclude" in arguments:
            assert ("other" in result.text) != ("mod.py" in result.text)


async def test_what_is_left_out_of_a_call_is_recorded(host) -> None:
    async with host(*PLUGINS, record=False) as running:
        result = await running.call("grep", pattern="x", **{"-n": True, "case_sensitive": True})
        assert set(result.details["repairs"]) == {
            "-n -> left out",
            "case_sensitive -> not ignore_case",
        }


async def test_an_overwrite_that_is_not_wanted_does_not_happen(host) -> None:
    async with host(*PLUGINS, record=False) as running:
        (running.workspace / "a").write_text("old")
        await running.call("file_read", path="a")
        result = await running.call("file_write", path="a", content="new", overwrite=False)
        assert result.error is not None
        assert result.error.code == "exists"
        assert (running.workspace / "a").read_text() == "old"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "view", "path": "a", "view_range": [1, 50]},
        {"command": "create", "path": "b", "file_text": "text"},
        {"command": "insert", "path": "a", "insert_line": 1, "insert_text": "text"},
        {"command": "insert", "path": "a", "insert_line": 1, "new_str": "text"},
    ],
)
@pytest.mark.parametrize("name", ["str_replace_based_edit_tool", "str_replace_editor"])
async def test_the_other_commands_of_an_editor_are_told_the_tool_for_them(
    host, name, arguments
) -> None:
    async with host(*PLUGINS, record=False) as running:
        (running.workspace / "a").write_text("old")
        result = await running.call(name, **arguments)
        assert result.error is not None
        for tool in ("file_read", "file_write", "insert"):
            assert tool in result.error.fix
        assert [path.name for path in running.workspace.iterdir()] == ["a"]
        assert (running.workspace / "a").read_text() == "old"
