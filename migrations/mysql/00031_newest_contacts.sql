-- +goose Up
-- A cap reads the newest contacts of a person for a purpose, a repeat guard the newest with a text, however many there are.
-- A step that was interrupted finds the indexes and leaves them.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'person_contacts' AND index_name = 'person_contacts_text') = 0,
  'ALTER TABLE person_contacts ADD INDEX person_contacts_purpose (hash, purpose, claimed_at), ADD INDEX person_contacts_text (hash, text, claimed_at, purpose)', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;

-- +goose Down
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'person_contacts' AND index_name = 'person_contacts_text') > 0,
  'ALTER TABLE person_contacts DROP INDEX person_contacts_purpose, DROP INDEX person_contacts_text', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
