-- +goose Up
CREATE TABLE IF NOT EXISTS contact_journal (
  start_number BIGINT NOT NULL, -- the process that wrote it
  id BIGINT NOT NULL,
  data MEDIUMBLOB NOT NULL, -- what became of many contacts
  PRIMARY KEY (start_number, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contact_journal;
