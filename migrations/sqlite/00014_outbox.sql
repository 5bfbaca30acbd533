-- +goose Up
-- The outbox of the brokers: what happened to contacts of surveys, for the survey broker.
CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  survey_id INTEGER NOT NULL,
  respondent_id INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', -- as the provider gave it
  message TEXT NOT NULL -- an incoming message or the result of a conversation, as JSON
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS outbox;
