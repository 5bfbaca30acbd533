-- +goose Up
-- Replies have rows of their own, which limits alone count: a cap never reads them, however many there are.
CREATE TABLE IF NOT EXISTS person_replies (
  claimed_at BIGINT NOT NULL,
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  number INT NOT NULL, -- of the attempt
  hash BINARY(16) NOT NULL, -- of the address
  PRIMARY KEY (claimed_at, channel_id, contact_id, number)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO person_replies (claimed_at, channel_id, contact_id, number, hash)
  SELECT claimed_at, channel_id, contact_id, number, hash FROM person_contacts WHERE purpose = '';
DELETE FROM person_contacts WHERE purpose = '';

-- +goose Down
CREATE TABLE IF NOT EXISTS person_replies (claimed_at BIGINT, channel_id BIGINT, contact_id BIGINT, number INT, hash BINARY(16));
INSERT IGNORE INTO person_contacts (hash, claimed_at, channel_id, contact_id, number, purpose, text)
  SELECT hash, claimed_at, channel_id, contact_id, number, '', 0 FROM person_replies;
DROP TABLE IF EXISTS person_replies;
