-- +goose Up
-- What contacts are for, with the rules for it, and when people were contacted, by a keyed hash of the address: rows exist
-- only while a rule looks at them.
CREATE TABLE IF NOT EXISTS purposes (
  name TEXT NOT NULL PRIMARY KEY,
  rules TEXT NOT NULL, -- JSON
  deleted INTEGER NOT NULL, -- its rules hold for contacts that have it already
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS limits (
  name TEXT NOT NULL PRIMARY KEY,
  rules TEXT NOT NULL, -- JSON
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS person_contacts (
  hash BLOB NOT NULL, -- of the address
  claimed_at INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  number INTEGER NOT NULL, -- of the attempt
  purpose TEXT NOT NULL,
  text INTEGER NOT NULL, -- hash of what it says; 0: nothing
  PRIMARY KEY (hash, claimed_at, channel_id, contact_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS person_contacts_age ON person_contacts (claimed_at);

CREATE TABLE IF NOT EXISTS attempt_receipts ( -- of attempts that ended while their contacts continued
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  facts TEXT NOT NULL, -- JSON
  PRIMARY KEY (channel_id, contact_id, number)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS attempt_receipts;
DROP TABLE IF EXISTS person_contacts;
DROP TABLE IF EXISTS limits;
DROP TABLE IF EXISTS purposes;
