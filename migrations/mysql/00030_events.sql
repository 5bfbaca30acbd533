-- +goose Up
CREATE TABLE IF NOT EXISTS events (
  id BIGINT NOT NULL PRIMARY KEY, -- of the last event in it
  at BIGINT NOT NULL, -- when it was written
  payload MEDIUMBLOB NOT NULL -- some events in order, as JSON
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS events;
