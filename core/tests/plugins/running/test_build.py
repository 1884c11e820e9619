from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pegboard import Needs, Plugin
from pegboard.contracts.errors import BuildError
from pegboard.plugins.building.build import build_manifest
from pegboard.plugins.building.build_child import build_in_child, find_targets, stale, write
from pegboard.plugins.discovery.manifest import Manifest

PYPROJECT = """
[project]
name = "pegboard-weather"
version = "0.1.0"
[project.entry-points."pegboard.plugins"]
weather = "weather_src_pkg.plugin:plugin"
"""
CODE = '''
"""Weather of cities."""
from __future__ import annotations
import os, subprocess, sys
from typing import Annotated
from pegboard import Arg, Needs, Plugin

print("noise on standard output")
os.write(1, b"noise on descriptor 1")
subprocess.run([sys.executable, "-c", "print('noise of a child')"])

plugin = Plugin(
    config="weather_src_pkg.config:Settings",
    secrets=["weather_key"],
    needs=Needs(binaries=("git",)),
    before=["b", "a"],
)

@plugin.tool(effects=["net_read"], needs=Needs(secrets=("other_key",)))
async def weather_now(city: Annotated[str, Arg("City name")], unit: str = "C") -> str:
    """Report the weather."""

@plugin.tool(effects=[])
def another() -> str:
    """Do something else."""

@plugin.hook(events=["turn_ended", "tool_called"])
def pegboard_event(event): ...

@plugin.hook
async def pegboard_tool_guard(event): ...

@plugin.provider("sky", summary="Sky.", config="weather_src_pkg.config:SkySettings", local=True)
def sky(context, settings): ...

@plugin.lifespan
async def lifespan(context):
    yield

@plugin.background("watch")
async def watch(context): ...

@plugin.service("forecast")
def forecast(context): ...

plugin.family("wx_", effects=["net_read"], audience="owner")
'''
CONFIG = """
from pydantic import BaseModel, Field, SecretStr
class Settings(BaseModel):
    unit: str = Field("C", description="C or F")
class SkySettings(BaseModel):
    url: str
    key: SecretStr | None = None
"""


