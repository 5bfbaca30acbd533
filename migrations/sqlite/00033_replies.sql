-- +goose Up
-- Replies have rows of their own, which limits alone count: a cap never reads them, however many there are.
CREATE TABLE IF NOT EXISTS person_replies (
  claimed_at INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  number INTEGER NOT NULL, -- of the attempt
  hash BLOB NOT NULL, -- of the address
  PRIMARY KEY (claimed_at, channel_id, contact_id, number)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO person_replies (claimed_at, channel_id, contact_id, number, hash)
  SELECT claimed_at, channel_id, contact_id, number, hash FROM person_contacts WHERE purpose = '';
DELETE FROM person_contacts WHERE purpose = '';

-- +goose Down
INSERT OR IGNORE INTO person_contacts (hash, claimed_at, channel_id, contact_id, number, purpose, text)
  SELECT hash, claimed_at, channel_id, contact_id, number, '', 0 FROM person_replies;
DROP TABLE IF EXISTS person_replies;
