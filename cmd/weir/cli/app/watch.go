package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
)

// MinInterval is the minimum interval of a repeated display.
const MinInterval = 100 * time.Millisecond

// WatchFlag is the flag --watch: the refresh interval. Zero: show once.
type WatchFlag struct{ Every time.Duration }

// String returns the interval; empty: show once.
func (w *WatchFlag) String() string {
	if w.Every == 0 {
		return ""
	}
	return w.Every.String()
}

// Type returns the name of the value in the help.
func (w *WatchFlag) Type() string { return "interval" }

// Set parses the value.
func (w *WatchFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < MinInterval {
		return errors.New("must be a duration of 100ms or more, such as --watch=2s")
	}
	w.Every = d
	return nil
}

// AddTo adds the flag to a command.
func (w *WatchFlag) AddTo(c *cobra.Command) {
	c.Flags().VarP(w, "watch", "w", "repeat at this interval until interrupted; updates in place on a terminal")
	c.Flags().Lookup("watch").NoOptDefVal = "2s"
}

// Watcher repeats what is shown.
type Watcher struct {
	console   *Console
	newTicker func(d time.Duration) (ticks <-chan time.Time, stop func()) // nil: a time.Ticker
}

// Ticker starts a ticker.
func (w *Watcher) Ticker(d time.Duration) (ticks <-chan time.Time, stop func()) {
	if w.newTicker != nil {
		return w.newTicker(d)
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// Poll calls step at an interval until it is done, or returns an error.
func (w *Watcher) Poll(ctx context.Context, every time.Duration, step func() (done bool, err error)) error {
	ticks, stop := w.Ticker(every)
	defer stop()
	for {
		if done, err := step(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
		}
	}
}

// RepeatUntil calls show once, or at an interval until it reports that it is done.
// After the first success it continues while Weir is unavailable.
func (w *Watcher) RepeatUntil(ctx context.Context, p *Output, every time.Duration, show func(out io.Writer) (done bool, err error)) error {
	if every == 0 {
		_, err := show(w.console.Stdout)
		return err
	}
	on, seen := newScreen(w.console, p), false
	return w.Poll(ctx, every, func() (done bool, err error) {
		var text bytes.Buffer
		switch done, err = show(&text); {
		case err == nil:
			seen = true
			return done, on.write(text.String())
		case !seen || ctx.Err() != nil || !Retryable(err):
			return false, err
		default:
			w.console.Warn(terminal.Visible(err.Error()))
			on.lines = 0
			return false, nil
		}
	})
}

// Repeat is [Watcher.RepeatUntil] for a view without an end: interrupting it is no
// error.
func (w *Watcher) Repeat(ctx context.Context, p *Output, f *WatchFlag, show func(out io.Writer) error) error {
	err := w.RepeatUntil(ctx, p, f.Every, func(out io.Writer) (bool, error) { return false, show(out) })
	if f.Every > 0 && ctx.Err() != nil {
		err = nil
	}
	return err
}

// Follow follows events until they are interrupted, which is no error. Lost connections
// are reported as warnings.
func (w *Watcher) Follow(ctx context.Context, to *client.Client, f client.Follow) error {
	f.OnReconnect = func(err error) {
		text, _, _ := strings.Cut(err.Error(), "\n")
		w.console.Warn(terminal.Visible(text) + "; reconnecting")
	}
	if err := to.Follow(ctx, f); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// screen is updated in place on a terminal; otherwise blocks follow each other.
type screen struct {
	out    io.Writer
	over   bool       // update in place
	width  func() int // of the terminal, if any
	height func() int
	blank  bool // a blank line separates blocks
	blocks int
	lines  int
}

// newScreen returns the standard output. JSON is never updated in place: a program
// reads each value.
func newScreen(o *Console, p *Output) *screen {
	_, _, over := o.TerminalSize(o.Stdout)
	return &screen{
		out: o.Stdout, over: over && !p.JSON() && o.environ.Value("TERM") != "dumb", blank: !p.JSON(),
		width:  func() int { columns, _, _ := o.TerminalSize(o.Stdout); return columns },
		height: func() int { _, lines, _ := o.TerminalSize(o.Stdout); return lines },
	}
}

// write shows text in place of the previous one, or below it.
func (s *screen) write(text string) error {
	head := ""
	switch {
	case s.over && s.lines > 0:
		head = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
	case !s.over && s.blank && s.blocks > 0:
		head = "\n"
	}
	if s.over {
		text = clipped(text, max(20, s.width()-1), max(2, s.height()-1))
	}
	s.blocks++
	s.lines = strings.Count(text, "\n")
	_, err := io.WriteString(s.out, head+text)
	return err
}

// clipped cuts long lines, because wrapped lines would not be overwritten, and leaves
// out lines that would have scrolled away.
func clipped(text string, width, height int) string {
	var b strings.Builder
	n, all := 0, strings.Count(text, "\n")
	for line := range strings.Lines(text) {
		if n++; n == height && all > height {
			fmt.Fprintf(&b, "… %s below\n", terminal.Plural(int64(all-n+1), "line is", "lines are"))
			break
		}
		b.WriteString(terminal.Clip(strings.TrimSuffix(line, "\n"), width))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
