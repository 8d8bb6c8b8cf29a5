"""Rules between rows that the schema does not state: places, references, and derived rows."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that must not exist: ``query`` finds them, ``problem`` names them after their number."""

    what: str
    problem: str
    query: str

    def problem_in(self, connection: apsw.Connection) -> str | None:
        """Count the rows that must not exist."""
        (n,) = sql.row(connection, f"SELECT count(*) FROM ({self.query})")
        return f"{n:,} {self.problem}" if n else None


_PLACE = f"p.no << {PARTITION_SHIFT}"

OF_RECORDS = (
    Rule(
        "places",
        "memories without a partition",
        f"SELECT 1 FROM memory m LEFT JOIN partition p ON p.no = m.id >> {PARTITION_SHIFT}"
        " WHERE p.no IS NULL OR p.space <> m.space OR p.band <> m.band"
        f" OR p.redacted_view <> m.redacted_view OR m.id - ({_PLACE}) >= p.next_seq",
    ),
    Rule(
        "contexts",
        "without a memory of their partition",
        "SELECT 1 FROM memory m WHERE m.context_id IS NOT NULL AND NOT EXISTS (SELECT 1"
        " FROM memory c WHERE c.id = m.context_id"
        f"  AND c.id >> {PARTITION_SHIFT} = m.id >> {PARTITION_SHIFT})",
    ),
    Rule(
        "names",
        "of nothing in their partition",
        f"SELECT 1 FROM entity e LEFT JOIN partition p ON p.no = -e.id >> {PARTITION_SHIFT}"
        f" WHERE p.no IS NULL OR -e.id - ({_PLACE}) >= p.next_entity"
        " UNION ALL SELECT 1 FROM alias a WHERE NOT EXISTS (SELECT 1 FROM entity e"
        f"  WHERE e.id = a.entity AND -e.id >> {PARTITION_SHIFT} = a.partition)",
    ),
    Rule(
        "relations",
        "without two entities of one partition",
        "SELECT 1 FROM relation r WHERE NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.subject)"
        " OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.object)"
        f" OR -r.subject >> {PARTITION_SHIFT} <> -r.object >> {PARTITION_SHIFT}",
    ),
)
"""Rules of what is exported."""

OF_DERIVED = (
    Rule(
        "edges",
        "without the opposite direction",
        "SELECT 1 FROM edge e WHERE NOT EXISTS (SELECT 1 FROM edge b WHERE b.src = e.dst"
        " AND b.weight = e.weight AND b.dst = e.src AND b.kind = e.kind"
        " AND b.valid_from_s = e.valid_from_s)",
    ),
    Rule(
        "edge ends",
        "whose node is not current",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND NOT EXISTS (SELECT 1 FROM memory m"
        " WHERE m.id = e.src AND m.superseded_s IS NULL) UNION ALL"
        " SELECT 1 FROM edge e WHERE e.src < 0 AND NOT EXISTS"
        " (SELECT 1 FROM entity n WHERE n.id = e.src)",
    ),
    Rule(
        "edge partitions",
        "from one partition to another",
        f"SELECT 1 FROM edge WHERE abs(src) >> {PARTITION_SHIFT} <> abs(dst) >> {PARTITION_SHIFT}",
    ),
    Rule(
        "mentions",
        "without a memory, an entity or an edge",
        "SELECT 1 FROM mention t WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = t.memory"
        " AND m.superseded_s IS NULL) OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = t.entity)"
        " OR NOT EXISTS (SELECT 1 FROM edge e WHERE e.src = t.memory AND e.dst = t.entity"
        "  AND e.kind = t.role)",
    ),
    Rule(
        "mention edges",
        "without a mention",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND e.kind IN ('mention', 'author') AND NOT EXISTS"
        " (SELECT 1 FROM mention t WHERE t.memory = e.src AND t.entity = e.dst"
        "  AND t.role = e.kind)",
    ),
    Rule(
        "identifiers",
        "without a memory",
        "SELECT 1 FROM identifier i WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = i.memory)"
        f" OR i.partition <> i.memory >> {PARTITION_SHIFT}",
    ),
    Rule(
        "mentioned times",
        "without a memory",
        "SELECT 1 FROM mentioned_time t WHERE t.end_s <= t.start_s OR NOT EXISTS"
        " (SELECT 1 FROM memory m WHERE m.id = t.memory)",
    ),
)
"""Rules of what is derived from it; rebuild repairs what breaks them."""
