-- role: which of a file's models are compared with which questions; `static` is the small table
-- that answers where there is no time for the other.
ALTER TABLE embedding_model ADD COLUMN role TEXT NOT NULL DEFAULT 'embedder';
