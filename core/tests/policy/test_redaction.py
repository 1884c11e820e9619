from __future__ import annotations

import base64
import json
import logging
from urllib.parse import quote, quote_plus, urlencode

import pytest

from pegboard.policy.redaction import (
    MASK,
    Redactor,
    environment_secrets,
    redacted_logs,
    written_forms,
)

SECRETS = ["hunter2hunter2", 'p"ä/ss w+rd\\', "a/b?c=d&e", "Ключ-от-дома", "abcdef"]


@pytest.fixture
def redact():
    redactor = Redactor()
    redactor.learn(*SECRETS)
    return redactor


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda value: f"failed for {value}.",
        lambda value: "https://x.example/?" + urlencode({"k": value}),
        lambda value: "https://x.example/" + quote(value),
        lambda value: quote(value, safe="").lower(),
        lambda value: quote_plus(value),
        lambda value: json.dumps({"k": value}),
        lambda value: json.dumps({"k": value}, ensure_ascii=False),
        lambda value: repr({"k": value}),
    ],
)
def test_a_known_value_is_masked_in_every_form(redact, secret, write):
    text = redact(write(secret))
    assert MASK in text
    assert all(form not in text for form in written_forms(secret))


@pytest.mark.parametrize("secret", ["hunter2hunter2", 'p"ä/ss w+rd\\', "Ключ-от-дома"])
@pytest.mark.parametrize("before", ["", "u", "us", "usr", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_value_is_masked_inside_of_base64(redact, secret, before, encode):
    encoded = encode(f"{before}{secret}:after".encode()).decode()
    assert MASK in redact(f"header {encoded}")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("key sk-proj-abcdefghijklmnop0123 is wrong", "key [redacted] is wrong"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", MASK),
        ("github_pat_11ABCDEFG0abcdefghijklmn_x", MASK),
        ("xoxb-123456789012-abcdef", MASK),
        ("AKIAIOSFODNN7EXAMPLE", MASK),
        ("AIza" + "b" * 35, MASK),
        ("123456789:AA" + "h" * 33, MASK),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc_-", MASK),
        ("Authorization: Bearer abc123def456ghi", "Authorization: Bearer [redacted]"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==1", "authorization: basic [redacted]"),
        ("postgres://bob:s3cret@db/x", "postgres://[redacted]@db/x"),
        ("https://x.example/a?api_key=abcd1234&b=c", "https://x.example/a?api_key=[redacted]&b=c"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
            "[redacted]\nrest",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut", MASK),
    ],
)
def test_well_known_shapes_are_masked(text, kept):
    assert Redactor()(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nothing secret in here.",
        "The basic understanding of tokens and keys: a bearer arrived.",
        "See https://docs.example/key?x=1 or mailto:a@b.c",
        "sk-1 is short, and task-management-system-with-a-long-name is a name",
        "ssh://git@host:22/x",
        "config.api_key is not set",
    ],
)
def test_ordinary_text_comes_back_as_the_same_object(redact, text):
    assert redact(text) is text


def test_a_short_value_is_not_looked_for():
    redactor = Redactor()
    redactor.learn("abc", "")
    assert redactor("abc abc") == "abc abc"


def test_a_value_that_holds_another_is_masked_whole():
    redactor = Redactor()
    redactor.learn("abcdef", "abcdefghij")
    assert redactor("x abcdefghij y") == "x [redacted] y"


def test_sources_are_asked_once_and_only_when_needed():
    asked = []

    def source():
        asked.append(1)
        return ["hunter2hunter2"]

    redactor = Redactor(source)
    assert asked == []
    assert redactor("hunter2hunter2") == MASK
    redactor("again")
    assert asked == [1]


def test_data_keeps_its_shape(redact):
    data = {"a": ["hunter2hunter2", 1, None], "b": {"c": "ok"}}
    assert redact.data(data) == {"a": [MASK, 1, None], "b": {"c": "ok"}}


def test_variables_are_secret_by_their_names():
    env = {
        "OPENAI_API_KEY": "value-1",
        "GITHUB_TOKEN": "value-2",
        "db_password": "value-3",
        "AWS_SECRET_ACCESS_KEY": "value-4",
        "HOME": "/home/somebody",
        "MONKEY": "value-5",
        "TOKENIZERS_PARALLELISM": "value-6",
        "SHORT_TOKEN": "abc",
    }
    assert sorted(environment_secrets(env)) == [f"value-{number}" for number in range(1, 5)]


def test_logs_are_masked_whoever_writes_them(redact, caplog):
    child = logging.getLogger("some.library")
    with redacted_logs(redact):
        child.warning("value %s", "hunter2hunter2")
        try:
            raise ValueError("with hunter2hunter2 inside")
        except ValueError:
            child.exception("failed")
        child.warning("plain %d", 5)
    assert "hunter2" not in caplog.text
    assert f"value {MASK}" in caplog.text
    assert "plain 5" in caplog.text
    child.warning("after hunter2hunter2")
    assert "after hunter2hunter2" in caplog.text


def test_a_record_that_can_not_be_formatted_is_left_to_its_handler(redact):
    from pegboard.policy.redaction import RedactingFilter

    record = logging.LogRecord("n", logging.INFO, "f", 1, "%d", ("no number",), None)
    assert RedactingFilter(redact).filter(record)
