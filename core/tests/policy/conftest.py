from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def space():
    """The strategies of the property tests: every policy, caller, tool and call."""
    name = "pegboard_policy_space"
    if name not in sys.modules:
        path = Path(__file__).with_name("test_properties.py")
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
