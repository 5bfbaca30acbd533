-- +goose Up
CREATE TABLE IF NOT EXISTS contacts (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  ckey VARBINARY(1020) NULL, -- binary: a text collation takes 'k' and 'k ' for one key
  addr VARCHAR(255) NOT NULL,
  priority TINYINT NOT NULL,
  survey VARCHAR(255) NOT NULL,
  labels MEDIUMTEXT NOT NULL,
  content MEDIUMTEXT NOT NULL,
  not_before BIGINT NOT NULL,
  not_after BIGINT NOT NULL,
  size INT NOT NULL,
  queued_at BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  state TINYINT NOT NULL,
  lane BIGINT NOT NULL,
  pos BIGINT NOT NULL,
  expire_at BIGINT NULL, -- not_after while it waits, else NULL
  due_at BIGINT NOT NULL DEFAULT 0,
  attempt INT NOT NULL DEFAULT 0,
  failures INT NOT NULL DEFAULT 0,
  claimed_at BIGINT NOT NULL DEFAULT 0,
  sent_at BIGINT NOT NULL DEFAULT 0,
  heard_at BIGINT NOT NULL DEFAULT 0,
  finished_at BIGINT NOT NULL DEFAULT 0,
  provider_ref VARCHAR(512) NOT NULL DEFAULT '',
  parts VARCHAR(1000) NOT NULL DEFAULT '',
  outcome VARCHAR(32) NOT NULL DEFAULT '',
  reason VARCHAR(512) NOT NULL DEFAULT '',
  cancel_asked TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (channel_id, id),
  UNIQUE KEY contacts_key (channel_id, ckey),
  KEY contacts_queue (channel_id, state, lane, pos),
  KEY contacts_window (channel_id, expire_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts;