@pytest.fixture(params=["src", "flat"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    package = (folder / "src" if request.param == "src" else folder) / "weather_src_pkg"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(CODE)
    (package / "config.py").write_text(CONFIG)
    return folder


def test_a_source_folder_is_built_in_a_child_process(project):
    (target,) = find_targets(project)
    manifest = build_in_child(target)
    assert "weather_src_pkg" not in sys.modules
    assert write(target, manifest) is True
    assert write(target, manifest) is False
    assert target.file.parent.name == "weather_src_pkg"
    text = target.file.read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    made = json.loads(text)
    assert made == {
        "manifest": 1,
        "id": "weather",
        "api": ">=1,<2",
        "summary": "Weather of cities.",
        "entry": "weather_src_pkg.plugin:plugin",
        "activate": "use",
        "hooks": {"pegboard_event": ["tool_called", "turn_ended"], "pegboard_tool_guard": []},
        "tools": made["tools"],
        "contributions": [
            {
                "kind": "provider",
                "name": "sky",
                "summary": "Sky.",
                "config": {
                    "type": "object",
                    "properties": {
                        "url": {"type": "string"},
                        "key": {
                            "anyOf": [
                                {"type": "string", "format": "password", "writeOnly": True},
                                {"type": "null"},
                            ],
                            "default": None,
                        },
                    },
                    "required": ["url"],
                    "additionalProperties": False,
                },
                "facts": {"local": True},
            }
        ],
        "families": [
            {"prefix": "wx_", "kind": "tool", "effects": ["net_read"], "audience": "owner"}
        ],
        "config": {
            "type": "object",
            "properties": {"unit": {"type": "string", "description": "C or F", "default": "C"}},
            "additionalProperties": False,
        },
        "config_ref": "weather_src_pkg.config:Settings",
        "secrets": ["other_key", "weather_key"],
        "needs": {"binaries": ["git"]},
        "services": ["forecast"],
        "background": ["watch"],
        "lifespan": True,
        "before": ["a", "b"],
        "after": [],
    }
    assert [tool["name"] for tool in made["tools"]] == ["another", "weather_now"]


def test_building_twice_gives_the_same_bytes(project):
    (target,) = find_targets(project / "pyproject.toml")
    texts = {Manifest.from_dict(build_in_child(target), "x").to_json() for _ in range(2)}
    assert len(texts) == 1


def test_a_stale_manifest_is_told_line_by_line(project):
    (target,) = find_targets(str(project))
    manifest = build_in_child(target)
    assert stale(target, manifest) == [f"{target.file} is missing"]
    write(target, manifest)
    assert stale(target, manifest) == []
    old = json.loads(target.file.read_text())
    old["tools"][1]["effects"] = ["exec"]
    old["tools"].append({"name": "gone", "effects": []})
    del old["secrets"]
    target.file.write_text(json.dumps(old))
    assert stale(target, manifest) == [
        "secrets: only the code has it",
        "tools.gone: only the file has it",
        'tools.weather_now.effects: the file says ["exec"], the code ["net_read"]',
    ]
    target.file.write_text(json.dumps(manifest))
    assert stale(target, manifest) == [
        f"{target.file} is not written as `pegboard plugins build` writes it"
    ]
    target.file.write_text("{")
    assert "is not JSON" in stale(target, manifest)[0]


@pytest.mark.parametrize(
    "code, words",
    [
        ("1 / 0", "importing it failed: ZeroDivisionError: division by zero"),
        ("def x(:", "invalid syntax (weather_src_pkg/plugin.py, line 1)"),
        ("raise SystemExit(4)", "importing it failed: SystemExit: 4"),
        ("import os; os._exit(3)", "importing it ended the process with status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "with signal 9"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("plugim = 1", "has no 'plugin'; did you mean 'plugim'"),
        ("plugin = 1", "the entry point names a int"),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n@plugin.tool\ndef f(x): 'Do.'",
            "tool f, parameter x: no annotation",
        ),
        (
            "from pegboard import Plugin\nplugin = Plugin(config='weather_src_pkg.config:Setings')",
            "did you mean 'Settings'",
        ),
        (
            "from pegboard import Plugin\nplugin = Plugin(config='weather_src_pkg.konfig:S')",
            "No module named 'weather_src_pkg.konfig'",
        ),
        ("from pegboard import Plugin\nplugin = Plugin(api='soon')", "'soon' is no version range"),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n"
            "plugin.contribute('x', 'y', print, made=object())",
            "the facts of x y have no JSON form",
        ),
    ],
)
def test_what_is_wrong_is_said_by_the_parent(project, code, words):
    (target,) = find_targets(project)
    (target.source / "weather_src_pkg" / "plugin.py").write_text(code)
    with pytest.raises(BuildError) as caught:
        build_in_child(target)
    assert caught.value.message.startswith("plugin weather: ")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("code", "line", "rest"),
    [
        ("\n1 / 0", 2, ", then build again"),
        ("\n\ndef x(:", 3, ", then build again"),
        ("raise SystemExit(4)", 1, ", then build again"),
        ("import weather_src_pkg.no_such", 1, ", then build again"),
        ("from pegboard import Plugin\nplugin = Plugin(colour=1)", 2, ", then build again"),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n@plugin.tool\ndef f(x): 'Do.'",
            3,
            ": annotate it",
        ),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n\n@plugin.tool\ndef f(): ...",
            4,
            ': begin the function with a line such as `"""Report the weather of a city."""`',
        ),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n\n@plugin.lifespan\ndef f(c): ...",
            4,
            ": async def lifespan",
        ),
        (
            "from pegboard import Plugin\nplugin = Plugin()\n\n@plugin.hook\n"
            "def pegboard_event(event, more): ...",
            4,
            ": a behaviour hook takes exactly one parameter",
        ),
    ],
)
def test_what_an_author_has_to_mend_is_told_with_file_and_line(
    project, monkeypatch, code, line, rest
):
    (target,) = find_targets(project)
    file = target.source / "weather_src_pkg" / "plugin.py"
    file.write_text(code)
    monkeypatch.chdir(target.source)
    with pytest.raises(BuildError) as caught:
        build_in_child(target)
    fix = caught.value.fix
    assert fix.startswith(f"mend weather_src_pkg{os.sep}plugin.py:{line}{rest[:1]}"), fix
    assert rest in fix


def test_a_syntax_error_of_another_module_is_told_where_it_is(project, monkeypatch):
    (target,) = find_targets(project)
    package = target.source / "weather_src_pkg"
    (package / "plugin.py").write_text("from weather_src_pkg import tools")
    (package / "tools.py").write_text("x = 1\ny = = 2\n")
    monkeypatch.chdir(target.source)
    with pytest.raises(BuildError) as caught:
        build_in_child(target)
    assert caught.value.fix == f"mend weather_src_pkg{os.sep}tools.py:2, then build again"


