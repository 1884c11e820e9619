"""Fixtures that tests of every folder share."""

from __future__ import annotations

import os

pytest_plugins = ["counterparts.fixtures"]

# a key found in the environment is a reason to ask its vendor: no test shall
for _name in [name for name in os.environ if name.upper().endswith("_API_KEY")]:
    del os.environ[_name]
