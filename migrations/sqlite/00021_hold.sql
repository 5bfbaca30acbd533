-- +goose Up
-- A row: nothing is dispatched until an operator ends the hold.
CREATE TABLE IF NOT EXISTS hold (
  id INTEGER NOT NULL PRIMARY KEY, -- always 1
  since INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS hold;