def test_a_library_that_refuses_is_not_what_has_to_be_mended(project, monkeypatch):
    (target,) = find_targets(project)
    code = "import json\n\ndef read():\n    return json.loads('{')\n\nread()\n"
    (target.source / "weather_src_pkg" / "plugin.py").write_text(code)
    monkeypatch.chdir(target.source)
    with pytest.raises(BuildError) as caught:
        build_in_child(target)
    assert caught.value.fix == "mend weather_src_pkg/plugin.py:4, then build again"


def test_a_missing_library_is_to_be_installed_or_not_imported(project, monkeypatch):
    (target,) = find_targets(project)
    (target.source / "weather_src_pkg" / "plugin.py").write_text("import no_such_module")
    monkeypatch.chdir(target.source)
    with pytest.raises(BuildError) as caught:
        build_in_child(target)
    assert caught.value.fix == "pip install no-such-module, or mend weather_src_pkg/plugin.py:1"


def test_a_hung_or_flooding_or_forking_build_ends(project):
    (target,) = find_targets(project)
    file = target.source / "weather_src_pkg" / "plugin.py"
    file.write_text("import sys\nwhile True: print('x' * 1000); sys.stderr.write('end of flood')")
    with pytest.raises(BuildError, match="did not end within 1 s") as caught:
        build_in_child(target, timeout_s=1)
    assert len(caught.value.details["output"]) <= 8192
    file.write_text(
        textwrap.dedent("""
        import subprocess, sys, threading
        from pegboard import Plugin
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        threading.Thread(target=threading.Event().wait).start()
        plugin = Plugin()
        """)
    )
    assert build_in_child(target, timeout_s=20)["id"] == "weather"


def test_an_installed_plugin_is_found_by_its_id(environment):
    environment.add("greeter", "plugin = Plugin()", manifest=False)
    path = [str(environment.site)]
    (target,) = find_targets("greeter", path=path)
    assert target.source is None
    manifest = build_in_child(target, path=path)
    assert manifest["entry"] == "greeter_pkg.plugin:plugin"
    write(target, manifest)
    assert environment.manifest("greeter") == manifest
    with pytest.raises(BuildError, match="no plugin 'greter' is installed; did you mean 'greeter'"):
        find_targets("greter", path=path)


def test_folders_that_can_not_be_built_say_why(tmp_path, project):
    with pytest.raises(BuildError, match="no such folder"):
        find_targets(tmp_path / "nothing")
    with pytest.raises(BuildError, match=r"has no pyproject\.toml"):
        find_targets(tmp_path)
    (project / "pyproject.toml").write_text("[project")
    with pytest.raises(BuildError, match="not TOML"):
        find_targets(project)
    (project / "pyproject.toml").write_text("[project]\nname='x'")
    with pytest.raises(BuildError, match=r"no entry point in the group pegboard\.plugins"):
        find_targets(project)
    (project / "pyproject.toml").write_text(PYPROJECT.replace("weather_src_pkg", "elsewhere"))
    with pytest.raises(BuildError, match="elsewhere is neither in it nor in its src folder"):
        find_targets(project)
    (project / "alone.py").write_text("")
    (project / "pyproject.toml").write_text(PYPROJECT.replace("weather_src_pkg.plugin", "alone"))
    with pytest.raises(BuildError, match=r"single file, which has no place for plugin\.json"):
        find_targets(project)


def test_the_build_program_keeps_its_answer_apart_from_the_plugins_noise(project):
    (target,) = find_targets(project)
    command = [sys.executable, "-m", "pegboard.plugins.building.build", "--id", "weather"]
    command += ["--entry", target.entry, "--source", str(target.source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["manifest"]["id"] == "weather"
    for noise in ("standard output", "descriptor 1", "a child"):
        assert noise in done.stderr


def test_secrets_that_a_plugin_needs_are_secrets_that_it_may_read():
    plugin = Plugin(secrets=["b"], needs=Needs(secrets=("a",)))
    made = build_manifest("x", "made:plugin", plugin)
    assert made["secrets"] == ["a", "b"]
    assert made["needs"] == {"secrets": ["a"]}
