"""Fixtures that tests of every folder share."""

from __future__ import annotations

import os
import signal

pytest_plugins = ["counterparts.fixtures"]

# a key found in the environment is a reason to ask its vendor: no test shall
for _name in [name for name in os.environ if name.upper().endswith("_API_KEY")]:
    del os.environ[_name]

# a shell that starts the tests in the background makes them deaf to these, and all that they start
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
