-- +goose Up
-- Rows lie in the order of acceptance, over all channels: what a commit changes is
-- then on few pages, and each page that is touched is written whole. Ids are
-- unique beyond their channel. All of it is one transaction.
CREATE TABLE contacts_new (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL PRIMARY KEY,
  ckey TEXT,
  addr TEXT NOT NULL,
  priority INTEGER NOT NULL,
  survey TEXT NOT NULL,
  labels TEXT NOT NULL,
  content TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  size INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  state INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  expire_at INTEGER, -- not_after while it waits, else NULL
  due_at INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  claimed_at INTEGER NOT NULL DEFAULT 0,
  sent_at INTEGER NOT NULL DEFAULT 0,
  heard_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  provider_ref TEXT NOT NULL DEFAULT '',
  parts TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  cancel_asked INTEGER NOT NULL DEFAULT 0,
  for_survey INTEGER NOT NULL DEFAULT 0, -- the respondent and its contact, 0: none
  for_id INTEGER NOT NULL DEFAULT 0,
  for_serial INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO contacts_new (
  channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, queued_at,
  rev, state, lane, pos, expire_at, due_at, attempt, failures, claimed_at, sent_at, heard_at, finished_at,
  provider_ref, parts, outcome, reason, cancel_asked, for_survey, for_id, for_serial)
SELECT
  channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, queued_at,
  rev, state, lane, pos, expire_at, due_at, attempt, failures, claimed_at, sent_at, heard_at, finished_at,
  provider_ref, parts, outcome, reason, cancel_asked, for_survey, for_id, for_serial
FROM contacts;
DROP TABLE contacts;
ALTER TABLE contacts_new RENAME TO contacts;

-- +goose Down
CREATE TABLE contacts_new (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  ckey TEXT,
  addr TEXT NOT NULL,
  priority INTEGER NOT NULL,
  survey TEXT NOT NULL,
  labels TEXT NOT NULL,
  content TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  size INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  state INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  expire_at INTEGER, -- not_after while it waits, else NULL
  due_at INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  claimed_at INTEGER NOT NULL DEFAULT 0,
  sent_at INTEGER NOT NULL DEFAULT 0,
  heard_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  provider_ref TEXT NOT NULL DEFAULT '',
  parts TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  cancel_asked INTEGER NOT NULL DEFAULT 0,
  for_survey INTEGER NOT NULL DEFAULT 0, -- the respondent and its contact, 0: none
  for_id INTEGER NOT NULL DEFAULT 0,
  for_serial INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO contacts_new (
  channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, queued_at,
  rev, state, lane, pos, expire_at, due_at, attempt, failures, claimed_at, sent_at, heard_at, finished_at,
  provider_ref, parts, outcome, reason, cancel_asked, for_survey, for_id, for_serial)
SELECT
  channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, queued_at,
  rev, state, lane, pos, expire_at, due_at, attempt, failures, claimed_at, sent_at, heard_at, finished_at,
  provider_ref, parts, outcome, reason, cancel_asked, for_survey, for_id, for_serial
FROM contacts;
DROP TABLE contacts;
ALTER TABLE contacts_new RENAME TO contacts;
CREATE UNIQUE INDEX IF NOT EXISTS contacts_key ON contacts (channel_id, ckey) WHERE ckey IS NOT NULL;
CREATE INDEX IF NOT EXISTS contacts_queue ON contacts (channel_id, state, lane, pos);
CREATE INDEX IF NOT EXISTS contacts_window ON contacts (channel_id, expire_at) WHERE expire_at IS NOT NULL;
