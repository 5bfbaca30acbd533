-- +goose Up
-- Finds contacts by address. Rows are written in the background, many contacts at a time: within a segment they are in the
-- order of the hash, so that they fill whole pages, and no acceptance writes a page more. The newest contacts are in no
-- segment yet. A row is a hint: the contact itself decides, and may be gone.
CREATE TABLE IF NOT EXISTS address_segments (
  id BIGINT NOT NULL PRIMARY KEY,
  high BIGINT NOT NULL -- the greatest id of its contacts; they are all contacts behind the segment before
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS contact_addresses (
  segment BIGINT NOT NULL,
  hash BIGINT NOT NULL, -- of the address, 32 bits
  id BIGINT NOT NULL,
  channel_id BIGINT NOT NULL,
  PRIMARY KEY (segment, hash, id, channel_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Messages are received one by one: there an index costs little beside the rest. The table stays in use while the server
-- builds it. A step that was interrupted finds the index and leaves it.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'incoming' AND index_name = 'incoming_sender') = 0,
  'ALTER TABLE incoming ADD INDEX incoming_sender (sender, id), ALGORITHM=INPLACE, LOCK=NONE', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;

-- +goose Down
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'incoming' AND index_name = 'incoming_sender') > 0,
  'ALTER TABLE incoming DROP INDEX incoming_sender', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
DROP TABLE IF EXISTS contact_addresses;
DROP TABLE IF EXISTS address_segments;
