-- +goose Up
CREATE TABLE IF NOT EXISTS channels (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(64) NULL, -- NULL once deleted
  former_name VARCHAR(64) NOT NULL,
  type VARCHAR(64) NOT NULL,
  title VARCHAR(1000) NOT NULL,
  capacity INT NOT NULL,
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

-- +goose Down
DROP TABLE IF EXISTS channels;
