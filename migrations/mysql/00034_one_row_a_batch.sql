-- +goose Up
-- Each transaction of the writer has a row in contacts_in_flight, which shows that it was committed: writers has the
-- fence alone. An older program would look for the number of its latest transaction.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'writers' AND column_name = 'batch') > 0,
  'ALTER TABLE writers DROP COLUMN batch', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
UPDATE meta SET value = 34 WHERE name = 'oldest_step' AND value < 34;

-- +goose Down
UPDATE meta SET value = 33 WHERE name = 'oldest_step' AND value = 34;
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'writers' AND column_name = 'batch') = 0,
  'ALTER TABLE writers ADD COLUMN batch BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
