package daemon_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/cmd/weir/daemon"
	"weir/internal/mariadb"
	"weir/internal/polling"
	"weir/persistence/testmysql"
	"weir/test/daemontest"
)

// Scenario 201: a max_allowed_packet that is too small for a batch is a 503 that names it,
// and the start logs a warning or fails.
func TestPackets_TooSmallForABatchAreNamed(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t)
	url := server.URL(t)
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	limit := func(bytes int) {
		if _, err := db.ExecContext(t.Context(), fmt.Sprint("SET GLOBAL max_allowed_packet = ", bytes)); err != nil {
			t.Fatal(err)
		}
	}
	var log daemontest.Log
	start := func() (*daemon.Daemon, error) {
		return daemon.New(t.Context(), daemon.Options{
			Config: configuration(t, "DATABASE_URL="+url, "LISTEN_ADDR=127.0.0.1:0"), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
	}
	limit(256 << 10)
	if _, err := start(); err == nil || !strings.Contains(err.Error(), "max_allowed_packet is 262144 bytes") || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("256 KiB: %v", err)
	}
	limit(1 << 20)
	d, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "max_allowed_packet") || !strings.Contains(log.String(), "bytes=1048576 needed=8388608") {
		t.Errorf("no warning: %s", log.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	post := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, method, "http://"+d.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	if status, text := post("PUT", "/v1/channels/texts", `{"type":"nuntium","capacity":50,"settings":{"base_url":"http://127.0.0.1:1","account":"a","channel":"x","application":"b","password":"c"}}`); status != 201 {
		t.Fatal(status, text)
	}
	long := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("'", 1600)+`",`, 50), ",")
	batch := func(n int) string {
		one := `{"to":"+15550001","messages":[` + long + `]}`
		return `{"contacts":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	if status, text := post("POST", "/v1/channels/texts/contacts", batch(40)); status != 202 {
		t.Errorf("in 1 MiB: %d %.300s", status, text)
	}
	limit(64 << 10) // for new connections
	kill(t, db)
	// Whatever meets a killed connection first, a request or the daemon's own work, has
	// the store declared down until the next try: such answers say nothing about packets.
	up := func(body string) (status int, text string) {
		polling.Until(time.Minute, 50*time.Millisecond, func() bool {
			status, text = post("POST", "/v1/channels/texts/contacts", body)
			return !strings.Contains(text, "the store is down")
		})
		return status, text
	}
	for n, want := range map[int]int{1: 503, 2: 503} {
		status, text := up(batch(n))
		if status != want || !strings.Contains(text, "store_unavailable") || !strings.Contains(text, "max_allowed_packet") {
			t.Errorf("%d contacts in 64 KiB: %d %.300s", n, status, text)
		}
	}
	if status, text := up(`{"contacts":[{"to":"+15550001","messages":["hi"]}]}`); status != 202 {
		t.Errorf("a small contact in 64 KiB: %d %.300s", status, text)
	}
}

// kill closes all other connections to the server.
func kill(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'weir'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var statements []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		_, _ = db.ExecContext(t.Context(), s) // the connection may be closed already
	}
}
