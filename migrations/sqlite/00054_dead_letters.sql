-- +goose Up
CREATE TABLE IF NOT EXISTS dead_letters (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL, -- in the order of time, which it holds
  contact_id INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL, -- by which they are grouped
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS dead_letters;
