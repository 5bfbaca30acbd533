-- +goose Up
CREATE TABLE IF NOT EXISTS router_head (
  id INTEGER NOT NULL PRIMARY KEY, -- 1: there is one router
  last_seq INTEGER NOT NULL, -- the last event in the journal
  snapshot INTEGER NOT NULL, -- which snapshot counts; 0: none
  snapshot_seq INTEGER NOT NULL -- the last event in it
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS router_head;
