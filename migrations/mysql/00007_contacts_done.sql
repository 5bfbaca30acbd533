-- +goose Up
-- Contacts that are done. A row is inserted at the end of a contact; only a provider's late report of a
-- delivery changes it.
CREATE TABLE IF NOT EXISTS contacts_done (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  outcome VARCHAR(32) NOT NULL, -- also in progress, as is finished_at: for filters, and for people who read the table
  reason VARCHAR(512) NOT NULL,
  progress BLOB NOT NULL,
  PRIMARY KEY (channel_id, id),
  KEY contacts_done_time (channel_id, finished_at, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts_done;
