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
