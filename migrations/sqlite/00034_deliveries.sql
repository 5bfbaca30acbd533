-- +goose Up
CREATE TABLE IF NOT EXISTS deliveries (
  receiver TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  subject TEXT NOT NULL, -- what has to stay in order behind it
  tries INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  PRIMARY KEY (receiver, event_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS deliveries;
