-- +goose Up
-- Contacts that wait have a row in contacts_queued or contacts_delayed and, if their window ends, one in
-- contacts_expiring.
CREATE TABLE IF NOT EXISTS contacts_queued (
  channel_id INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  id INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  size INTEGER NOT NULL,
  progress BLOB, -- NULL: as accepted
  PRIMARY KEY (channel_id, lane, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS contacts_delayed (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  progress BLOB, -- NULL: as accepted
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS contacts_delayed_due ON contacts_delayed (channel_id, due_at, id);

CREATE TABLE IF NOT EXISTS contacts_expiring (
  channel_id INTEGER NOT NULL,
  expire_at INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (channel_id, expire_at, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS contacts_expiring;
DROP TABLE IF EXISTS contacts_delayed;
DROP TABLE IF EXISTS contacts_queued;
