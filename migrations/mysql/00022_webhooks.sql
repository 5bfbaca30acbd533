-- +goose Up
-- Webhooks that clients created, the latest tries to deliver events to each, and the events whose delivery was
-- abandoned. The progress of each is that of the receiver webhook/ID.
CREATE TABLE IF NOT EXISTS webhooks (
  id VARCHAR(32) NOT NULL PRIMARY KEY,
  url TEXT NOT NULL, -- may hold a secret
  types TEXT NOT NULL, -- patterns, joined by commas
  channel VARCHAR(63) NOT NULL, -- only events of this one; empty: of all
  survey VARCHAR(63) NOT NULL, -- only events of this one; empty: of all
  description VARCHAR(200) NOT NULL,
  enabled TINYINT NOT NULL,
  pii TINYINT NOT NULL, -- phone numbers are not masked
  secret VARCHAR(128) NOT NULL, -- plain, because it signs
  old_secrets TEXT NOT NULL, -- JSON; they sign too, each until an instant
  old_until BIGINT NOT NULL, -- until then the last of them signs
  disabled VARCHAR(32) NOT NULL, -- why Weir disabled it; empty: it did not
  failing_since BIGINT NOT NULL, -- 0: it is not failing
  revision BIGINT NOT NULL, -- grows with each change that clients see
  generation BIGINT NOT NULL, -- grows with each change that the delivery acts on
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS webhook_tries (
  webhook VARCHAR(32) NOT NULL,
  id BIGINT NOT NULL, -- in the order of time
  at BIGINT NOT NULL,
  event_id BIGINT NOT NULL, -- 0: the test event
  type VARCHAR(100) NOT NULL,
  status INT NOT NULL, -- of the answer; 0: there was none
  duration BIGINT NOT NULL, -- microseconds
  error VARCHAR(32) NOT NULL, -- class; empty: it was delivered
  abandoned TINYINT NOT NULL, -- it was the last try
  PRIMARY KEY (webhook, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS webhook_failures (
  webhook VARCHAR(32) NOT NULL,
  event_id BIGINT NOT NULL,
  subject TEXT NOT NULL, -- as in deliveries
  failed_at BIGINT NOT NULL,
  replay TINYINT NOT NULL, -- 0: its delivery was abandoned; 1: the owner of the delivery is to deliver it again
  PRIMARY KEY (webhook, event_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Counts the changes of webhooks, so that a process notices those of others.
INSERT IGNORE INTO meta (name, value) VALUES ('webhooks', 0);

-- The oldest step from which a program can still run on this schema: one that does not know it
-- never owns the database. A later step that earlier programs cannot run on raises it to its
-- own number.
INSERT IGNORE INTO meta (name, value) VALUES ('oldest_step', 22);

-- +goose Down
DELETE FROM meta WHERE name IN ('webhooks', 'oldest_step');
DROP TABLE IF EXISTS webhook_failures;
DROP TABLE IF EXISTS webhook_tries;
DROP TABLE IF EXISTS webhooks;
