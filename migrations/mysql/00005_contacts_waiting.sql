-- +goose Up
-- Contacts that wait have a row in contacts_queued or contacts_delayed and, if their window ends, one in
-- contacts_expiring.
CREATE TABLE IF NOT EXISTS contacts_queued (
  channel_id BIGINT NOT NULL,
  lane BIGINT NOT NULL,
  id BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  size INT NOT NULL,
  progress BLOB NULL, -- NULL: as accepted
  PRIMARY KEY (channel_id, lane, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS contacts_delayed (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  progress BLOB NULL, -- NULL: as accepted
  PRIMARY KEY (channel_id, id),
  KEY contacts_delayed_due (channel_id, due_at, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS contacts_expiring (
  channel_id BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  id BIGINT NOT NULL,
  PRIMARY KEY (channel_id, expire_at, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts_expiring;
DROP TABLE IF EXISTS contacts_delayed;
DROP TABLE IF EXISTS contacts_queued;
