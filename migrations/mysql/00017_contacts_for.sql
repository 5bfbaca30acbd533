-- +goose Up
-- Neither server knows IF NOT EXISTS here in all versions, and a step that broke
-- off behind its DDL is done again.
SET @step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'contacts' AND column_name = 'for_survey') = 0,
  'ALTER TABLE contacts ADD COLUMN for_survey BIGINT NOT NULL DEFAULT 0, ADD COLUMN for_id BIGINT NOT NULL DEFAULT 0, ADD COLUMN for_serial INT NOT NULL DEFAULT 0',
  'DO 0');
PREPARE step FROM @step;
EXECUTE step;
DEALLOCATE PREPARE step;

-- +goose Down
SET @step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'contacts' AND column_name = 'for_survey') = 1,
  'ALTER TABLE contacts DROP COLUMN for_survey, DROP COLUMN for_id, DROP COLUMN for_serial',
  'DO 0');
PREPARE step FROM @step;
EXECUTE step;
DEALLOCATE PREPARE step;
