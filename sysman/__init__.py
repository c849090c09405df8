"""The configuration blob of Megalith: its model, its encoding and the commands that edit it.

This module exports everything that scripts/run needs, which uses only the standard library:

    configuration = Configuration.load("my.cfg")        # or Configuration()
    configuration.set_parameter("PAGED_LAL_SIZE=512")
    configuration.reserve("DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES")
    blob = configuration.to_bytes()

Errors are SysmanError, whose text is a message for the user.
"""

from .configuration import Configuration
from .errors import SysmanError
from .registry import Reservation

__all__ = ["Configuration", "Reservation", "SysmanError"]
