"""The one exception that the tool shows to people."""


class SysmanError(Exception):
    """A command, a value or a blob that cannot be accepted; the message says why."""
