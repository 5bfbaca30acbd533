-- +goose Up
-- A row: nothing is dispatched until an operator ends the hold.
CREATE TABLE IF NOT EXISTS hold (
  id INT NOT NULL PRIMARY KEY, -- always 1
  since BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS hold;
