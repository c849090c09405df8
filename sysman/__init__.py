"""The configuration blob of Megalith: its model, its encoding and the commands that edit it.

Everything that scripts/run needs is in this package's face and uses only the standard library:

    configuration = Configuration.load("my.cfg")        # or Configuration()
    configuration.set_parameter("PAGED_LAL_SIZE=512")
    configuration.reserve("DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES")
    blob = configuration.to_bytes()

Errors are SysmanError with a message for people.
"""

from .configuration import Configuration
from .errors import SysmanError
from .registry import Reservation

__all__ = ["Configuration", "Reservation", "SysmanError"]
