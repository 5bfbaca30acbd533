-- +goose Up
-- Figures of channels, by minute.
CREATE TABLE IF NOT EXISTS channel_minutes (
  channel_id INTEGER NOT NULL,
  minute INTEGER NOT NULL, -- since 1970
  accepted INTEGER NOT NULL,
  sent INTEGER NOT NULL,
  send_failed INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  busy INTEGER NOT NULL,
  no_answer INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  expired INTEGER NOT NULL,
  canceled INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  dead_letter INTEGER NOT NULL,
  applied INTEGER NOT NULL,
  duplicate INTEGER NOT NULL,
  late INTEGER NOT NULL,
  not_ours INTEGER NOT NULL,
  collections INTEGER NOT NULL,
  reconciled INTEGER NOT NULL,
  in_flight INTEGER, -- slots at the end; NULL: no process that knows has reported
  in_flight_most INTEGER,
  queued INTEGER,
  capacity INTEGER,
  PRIMARY KEY (channel_id, minute)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS channel_minutes_age ON channel_minutes (minute);

-- +goose Down
DROP TABLE IF EXISTS channel_minutes;
