-- +goose Up
-- Dead letters, and the contacts that were made from them.
CREATE TABLE IF NOT EXISTS dead_letters (
  channel_id BIGINT NOT NULL,
  id BIGINT NOT NULL, -- in the order of time, which it holds
  contact_id BIGINT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  reason VARCHAR(200) NOT NULL, -- by which they are grouped
  PRIMARY KEY (channel_id, id),
  UNIQUE KEY dead_letters_contact (channel_id, contact_id),
  KEY dead_letters_group (channel_id, outcome, reason, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS requeues (
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL, -- the dead letter
  new_id BIGINT NOT NULL, -- the contact that was made from it
  at BIGINT NOT NULL,
  token VARCHAR(32) NOT NULL, -- id of the token that asked for it
  PRIMARY KEY (channel_id, contact_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS requeues;
DROP TABLE IF EXISTS dead_letters;
