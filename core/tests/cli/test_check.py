"""`pegboard plugins check`, and what `plugins why` and `plugins list` say before and after."""

from __future__ import annotations

import json
import re

from pegboard.testing.dists import built, hello_code


def editable(here, code):
    """Install a plugin from a folder of one's own, as `pip install --editable` leaves it."""
    dist = here.plugin("weather", code=hello_code("weather"))
    project = here.work / "weather"
    (project / "src").mkdir(parents=True)
    (here.site / dist.package).rename(project / "src" / dist.package)
    (here.site / "weather.pth").write_text(f"{project / 'src'}\n")
    direct = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (dist.info / "direct_url.json").write_text(json.dumps(direct))
    (dist.info / "RECORD").write_text("")
    file = project / "src" / dist.package / "plugin.py"
    file.write_text(code)
    return file


def test_a_plugin_that_is_in_order_is_ready_and_its_code_is_told_to_be_untried(here):
    built(here.plugin("weather", code=hello_code("weather")))
    said = here.run("plugins", "why", "weather").out
    assert "only then shows whether it works" in " ".join(said.split())
    assert "pegboard plugins check weather" in said
    ended = here.run("plugins", "check", "weather")
    assert (ended.code, ended.out) == (0, "weather can be imported. It is ready.\n")


def test_what_is_broken_is_told_with_file_and_line_until_it_is_mended(here):
    file = editable(here, "x = 1\ny = = 2\n")
    ended = here.run("plugins", "check", "weather")
    assert ended.code == 4
    place = f"weather/src/{file.parent.name}/plugin.py:2"
    assert f"mend {place}, then `pegboard plugins check weather`" in " ".join(ended.err.split())
    said = " ".join(here.run("plugins", "why", "weather").out.split())
    assert "is failed" in said and "SyntaxError" in said
    assert f"fix mend {place}, then `pegboard plugins check weather`" in said
    assert "who your folder weather (installed editable)" in said
    file.write_text(hello_code("weather"))
    assert "is ready" in here.run("plugins", "why", "weather").out
    checked = here.run("plugins", "check", "weather", "--json").json
    assert (checked["plugin"]["state"], checked["differences"]) == ("ready", [])


def test_a_plugin_of_an_index_is_mended_by_another_version_of_who_ships_it(here):
    dist = here.plugin("weather", code="raise RuntimeError('broken on purpose')\n")
    metadata = dist.info / "METADATA"
    metadata.write_text(metadata.read_text().replace("\n\n", "\nAuthor: Ann Author\n\n", 1))
    ended = here.run("plugins", "check", "weather")
    assert ended.code == 4
    assert "broken on purpose" in ended.err
    assert "pip install --upgrade pegboard-weather" in ended.err
    listed = here.run("plugins", "list").out
    assert "who  Ann Author" in listed


def test_an_import_that_ends_the_process_is_forgotten_when_it_is_mended(here):
    file = editable(here, "import os\nos._exit(3)\n")
    assert here.run("tools", "call", "weather_hello").code != 0
    said = " ".join(here.run("plugins", "why", "weather").out.split())
    assert "the whole process died while importing" in said
    assert f"fix mend weather/src/{file.parent.name}/plugin.py, then" in said
    file.write_text(hello_code("weather"))
    assert here.run("tools", "call", "weather_hello").out == "hello from weather\n"


def test_code_that_left_its_manifest_behind_is_told(here):
    editable(here, hello_code("weather").replace("weather_hello", "weather_bye"))
    ended = here.run("plugins", "check", "weather")
    assert ended.code == 1
    assert "tools.weather_bye: only the code has it" in ended.out
    assert "Fix: pegboard plugins build weather" in ended.out


def test_a_missing_requirement_is_told_by_the_list(here):
    here.plugin("weather", requires=("pegboard>=0.1,<1", "no-such-library>=3"))
    ended = here.run("plugins", "list")
    assert "requires no-such-library>=3, which is not installed." in " ".join(ended.out.split())
    assert "pip install 'no-such-library>=3'" in ended.out
    (problem,) = here.run("plugins", "list", "--json").json["problems"]
    assert problem["path"] == "weather"


BREAKING = hello_code("weather").replace('return "hello from weather"', "return str(1 / 0)")


def test_a_tool_that_raises_names_the_line_of_its_author(here):
    file = editable(here, BREAKING)
    line = BREAKING.splitlines().index("    return str(1 / 0)") + 1
    place = f"weather/src/{file.parent.name}/plugin.py:{line}"
    ended = here.run("tools", "call", "weather_hello")
    assert ended.code == 8
    said = " ".join(ended.err.split())
    assert f"weather_hello broke down at {place}: ZeroDivisionError: division by zero" in said
    result = here.run("tools", "call", "weather_hello", "--json").json["result"]
    assert result["details"]["at"] == place
    here.write_config('[policy]\nguest_tools = ["weather:weather_hello"]\n')
    guest = here.run("tools", "call", "weather_hello", "--as", "guest", "--json").out
    assert "ZeroDivisionError" in guest
    assert "plugin.py" not in guest


def test_the_line_of_somebody_elses_plugin_is_for_people_and_not_for_the_model(here):
    here.plugin("weather", code=BREAKING)
    ended = here.run("tools", "call", "weather_hello")
    assert "broke down: ZeroDivisionError" in " ".join(ended.err.split())
    assert re.search(r"^  At: .*plugin\.py:\d+$", ended.err, re.M)
