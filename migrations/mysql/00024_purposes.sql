-- +goose Up
-- What contacts are for, with the rules for it, and when people were contacted, by a keyed hash of the address: rows exist
-- only while a rule looks at them.
CREATE TABLE IF NOT EXISTS purposes (
  name VARCHAR(63) NOT NULL PRIMARY KEY,
  rules MEDIUMTEXT NOT NULL, -- JSON
  deleted TINYINT NOT NULL, -- its rules hold for contacts that have it already
  changed_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS limits (
  name VARCHAR(63) NOT NULL PRIMARY KEY,
  rules MEDIUMTEXT NOT NULL, -- JSON
  changed_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS person_contacts (
  hash BINARY(16) NOT NULL, -- of the address
  claimed_at BIGINT NOT NULL,
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  number INT NOT NULL, -- of the attempt
  purpose VARCHAR(63) NOT NULL,
  text BIGINT NOT NULL, -- hash of what it says; 0: nothing
  PRIMARY KEY (hash, claimed_at, channel_id, contact_id, number),
  KEY person_contacts_age (claimed_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS attempt_receipts ( -- of attempts that ended while their contacts continued
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  number INT NOT NULL,
  facts TEXT NOT NULL, -- JSON
  PRIMARY KEY (channel_id, contact_id, number)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS attempt_receipts;
DROP TABLE IF EXISTS person_contacts;
DROP TABLE IF EXISTS limits;
DROP TABLE IF EXISTS purposes;
