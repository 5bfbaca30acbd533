-- +goose Up
CREATE TABLE IF NOT EXISTS router_journal (
  first_seq BIGINT NOT NULL PRIMARY KEY,
  last_seq BIGINT NOT NULL,
  data MEDIUMBLOB NOT NULL -- many events
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS router_journal;
