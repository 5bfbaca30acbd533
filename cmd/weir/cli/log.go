package cli

import (
	"io"
	"log/slog"

	"weir/cmd/internal/command"
	"weir/config"
)

// newLogger returns the logger of the process: text on a terminal, otherwise JSON,
// unless the configuration sets the format.
func newLogger(w io.Writer, level config.LogLevel, format config.LogFormat) *slog.Logger {
	o := &slog.HandlerOptions{Level: level.Level(), ReplaceAttr: readable}
	if format == "text" || format == "" && command.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// readable formats durations with their units, which JSON would leave out.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
