-- +goose Up
-- The idempotency key of a consent counts for its address. One index finds both the history of an address and its keys.
-- A step that was interrupted finds the index and leaves it.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'consents' AND index_name = 'consents_address') = 0,
  'ALTER TABLE consents ADD UNIQUE INDEX consents_address (hash, ckey), DROP INDEX consents_hash, DROP INDEX consents_key', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;

-- +goose Down
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'consents' AND index_name = 'consents_address') > 0,
  'ALTER TABLE consents ADD INDEX consents_hash (hash, id), ADD UNIQUE INDEX consents_key (ckey), DROP INDEX consents_address', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
