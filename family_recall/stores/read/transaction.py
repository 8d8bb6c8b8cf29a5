"""A read transaction: the tables of one file by what they hold, in one consistent view."""

from __future__ import annotations

import datetime as dt

import apsw

from family_recall.stores.access.household import Household
from family_recall.stores.erase.forgetting_log import ForgettingLog
from family_recall.stores.logs.audit import AuditTables
from family_recall.stores.logs.feedback import FeedbackLog
from family_recall.stores.read.listing import Listings


class ReadTransaction:
    """The tables of one file, inside one transaction."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo) -> None:
        self.household = Household(connection)
        self.feedback = FeedbackLog(connection)
        self.audit = AuditTables(connection)
        self.erasure_log = ForgettingLog(connection)
        self.listings = Listings(connection, zone)
