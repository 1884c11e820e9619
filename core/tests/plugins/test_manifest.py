from __future__ import annotations

import json
from typing import Any

import pytest

from pegboard.contracts import effects as contracts
from pegboard.contracts.errors import ManifestError
from pegboard.contracts.tool import (
    Intent,
    Needs,
    OutputLimits,
    ToolHelp,
    ToolSpec,
)
from pegboard.plugins.discovery import manifest_fields
from pegboard.plugins.discovery.manifest import ContributionFact, FamilyFact, Manifest, parse, read
from pegboard.plugins.discovery.scan import scan

FULL = Manifest(
    id="web",
    summary="Reads pages, möglichst alle",
    entry="pegboard_web.plugin:plugin",
    activate="boot",
    hooks={"pegboard_event": ("tool_called",)},
    tools=(
        ToolSpec(
            name="fetch",
            description="Fetch a page.",
            effects=frozenset({"net_read"}),
            effects_by=contracts.EffectsBy("how", {"post": frozenset({"net_write"})}),
            access={"path": "read"},
            help=ToolHelp("When", ("an example",), ("fails",)),
            aliases=("get",),
            intents=(Intent("fetch {url:url}", {"limit": 3}),),
            audience="owner",
            attended="live",
            capability="orch:web",
            policy_class="network",
            exposure="deferred",
            needs=Needs(binaries=("curl",)),
            on_interrupt="rerun",
            limits=OutputLimits(10, None, "head"),
            timeout_s=3.0,
            outside=True,
            convert=True,
        ).to_dict(),
    ),
    contributions=(ContributionFact("channel", "page", "A page", {"type": "object"}, {"a": 1}),),
    families=(FamilyFact("web_", "mcp", ("net_read",), "owner"),),
    config={"type": "object", "properties": {}},
    config_ref="pegboard_web.config:Config",
    secrets=("web_key",),
    needs={"binaries": ("curl",)},
    services=("cache",),
    background=("refresh",),
    lifespan=True,
    before=("git",),
    after=("files",),
)


def minimal(**facts: Any) -> dict[str, Any]:
    return {"manifest": 1, "id": "web", **facts}


def test_a_manifest_survives_its_own_json_and_reads_the_same_every_time():
    text = FULL.to_json()
    assert parse(text, "here") == FULL
    assert parse(text, "here").to_json() == text
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(json.loads(text))


def test_the_dict_form_is_what_json_gives_back():
    assert FULL.to_dict() == json.loads(FULL.to_json())


def test_the_keys_of_the_file_are_the_names_of_the_fields():
    fields = set(Manifest._fields) - {"unknown"}
    assert set(FULL.to_dict()) == fields | {"manifest"}


def test_an_id_is_enough():
    assert Manifest.from_dict(minimal(), "here") == Manifest("web")


def test_keys_of_a_later_builder_are_remembered_and_not_refused():
    assert Manifest.from_dict(minimal(zebra=1, apple=2), "here").unknown == ("apple", "zebra")


def test_names_that_the_contracts_define_are_spelled_out_correctly():
    values = manifest_fields._TOOL_VALUES
    assert frozenset(contracts.EFFECTS) == manifest_fields.EFFECTS
    assert values["exposure"] == contracts.EXPOSURES
    assert values["policy_class"] == (None, *contracts.POLICY_CLASSES)
    fields = set(ToolSpec.__dataclass_fields__)
    assert set(values) | set(manifest_fields._TOOL_READERS) | {"name"} == fields


