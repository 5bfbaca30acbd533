-- +goose Up
-- The progress of contacts in flight: a log with one row for each transaction. The latest record of a contact
-- counts. A row is deleted when none of its records is the latest of a contact in flight.
CREATE TABLE IF NOT EXISTS contacts_in_flight (
  start_number INTEGER NOT NULL, -- of the process that wrote it
  id INTEGER NOT NULL,
  data BLOB NOT NULL, -- records of many contacts
  PRIMARY KEY (start_number, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS contacts_in_flight;
