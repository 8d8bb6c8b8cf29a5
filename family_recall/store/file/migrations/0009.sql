-- Today's words for what earlier steps called otherwise. A rename rewrites the schema and no row.
-- Plain tables of vectors have such a column too; see stores/file/schema.py.
ALTER TABLE memory RENAME COLUMN seal TO checksum;
ALTER TABLE memory RENAME COLUMN veil TO redacted_view;
ALTER TABLE partition RENAME COLUMN veil TO redacted_view;
ALTER TABLE partition RENAME COLUMN ward TO child;
ALTER TABLE word_count RENAME COLUMN shelf TO shard;
ALTER TABLE shown RENAME COLUMN judgement TO feedback;
ALTER TABLE learned RENAME COLUMN judgement TO feedback;
ALTER TABLE veil RENAME TO redacted_view;
ALTER TABLE judgement RENAME TO feedback;
ALTER TABLE aside RENAME TO trash;
DROP INDEX judgement_person;
DROP INDEX judgement_memory;
CREATE INDEX feedback_person ON feedback(person, no);
CREATE INDEX feedback_memory ON feedback(memory);
-- What can be restored from the trash are rows of memory, under the names of its columns.
UPDATE trash SET record = json_set(record, '$.memory', json((
  SELECT json_group_array(json_remove(
    json_set(value, '$.checksum', json_extract(value, '$.seal'),
      '$.redacted_view', json_extract(value, '$.veil')),
    '$.seal', '$.veil'))
  FROM json_each(record, '$.memory'))))
WHERE json_type(record, '$.memory') = 'array';
