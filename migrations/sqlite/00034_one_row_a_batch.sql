-- +goose Up
-- Each transaction of the writer has a row in contacts_in_flight, which shows that it was committed: writers has the
-- fence alone. An older program would look for the number of its latest transaction.
ALTER TABLE writers DROP COLUMN batch;
UPDATE meta SET value = 34 WHERE name = 'oldest_step' AND value < 34;

-- +goose Down
UPDATE meta SET value = 33 WHERE name = 'oldest_step' AND value = 34;
ALTER TABLE writers ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
