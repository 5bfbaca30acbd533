-- +goose Up
-- What clients sent. A row is inserted at acceptance and never changes; the state of the contact is in the
-- next tables.
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
  lane BIGINT NOT NULL,
  for_survey BIGINT NOT NULL, -- the respondent and the number of its contact; 0: none
  for_id BIGINT NOT NULL,
  for_serial INT NOT NULL,
  PRIMARY KEY (channel_id, id),
  UNIQUE KEY contacts_key (channel_id, ckey)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS contacts;
