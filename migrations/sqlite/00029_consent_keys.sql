-- +goose Up
-- The idempotency key of a consent counts for its address. One index finds both the history of an address and its keys.
CREATE UNIQUE INDEX IF NOT EXISTS consents_address ON consents (hash, ckey);
DROP INDEX IF EXISTS consents_hash;
DROP INDEX IF EXISTS consents_key;

-- +goose Down
CREATE INDEX IF NOT EXISTS consents_hash ON consents (hash, id);
CREATE UNIQUE INDEX IF NOT EXISTS consents_key ON consents (ckey) WHERE ckey IS NOT NULL;
DROP INDEX IF EXISTS consents_address;
