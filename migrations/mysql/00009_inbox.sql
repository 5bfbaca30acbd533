-- +goose Up
-- Items for the process that runs a channel, from the others.
CREATE TABLE IF NOT EXISTS inbox (
  id BIGINT NOT NULL PRIMARY KEY,
  channel_id BIGINT NOT NULL,
  kind VARCHAR(32) NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  wake TINYINT NULL, -- 1 for a wake item, one for each channel; otherwise NULL
  UNIQUE KEY inbox_wake (channel_id, wake)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS inbox;
