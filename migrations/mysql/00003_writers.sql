-- +goose Up
CREATE TABLE IF NOT EXISTS writers (
  start_number BIGINT NOT NULL PRIMARY KEY, -- which start of which process, from meta
  owner VARCHAR(191) NOT NULL,
  batch BIGINT NOT NULL -- the last one that was committed
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS writers;
