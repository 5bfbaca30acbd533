-- +goose Up
-- A step that broke off behind its DDL is done again.
SET @step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'audit' AND column_name = 'changes') = 0,
  'ALTER TABLE audit ADD COLUMN changes MEDIUMTEXT NULL COMMENT ''JSON: fields before and after, without secrets''',
  'DO 0');
PREPARE step FROM @step;
EXECUTE step;
DEALLOCATE PREPARE step;

-- +goose Down
SET @step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'audit' AND column_name = 'changes') = 1,
  'ALTER TABLE audit DROP COLUMN changes',
  'DO 0');
PREPARE step FROM @step;
EXECUTE step;
DEALLOCATE PREPARE step;
