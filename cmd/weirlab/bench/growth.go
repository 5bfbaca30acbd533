package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"weir"
	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
	"weir/persistence/fill"
)

// filledWith creates a database with the channels of a step, and a paused one, and
// inserts the existing contacts.
func (s *session) filledWith(ctx context.Context, st step) (d database, err error) {
	from, err := s.store(ctx, st.Store)
	if err != nil {
		return d, err
	}
	if err := s.room(from.disk(), bytesOf(st)); err != nil {
		return d, err
	}
	if d, err = from.fresh(ctx); err != nil {
		return d, err
	}
	if err = s.fill(ctx, st, d); err != nil {
		return d, errors.Join(err, d.drop())
	}
	return d, nil
}

// peopleSpan is the time in which the people of a store were contacted.
const peopleSpan = 30 * 24 * time.Hour

func (s *session) fill(ctx context.Context, st step, d database) (err error) {
	if err := s.createChannels(ctx, st, d); err != nil {
		return err
	}
	target, err := fill.Open(ctx, d.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	live := make([]weir.ChannelID, st.Channels)
	for i := range live {
		if live[i], err = target.Channel(ctx, ownPrefix+"-"+channelName(i)); err != nil {
			return err
		}
	}
	paused, err := target.Channel(ctx, ownPrefix+backlogChannel)
	if err != nil {
		return err
	}
	// The history of the live channels, then a younger queue. The youngest of these
	// contacts is a minute old, so all are older than the run's.
	begin := time.Now().Add(-time.Minute - time.Duration(st.Beside())*time.Millisecond)
	filler := strings.Repeat("x", len(judge.Text(0, 0, begin)))
	list := []fill.Contacts{
		{Channels: live, Finished: true, Count: st.Finished, Begin: begin, Message: filler},
		{Channels: []weir.ChannelID{paused}, First: st.Finished, Count: st.Queued, Begin: begin, Message: filler},
	}
	report, done := s.fillProgress(st.Beside()), 0
	if st.People > 0 {
		// Within the days that rules of a week or a month look back.
		begin = time.Now().Add(-time.Minute - peopleSpan)
		if err := target.People(ctx, fill.People{Channel: paused, Count: st.People, Begin: begin, Span: peopleSpan}, report); err != nil {
			return err
		}
		return target.Settle(ctx)
	}
	for _, c := range list {
		if err := target.Contacts(ctx, c, func(n int) { report(done + n) }); err != nil {
			return err
		}
		done += c.Count
	}
	return target.Settle(ctx)
}

// createChannels starts a Weir that creates the schema and the channels.
func (s *session) createChannels(ctx context.Context, st step, d database) error {
	b, err := s.newBroker(ctx, st, d)
	if err != nil {
		return err
	}
	defer b.Stop()
	if err := b.start(ctx); err != nil {
		return err
	}
	p := provider.Client{URL: s.provider.url}
	if err := newHTTPSubject(b.URL, token, ownPrefix, st.Channels).setUp(ctx, p, st.Workload); err != nil {
		return err
	}
	w := st.Workload
	w.Mode = load.Bulk // the paused one
	full := newHTTPSubject(b.URL, token, ownPrefix, 1)
	full.full = true
	return full.setUp(ctx, p, w)
}

// fillProgress returns a function that reports from time to time how far filling has come.
func (s *session) fillProgress(whole int) func(done int) {
	const pause = 30 * time.Second
	began := time.Now()
	said := began
	return func(done int) {
		if now := time.Now(); now.Sub(said) >= pause || done == whole {
			said = now
			took := now.Sub(began)
			left := time.Duration(float64(took) / float64(done) * float64(whole-done))
			s.progress.say("%d of %d rows are there after %s, about %s left", done, whole, took.Round(time.Second), left.Round(time.Second))
		}
	}
}

// growth makes one run beside the contacts in the database: a start of the program
// with them, and then live.
func (s *session) growth(ctx context.Context, st step, d database) (f Figures, err error) {
	s.quiet(ctx)
	took, err := s.startOn(ctx, st, d)
	if err != nil {
		return f, err
	}
	s.quiet(ctx)
	f, err = s.measured(ctx, st, d)
	f.Peer, f.StartS = st.name(), took.Seconds()
	if err != nil {
		return f, err
	}
	target, err := fill.Open(ctx, d.url)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	size, err := target.Size(ctx)
	f.StoreMB = megabytes(size)
	return f, err
}

// startOn returns how long the program takes from its start until it is ready.
func (s *session) startOn(ctx context.Context, st step, d database) (time.Duration, error) {
	b, err := s.newBroker(ctx, st, d)
	if err != nil {
		return 0, err
	}
	defer b.Stop()
	began := time.Now()
	err = b.start(ctx)
	return time.Since(began), err
}

// Bytes of a row on disk, with its indexes and temporary data; measured, rounded up.
const (
	sqliteRow = 550
	mysqlRow  = 700
	// spare is the number of bytes left to other programs.
	spare = 1 << 30
)

// bytesOf returns about how many bytes the rows beside a run take on disk.
func bytesOf(st step) int64 {
	row := int64(mysqlRow)
	if kindOf(st.Store) == "sqlite" {
		row = sqliteRow
	}
	return int64(st.Beside()) * row
}

// room fails if a folder has too little free space.
func (s *session) room(folder string, need int64) error {
	free, ok := machine.FreeBytes(folder)
	if need == 0 || !ok || free >= need+spare {
		return nil
	}
	return fmt.Errorf("there are %.1f GB free in %s; the rows take about %.1f GB and 1 GB is left to others (TMPDIR names another folder)",
		float64(free)/1e9, folder, float64(need)/1e9)
}

// roomForAll fails before anything is filled if not all of it fits.
func (s *session) roomForAll(steps []step) error {
	need, seen := map[string]int64{}, map[string]bool{}
	for _, st := range steps {
		if st.Mode != load.Growth || seen[st.place()] {
			continue
		}
		seen[st.place()] = true
		if where := diskOf(st.Store, s.folder); where != "" {
			need[where] += bytesOf(st)
		}
	}
	for where, n := range need {
		if err := s.room(where, n); err != nil {
			return err
		}
	}
	return nil
}

// diskOf returns the folder in which a store will be; empty: it may be on another
// machine.
func diskOf(store, folder string) string {
	switch kind, place, isURL := strings.Cut(store, "://"); {
	case !isURL:
		return folder
	case kind == "sqlite":
		return filepath.Dir(place)
	}
	return ""
}
