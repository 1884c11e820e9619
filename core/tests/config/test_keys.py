from __future__ import annotations

import pytest

from pegboard.config.keys import join_key, split_key
from pegboard.contracts.errors import UsageError


@pytest.mark.parametrize(
    ("dotted", "parts"),
    [
        ("agent", ("agent",)),
        ("plugins.sandbox-local.max_2", ("plugins", "sandbox-local", "max_2")),
        ('names."a b".c', ("names", "a b", "c")),
        ("names.'a.b'", ("names", "a.b")),
        (r'x."say \"hi\""', ("x", 'say "hi"')),
        ('""', ("",)),
    ],
)
def test_keys_are_split_as_toml_writes_them_and_joined_again(dotted, parts):
    assert split_key(dotted) == parts
    assert split_key(join_key(parts)) == parts


@pytest.mark.parametrize("dotted", ["", ".", "a.", ".a", "a..b", "a b", 'a."b', "a=b", "ä", "a[0]"])
def test_what_is_no_key_is_refused(dotted):
    with pytest.raises(UsageError, match="is no key"):
        split_key(dotted)
