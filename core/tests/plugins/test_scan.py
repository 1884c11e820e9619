from __future__ import annotations

import random
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from pegboard.plugins.discovery.dist_info import (
    normalized,
    read_entry_points,
    read_metadata,
    read_sections,
)
from pegboard.plugins.discovery.installed_files import overlaps
from pegboard.plugins.discovery.scan import GROUP, FoundPlugin, scan


def by_importlib(path: list[str]) -> set[tuple[str, str, str, str]]:
    seen: set[str] = set()
    found = set()
    for dist in metadata.distributions(path=path):
        name = normalized(Path(str(dist._path)).name.rpartition(".")[0].partition("-")[0])  # type: ignore[attr-defined]
        if name in seen:
            continue
        seen.add(name)
        for point in dist.entry_points:
            if point.group == GROUP:
                found.add(
                    (point.name, point.value.partition("[")[0].strip(), dist.name, dist.version)
                )
    return found


def facts(found: list[FoundPlugin]) -> set[tuple[str, str, str, str]]:
    return {(item.id, item.value, item.dist, item.version) for item in found}


def test_a_plugin_is_found_with_its_distribution_and_what_that_requires(site):
    info = site.add("web", version="1.2", requires=["pegboard>=0.1,<0.2", "httpx"])
    (found,) = scan(site.path)
    assert found == FoundPlugin(
        "web",
        "pegboard_web.plugin:plugin",
        "pegboard-web",
        "1.2",
        str(info),
        ("pegboard>=0.1,<0.2", "httpx"),
    )
    assert found.location == info


def test_the_order_is_by_id_whatever_the_file_system_says(site):
    for name in ("web", "files", "shell", "git"):
        site.add(name)
    assert [item.id for item in scan(site.path)] == ["files", "git", "shell", "web"]


def test_the_first_distribution_of_a_name_wins_even_without_plugins(tmp_path, site):
    site.add("web", version="1")
    second = type(site)(tmp_path / "second")
    second.add("web", version="2")
    empty = tmp_path / "empty" / "Pegboard.Web-3.dist-info"
    empty.mkdir(parents=True)
    (empty / "METADATA").write_text("Name: Pegboard.Web\nVersion: 3\n")
    assert [item.version for item in scan(site.path + second.path)] == ["1"]
    assert [item.version for item in scan(second.path + site.path)] == ["2"]
    assert scan([str(tmp_path / "empty"), *site.path]) == []


def test_an_old_style_egg_info_is_found_too(tmp_path):
    info = tmp_path / "pegboard_old.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: pegboard-old\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nold = pegboard_old:plugin\n")
    (info / "requires.txt").write_text("pegboard>=0.1\n\n[extra]\nhttpx\n")
    (found,) = scan([str(tmp_path)])
    assert (found.id, found.version, found.requires) == ("old", "0.3", ("pegboard>=0.1",))


def test_a_dist_info_counts_before_the_egg_info_of_the_same_folder(tmp_path, site):
    site.add("web", version="2")
    info = site.folder / "pegboard_web.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Name: pegboard-web\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nweb = pegboard_web:plugin\n")
    assert [item.version for item in scan(site.path)] == ["2"]


def test_a_zip_on_the_path_is_looked_into(tmp_path):
    file = tmp_path / "bundle.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("zipped-1.0.dist-info/METADATA", "Name: zipped\nVersion: 1.0\n\n")
        archive.writestr("zipped-1.0.dist-info/entry_points.txt", f"[{GROUP}]\nz = zipped:plugin\n")
    (found,) = scan([str(file)])
    assert (found.id, found.dist, found.version) == ("z", "zipped", "1.0")


def test_folders_that_are_missing_or_no_folders_are_passed_over(tmp_path, site):
    site.add("web")
    (tmp_path / "text").write_text("no zip")
    path = [str(tmp_path / "gone"), str(tmp_path / "text"), *site.path]
    assert [item.id for item in scan(path)] == ["web"]


def test_what_is_no_folder_name_is_passed_over_as_by_import(tmp_path, site):
    site.add("web")
    odd = [Path(site.folder), b"/bytes", None, "/tmp/\0zero", "~", "", "/tmp/\udcff"]
    assert scan(odd) == []  # type: ignore[arg-type]
    assert [item.id for item in scan([*odd, *site.path])] == ["web"]  # type: ignore[list-item]
    assert overlaps([*odd, *site.path]) == ()  # type: ignore[list-item]


def test_one_folder_on_the_path_twice_and_by_a_link_is_one_plugin(tmp_path, site):
    site.add("web")
    link = tmp_path / "link"
    link.symlink_to(site.folder, target_is_directory=True)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    path = [str(link), *site.path, f"{site.folder}/", str(tmp_path / "nowhere"), *site.path]
    assert [item.id for item in scan(path)] == ["web"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"[{GROUP}]\nnothing here\n", "line 2 of its entry_points.txt"),
        (f"[{GROUP}]\n= value\n", "line 2 of its entry_points.txt"),
        (f"[other]\nx=y\n[{GROUP}]\n\nweb =\n", "line 5 of its entry_points.txt"),
        (f"[{GROUP}]\nw\xff = a:b\n".encode("latin-1"), "not UTF-8"),
        (b"\xff\xfe\x00garbage", "not UTF-8"),
    ],
)
def test_garbage_in_entry_points_is_reported_and_named(site, text, problem):
    site.add("web", entry_points=text)
    (found,) = scan(site.path)
    assert problem in found.problem
    assert found.dist == "pegboard-web"


