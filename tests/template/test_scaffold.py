"""What `render` accepts, refuses, and finds the template in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pegboard.contracts.errors import UsageError
from pegboard.scaffold import KINDS, render

ROOT = Path(__file__).parents[2]


def test_it_returns_what_it_wrote(tmp_path: Path) -> None:
    written = render("tool", "weather", tmp_path / "new")
    names = [str(path.relative_to(tmp_path / "new")) for path in written]
    assert "src/pegboard_weather/plugin.json" in names
    assert "src/pegboard_weather/tools.py" in names
    assert ".github/workflows/ci.yml" in names
    assert names == sorted(names)


def test_the_workflow_can_be_left_out(tmp_path: Path) -> None:
    written = render("hooks", "weather", tmp_path / "new", {"ci": False})
    assert not any(".github" in path.parts for path in written)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("Weather", "pegboard plugins new weather "),
        ("pegboard_weather", "pegboard plugins new weather "),
        ("my--weather", "pegboard plugins new my-weather "),
        ("9lives", "pegboard plugins new lives "),
        ("-", "pegboard plugins new my-plugin "),
        ("w" * 41, f"pegboard plugins new {'w' * 40} "),
        ("files", "pegboard plugins new my-files "),
        ("core", "pegboard plugins new my-core "),
        ("disabled", "pegboard plugins new my-disabled "),
    ],
)
def test_a_name_that_is_not_possible_gets_another(tmp_path: Path, name: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        render("tool", name, tmp_path / "new")
    assert caught.value.fix is not None
    assert caught.value.fix.startswith(fix)
    assert not (tmp_path / "new").exists()


def test_a_kind_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        render("gadget", "weather", tmp_path / "new")
    assert all(kind in str(caught.value.fix) for kind in KINDS)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(UsageError, match="nothing was written"):
        render("tool", "weather", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("summary", ["", "two\nlines", "x" * 77])
def test_an_answer_that_is_not_possible_is_refused(tmp_path: Path, summary: str) -> None:
    with pytest.raises(UsageError, match="summary"):
        render("tool", "weather", tmp_path / "new", {"summary": summary})


def test_importing_it_is_light() -> None:
    code = "import sys, pegboard.scaffold; print({'copier', 'jinja2', 'pydantic'} & {*sys.modules})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.strip() == "set()", ended.stderr


def test_the_wheel_and_the_sdist_of_core_bring_the_template(tmp_path: Path) -> None:
    for name in ("core", "plugin-template"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "copier.yml", tmp_path)
    wheel = _wheel(tmp_path / "core", tmp_path / "from-checkout")
    build = "import hatchling.build, sys; hatchling.build.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=tmp_path / "core", check=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert _template(_wheel(source, tmp_path / "from-sdist")) == _template(wheel)
    assert "copier.yml" in _template(wheel)
    assert any(name.endswith("plugin.json.jinja") for name in _template(wheel))
    _render_from(wheel, tmp_path)


def _wheel(source: Path, target: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", str(target)]
    subprocess.run([*pip, str(source)], check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def _template(wheel: Path) -> list[str]:
    prefix = "pegboard/_template/"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def _render_from(wheel: Path, folder: Path) -> None:
    """Render with the core of a wheel, far from any checkout."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import pegboard.scaffold as s; "
        "assert s.__file__.startswith(sys.argv[1]); "
        "print(len(s.render('tool', 'weather', pathlib.Path('new'))))"
    )
    subprocess.run([sys.executable, "-c", code, str(folder / "site")], cwd=folder, check=True)
    assert (folder / "new" / "src" / "pegboard_weather" / "plugin.json").is_file()
