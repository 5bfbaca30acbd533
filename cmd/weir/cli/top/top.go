package top

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

const (
	// resizeEvery is how often the size of the terminal is polled. Signals would
	// be faster, but not every system has them.
	resizeEvery = 250 * time.Millisecond
	plainWidth  = 120 // without a terminal
)

// Escape sequences for the start, the end and the updates of the screen.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearAll    = "\x1b[2J"
)

// Command makes "weir top".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection()
	every := app.WatchFlag{Every: 2 * time.Second}
	var words []string
	for _, o := range orders() {
		words = append(words, o.word)
	}
	order := command.NewChoice(words[0], words...)
	c := r.APICommand("top", "Show a live overview of channels, surveys and the router", `Show a live overview of a running Weir: channels with contacts in flight and waiting,
progress of surveys, the router. On a terminal it updates until q is pressed; otherwise
it is printed once.

Keys: q quits; n, f, w, o, d and s sort by name, share of slots in flight, waiting
contacts, oldest wait, contacts done in the last minute and state; the same key again,
or r, reverses the order; j, k, the arrow keys, space and b scroll.

The token needs the scope contacts:read, and metrics:read for the router. The figures
of the router are from the process that handles the request.`, `  weir top
  weir top --interval 5s --sort waiting
  weir top --output json | jq '.channels[] | select(.state != "up")'`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			return run(ctx, a, r, to, every.Every, slices.Index(words, order.Value))
		})
	c.Flags().Var(&every, "interval", "refresh interval")
	c.Flags().Var(&order, "sort", "sort order of the channels")
	_ = c.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(order.Allowed, cobra.ShellCompDirectiveNoFileComp))
	r.AddConnectionFlags(c)
	return c
}

// run shows the state: live on a terminal, otherwise once.
func run(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, every time.Duration, order int) error {
	state, err := poll(ctx, a.Clock, to)
	if err != nil {
		return err
	}
	state.Sort = order
	_, _, isTerminal := a.Console.TerminalSize(a.Console.Stdout)
	switch {
	case r.JSON():
		return a.Console.PrintJSON(state)
	case !isTerminal || a.Environ.Value("TERM") == "dumb":
		_, err := io.WriteString(a.Console.Stdout, state.Text(plainWidth))
		return err
	}
	back, err := rawMode(a.Console.Stdin)
	if err != nil {
		return err
	}
	defer back()
	l := &liveView{clock: a.Clock, console: a.Console, watcher: a.Watcher, to: to, colors: a.Console.Display(&r.Output).Colors, state: state}
	_, _ = io.WriteString(a.Console.Stdout, enterScreen)
	defer func() { _, _ = io.WriteString(a.Console.Stdout, leaveScreen) }()
	return l.run(ctx, every)
}

// rawMode puts the terminal into raw mode, so that each key arrives at once; back
// restores it.
func rawMode(in io.Reader) (back func(), err error) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("take over the terminal: %w", err)
	}
	return func() { _ = term.Restore(int(f.Fd()), before) }, nil
}

// liveView is the view on a terminal.
type liveView struct {
	clock         *app.Clock
	console       *app.Console
	watcher       *app.Watcher
	to            *client.Client
	colors        bool
	state         State
	width, height int
}

// pollResult is the result of one poll of Weir.
type pollResult struct {
	state State
	err   error
}

// run draws until q or the end of ctx. Weir is polled in another goroutine, so that
// keys respond even while Weir is slow.
func (l *liveView) run(ctx context.Context, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	var polls sync.WaitGroup
	defer polls.Wait()
	defer cancel()
	ticks, stop := l.watcher.Ticker(every)
	defer stop()
	sizes, stopSizes := l.watcher.Ticker(resizeEvery)
	defer stopSizes()
	keys, news := l.keys(ctx), make(chan pollResult, 1)
	for changed, busy := true, false; ; {
		if l.resized() || changed {
			if err := l.draw(); err != nil {
				return err
			}
		}
		changed = true
		select {
		case <-ctx.Done():
			return nil
		case key, ok := <-keys:
			if !ok {
				keys = nil
			}
			var quit bool
			if l.state, quit = l.state.Press(key, l.state.Page(l.height)); quit {
				return nil
			}
		case <-ticks:
			if changed = false; !busy {
				busy = true
				polls.Go(func() { state, err := poll(ctx, l.clock, l.to); news <- pollResult{state, err} })
			}
		case s := <-news:
			busy = false
			l.take(s)
		case <-sizes:
			changed = false
		}
	}
}

// take applies the result of a poll. After a failure the last state stays on the
// screen, with the reason.
func (l *liveView) take(s pollResult) {
	if s.err != nil {
		if l.state.Problem == "" {
			l.state.Seen = l.state.Now
		}
		l.state.Problem, _, _ = strings.Cut(s.err.Error(), "\n")
		l.state.Now = l.clock.Now().In(l.clock.Zone())
		return
	}
	s.state.Sort, s.state.Reverse, s.state.Offset = l.state.Sort, l.state.Reverse, min(l.state.Offset, max(0, len(s.state.Channels)-1))
	l.state = s.state
}

// resized reads the size of the terminal and reports whether it has changed.
func (l *liveView) resized() bool {
	width, height, ok := l.console.TerminalSize(l.console.Stdout)
	if !ok {
		width, height = app.DefaultWidth, app.DefaultHeight
	}
	if width == l.width && height == l.height {
		return false
	}
	l.width, l.height = width, height
	_, _ = io.WriteString(l.console.Stdout, clearAll)
	return true
}

// draw draws the state over the previous picture.
func (l *liveView) draw() error {
	// Clear each line before writing it: clearing after a line of full width would
	// erase its last character.
	picture := strings.ReplaceAll(l.state.Draw(l.width, l.height, l.colors), "\n", "\r\n"+clearLine)
	_, err := io.WriteString(l.console.Stdout, cursorHome+clearLine+picture)
	return err
}

// keys returns a channel of the keys pressed. A read cannot be interrupted: the
// goroutine remains until the next key, or the end of the process.
func (l *liveView) keys(ctx context.Context) <-chan rune {
	out := make(chan rune)
	if l.console.Stdin == nil {
		return out
	}
	go func() {
		defer close(out)
		for in := bufio.NewReader(l.console.Stdin); ; {
			key, err := ReadKey(in)
			if err != nil {
				return
			}
			select {
			case out <- key:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// ReadKey reads one key. The arrows up and down are k and j; 0 is any other key that
// a terminal sends as several characters.
func ReadKey(in *bufio.Reader) (rune, error) {
	r, _, err := in.ReadRune()
	if err != nil || r != '\x1b' || in.Buffered() == 0 { // the key Escape is alone
		return r, err
	}
	if r, _, err = in.ReadRune(); err != nil || r != '[' && r != 'O' { // with Alt
		return 0, err
	}
	for {
		switch r, _, err = in.ReadRune(); {
		case err != nil || r < ' ': // Ctrl-C is never part of a sequence
			return r, err
		case r == 'A':
			return 'k', nil
		case r == 'B':
			return 'j', nil
		case r >= '@' && r <= '~': // the end of a sequence
			return 0, nil
		}
	}
}
