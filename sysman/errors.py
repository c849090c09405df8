"""The exception whose message the tool shows to the user."""


class SysmanError(Exception):
    """A command, a value or a blob that cannot be accepted; the message says why."""
