"""The patch table: what each case does here, beside what the reference implementation does.

`python plugins/files/tests/patch_table.py --reference BIN` runs the reference implementation
(`@openai/codex`, its binary under the name `apply_patch`) on every case and writes what it did.
Without the option only the page is written, from `patch_cases.json`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "patch_cases.json"
PAGE = Path(__file__).parents[3] / "docs/reference/patches.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
OUTSIDE = (Path("/var/tmp/pegboard-patch-case.txt"), "../pegboard-patch-case.txt")


def load() -> list[dict[str, Any]]:
    """Return the cases: name, files, patch, and what the reference and ours make of them."""
    return json.loads(CASES.read_text(encoding="utf-8"))


def set_up(folder: Path, files: Mapping[str, Any]) -> None:
    """Put the files of a case into an empty folder."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, str):
            path.write_bytes(value.encode())
        elif "link" in value:
            path.symlink_to(value["link"])
        else:
            path.write_bytes(value["latin-1"].encode("latin-1"))


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Return what a folder holds: bytes of files, targets of links; and what was left outside."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes()
    for path in (OUTSIDE[0], folder / OUTSIDE[1]):
        if path.exists():
            found[str(OUTSIDE[0]) if path == OUTSIDE[0] else OUTSIDE[1]] = path.read_bytes()
            path.unlink()
    return found


def outcome(before: Mapping[str, Any], after: Mapping[str, Any], error: str | None) -> str:
    """Say what became of the files, in the words of the table."""
    changed = [
        f"`{name}` gone" if name not in after else f"`{name}`: `{_shown(after[name])}`"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    if error is None:
        return ", ".join(changed) or "nothing changed"
    why = f"refused{f' ({error})' if error else ''}"
    return f"{why}, yet {', '.join(changed)}" if changed else why


def table(cases: list[dict[str, Any]]) -> str:
    """Return the table in Markdown."""
    lines = ["| case | reference implementation | Pegboard |", "| --- | --- | --- |"]
    for case in cases:
        same = "the same" if case["ours"] == case["reference"] else case["ours"]
        lines.append(f"| {case['name']} | {case['reference']} | {same} |".replace("@@|", "@@ |"))
    return "\n".join(lines) + "\n"


def page_with(text: str, cases: list[dict[str, Any]]) -> str:
    """Return the page with the table of these cases in it."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}{table(cases)}{END}{tail}"


def reference(binary: str, case: Mapping[str, Any]) -> str:
    """Run the reference implementation on a case and say what it did."""
    folder = Path(tempfile.mkdtemp())
    work = folder / "work"
    work.mkdir()
    try:
        set_up(work, case["files"])
        before = snapshot(work)
        done = subprocess.run(
            [binary, case["patch"]], cwd=work, capture_output=True, timeout=60, check=False
        )
        return outcome(before, snapshot(work), None if done.returncode == 0 else "")
    finally:
        shutil.rmtree(folder)


def _shown(content: bytes | str) -> str:
    if isinstance(content, str):
        return content
    text = content.decode("utf-8", "surrogateescape")
    shown = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("|", "\\|")
    return "".join(_escaped(char) for char in shown) or "(empty)"


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if char in "\u00a0\ufeff" else char


def main() -> None:
    """Write the reference's column, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", help="the reference implementation, named apply_patch")
    binary = parser.parse_args().reference
    cases = load()
    if binary:
        for case in cases:
            case["reference"] = reference(binary, case)
        text = json.dumps(cases, indent=1, ensure_ascii=True)
        CASES.write_text(f"{text}\n", encoding="utf-8")
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), cases), encoding="utf-8")


if __name__ == "__main__":
    main()
