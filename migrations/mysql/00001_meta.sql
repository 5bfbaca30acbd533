-- +goose Up
-- Counters of the database; epoch, which grows with each owner of the database: a transaction of an earlier one is
-- refused by it; and contact_events: 1 once a client wants the events of contacts. Setting it changes the
-- fence of all writers in the same transaction, so that no batch that commits later goes by the old value.
CREATE TABLE IF NOT EXISTS meta (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO meta (name, value) VALUES ('epoch', 0), ('channels', 0), ('events', 0), ('contact_events', 0);

-- +goose Down
DROP TABLE IF EXISTS meta;
