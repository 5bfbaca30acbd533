-- +goose Up
-- Finds contacts by address. Rows are written in the background, many contacts at a time: within a segment they are in the
-- order of the hash, so that they fill whole pages, and no acceptance writes a page more. The newest contacts are in no
-- segment yet. A row is a hint: the contact itself decides, and may be gone.
CREATE TABLE IF NOT EXISTS address_segments (
  id INTEGER NOT NULL PRIMARY KEY,
  high INTEGER NOT NULL -- the greatest id of its contacts; they are all contacts behind the segment before
) STRICT;

CREATE TABLE IF NOT EXISTS contact_addresses (
  segment INTEGER NOT NULL,
  hash INTEGER NOT NULL, -- of the address, 32 bits
  id INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  PRIMARY KEY (segment, hash, id, channel_id)
) STRICT, WITHOUT ROWID;

-- Messages are received one by one: there an index costs little beside the rest.
CREATE INDEX IF NOT EXISTS incoming_sender ON incoming (sender, id);

-- +goose Down
DROP INDEX IF EXISTS incoming_sender;
DROP TABLE IF EXISTS contact_addresses;
DROP TABLE IF EXISTS address_segments;
