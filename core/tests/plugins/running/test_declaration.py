from __future__ import annotations

import pytest

from pegboard import Plugin


def test_a_hook_is_implemented_once():
    plugin = Plugin()

    @plugin.hook
    def pegboard_event(event):
        pass

    with pytest.raises(TypeError, match="pegboard_event is implemented twice"):
        plugin.hook(pegboard_event)


@pytest.mark.parametrize("name", ["tool", "info", "pegboard_tools"])
def test_a_hook_can_not_take_the_place_of_a_member(name):
    def function(event):
        pass

    function.__name__ = name
    with pytest.raises(TypeError, match=f"{name} is no behaviour hook"):
        Plugin().hook(function)


def test_a_plugin_has_one_lifespan_and_each_service_once():
    plugin = Plugin()
    plugin.lifespan(lambda context: None)
    with pytest.raises(TypeError, match="one lifespan"):
        plugin.lifespan(lambda context: None)
    plugin.service("index")(lambda context: None)
    with pytest.raises(TypeError, match="service index is offered twice"):
        plugin.service("index")(lambda context: None)


def test_a_string_does_not_become_a_list_of_letters():
    with pytest.raises(TypeError, match="secrets takes several names"):
        Plugin(secrets="key")
    with pytest.raises(TypeError, match="effects takes several names"):
        Plugin().family("x_", effects="read")


def test_plugins_are_compared_by_identity():
    first, second = Plugin(), Plugin()
    assert first != second
    assert len({first, second}) == 2


def test_names_given_as_a_set_are_in_the_same_order_each_time():
    assert Plugin(secrets={"c", "a", "b"}).info.secrets == ("a", "b", "c")
