-- +goose Up
CREATE TABLE IF NOT EXISTS requeues (
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL, -- that was a dead letter
  new_id BIGINT NOT NULL, -- the contact that was made of it
  at BIGINT NOT NULL,
  token VARCHAR(32) NOT NULL, -- who asked for it, by id
  PRIMARY KEY (channel_id, contact_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS requeues;
