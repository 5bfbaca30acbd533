-- +goose Up
-- People who log in by name: whose session it is, and ids of people where ids of tokens are.
CREATE TABLE IF NOT EXISTS session_people (
  session_id CHAR(64) NOT NULL PRIMARY KEY,
  person VARCHAR(63) NOT NULL, -- its id in the audit log
  held VARCHAR(4096) NOT NULL -- the groups that had scopes, joined by semicolons
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Up to 63 characters no row has to be rewritten.
ALTER TABLE audit MODIFY token VARCHAR(63) NOT NULL;
ALTER TABLE requeues MODIFY token VARCHAR(63) NOT NULL;

-- +goose Down
DROP TABLE IF EXISTS session_people;
