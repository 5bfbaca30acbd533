-- +goose Up
-- A row: nothing is sent until an operator lets Weir go.
CREATE TABLE IF NOT EXISTS hold (
  id INTEGER NOT NULL PRIMARY KEY, -- always 1
  since INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS hold;
