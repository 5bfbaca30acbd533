package daemon_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/internal/polling"
	"weir/persistence/dialect"
	"weir/test/daemontest"
)

// However the file of the database goes while Weir uses it, nothing is confirmed any more, and the
// process ends with an error that names the file. What is in its place then is used as it is.
func TestDaemon_EndsWithoutItsFile(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, paths ...string) {
		for _, p := range paths {
			if err := os.Remove(p); err != nil {
				t.Error(err)
			}
		}
	}
	rename := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		away func(t *testing.T, path, backup string)
		back bool // the backup is there
	}{
		"removed":              {func(t *testing.T, path, _ string) { remove(t, path) }, false},
		"removed with the log": {func(t *testing.T, path, _ string) { remove(t, path, path+"-wal", path+"-shm") }, false},
		"log removed":          {func(t *testing.T, path, _ string) { remove(t, path+"-wal") }, false},
		"moved":                {func(t *testing.T, path, _ string) { rename(t, path, path+".old") }, false},
		"replaced":             {func(t *testing.T, path, backup string) { rename(t, backup, path) }, true},
		"removed and replaced": {func(t *testing.T, path, backup string) {
			remove(t, path, path+"-wal", path+"-shm")
			rename(t, backup, path)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "weir.db")
			withSchema(t, "sqlite://"+path)
			backup := makeBackup(t)
			log := &daemontest.Log{}
			url, ended := runOn(t, path, log)
			if put(t, url, "before") >= 300 {
				t.Fatal("no channel")
			}
			c.away(t, path, backup)
			if status := put(t, url, "after"); status < 500 && status != 0 {
				t.Errorf("a change was answered with %d", status)
			}
			if status := get(t, url+"/readyz"); status == http.StatusOK {
				t.Error("it is ready")
			}
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "while it was in use") {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on")
			}
			if !strings.Contains(log.String(), "not the one that was opened") {
				t.Errorf("log:\n%s", log)
			}
			if !c.back {
				return
			}
			url, _ = runOn(t, path, log)
			if has, lost := get(t, url+"/v1/channels/of-the-backup"), get(t, url+"/v1/channels/before"); has != http.StatusOK || lost != http.StatusNotFound {
				t.Errorf("of the backup: %d, of the former file: %d", has, lost)
			}
		})
	}
}

// makeBackup makes a database with a channel, as another folder has it.
func makeBackup(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	withSchema(t, "sqlite://"+path)
	log := &daemontest.Log{}
	cfg := fileConfig(t, path)
	d, stop := daemontest.Run(t, daemon.Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if put(t, "http://"+d.Addr(), "of-the-backup") >= 300 {
		t.Fatal(log)
	}
	stop()
	return path
}

func fileConfig(t *testing.T, path string) config.Config {
	t.Helper()
	var list []string
	for k, v := range environment("sqlite://" + path) {
		list = append(list, k+"="+v)
	}
	cfg, _, err := config.Load(list)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// runOn runs a daemon on a file until it ends, or the test does.
func runOn(t *testing.T, path string, log io.Writer) (url string, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	d, err := daemon.New(ctx, daemon.Options{Config: fileConfig(t, path), Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	end, done := make(chan error, 1), make(chan struct{})
	go func() { defer close(done); end <- d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return "http://" + d.Addr(), end
}

func put(t *testing.T, url, channel string) int {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), "PUT", url+"/v1/channels/"+channel, strings.NewReader(`{"type": "verboice", "capacity": 1, "settings": {"base_url": "http://127.0.0.1:1", "username": "u", "password": "p", "channel": "c"}}`))
	r.Header.Set("Content-Type", "application/json")
	return status(r)
}

func get(t *testing.T, url string) int {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	return status(r)
}

// status is that of an answer; 0: there is none.
func status(r *http.Request) int {
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A start on a full disk says what it needs, and goes on once there is room.
func TestDaemon_WaitsForRoom(t *testing.T) {
	t.Parallel()
	log := &daemontest.Log{}
	full := make(chan struct{})
	asked := 0
	ended := make(chan error, 1)
	go func() {
		ended <- daemon.AwaitRoom(t.Context(), slog.New(slog.NewTextHandler(log, nil)), func() error {
			select {
			case <-full:
				return io.ErrUnexpectedEOF // whatever it is then
			default:
				asked++
				return &dialect.NoRoomError{Folder: "/data", Free: 5, Needs: 1000}
			}
		})
	}()
	if !polling.Until(10*time.Second, time.Millisecond, func() bool { return strings.Contains(log.String(), "folder=/data free=5 needed=1000") }) {
		t.Error(log)
	}
	close(full)
	if err := <-ended; err != io.ErrUnexpectedEOF { //nolint:errorlint // as it is
		t.Errorf("it ended with %v after %d tries", err, asked)
	}
}
