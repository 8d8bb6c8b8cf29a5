"""Care: what a household is moved, mended and brought up to date with."""

from __future__ import annotations
