-- What was forgotten, in digests, until when it is kept aside, and how long categories are kept.
-- stated: the names a relation was told with, since its entities may be called by longer ones.
ALTER TABLE relation ADD COLUMN stated TEXT;
CREATE TABLE receipt(
  receipt_id TEXT PRIMARY KEY, at_s REAL NOT NULL, clean INTEGER NOT NULL, record TEXT NOT NULL);
CREATE TABLE aside(
  receipt_id TEXT PRIMARY KEY REFERENCES receipt, until_s REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE retention(category TEXT PRIMARY KEY, keep_days REAL NOT NULL) WITHOUT ROWID;
