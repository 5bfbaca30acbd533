-- +goose Up
-- The progress of contacts in flight: a log with one row for each transaction. The latest record of a contact
-- counts. A row is deleted when none of its records is the latest of a contact in flight.
CREATE TABLE IF NOT EXISTS contacts_in_flight (
  id BIGINT NOT NULL PRIMARY KEY,
  data MEDIUMBLOB NOT NULL -- records of many contacts
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts_in_flight;
