package scenarios_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"weir/channels"
	"weir/cmd/weir/daemon"
	"weir/config"
)

// Scenario 7: a default capacity of "50" in the environment means 50, in the whole daemon.
// Another one at the next start is that of the channels that set none.
func TestConfig_DefaultCapacityFromTheEnvironment(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "weir.db")
	start := func(capacity string) (*world, *daemon.Daemon) {
		cfg, _, err := config.Load([]string{
			"DEFAULT_CHANNEL_CAPACITY=" + capacity, "LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.test", "DATABASE_URL=sqlite://" + database,
		})
		if err != nil {
			t.Fatal(err)
		}
		lab := newLab(t)
		d, err := daemon.New(t.Context(), daemon.Options{
			Config: cfg, Types: []channels.Type{lab.Type("lab", channels.Text)},
			Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close(context.Background()) })
		return &world{T: t, lab: lab, handler: d.Handler()}, d
	}
	w, d := start("50")
	if n := w.want(http.StatusCreated, "PUT", "/v1/channels/ch", fields{"type": "lab"}).Body["capacity"]; n != 50.0 {
		t.Fatalf("the capacity is %v, want 50", n)
	}
	w.want(http.StatusCreated, "PUT", "/v1/channels/own", fields{"type": "lab", "capacity": 50})
	w.want(http.StatusCreated, "PUT", "/v1/channels/patched", fields{"type": "lab", "capacity": 7})
	w.want(http.StatusOK, "PATCH", "/v1/channels/patched", fields{"capacity": nil})
	w.accept("ch", many("c", 60)...)
	w.sent(50)
	w.expectInFlight("ch", 50)
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, _ = start("20")
	for channel, want := range map[string]float64{"ch": 20, "patched": 20, "own": 50} {
		if n := w.want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body["capacity"]; n != want {
			t.Errorf("after a start with 20 the capacity of %s is %v, want %v", channel, n, want)
		}
	}
	w.want(http.StatusCreated, "PUT", "/v1/channels/new", fields{"type": "lab"})
	w.accept("new", many("n", 30)...)
	w.sent(20)
}

// Scenario 7: an invalid default capacity is refused at startup, with an error
// that names the variable, the value and the allowed values.
func TestConfig_WrongDefaultCapacityIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"abc", "0", "-1", "5x", "1.5", "1000001", "unlimited"} {
		_, _, err := config.Load([]string{"DEFAULT_CHANNEL_CAPACITY=" + value})
		if want := fmt.Sprintf("DEFAULT_CHANNEL_CAPACITY is %q; allowed: 1 to 1000000", value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", value, err, want)
		}
	}
}
