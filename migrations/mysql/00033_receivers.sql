-- +goose Up
CREATE TABLE IF NOT EXISTS receivers (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  event_id BIGINT NOT NULL -- up to which it has got
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS receivers;
