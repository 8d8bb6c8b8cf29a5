-- The times that a memory's text mentions, half-open, with how surely each was read. They are found
-- when the file is opened (family_recall/indexing/mentioned_times.py).
CREATE TABLE mentioned_time(
  memory INTEGER NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, certainty REAL NOT NULL,
  PRIMARY KEY(memory, start_s, end_s)) WITHOUT ROWID;
CREATE INDEX mentioned_time_start ON mentioned_time(start_s);
CREATE INDEX memory_valid_from ON memory(valid_from_s) WHERE valid_from_s IS NOT NULL;
-- What a text says of its own statement, as bits; see statements/bits.py. Found again when the file is
-- opened.
ALTER TABLE memory ADD COLUMN cues INTEGER NOT NULL DEFAULT 0;
