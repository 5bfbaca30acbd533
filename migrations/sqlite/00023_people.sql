-- +goose Up
-- What people said about being contacted: a history, which only grows, and what counts of it for each purpose, by a
-- keyed hash of the address, which stays when the address is erased.
CREATE TABLE IF NOT EXISTS people_keys (
  id TEXT NOT NULL PRIMARY KEY,
  secret TEXT NOT NULL, -- empty: the key is configured
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS consents (
  id INTEGER NOT NULL PRIMARY KEY, -- in the order of commits
  hash BLOB NOT NULL, -- of the address
  key_id TEXT NOT NULL, -- under which it is hashed
  ckey TEXT, -- of the client
  addr TEXT NOT NULL, -- empty: it was erased
  purpose TEXT NOT NULL, -- all: of every purpose
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  words TEXT NOT NULL,
  actor TEXT NOT NULL -- who recorded it
) STRICT;
CREATE INDEX IF NOT EXISTS consents_hash ON consents (hash, id);
CREATE UNIQUE INDEX IF NOT EXISTS consents_key ON consents (ckey) WHERE ckey IS NOT NULL;

CREATE TABLE IF NOT EXISTS consent_states (
  hash BLOB NOT NULL,
  purpose TEXT NOT NULL,
  status TEXT NOT NULL,
  source TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  version INTEGER NOT NULL, -- id of the consent that made it
  PRIMARY KEY (hash, purpose)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS consent_states;
DROP TABLE IF EXISTS consents;
DROP TABLE IF EXISTS people_keys;
