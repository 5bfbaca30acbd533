-- +goose Up
-- Attempts that ended while their contact continued.
CREATE TABLE IF NOT EXISTS attempts (
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  number INT NOT NULL,
  claimed_at BIGINT NOT NULL,
  sent_at BIGINT NOT NULL,
  heard_at BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  provider_ref VARCHAR(512) NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  reason VARCHAR(512) NOT NULL,
  PRIMARY KEY (channel_id, contact_id, number)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS attempts;
