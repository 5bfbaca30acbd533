-- +goose Up
-- The processes that write. Each transaction of a process's group-commit writer records its number here.
CREATE TABLE IF NOT EXISTS writers (
  start_number BIGINT NOT NULL PRIMARY KEY, -- the number of the start, from processes
  batch BIGINT NOT NULL, -- the last transaction that was committed
  fence BIGINT NOT NULL DEFAULT 0 -- grows whenever a channel is changed beside the writer, and with each owner of the database
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS writers;
