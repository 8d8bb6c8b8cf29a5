-- What stages cost here, by kind of device; see stores/logs/stage_costs.py.
CREATE TABLE IF NOT EXISTS stage_cost(
  device TEXT NOT NULL, stage TEXT NOT NULL, fixed_ms REAL NOT NULL, unit_ms REAL NOT NULL,
  runs INTEGER NOT NULL, PRIMARY KEY(device, stage)) WITHOUT ROWID;
