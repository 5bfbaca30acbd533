-- +goose Up
-- Channels and their counters.
CREATE TABLE IF NOT EXISTS channels (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(64) NULL, -- NULL once deleted
  former_name VARCHAR(64) NOT NULL,
  type VARCHAR(64) NOT NULL,
  title VARCHAR(1000) NOT NULL,
  capacity INT, -- NULL: DEFAULT_CHANNEL_CAPACITY
  paused TINYINT NOT NULL,
  settings MEDIUMTEXT NOT NULL,
  secret VARCHAR(191) NOT NULL,
  version BIGINT NOT NULL,
  deleting TINYINT NOT NULL,
  deleted TINYINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE KEY channels_name (name),
  KEY channels_former_name (former_name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id BIGINT NOT NULL PRIMARY KEY,
  queued BIGINT NOT NULL, -- contacts that are queued or delayed
  in_flight BIGINT NOT NULL -- contacts that are sending, active or unknown
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS channel_states (
  channel_id BIGINT NOT NULL PRIMARY KEY,
  health VARCHAR(16) NOT NULL,
  reason VARCHAR(512) NOT NULL,
  since BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS channel_states;
DROP TABLE IF EXISTS channel_counts;
DROP TABLE IF EXISTS channels;
