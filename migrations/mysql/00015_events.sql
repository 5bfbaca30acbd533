-- +goose Up
-- The log of events, and how far each receiver has got.
CREATE TABLE IF NOT EXISTS events (
  id BIGINT NOT NULL PRIMARY KEY, -- of the last event in it
  at BIGINT NOT NULL, -- when it was written
  payload MEDIUMBLOB NOT NULL -- some events in order, as JSON
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS receivers (
  name VARCHAR(191) NOT NULL PRIMARY KEY,
  event_id BIGINT NOT NULL -- the last one that was received
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS deliveries (
  receiver VARCHAR(191) NOT NULL,
  event_id BIGINT NOT NULL,
  subject TEXT NOT NULL, -- events with the same one stay in order
  tries INT NOT NULL,
  next_at BIGINT NOT NULL,
  PRIMARY KEY (receiver, event_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS deliveries;
DROP TABLE IF EXISTS receivers;
DROP TABLE IF EXISTS events;
