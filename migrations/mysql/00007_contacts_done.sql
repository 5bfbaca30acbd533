-- +goose Up
-- Contacts that are done. A row is inserted at the end of a contact; only a provider's late report of a
-- delivery changes it.
CREATE TABLE IF NOT EXISTS contacts_done (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  attempt INT NOT NULL,
  failures INT NOT NULL,
  claimed_at BIGINT NOT NULL,
  sent_at BIGINT NOT NULL,
  heard_at BIGINT NOT NULL,
  provider_ref VARCHAR(512) NOT NULL,
  parts VARCHAR(1000) NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  reason VARCHAR(512) NOT NULL,
  cancel_asked TINYINT NOT NULL,
  PRIMARY KEY (channel_id, id),
  KEY contacts_done_time (channel_id, finished_at, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts_done;
