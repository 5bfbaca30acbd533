-- +goose Up
-- The outbox of the brokers: what happened to contacts of surveys, for the survey broker.
CREATE TABLE IF NOT EXISTS outbox (
  id BIGINT NOT NULL PRIMARY KEY,
  kind VARCHAR(16) NOT NULL,
  at BIGINT NOT NULL,
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  survey_id BIGINT NOT NULL,
  respondent_id BIGINT NOT NULL,
  serial INT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  reason VARCHAR(512) NOT NULL DEFAULT '', -- as the provider gave it
  message MEDIUMTEXT NOT NULL -- an incoming message or the result of a conversation, as JSON
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS outbox;
