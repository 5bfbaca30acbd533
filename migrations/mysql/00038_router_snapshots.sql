-- +goose Up
CREATE TABLE IF NOT EXISTS router_snapshots (
  snapshot BIGINT NOT NULL,
  part BIGINT NOT NULL, -- from 0
  data MEDIUMBLOB NOT NULL,
  PRIMARY KEY (snapshot, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS router_snapshots;
