-- +goose Up
-- Each transaction of the writer has a row in contacts_in_flight, which shows that it was committed: writers has the
-- fence alone. How many contacts of a channel wait and are in flight is known in memory. An older program would look for
-- the number of its latest transaction, and for the counters.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'writers' AND column_name = 'batch') > 0,
  'ALTER TABLE writers DROP COLUMN batch', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
DROP TABLE IF EXISTS channel_counts;
UPDATE meta SET value = 37 WHERE name = 'oldest_step' AND value < 37;

-- +goose Down
UPDATE meta SET value = 36 WHERE name = 'oldest_step' AND value = 37;
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'writers' AND column_name = 'batch') = 0,
  'ALTER TABLE writers ADD COLUMN batch BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id BIGINT NOT NULL PRIMARY KEY,
  queued BIGINT NOT NULL,
  in_flight BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO channel_counts (channel_id, queued, in_flight)
  SELECT c.id, (SELECT COUNT(*) FROM contacts_queued q WHERE q.channel_id = c.id) + (SELECT COUNT(*) FROM contacts_delayed d WHERE d.channel_id = c.id),
    (SELECT COUNT(*) FROM contacts a WHERE a.channel_id = c.id
      AND NOT EXISTS (SELECT 1 FROM contacts_queued q WHERE q.channel_id = a.channel_id AND q.lane = a.lane AND q.id = a.id)
      AND NOT EXISTS (SELECT 1 FROM contacts_delayed d WHERE d.channel_id = a.channel_id AND d.id = a.id)
      AND NOT EXISTS (SELECT 1 FROM contacts_done e WHERE e.channel_id = a.channel_id AND e.id = a.id))
  FROM channels c;
