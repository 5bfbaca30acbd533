-- +goose Up
-- Each transaction of the writer has a row in contacts_in_flight, which shows that it was committed: writers has the
-- fence alone. How many contacts of a channel wait and are in flight is known in memory. An older program would look for
-- the number of its latest transaction, and for the counters.
ALTER TABLE writers DROP COLUMN batch;
DROP TABLE IF EXISTS channel_counts;
UPDATE meta SET value = 37 WHERE name = 'oldest_step' AND value < 37;

-- +goose Down
UPDATE meta SET value = 36 WHERE name = 'oldest_step' AND value = 37;
ALTER TABLE writers ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  queued INTEGER NOT NULL,
  in_flight INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO channel_counts (channel_id, queued, in_flight)
  SELECT c.id, (SELECT COUNT(*) FROM contacts_queued q WHERE q.channel_id = c.id) + (SELECT COUNT(*) FROM contacts_delayed d WHERE d.channel_id = c.id),
    (SELECT COUNT(*) FROM contacts a WHERE a.channel_id = c.id
      AND NOT EXISTS (SELECT 1 FROM contacts_queued q WHERE q.channel_id = a.channel_id AND q.lane = a.lane AND q.id = a.id)
      AND NOT EXISTS (SELECT 1 FROM contacts_delayed d WHERE d.channel_id = a.channel_id AND d.id = a.id)
      AND NOT EXISTS (SELECT 1 FROM contacts_done e WHERE e.channel_id = a.channel_id AND e.id = a.id))
  FROM channels c;
