-- Receipts held keyed digests of what was forgotten, and the key lay beside them. Digests and key are
-- deleted here; the file is rewritten, and each receipt gets its proof, when it is opened next
-- (family_recall/forget/cleaning.py).
INSERT INTO info(key, value) SELECT 'rewrite_due', '1' FROM info WHERE key = 'forgetting_key';
DELETE FROM info WHERE key = 'forgetting_key';
UPDATE receipt SET clean = 0, record = json_set(
  json_remove(record, '$.digests'), '$.rows', json('[]'), '$.proof', json('null'));
