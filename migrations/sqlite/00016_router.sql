-- +goose Up
-- The job router: its journal of events and its snapshots.
CREATE TABLE IF NOT EXISTS router_head (
  id INTEGER NOT NULL PRIMARY KEY, -- 1: there is one router
  last_seq INTEGER NOT NULL, -- the last event in the journal
  snapshot INTEGER NOT NULL, -- which snapshot counts; 0: none
  snapshot_seq INTEGER NOT NULL -- the last event in it
) STRICT;

CREATE TABLE IF NOT EXISTS router_journal (
  first_seq INTEGER NOT NULL PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  data BLOB NOT NULL -- many events
) STRICT;

CREATE TABLE IF NOT EXISTS router_snapshots (
  snapshot INTEGER NOT NULL,
  part INTEGER NOT NULL, -- from 0
  data BLOB NOT NULL,
  PRIMARY KEY (snapshot, part)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO router_head (id, last_seq, snapshot, snapshot_seq) VALUES (1, 0, 0, 0);

-- +goose Down
DROP TABLE IF EXISTS router_snapshots;
DROP TABLE IF EXISTS router_journal;
DROP TABLE IF EXISTS router_head;
