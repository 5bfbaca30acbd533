-- +goose Up
-- Messages that people sent.
CREATE TABLE IF NOT EXISTS incoming (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  guid VARBINARY(1020) NULL,
  sender VARCHAR(255) NOT NULL,
  recipient VARCHAR(255) NOT NULL,
  body MEDIUMTEXT NOT NULL,
  fields MEDIUMTEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (channel_id, id),
  UNIQUE KEY incoming_guid (channel_id, guid)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS incoming;
