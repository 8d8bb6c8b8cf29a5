-- The times that a memory's text mentions, half-open, with how surely each was read. They are found
-- when the file is opened (family_recall/remember/mentioned_times.py).
CREATE TABLE mentioned_time(
  memory INTEGER NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, certainty REAL NOT NULL,
  PRIMARY KEY(memory, start_s, end_s)) WITHOUT ROWID;
CREATE INDEX mentioned_time_start ON mentioned_time(start_s);
CREATE INDEX memory_valid_from ON memory(valid_from_s) WHERE valid_from_s IS NOT NULL;
-- What a text says of its own statement, as bits; see statements/bits.py. Found again when the file is
-- opened.
ALTER TABLE memory ADD COLUMN cues INTEGER NOT NULL DEFAULT 0;

-- An author is indexed by the name of the person. Words of earlier files are indexed again when the
-- file is opened (family_recall/remember/people.py).
DROP VIEW words_content;
CREATE VIEW words_content AS
  SELECT m.id AS id,
         coalesce(m.title || char(10), '') || m.text || coalesce(char(10) || m.summary, '')
           AS body,
         m.header AS header,
         coalesce(
           coalesce(
             coalesce((SELECT p.name FROM person p WHERE p.person_id = c.author), c.author) || ': ',
             '') || c.text,
           '') AS context
  FROM memory m LEFT JOIN memory c ON c.id = m.context_id;
