"""One suite per kind of contribution: the laws that the host relies on, as tests.

An author subclasses a suite in the tests of the plugin and says how to make the thing under test.
"""
