-- +goose Up
CREATE TABLE IF NOT EXISTS router_head (
  id BIGINT NOT NULL PRIMARY KEY, -- 1: there is one router
  last_seq BIGINT NOT NULL, -- the last event in the journal
  snapshot BIGINT NOT NULL, -- which snapshot counts; 0: none
  snapshot_seq BIGINT NOT NULL -- the last event in it
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS router_head;
