-- +goose Up
-- Who wants the events of contacts: they are written while there is a row. Each insert and delete changes the fence of
-- all writers in its transaction, so that no batch that is committed later goes by what was before.
CREATE TABLE IF NOT EXISTS event_interests (
  name TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL -- the row may be deleted then; 0: never
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS event_interests;
