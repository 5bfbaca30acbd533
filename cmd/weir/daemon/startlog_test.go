package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"weir/cmd/weir/daemon"
	"weir/persistence/storetest"
)

// The first start logs the new schema in one line, and each start logs one line with version, store and address.
// Scenario 224.
func TestStartlog_HasSchemaAndAddressInOneLineEach(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) { // empty ones
		started(t, url, "schema created", "listening")
		started(t, url, "listening")
	})
}

// started starts a daemon, stops it, and compares the log up to the line "listening".
func started(t *testing.T, url string, want ...string) {
	t.Helper()
	var log bytes.Buffer
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: configuration(t, "DATABASE_URL="+url, "LISTEN_ADDR=127.0.0.1:0"), Version: "v9.9.9",
		Logger: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		var l struct {
			Msg, Version, Store, Address string
			Steps                        int
			Took                         *int64
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err, line)
		}
		if strings.Contains(l.Msg, "schema") || l.Msg == "listening" {
			got = append(got, l.Msg)
		}
		if l.Msg == "schema created" && (l.Steps < 20 || l.Took == nil) {
			t.Errorf("without steps or duration: %s", line)
		}
		if l.Msg == "listening" {
			if l.Version != "v9.9.9" || l.Address != d.Addr() || !strings.HasPrefix(l.Store, url[:6]) || strings.Contains(url, "@") && !strings.Contains(l.Store, "REDACTED@") && strings.Contains(url[8:strings.Index(url, "@")], ":") {
				t.Errorf("version, address or store is missing, or its password there: %s", line)
			}
			break
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the start logs %q, want %q", got, want)
	}
}
