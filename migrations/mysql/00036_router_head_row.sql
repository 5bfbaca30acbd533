-- +goose Up
INSERT IGNORE INTO router_head (id, last_seq, snapshot, snapshot_seq) VALUES (1, 0, 0, 0);

-- +goose Down
DELETE FROM router_head;
