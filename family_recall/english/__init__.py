"""What a text states, in English: kinds of values, cues of change, and what a question asks for.

Imports nothing of this package. Nothing here knows what is stored or how it is ranked.
"""

from __future__ import annotations

from .bits import BITS, BITS_VERSION, bits_of, mask_of, mask_of_kinds
from .cues import Cues, cues_in
from .lower_case import lowered
from .persons import names_somebody, speaks_of_self, volunteers, wants_somebody
from .questions import asks, only_asks
from .reminders import Reminder, reminder_in
from .slots import Slot, slot_of
from .values import KINDS, Values, values_in

__all__ = [
    "BITS",
    "BITS_VERSION",
    "KINDS",
    "Cues",
    "Reminder",
    "Slot",
    "Values",
    "asks",
    "bits_of",
    "cues_in",
    "lowered",
    "mask_of",
    "mask_of_kinds",
    "names_somebody",
    "only_asks",
    "reminder_in",
    "slot_of",
    "speaks_of_self",
    "values_in",
    "volunteers",
    "wants_somebody",
]
