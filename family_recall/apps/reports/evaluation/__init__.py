"""Pages of measurements, with plots, in single HTML files. They need the extra ``[report]``."""

from __future__ import annotations

from family_recall.apps.reports.evaluation.plots import check
from family_recall.apps.reports.evaluation.quality import quality_page
from family_recall.apps.reports.evaluation.speed import speed_page, timing_page

__all__ = ["check", "quality_page", "speed_page", "timing_page"]
