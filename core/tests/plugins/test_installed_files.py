from __future__ import annotations

import pytest

from pegboard.plugins.discovery.installed_files import installed_files, missing_files, overlaps
from pegboard.plugins.discovery.scan import scan


def test_a_module_of_two_distributions_is_found_with_both_names(site):
    site.add("web", module="shared")
    site.add("git", module="shared")
    site.add("files")
    (overlap,) = overlaps(site.path)
    assert overlap.dists == ("pegboard-git", "pegboard-web")
    assert str(site.folder / "shared" / "plugin.py") in overlap.files


def test_a_plugin_that_writes_into_a_library_is_found_too(site):
    site.add("web", module="requests_like")
    info = site.folder / "requests_like-2.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("requests_like/__init__.py,sha256=x,5\n")
    assert overlaps(site.path)[0].dists == ("pegboard-web", "requests-like")


def test_two_libraries_that_share_a_file_are_none_of_our_business(site):
    for name in ("one", "two"):
        info = site.folder / f"{name}-1.dist-info"
        info.mkdir()
        (info / "RECORD").write_text("same.py,,\n")
    assert overlaps(site.path) == ()


def test_compiled_files_and_metadata_do_not_count(site):
    info = site.add("web")
    (info / "RECORD").write_text(
        'pegboard_web/__pycache__/a.pyc,,\npegboard_web-0.1.0.dist-info/RECORD,,\n"a, b.py",,\n\n'
    )
    assert installed_files(info) == ("a, b.py",)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b'"open'])
def test_a_record_that_can_not_be_read_lists_nothing(site, content):
    info = site.add("web")
    (info / "RECORD").unlink()
    if content is not None:
        (info / "RECORD").write_bytes(content)
    assert [name for name in installed_files(info) if name != "open"] == []


def test_files_that_went_with_another_distribution_are_named(site):
    site.add("web")
    (site.folder / "pegboard_web" / "plugin.py").unlink()
    (found,) = scan(site.path)
    assert missing_files(found) == ("pegboard_web/plugin.py",)
