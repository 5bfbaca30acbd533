-- +goose Up
-- The job router: its journal of events and its snapshots.
CREATE TABLE IF NOT EXISTS router_head (
  id BIGINT NOT NULL PRIMARY KEY, -- 1: there is one router
  last_seq BIGINT NOT NULL, -- the last event in the journal
  snapshot BIGINT NOT NULL, -- which snapshot counts; 0: none
  snapshot_seq BIGINT NOT NULL -- the last event in it
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS router_journal (
  first_seq BIGINT NOT NULL PRIMARY KEY,
  last_seq BIGINT NOT NULL,
  data MEDIUMBLOB NOT NULL -- many events
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS router_snapshots (
  snapshot BIGINT NOT NULL,
  part BIGINT NOT NULL, -- from 0
  data MEDIUMBLOB NOT NULL,
  PRIMARY KEY (snapshot, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO router_head (id, last_seq, snapshot, snapshot_seq) VALUES (1, 0, 0, 0);

-- +goose Down
DROP TABLE IF EXISTS router_snapshots;
DROP TABLE IF EXISTS router_journal;
DROP TABLE IF EXISTS router_head;
