-- +goose Up
-- Who wants the events of contacts: they are written while there is a row. Each insert and delete changes the fence of
-- all writers in its transaction, so that no batch that is committed later goes by what was before.
CREATE TABLE IF NOT EXISTS event_interests (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL -- the row may be deleted then; 0: never
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS event_interests;
