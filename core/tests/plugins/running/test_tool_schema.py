from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

import jsonschema_rs
import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from pegboard import Arg, Intent, Needs, tool
from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import ToolSpec
from pegboard.plugins.building.tool_schema import argument_adapter, build_spec, takes_context
from pegboard.plugins.declaration import TOOL_MARK
from pegboard.tools.access import call_access

if TYPE_CHECKING:
    from pegboard import ToolContext


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(TypedDict):
    """One thing."""

    name: Annotated[str, Arg("Its name")]
    count: NotRequired[int]


@dataclasses.dataclass
class Point:
    x: int
    y: float = 1.0


class Query(BaseModel):
    """What to look for."""

    text: str
    limit: int = 5


def spec_of(function: Any, **facts: Any) -> ToolSpec:
    marked = tool(function, **facts)
    return build_spec(marked, getattr(marked, TOOL_MARK))


def parameters(function: Any) -> dict[str, Any]:
    return spec_of(function).parameters["properties"]


def test_a_function_becomes_a_spec():
    async def weather_now(
        ctx: ToolContext,
        city: Annotated[str, Arg("City name", min_length=1)],
        days: Annotated[int, Arg(ge=1, le=7)] = 1,
        unit: Literal["C", "F"] = "C",
    ) -> str:
        """Report the current weather of a city.

        From the nearest station.

        Args:
            days: How many days, today
                included.

        Returns:
            A sentence.

        Raises:
            ToolFailure: When there is no such city.
        """

    spec = spec_of(weather_now, effects={"net_read"}, category="web")
    assert spec.name == "weather_now"
    assert spec.description == (
        "Report the current weather of a city.\n\nFrom the nearest station."
    )
    assert spec.effects == {"net_read"}
    assert spec.convert is False
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "City name", "minLength": 1},
            "days": {
                "type": "integer",
                "minimum": 1,
                "maximum": 7,
                "description": "How many days, today included.",
                "default": 1,
            },
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
    }
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_a_tool_without_parameters_takes_an_empty_object():
    def now() -> str:
        """Tell the time."""

    assert spec_of(now).parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_every_kind_of_annotation_has_a_schema():
    def everything(
        a: str,
        b: int | None,
        c: list[str],
        d: dict[str, int],
        e: Any,
        f: Item,
        g: Color,
        h: Query,
        i: Point,
        j: Path,
        k: bool | str,
        m: dict,
        n: Literal["only"],
    ) -> str:
        """Do it."""

    found = parameters(everything)
    assert found["b"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert found["d"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert found["e"] == {}
    assert found["j"] == {"type": "string", "format": "path"}
    assert found["m"] == {"type": "object"}
    assert found["n"] == {"type": "string", "const": "only"}
    schema = spec_of(everything).parameters
    assert schema["$defs"]["Item"] == {
        "type": "object",
        "description": "One thing.",
        "properties": {
            "name": {"type": "string", "description": "Its name"},
            "count": {"type": "integer"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert schema["$defs"]["Color"] == {"enum": ["red", "blue"], "type": "string"}
    assert "title" not in json.dumps(schema)
    jsonschema_rs.validator_for(dict(schema))


@pytest.mark.parametrize(
    "hint, native",
    [
        (str, True),
        (int | None, True),
        (list[dict[str, list[int]]], True),
        (Literal["a", 1, None], True),
        (Item, True),
        (Annotated[str, Arg("x")], True),
        (Any, True),
        (list, True),
        (Path, False),
        (Color, False),
        (Query, False),
        (list[Point], False),
        (Path | None, False),
        (tuple[int, int], False),
        (set[str], False),
        (dict[int, str], False),
        (Annotated[str, str.strip], False),
        (Literal[Color.RED], False),
    ],
)
def test_only_what_json_gives_as_it_is_needs_no_conversion(hint, native):
    def convert(value):
        """Do it."""

    convert.__annotations__["value"] = hint
    assert spec_of(convert).convert is not native


def test_arguments_are_converted_to_what_the_function_expects():
    def convert(path: Path, color: Color, query: Query, points: list[Point], n: int = 3) -> str:
        """Do it."""

    given = {
        "path": "a/b",
        "color": "red",
        "query": {"text": "x"},
        "points": [{"x": 1, "y": 2}],
    }
    assert argument_adapter(convert).validate_python(given) == {
        "path": Path("a/b"),
        "color": Color.RED,
        "query": Query(text="x"),
        "points": [Point(1, 2.0)],
    }


def test_the_context_is_recognised_by_name_and_place():
    def first(ctx: ToolContext, x: int) -> str:
        """Do it."""

    def none(x: int) -> str:
        """Do it."""

    def late(x: int, ctx: ToolContext) -> str:
        """Do it."""

    assert takes_context(first)
    assert not takes_context(none)
    with pytest.raises(BuildError, match="tool late: `ctx` must be the first parameter"):
        spec_of(late)


def test_names_that_trouble_pydantic_models_are_fine():
    def awkward(schema: str, json: int, model_config: bool, copy: str = "x") -> str:
        """Do it."""

    assert list(parameters(awkward)) == ["schema", "json", "model_config", "copy"]


def test_defaults_are_in_the_schema_as_json():
    def defaults(
        path: Path = Path("x"),
        color: Color = Color.RED,
        point: Point = Point(1),  # noqa: B008
        item: Item = {"name": "a"},  # noqa: B006
        nothing: str | None = None,
    ) -> str:
        """Do it."""

    found = parameters(defaults)
    assert {name: entry["default"] for name, entry in found.items()} == {
        "path": "x",
        "color": "red",
        "point": {"x": 1, "y": 1.0},
        "item": {"name": "a"},
        "nothing": None,
    }
    assert "required" not in spec_of(defaults).parameters


def test_the_paths_that_a_call_touches_are_collected():
    def copy_file(
        source: Annotated[str, Arg("From", access="read")],
        target: Annotated[Path | None, Arg("To", access="fs_write")] = None,
        note: Annotated[str, Arg("Why")] = "",
    ) -> str:
        """Copy a file."""

    spec = spec_of(copy_file, effects=["read", "fs_write"])
    assert spec.access == {"source": "read", "target": "fs_write"}


def test_limits_of_an_optional_list_are_those_of_a_list():
    def pick(names: Annotated[list[str] | None, Arg(min_length=2)] = None) -> str:
        """Pick some."""

    assert parameters(pick)["names"]["minItems"] == 2


def test_facts_reach_the_spec():
    def browse(action: Literal["look", "click"], url: str = "") -> str:
        """Use a browser."""

    spec = spec_of(
        browse,
        name="browser",
        effects={"net_read", "net_write"},
        effects_by={"action": {"look": ["net_read"]}},
        aliases=["www"],
        intents=["open {url:url}", Intent("click", {"action": "click"})],
        needs=Needs(secrets=("key",)),
        audience="owner",
        exposure="deferred",
        timeout_s=5,
        outside=True,
    )
    assert (spec.name, spec.aliases, spec.timeout_s) == ("browser", ("www",), 5.0)
    assert spec.effects_by.to_dict() == {"action": {"look": ["net_read"]}}
    assert [intent.pattern for intent in spec.intents] == ["open {url:url}", "click"]


def stars(*names: str) -> str:
    """Do it."""


def double_stars(**names: str) -> str:
    """Do it."""


def bare(x) -> str:
    """Do it."""


def hidden(_x: int) -> str:
    """Do it."""


def positional(x: int, /) -> str:
    """Do it."""


def for_checkers(x: ToolContext) -> str:
    """Do it."""


def not_null(x: str = None) -> str:  # noqa: RUF013
    """Do it."""


def wrong_default(x: Annotated[int, Arg(ge=1)] = 0) -> str:
    """Do it."""


def odd_default(x: Any = object()) -> str:  # noqa: B008
    """Do it."""


def no_json(a: int, x: type) -> str:
    """Do it."""


def no_schema(a: int, x: subprocess.Popen) -> str:
    """Do it."""


def bad_pattern(x: Annotated[str, Arg(pattern="(")]) -> str:
    """Do it."""


def misnamed(city: str) -> str:
    """Do it.

    Args:
        cty: Where.
    """


def untold(x: int) -> int:
    return x


def only_arguments(x: int) -> int:
    """
    Args:
        x: A number.
    """
    return x


def generator(x: int):
    """Do it."""
    yield x


@pytest.mark.parametrize(
    "function, words",
    [
        (stars, "tool stars, parameter *names: a model fills named parameters"),
        (double_stars, "tool double_stars, parameter **names"),
        (bare, "tool bare, parameter x: no annotation"),
        (hidden, "tool hidden, parameter _x: fields that begin with `_`"),
        (positional, "tool positional, parameter x: arguments are passed by name"),
        (for_checkers, "tool for_checkers, parameter x: `ToolContext` does not exist when"),
        (not_null, "tool not_null, parameter x: the default does not fit the annotation"),
        (wrong_default, "tool wrong_default, parameter x: the default does not fit"),
        (odd_default, "tool odd_default, parameter x: the default <object object"),
        (no_json, "tool no_json, parameter x"),
        (no_schema, "tool no_schema, parameter x"),
        (bad_pattern, "tool bad_pattern: its parameters are no valid JSON Schema"),
        (misnamed, "tool misnamed: the docstring describes `cty`, which is no parameter"),
        (untold, "tool untold: no docstring, so a model can't know what it is for"),
        (only_arguments, "tool only_arguments: no docstring"),
        (generator, "tool generator: a tool returns its result once"),
    ],
)
def test_what_can_not_be_told_a_model_is_refused_with_function_and_parameter(function, words):
    with pytest.raises(BuildError) as caught:
        spec_of(function)
    assert words in caught.value.message


def test_refusals_help():
    for function, fix in [
        (not_null, "`| None`"),
        (for_checkers, "not under TYPE_CHECKING"),
        (misnamed, "did you mean 'city'"),
        (bare, "`x: str`"),
        (untold, '`"""Report the weather of a city."""`'),
    ]:
        with pytest.raises(BuildError) as caught:
            spec_of(function)
        assert fix in f"{caught.value.message} {caught.value.fix}"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes typing's there")
def test_the_typed_dict_of_typing_is_refused_with_the_import_that_works():
    import typing

    Old = typing.TypedDict("Old", {"a": int})  # noqa: UP013

    def old(item) -> str:
        """Do it."""

    old.__annotations__["item"] = Old
    with pytest.raises(BuildError) as caught:
        spec_of(old)
    assert caught.value.fix == "from typing_extensions import TypedDict"


def look(action: str) -> str:
    """Look."""


@pytest.mark.parametrize(
    "facts, words",
    [
        ({"effects": ["raed"]}, "did you mean 'read'"),
        ({"name": "look!"}, "'look!' is no tool name"),
        ({"name": "x" * 65}, "at most 64 characters"),
        ({"aliases": ["a-b"]}, "'a-b' is no tool name"),
        ({"audience": "onwer"}, "audience is 'onwer', must be one of any, owner; did you mean"),
        ({"exposure": "secret"}, "exposure is 'secret'"),
        ({"policy_class": "readonly"}, "did you mean 'read_only'"),
        ({"capability": "orch:reed"}, "did you mean 'orch:read'"),
        ({"control": "secret"}, "did you mean 'secrets'"),
        ({"name": "look_manage", "capability": "orch:read"}, "look_manage is never delegated"),
        ({"control": "config", "capability": "orch:read"}, "a tool of the control plane"),
        ({"on_interrupt": "retry"}, "must be one of rerun, tell, reconcile"),
        ({"timeout_s": 0}, "timeout_s must be more than 0"),
        ({"intents": ["look at {thing:path}"]}, "names `thing`, which is no parameter"),
        ({"effects_by": {"acton": {}}}, "effects_by names `acton`, which is no parameter"),
        (
            {"effects": ["read"], "effects_by": {"action": {"x": ["exec"]}}},
            "exec is not among the declared effects (read)",
        ),
    ],
)
def test_wrong_facts_are_refused(facts, words):
    with pytest.raises(BuildError) as caught:
        spec_of(look, **facts)
    assert words in caught.value.message


def test_an_argument_that_a_shell_runs_is_marked():
    def run(
        source: Annotated[str, Arg("Source", shell=True)],
        words: Annotated[list[str] | None, Arg("Words", shell=True)] = None,
        other: str = "",
    ) -> str:
        """Run."""

    spec = spec_of(run, effects=["exec"])
    assert spec.shell == ("source", "words")
    assert spec.to_dict()["shell"] == ["source", "words"]
    assert ToolSpec.from_dict(spec.to_dict()) == spec
    assert spec_of(run, effects=None).shell == ("source", "words")
    with pytest.raises(BuildError, match="parameter source, shell: exec is not among"):
        spec_of(run, effects=["read"])


def test_an_access_beyond_the_declared_effects_is_refused():
    def write(path: Annotated[str, Arg(access="fs_write")]) -> str:
        """Write."""

    with pytest.raises(BuildError, match="parameter path, access: fs_write is not among"):
        spec_of(write, effects=["read"])


@pytest.mark.parametrize(
    "facts, words",
    [
        ({"effect": ["read"]}, "a tool has no 'effect'; did you mean 'effects'"),
        ({"effects": "read"}, r"effects takes several names: write \['read'\]"),
        ({"aliases": "abc"}, "aliases takes several names"),
    ],
)
def test_a_slip_in_the_mark_is_an_error_at_once(facts, words):
    with pytest.raises(TypeError, match=words):
        tool(look, **facts)


def test_names_of_an_enclosing_function_are_found_when_it_uses_them():
    class Local(BaseModel):
        a: int

    def nested(x: Local) -> str:
        """Do it."""
        return str(Local)

    assert "Local" in spec_of(nested).parameters["$defs"]


def test_importing_what_plugins_import_does_not_import_pydantic():
    code = (
        "import sys; from pegboard import Arg, Plugin, ToolContext, tool, ToolFailure, Intent; "
        "p = Plugin(); p.tool(lambda: None); "
        "print([m for m in ('pydantic', 'asyncio', 'jsonschema_rs', 'typing_extensions')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_docstrings_are_cleaned_on_every_python():
    def indented(x: int) -> str:
        """Say it.

            Deeper.

        Example:
            kept
        """

    spec = spec_of(indented)
    assert spec.description == "Say it.\n\n    Deeper.\n\nExample:\n    kept"
    assert spec.description == inspect.cleandoc(spec.description)


class Change(TypedDict):
    old: Annotated[str, Arg("Old text.", aliases=("oldText",))]
    new: Annotated[NotRequired[str], Arg("New text.", aliases=("newText",))]


def test_aliases_of_arguments_are_beside_the_schema_and_not_in_it():
    @tool
    def change(
        path: Annotated[str, Arg("Path.", aliases=("file_path", "filename"))],
        edits: Annotated[list[Change] | None, Arg("Changes.", aliases=("changes",))] = None,
    ) -> str:
        """Change."""
        return path + str(edits)

    spec = spec_of(change)
    assert spec.argument_aliases == {
        "file_path": "path",
        "filename": "path",
        "changes": "edits",
        "edits[].oldText": "old",
        "edits[].newText": "new",
    }
    assert "aliases" not in json.dumps(spec.parameters)
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_an_alias_that_means_two_arguments_is_refused():
    @tool
    def change(
        one: Annotated[str, Arg("One.", aliases=("x",))],
        two: Annotated[str, Arg("Two.", aliases=("x",))],
    ) -> str:
        """Change."""
        return one + two

    with pytest.raises(BuildError, match="`x` would mean two arguments"):
        spec_of(change)


def test_an_argument_may_have_names_of_its_opposite_and_a_tool_may_leave_arguments_out():
    def look(
        ignore_case: Annotated[bool | None, Arg("Case.", opposites=("case_sensitive",))] = None,
        edits: Annotated[list[Change] | None, Arg("Changes.")] = None,
    ) -> str:
        """Look."""
        return f"{ignore_case}{edits}"

    spec = spec_of(look, ignored_arguments=("-n", "edits[].why"))
    assert spec.argument_aliases == {
        "case_sensitive": "!ignore_case",
        "edits[].oldText": "old",
        "edits[].newText": "new",
        "-n": "",
        "edits[].why": "",
    }
    assert "opposites" not in json.dumps(spec.parameters)
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize(
    ("ignored", "opposite", "message"),
    [
        (("flag",), "x", "`flag` would mean two arguments"),
        (("x",), "x", "`x` would mean two arguments"),
        (("edits[].why",), "x", "no place for the ignored `edits"),
        ((), "flag", "`flag` would mean two arguments"),
    ],
)
def test_a_name_that_would_mean_two_things_is_refused(ignored, opposite, message):
    def look(flag: bool = False) -> str:
        """Look."""
        return str(flag)

    look.__annotations__["flag"] = Annotated[bool, Arg("Flag.", opposites=(opposite,))]
    with pytest.raises(BuildError, match=message):
        spec_of(look, ignored_arguments=ignored)


def test_only_yes_or_no_has_an_opposite():
    @tool
    def look(count: Annotated[int, Arg("Count.", opposites=("none",))]) -> str:
        """Look."""
        return str(count)

    with pytest.raises(BuildError, match="`count` is not yes or no"):
        spec_of(look)


def test_a_text_that_names_paths_says_how_they_are_found():
    @tool(effects={"fs_write"})
    def write_all(
        text: Annotated[
            str, Arg("Text.", access="fs_write", path_pattern="(?m)^F (.*)$", freeform=True)
        ],
        why: Annotated[str, Arg("What for.", remark=True)] = "",
    ) -> str:
        """Write."""
        return text

    spec = spec_of(write_all)
    assert spec.path_patterns == {"text": "(?m)^F (.*)$"}
    assert spec.freeform == "text"
    assert spec.remarks == ("why",)
    assert ToolSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    given = {"text": "F a\nG b\nF c/d\n"}
    touched = call_access(spec, given, frozenset({"fs_write"}), Path("/w"))
    assert [(item.argument, item.resource) for item in touched] == [
        ("text", "/w/a"),
        ("text", "/w/c/d"),
    ]


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (Arg("T.", remark=True, access="fs_write"), "a remark is no path"),
        (Arg("T.", path_pattern="(x)"), "goes with access"),
        (Arg("T.", access="fs_write", path_pattern="("), "no regular expression"),
        (Arg("T.", access="fs_write", path_pattern="x"), "0 groups"),
    ],
)
def test_a_wrong_path_pattern_is_refused(mark, message):
    def write_all(text: str) -> str:
        """Write."""
        return text

    write_all.__annotations__["text"] = Annotated[str, mark]
    with pytest.raises(BuildError, match=message):
        spec_of(tool(effects={"fs_write"})(write_all))
