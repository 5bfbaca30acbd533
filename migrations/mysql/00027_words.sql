-- +goose Up
-- Messages that may be refusals, until somebody decides, and when people were answered, by a keyed hash of the address.
CREATE TABLE IF NOT EXISTS undecided_messages (
  id BIGINT NOT NULL PRIMARY KEY, -- in the order of commits
  hash BINARY(16) NOT NULL, -- of the address
  mkey VARCHAR(255), -- identifies the message
  addr VARCHAR(255) NOT NULL,
  channel VARCHAR(100) NOT NULL, -- its name
  words TEXT NOT NULL,
  found VARCHAR(100) NOT NULL, -- the word or phrase by which it may refuse
  said_at BIGINT NOT NULL,
  decision VARCHAR(20) NOT NULL, -- refused, dismissed; empty: none
  decided_at BIGINT NOT NULL,
  actor VARCHAR(100) NOT NULL, -- who decided
  UNIQUE KEY undecided_messages_key (mkey),
  KEY undecided_messages_decision (decision, id),
  KEY undecided_messages_hash (hash),
  KEY undecided_messages_age (said_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS person_answers (
  hash BINARY(16) NOT NULL, -- of the address
  kind VARCHAR(20) NOT NULL, -- help, confirmation
  answered_at BIGINT NOT NULL,
  mkey VARCHAR(255) NOT NULL, -- the message that was answered; empty: it has no id
  PRIMARY KEY (hash, kind),
  KEY person_answers_age (answered_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS person_answers;
DROP TABLE IF EXISTS undecided_messages;
