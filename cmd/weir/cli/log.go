package cli

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"weir/config"
)

// newLogger makes the logger of a process: text for a person who looks on,
// JSON for programs, unless the configuration says which.
func newLogger(w io.Writer, level config.LogLevel, format config.LogFormat) *slog.Logger {
	o := &slog.HandlerOptions{Level: level.Level(), ReplaceAttr: readable}
	if format == "text" || format == "" && Terminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// readable writes durations with their units, which JSON would leave out.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Terminal says whether what is written goes to a person who looks on.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
