package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"weir"
	"weir/cmd/weir/daemon"
	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/config"
	"weir/internal/memory"
)

// Task is the work of a child process: one workload on one broker, with the load
// in the broker's process.
type Task struct {
	Workload load.Workload
	Provider string
	Database string
	Meter    Meter  // of the database
	Profile  string // file for a CPU profile; empty: none
}

// Child runs the task that it reads from in, and writes its figures to out.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	if t.Workload.Mode == load.Matching {
		f, err := matching(t.Workload)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(f)
	}
	p := provider.Client{URL: t.Provider}
	s, end, err := t.subject(ctx, p)
	if err != nil {
		return err
	}
	stop, err := profile(t.Profile)
	if err != nil {
		return errors.Join(err, end())
	}
	f, err := t.measure(ctx, s, p)
	if err := errors.Join(err, stop(), end()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

func (t Task) measure(ctx context.Context, s subject, p provider.Client) (Figures, error) {
	r, err := t.Meter.open()
	if err != nil {
		return Figures{}, err
	}
	f, err := measurement{w: t.Workload, s: s, p: p, store: r}.run(ctx)
	return f, errors.Join(err, r.close())
}

// run runs the mode, while clients read the events.
func (m measurement) run(ctx context.Context) (Figures, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s, ok := m.s.(interface {
		stream(ctx context.Context) (end func(), err error)
	}); ok {
		for range m.w.Streams {
			end, err := s.stream(ctx)
			if err != nil {
				return Figures{}, err
			}
			defer end()
		}
	}
	switch m.w.Mode {
	case load.Restart:
		return m.restart(ctx)
	case load.Crash:
		return m.crash(ctx)
	case load.Idle:
		return m.idle(ctx)
	case load.Bulk:
		return m.bulk(ctx)
	case load.Survey:
		return m.survey(ctx)
	case load.Interviews, load.Answers:
		return m.interviews(ctx)
	case load.Router:
		return m.router(ctx)
	}
	f, err := m.through(ctx)
	if err == nil {
		err = m.awaitHooks(ctx, &f)
	}
	return f, err
}

// profile writes a CPU profile until stop is called.
func profile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

func (t Task) subject(ctx context.Context, p provider.Client) (subject, func() error, error) {
	if t.Workload.Baseline {
		s, end, err := newBaselineSubject(ctx, p, t.Workload)
		return s, func() error { end(); return nil }, err
	}
	return newInside(ctx, t, p)
}

// inside is a Weir whose contacts are enqueued by function calls, not over HTTP.
type inside struct {
	*httpSubject // for everything else
	daemon       *daemon.Daemon
	list         []weir.Channel
}

// newInside runs a whole Weir in this process, with the garbage collector as weir serve sets it.
func newInside(ctx context.Context, t Task, p provider.Client) (subject, func() error, error) {
	c, _, err := config.Load(append(environment(t.Workload),
		"DATABASE_URL="+t.Database, "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS="+token, "WEIR_RATE_LIMIT=1000000"))
	if err != nil {
		return nil, nil, err
	}
	// The log is formatted as in production, but discarded.
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	d, err := daemon.New(ctx, daemon.Options{Config: c, Logger: slog.New(slog.NewJSONHandler(log, nil)), Version: "bench"})
	if err != nil {
		stop()
		return nil, nil, errors.Join(err, log.Close())
	}
	_, free := memory.Start(memory.Limit(os.DirFS("/")), memory.Variables{GOGC: os.Getenv("GOGC"), GOMEMLIMIT: os.Getenv("GOMEMLIMIT")})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	end := func() error { stop(); defer free(); return errors.Join(<-ended, log.Close()) }
	s := &inside{httpSubject: newHTTPSubject("http://"+d.Addr(), token, ownPrefix, t.Workload.Channels), daemon: d}
	s.broker = self{}
	if err := s.setUp(ctx, p, t.Workload); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	for i := range t.Workload.Channels {
		ch, err := d.Channel(ctx, s.channel(i))
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		s.list = append(s.list, ch)
	}
	return s, end, nil
}

func (s *inside) Enqueue(ctx context.Context, channel int, ids []int, began time.Time) error {
	specs := make([]weir.Spec, len(ids))
	for i, id := range ids {
		specs[i] = weir.Spec{Key: keyOf(id, began), To: address(id), Priority: weir.Normal}
		if s.calls {
			specs[i].Call = &weir.Call{CallbackURL: flowURL(id, channel, began)}
		} else {
			specs[i].Messages = []string{judge.Text(id, channel, began)}
		}
	}
	_, err := s.daemon.Accept(ctx, s.list[channel], specs)
	return err
}
