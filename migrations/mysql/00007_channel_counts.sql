-- +goose Up
CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id BIGINT NOT NULL PRIMARY KEY,
  queued BIGINT NOT NULL -- queued and delayed contacts
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS channel_counts;
