-- +goose Up
-- Messages that may be refusals, until somebody decides, and when people were answered, by a keyed hash of the address.
CREATE TABLE IF NOT EXISTS undecided_messages (
  id INTEGER NOT NULL PRIMARY KEY, -- in the order of commits
  hash BLOB NOT NULL, -- of the address
  mkey TEXT, -- identifies the message
  addr TEXT NOT NULL,
  channel TEXT NOT NULL, -- its name
  words TEXT NOT NULL,
  found TEXT NOT NULL, -- the word or phrase by which it may refuse
  said_at INTEGER NOT NULL,
  decision TEXT NOT NULL, -- refused, dismissed; empty: none
  decided_at INTEGER NOT NULL,
  actor TEXT NOT NULL -- who decided
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS undecided_messages_key ON undecided_messages (mkey) WHERE mkey IS NOT NULL;
CREATE INDEX IF NOT EXISTS undecided_messages_decision ON undecided_messages (decision, id);
CREATE INDEX IF NOT EXISTS undecided_messages_hash ON undecided_messages (hash);
CREATE INDEX IF NOT EXISTS undecided_messages_age ON undecided_messages (said_at);

CREATE TABLE IF NOT EXISTS person_answers (
  hash BLOB NOT NULL, -- of the address
  kind TEXT NOT NULL, -- help, confirmation
  answered_at INTEGER NOT NULL,
  mkey TEXT NOT NULL, -- the message that was answered; empty: it has no id
  PRIMARY KEY (hash, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS person_answers_age ON person_answers (answered_at);

-- +goose Down
DROP TABLE IF EXISTS person_answers;
DROP TABLE IF EXISTS undecided_messages;
