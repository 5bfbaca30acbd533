package world

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"weir/channels"
	"weir/cmd/weir/daemon"
	"weir/config"
)

// Program returns the whole daemon on a SQLite file, with the lab as its provider.
func Program(t *testing.T, environment ...string) *World {
	t.Helper()
	return ProgramOn(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), environment...)
}

func ProgramOn(t *testing.T, store string, environment ...string) *World {
	t.Helper()
	cfg, _, err := config.Load(append([]string{"LISTEN_ADDR=127.0.0.1:0", "PUBLIC_URL=http://weir.test", "DATABASE_URL=" + store}, environment...))
	if err != nil {
		t.Fatal(err)
	}
	l := NewLab(t)
	d, err := daemon.New(t.Context(), daemon.Options{
		Config: cfg, Types: []channels.Type{l.Type("lab", channels.Text), l.Type("labcall", channels.Voice)},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	w := &World{T: t, Lab: l, URL: store, Handler: d.Handler()}
	// The router refuses requests until it has read its state.
	w.Until("the router is ready", func() bool { return w.Call("GET", "/readyz", nil).Body["router"] == "serving" })
	return w
}

func List(v any) []map[string]any {
	var out []map[string]any
	entries, _ := v.([]any)
	for _, e := range entries {
		out = append(out, e.(map[string]any))
	}
	return out
}
