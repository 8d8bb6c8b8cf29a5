"""What texts in English say: a question and a statement, each read once.

Imports nothing of the package but its types. Nothing here knows what is stored or how it is ranked.
"""

from __future__ import annotations

from .asking import Reminder, asks, reminder_in
from .follow_up import standalone
from .given_up import is_given_up
from .question import Question
from .statement import BITS, BITS_VERSION, Statement, bits_of, mask_of, mask_of_kinds
from .text import lowered
from .values import KINDS, Values, values_in

__all__ = [
    "BITS",
    "BITS_VERSION",
    "KINDS",
    "Question",
    "Reminder",
    "Statement",
    "Values",
    "asks",
    "bits_of",
    "is_given_up",
    "lowered",
    "mask_of",
    "mask_of_kinds",
    "reminder_in",
    "standalone",
    "values_in",
]
