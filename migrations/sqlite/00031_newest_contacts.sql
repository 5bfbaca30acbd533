-- +goose Up
-- A cap reads the newest contacts of a person for a purpose, a repeat guard the newest with a text, however many there are.
CREATE INDEX IF NOT EXISTS person_contacts_purpose ON person_contacts (hash, purpose, claimed_at);
CREATE INDEX IF NOT EXISTS person_contacts_text ON person_contacts (hash, text, claimed_at, purpose);

-- +goose Down
DROP INDEX IF EXISTS person_contacts_text;
DROP INDEX IF EXISTS person_contacts_purpose;
