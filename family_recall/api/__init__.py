"""One household, one object: everything a program may ask of it."""

from __future__ import annotations

from family_recall.api.asking import understand
from family_recall.api.care import Care
from family_recall.api.forgetting import Forgetting
from family_recall.api.household import Household
from family_recall.api.judging import Judging
from family_recall.api.keeping import Keeping
from family_recall.api.mending import Mending

__all__ = ["FamilyRecall", "understand"]


class FamilyRecall(Care, Judging, Forgetting, Mending, Keeping, Household):
    """One household's memory, in one file. Safe to share between threads.

    >>> import tempfile, os
    >>> from family_recall import Memory, Space
    >>> path = os.path.join(tempfile.mkdtemp(), "family.db")
    >>> with FamilyRecall.open(path) as home:
    ...     home.add_space(Space("shared:household", "shared"))
    ...     home.remember(Memory("The spare key is under the blue pot", "shared:household"))
    ...     answer = home.recall("Where is the spare key?")
    Remembered(doc_id='...', outcome='created')
    >>> answer.results[0].text
    'The spare key is under the blue pot'
    """