def test_garbage_of_a_distribution_that_is_none_of_ours_is_its_own_business(site):
    site.add("x", dist="other", entry_points=b"\xff\xfe\x00garbage")
    site.add("y", dist="another", entry_points="[console_scripts]\nno equals sign\n")
    assert scan(site.path) == []


def test_missing_metadata_is_reported_with_the_name_of_the_folder(site):
    info = site.add("web", version="0.4")
    (info / "METADATA").unlink()
    (found,) = scan(site.path)
    assert (found.dist, found.version) == ("pegboard-web", "0.4")
    assert "METADATA is missing" in found.problem


def test_metadata_that_is_a_folder_is_reported(site):
    info = site.add("web")
    (info / "METADATA").unlink()
    (info / "METADATA").mkdir()
    (found,) = scan(site.path)
    assert "METADATA can't be read" in found.problem


def test_entry_points_that_are_a_folder_are_reported(site):
    info = site.add("web")
    (info / "entry_points.txt").unlink()
    (info / "entry_points.txt").mkdir()
    (found,) = scan(site.path)
    assert "entry_points.txt can't be read" in found.problem
    assert found.id == "web"


def test_a_foreign_letter_in_a_field_that_nobody_reads_does_no_harm(site):
    site.add("web", metadata=b"Name: pegboard-web\nVersion: 1\nAuthor: Andr\xe9\n\n")
    assert scan(site.path)[0].problem == ""


def test_a_name_that_is_not_utf8_is_reported(site):
    site.add("web", metadata=b"Name: pegboard-w\xe9b\nVersion: 1\n\n")
    assert "no readable Name" in scan(site.path)[0].problem


def test_long_descriptions_and_windows_lines_are_read_as_headers_only(site):
    head = "Name: pegboard-web\r\nVersion: 1\r\n" + "Classifier: x\r\n" * 2000
    body = "\r\nRequires-Dist: not-a-header\r\n" * 3
    site.add("web", metadata=head + "Requires-Dist: httpx\r\n" + body)
    (found,) = scan(site.path)
    assert (found.version, found.requires) == ("1", ("httpx",))


def test_a_folded_header_is_one_line():
    found = read_metadata(
        "Name: a\nVersion: 1\nRequires-Dist: b\n  >=1\nSummary: x", "a-1.dist-info"
    )
    assert found.requires == ("b  >=1",)


def test_extras_of_an_entry_point_are_left_out():
    assert read_entry_points(f"[{GROUP}]\nx = a.b:c [extra]\n").values == {"x": "a.b:c"}


def test_all_sections_are_read_for_an_inspection():
    text = "# comment\n[console_scripts]\na = b:c\nnonsense\n[x]\n"
    assert read_sections(text) == {"console_scripts": {"a": "b:c"}, "x": {}}


def test_names_are_compared_in_one_spelling():
    spellings = {"Pegboard-Web", "pegboard_web", "pegboard.web", "PEGBOARD--_.web"}
    assert {normalized(name) for name in spellings} == {"pegboard_web"}


@pytest.mark.parametrize("seed", range(12))
def test_it_finds_what_importlib_metadata_finds(tmp_path, seed):
    chance = random.Random(seed)
    path = [str(make_tree(tmp_path / str(number), chance)) for number in range(3)]
    assert facts(scan(path)) == by_importlib(path)


def test_it_finds_what_importlib_metadata_finds_in_this_environment():
    ours = {(item.id, item.value, item.dist) for item in scan()}
    assert ours == {
        (point.name, point.value, point.dist.name if point.dist else "")
        for point in metadata.entry_points(group=GROUP)
    }
    assert sys.path


def make_tree(folder: Path, chance: random.Random) -> Path:
    """Write distributions of all shapes, some with plugins, names spelled in many ways."""
    folder.mkdir()
    names = [f"pegboard-tool{number}" for number in range(8)] + ["zlib-extra", "Other.Thing"]
    for name in chance.sample(names, 7):
        spelling = name.replace("-", chance.choice("_.")).replace("p", chance.choice("pP"), 1)
        version = f"{chance.randint(0, 3)}.{chance.randint(0, 9)}"
        egg = chance.random() < 0.3
        suffix = ".egg-info" if egg else ".dist-info"
        info = (
            folder / f"{spelling}{'' if egg and chance.random() < 0.5 else '-' + version}{suffix}"
        )
        info.mkdir()
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / ("PKG-INFO" if egg else "METADATA")).write_text(head + "\nText: no header\n")
        sections = ["# a comment", ""]
        if chance.random() < 0.7:
            space = chance.choice(["", " ", "  "])
            module = name.lower().replace("-", "_").replace(".", "_")
            sections += [f"[{GROUP}]", f"{name[-5:].lower()}{space}={space}{module}.plugin:plugin"]
        if chance.random() < 0.5:
            sections[2:2] = ["[console_scripts]", "run = some.where:main", ""]
        if chance.random() < 0.9:
            (info / "entry_points.txt").write_text("\n".join(sections) + "\n")
    return folder
