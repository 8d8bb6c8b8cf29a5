-- Partition first: what begins with a value is then one stretch of one partition's rows, and
-- nobody else's are walked past. Which rules made the rows, `info` says.
CREATE TABLE IF NOT EXISTS identifier(
  partition INTEGER NOT NULL, value TEXT NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY(partition, value, memory)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS identifier_memory ON identifier(memory);
CREATE INDEX IF NOT EXISTS memory_milestone ON memory(id >> 40, event_type, fact_key, kind)
  WHERE (kind = 'milestone' OR fact_key GLOB '*birth*' OR fact_key GLOB '*anniversary*'
    OR fact_key GLOB '*date*' OR fact_key GLOB '*wedding*');
CREATE INDEX IF NOT EXISTS memory_lasting ON memory(id)
  WHERE kind IN ('fact', 'profile', 'milestone');
CREATE INDEX IF NOT EXISTS memory_occurred ON memory(occurred_s) WHERE occurred_s IS NOT NULL;
