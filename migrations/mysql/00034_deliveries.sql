-- +goose Up
CREATE TABLE IF NOT EXISTS deliveries (
  receiver VARCHAR(191) NOT NULL,
  event_id BIGINT NOT NULL,
  subject TEXT NOT NULL, -- what has to stay in order behind it
  tries INT NOT NULL,
  next_at BIGINT NOT NULL,
  PRIMARY KEY (receiver, event_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS deliveries;
