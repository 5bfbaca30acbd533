package contacts_test

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
	"weir/test/scenarios/world"
)

// Scenario 7: a default capacity of "50" in the environment means 50, in the whole daemon.
// Another one at the next start is that of the channels that set none.
func TestConfig_DefaultCapacityFromTheEnvironment(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "weir.db")
	start := func(capacity string) (*world.World, *daemon.Daemon) {
		cfg, _, err := config.Load([]string{
			"DEFAULT_CHANNEL_CAPACITY=" + capacity, "LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.test", "DATABASE_URL=sqlite://" + database,
		})
		if err != nil {
			t.Fatal(err)
		}
		lab := world.NewLab(t)
		d, err := daemon.New(t.Context(), daemon.Options{
			Config: cfg, Types: []channels.Type{lab.Type("lab", channels.Text)},
			Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close(context.Background()) })
		return &world.World{T: t, Lab: lab, Handler: d.Handler()}, d
	}
	w, d := start("50")
	if n := w.Want(http.StatusCreated, "PUT", "/v1/channels/ch", world.Fields{"type": "lab"}).Body["capacity"]; n != 50.0 {
		t.Fatalf("the capacity is %v, want 50", n)
	}
	w.Want(http.StatusCreated, "PUT", "/v1/channels/own", world.Fields{"type": "lab", "capacity": 50})
	w.Want(http.StatusCreated, "PUT", "/v1/channels/patched", world.Fields{"type": "lab", "capacity": 7})
	w.Want(http.StatusOK, "PATCH", "/v1/channels/patched", world.Fields{"capacity": nil})
	w.Accept("ch", world.Many("c", 60)...)
	w.Sent(50)
	w.ExpectInFlight("ch", 50)
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, _ = start("20")
	for channel, want := range map[string]float64{"ch": 20, "patched": 20, "own": 50} {
		if n := w.Want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body["capacity"]; n != want {
			t.Errorf("after a start with 20 the capacity of %s is %v, want %v", channel, n, want)
		}
	}
	w.Want(http.StatusCreated, "PUT", "/v1/channels/new", world.Fields{"type": "lab"})
	w.Accept("new", world.Many("n", 30)...)
	w.Sent(20)
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
