-- Rows that must not exist: "-- name: what they are called", and a query that finds them.
-- The first four are rules of records, which an import checks too; the others, of what is derived
-- from records, and rebuild repairs what breaks them.

-- places: memories without a partition
SELECT 1 FROM memory m LEFT JOIN partition p ON p.no = m.id >> 40
WHERE p.no IS NULL OR p.space <> m.space OR p.band <> m.band
  OR p.redacted_view <> m.redacted_view OR m.id - (p.no << 40) >= p.next_seq;

-- contexts: without a memory of their partition
SELECT 1 FROM memory m WHERE m.context_id IS NOT NULL AND NOT EXISTS
  (SELECT 1 FROM memory c WHERE c.id = m.context_id AND c.id >> 40 = m.id >> 40);

-- names: of nothing in their partition
SELECT 1 FROM entity e LEFT JOIN partition p ON p.no = -e.id >> 40
WHERE p.no IS NULL OR -e.id - (p.no << 40) >= p.next_entity
UNION ALL
SELECT 1 FROM alias a WHERE NOT EXISTS
  (SELECT 1 FROM entity e WHERE e.id = a.entity AND -e.id >> 40 = a.partition);

-- relations: without two entities of one partition
SELECT 1 FROM relation r
WHERE NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.subject)
  OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.object)
  OR -r.subject >> 40 <> -r.object >> 40;

-- partition counts: partitions that are counted wrong
SELECT 1 FROM partition p LEFT JOIN (
  SELECT id >> 40 AS no, count(*) AS n, sum(superseded_s IS NULL) AS n_current,
    sum(iif(superseded_s IS NULL, n_words, 0)) AS words_current, sum(n_words) AS words,
    sum(superseded_s IS NULL AND (valid_from_s IS NOT NULL OR valid_until_s IS NOT NULL))
      AS n_bounded,
    max(id) AS last
  FROM memory GROUP BY 1) m ON m.no = p.no
WHERE p.n_current <> coalesce(m.n_current, 0)
  OR p.n_past <> coalesce(m.n - m.n_current, 0)
  OR p.words_current <> coalesce(m.words_current, 0)
  OR p.words_past <> coalesce(m.words - m.words_current, 0)
  OR p.n_bounded <> coalesce(m.n_bounded, 0)
  OR p.next_seq <= coalesce(m.last - (p.no << 40), 0);

-- edges: without the opposite direction
SELECT 1 FROM edge e WHERE NOT EXISTS
  (SELECT 1 FROM edge b WHERE b.src = e.dst AND b.weight = e.weight AND b.dst = e.src
    AND b.kind = e.kind AND b.valid_from_s = e.valid_from_s);

-- edge ends: whose node is not current
SELECT 1 FROM edge e WHERE e.src > 0 AND NOT EXISTS
  (SELECT 1 FROM memory m WHERE m.id = e.src AND m.superseded_s IS NULL)
UNION ALL
SELECT 1 FROM edge e WHERE e.src < 0 AND NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = e.src);

-- edge partitions: from one partition to another
SELECT 1 FROM edge WHERE abs(src) >> 40 <> abs(dst) >> 40;

-- mentions: without a memory, an entity or an edge
SELECT 1 FROM mention t
WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = t.memory AND m.superseded_s IS NULL)
  OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = t.entity)
  OR NOT EXISTS
    (SELECT 1 FROM edge e WHERE e.src = t.memory AND e.dst = t.entity AND e.kind = t.role);

-- mention edges: without a mention
SELECT 1 FROM edge e WHERE e.src > 0 AND e.kind IN ('mention', 'author') AND NOT EXISTS
  (SELECT 1 FROM mention t WHERE t.memory = e.src AND t.entity = e.dst AND t.role = e.kind);

-- identifiers: without a memory
SELECT 1 FROM identifier i WHERE i.partition <> i.memory >> 40
  OR NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = i.memory);

-- mentioned times: without a memory
SELECT 1 FROM mentioned_time t WHERE t.end_s <= t.start_s
  OR NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = t.memory);
