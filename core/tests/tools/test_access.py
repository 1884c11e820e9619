"""Where the paths of a call really are."""

from __future__ import annotations

from pegboard.contracts.effects import Access
from pegboard.tools.access import followed


def leads(path, workspace):
    (found,) = followed((Access("read", str(path), "path"),), workspace)
    assert found.resource == str(path)
    return found.leads_to


def test_where_a_link_leads_is_told_and_nothing_else(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert leads(tmp_path / "real/new/one", tmp_path) == ""
    assert leads(tmp_path / "link/new", tmp_path) == str(tmp_path / "real/new")
    assert leads("/nowhere/at/all", tmp_path) == ""
    assert followed((Access("exec", ""),), tmp_path) == (Access("exec", ""),)


def test_a_workspace_behind_a_link_keeps_its_name(tmp_path):
    (tmp_path / "real/inner").mkdir(parents=True)
    (tmp_path / "real/other").symlink_to("inner")
    workspace = tmp_path / "workspace"
    workspace.symlink_to("real")
    assert leads(workspace / "inner/x", workspace) == ""
    assert leads(workspace / "other/x", workspace) == str(workspace / "inner/x")
    assert leads(workspace, workspace) == ""