TOOL = {"name": "fetch", "parameters": {"type": "object"}}
WRONG = [
    ({"manifest": 0}, "`manifest` must be the number 1"),
    ({"manifest": "1"}, "`manifest` must be the number 1"),
    ({"manifest": True}, "`manifest` must be the number 1"),
    ({"id": ""}, "`id` is missing"),
    ({"id": None}, "`id` must be a string, not null"),
    ({"api": 1}, "`api` must be a string, not a number"),
    ({"activate": "always"}, "`activate` must be one of use, boot, not 'always'"),
    ({"activate": ["use"]}, "`activate` must be one of use, boot"),
    ({"hooks": []}, "`hooks` must be an object, not a list"),
    ({"hooks": {"pegboard_event": "all"}}, "`hooks.pegboard_event` must be a list, not a string"),
    ({"lifespan": 1}, "`lifespan` must be true or false, not a number"),
    ({"config": []}, "`config` must be an object, not a list"),
    ({"config_ref": 5}, "`config_ref` must be a string"),
    ({"secrets": "key"}, "`secrets` must be a list, not a string"),
    ({"secrets": ["a", 5]}, "`secrets[1]` must be a string, not a number"),
    ({"needs": {"binaries": [None]}}, "`needs.binaries[0]` must be a string, not null"),
    ({"tools": {}}, "`tools` must be a list, not an object"),
    ({"tools": ["fetch"]}, "`tools[0]` must be an object, not a string"),
    ({"tools": [{}]}, "`tools[0].name` must be a string, not null"),
    ({"tools": [{"name": "f-h"}]}, "`tools[0].name` is 'f-h'; a tool's name is letters, digits"),
    ({"tools": [{"name": "f" * 65}]}, "a tool's name is letters, digits"),
    ({"tools": [{"name": "_f"}]}, "a tool's name is letters, digits"),
    ({"tools": [{"name": "fétch"}]}, "a tool's name is letters, digits"),
    ({"tools": [TOOL, TOOL]}, "`tools` has fetch twice"),
    ({"tools": [{**TOOL, "parameters": []}]}, "`tools[0].parameters` must be an object"),
    ({"tools": [{**TOOL, "effects": "read"}]}, "`tools[0].effects` must be a list"),
    (
        {"tools": [{**TOOL, "effects": ["reed"]}]},
        "holds the unknown effect reed; effects are: exec",
    ),
    ({"tools": [{**TOOL, "effects_by": {"a": {}, "b": {}}}]}, "takes exactly one argument name"),
    ({"tools": [{**TOOL, "effects_by": {"a": {"x": None}}}]}, "`tools[0].effects_by.a.x`"),
    ({"tools": [{**TOOL, "exposure": "loud"}]}, "`tools[0].exposure` must be one of direct,"),
    ({"tools": [{**TOOL, "timeout_s": "5"}]}, "`tools[0].timeout_s` must be a number"),
    ({"tools": [{**TOOL, "limits": {"char": 5}}]}, "`tools[0].limits` has the unknown key 'char'"),
    (
        {"tools": [{**TOOL, "limits": {"keep": "all"}}]},
        "`tools[0].limits.keep` must be one of head",
    ),
    ({"tools": [{**TOOL, "intents": ["x"]}]}, "`tools[0].intents[0]` must be an object"),
    ({"tools": [{**TOOL, "intents": [{}]}]}, "`tools[0].intents[0].pattern` must be a string"),
    ({"tools": [{**TOOL, "access": {"path": "x"}}]}, "`tools[0].access.path` must be one of"),
    ({"tools": [{**TOOL, "help": {"examples": "x"}}]}, "`tools[0].help.examples` must be a list"),
    ({"contributions": [{"kind": "tool", "name": "x"}]}, "tools belong in `tools`"),
    ({"contributions": [{"kind": "channel"}]}, "`contributions[0].name` must be a string"),
    ({"contributions": [{"kind": "channel", "name": ""}]}, "`contributions[0].name` is empty"),
    ({"contributions": [{"kind": "c", "name": "x"}] * 2}, "`contributions` has c x twice"),
    ({"contributions": [{"kind": "c", "name": "x", "config": 1}]}, "`contributions[0].config`"),
    ({"families": [{"prefix": "a_", "effects": ["x"]}]}, "`families[0].effects` holds the unknown"),
    ({"families": [{"prefix": "a_", "kind": "x"}]}, "`families[0].kind` must be one of tool"),
    ({"families": [{"prefix": "a_"}] * 2}, "`families` has a_ twice"),
]


@pytest.mark.parametrize(("facts", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_value_is_named_by_file_and_key(facts, message):
    with pytest.raises(ManifestError) as caught:
        Manifest.from_dict(minimal(**facts), "web/plugin.json")
    assert caught.value.message.startswith("web/plugin.json: ")
    assert message in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "nul", "[1]", "5", '"text"', "{]", "[" * 100_000])
def test_what_is_no_json_object_is_refused_with_the_place(text):
    with pytest.raises(ManifestError) as caught:
        parse(text, "web/plugin.json")
    assert caught.value.message.startswith("web/plugin.json: ")


def test_a_newer_manifest_says_what_to_upgrade():
    with pytest.raises(ManifestError) as caught:
        Manifest.from_dict(minimal(manifest=2, tools="of another shape"), "here")
    assert caught.value.details["newer"] is True
    assert caught.value.fix == "pip install --upgrade pegboard"


JUNK = [None, True, 5, 1.5, "text", [], {}, [1], ["text"], [None], {"x": 1}, {"x": None}, {"x": []}]


def test_every_tool_that_is_let_in_can_be_read_as_a_spec():
    good = dict(FULL.tools[0])
    let_in = 0
    for key in good:
        for junk in JUNK:
            tool = {**good, key: junk}
            try:
                Manifest.from_dict(minimal(tools=[tool]), "here")
            except ManifestError:
                continue
            ToolSpec.from_dict(tool)
            let_in += 1
    assert let_in > len(good)


def test_junk_at_any_key_is_refused_or_read_but_never_raises_anything_else():
    good = FULL.to_dict()
    for key in good:
        for junk in JUNK:
            try:
                Manifest.from_dict({**good, key: junk}, "here").to_json()
            except ManifestError as error:
                assert error.message.startswith("here: ")


def test_an_installed_manifest_is_read_without_importing_its_package(site):
    site.add("web", summary="Reads pages")
    (found,) = scan(site.path)
    manifest = read(found, site.path)
    assert manifest is not None
    assert manifest.summary == "Reads pages"


def test_no_manifest_is_none(site):
    site.add("web", unmanifested=True)
    assert read(scan(site.path)[0], site.path) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff{}", "byte 0 is not UTF-8"),
        ("{", "not JSON at line 1"),
        ('{"manifest": 1, "id": "other"}', "`id` is 'other', but the entry point of pegboard-web"),
    ],
)
def test_a_broken_installed_manifest_is_named_by_its_file(site, content, message):
    site.add("web", manifest=content)
    with pytest.raises(ManifestError) as caught:
        read(scan(site.path)[0], site.path)
    assert message in caught.value.message
    assert str(site.folder / "pegboard_web" / "plugin.json") in caught.value.message


def test_a_manifest_that_is_a_folder_is_a_manifest_error(site):
    site.add("web", unmanifested=True)
    (site.folder / "pegboard_web" / "plugin.json").mkdir()
    with pytest.raises(ManifestError, match="can't be read"):
        read(scan(site.path)[0], site.path)
