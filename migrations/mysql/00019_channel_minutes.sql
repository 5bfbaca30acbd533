-- +goose Up
-- Figures of channels, by minute.
CREATE TABLE IF NOT EXISTS channel_minutes (
  channel_id BIGINT NOT NULL,
  minute BIGINT NOT NULL, -- since 1970
  accepted INT NOT NULL,
  sent INT NOT NULL,
  send_failed INT NOT NULL,
  completed INT NOT NULL,
  busy INT NOT NULL,
  no_answer INT NOT NULL,
  failed INT NOT NULL,
  expired INT NOT NULL,
  canceled INT NOT NULL,
  lost INT NOT NULL,
  dead_letter INT NOT NULL,
  applied INT NOT NULL,
  duplicate INT NOT NULL,
  late INT NOT NULL,
  not_ours INT NOT NULL,
  collections INT NOT NULL,
  reconciled INT NOT NULL,
  in_flight INT NULL, -- slots at the end; NULL: no process that knows has reported
  in_flight_most INT NULL,
  queued INT NULL,
  capacity INT NULL,
  PRIMARY KEY (channel_id, minute),
  KEY channel_minutes_age (minute)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS channel_minutes;
