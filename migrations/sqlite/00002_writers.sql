-- +goose Up
-- The processes that write. Each transaction of a process's group-commit writer records its number here.
CREATE TABLE IF NOT EXISTS writers (
  start_number INTEGER NOT NULL PRIMARY KEY, -- the number of the start, from processes
  batch INTEGER NOT NULL, -- the last transaction that was committed
  fence INTEGER NOT NULL DEFAULT 0 -- grows whenever a channel is changed beside the writer, and with each owner of the database
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS writers;
