"""Libraries that read formats, loaded when a file needs them."""

from __future__ import annotations

import importlib
from typing import Any

from family_recall.errors import DatasetError


def library(name: str) -> Any:
    """Return a module of the extra ``import``.

    Raises:
        DatasetError: If it is not installed; the message says how to.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"this format needs {error.name}, which is not installed; "
            "pip install 'family-recall[import]'"
        ) from None
