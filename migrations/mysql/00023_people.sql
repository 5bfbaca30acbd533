-- +goose Up
-- What people said about being contacted: a history, which only grows, and what counts of it for each purpose, by a
-- keyed hash of the address, which stays when the address is erased.
CREATE TABLE IF NOT EXISTS people_keys (
  id VARCHAR(16) NOT NULL PRIMARY KEY,
  secret VARCHAR(64) NOT NULL, -- empty: the key is configured
  created_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS consents (
  id BIGINT NOT NULL PRIMARY KEY, -- in the order of commits
  hash BINARY(16) NOT NULL, -- of the address
  key_id VARCHAR(16) NOT NULL, -- under which it is hashed
  ckey VARCHAR(255), -- of the client
  addr VARCHAR(255) NOT NULL, -- empty: it was erased
  purpose VARCHAR(100) NOT NULL, -- all: of every purpose
  status VARCHAR(16) NOT NULL,
  source VARCHAR(16) NOT NULL,
  said_at BIGINT NOT NULL,
  words VARCHAR(500) NOT NULL,
  actor VARCHAR(100) NOT NULL, -- who recorded it
  KEY consents_hash (hash, id),
  UNIQUE KEY consents_key (ckey)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS consent_states (
  hash BINARY(16) NOT NULL,
  purpose VARCHAR(100) NOT NULL,
  status VARCHAR(16) NOT NULL,
  source VARCHAR(16) NOT NULL,
  said_at BIGINT NOT NULL,
  version BIGINT NOT NULL, -- id of the consent that made it
  PRIMARY KEY (hash, purpose)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS consent_states;
DROP TABLE IF EXISTS consents;
DROP TABLE IF EXISTS people_keys;
