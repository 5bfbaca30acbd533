package contacts

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/operators"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

var _ operators.FiguresReader = (*Figures)(nil)

// Figures counts contacts that wait and are in flight, and dead letters.
type Figures struct {
	*commit.DB
	flights *flights
	waiting *waiting
	metrics *Metrics
}

// figuresChunk is how many channels one statement is about.
const figuresChunk = 500

// maxLanes is how many lanes of a channel are looked at for its oldest contact.
const maxLanes = 900

// nextLanesSQL finds the next lane of each of n channels, and the oldest contact there: a queued
// contact stands in its lane by its id. The bounds are constants, because MariaDB and MySQL do not
// seek an index by a bound out of an outer query: they would read each lane to its end.
func nextLanesSQL(n int) string {
	const next = "SELECT channel_id, lane, id FROM (SELECT channel_id, lane, id FROM contacts_queued WHERE channel_id = ? AND lane > ? ORDER BY lane, id LIMIT 1) AS part"
	return next + strings.Repeat(" UNION ALL "+next, n-1)
}

// queuedAtSQL reads when n contacts were queued.
func queuedAtSQL(n int) string {
	return "SELECT channel_id, queued_at FROM contacts WHERE channel_id = ? AND id = ?" + strings.Repeat(" OR channel_id = ? AND id = ?", n-1)
}

// Backlogs implements [operators.FiguresReader].
func (s *Figures) Backlogs(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]operators.Backlog, error) {
	out := map[weir.ChannelID]operators.Backlog{}
	for part := range slices.Chunk(channels, figuresChunk) {
		if err := s.backlogs(ctx, part, out); err != nil {
			return nil, s.Failure("read what waits", err)
		}
	}
	return out, nil
}

// backlogs adds those of a chunk of channels.
func (s *Figures) backlogs(ctx context.Context, channels []weir.ChannelID, into map[weir.ChannelID]operators.Backlog) error {
	after := make([]any, 0, 2*len(channels))
	for _, channel := range channels {
		if n := s.waiting.of(channel); n > 0 {
			into[channel] = operators.Backlog{Queued: n}
			after = append(after, int64(channel), math.MinInt64)
		}
	}
	oldest := map[int64]int64{}
	for n := 0; len(after) > 0 && n < maxLanes; n++ {
		var lanes []struct {
			Channel int64 `db:"channel_id"`
			Lane    int64 `db:"lane"`
			ID      int64 `db:"id"`
		}
		if err := s.Read.SelectContext(ctx, &lanes, nextLanesSQL(len(after)/2), after...); err != nil {
			return err
		}
		after = after[:0]
		for _, l := range lanes {
			after = append(after, l.Channel, l.Lane)
			if first, ok := oldest[l.Channel]; !ok || l.ID < first {
				oldest[l.Channel] = l.ID
			}
		}
	}
	keys := make([]any, 0, 2*len(oldest))
	for channel, id := range oldest {
		keys = append(keys, channel, id)
	}
	if len(keys) == 0 { // they have just been claimed
		return nil
	}
	var times []struct {
		Channel weir.ChannelID `db:"channel_id"`
		At      int64          `db:"queued_at"`
	}
	if err := s.Read.SelectContext(ctx, &times, queuedAtSQL(len(keys)/2), keys...); err != nil {
		return err
	}
	for _, t := range times {
		b := into[t.Channel]
		b.OldestQueuedAt = columns.Instant(t.At)
		into[t.Channel] = b
	}
	return nil
}

// Flights implements [operators.FiguresReader].
func (s *Figures) Flights(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]operators.Figures, error) {
	out := map[weir.ChannelID]operators.Figures{}
	var all []record
	for _, c := range channels {
		all = append(all, s.flights.list(c)...)
	}
	slices.SortFunc(all, func(a, b record) int { return compareRefs(a.ref, b.ref) })
	for part := range slices.Chunk(all, columns.KeysPerList) {
		sizes, err := s.sizesInFlight(ctx, part)
		if err != nil {
			return nil, s.Failure("count contacts in flight", err)
		}
		for _, r := range part {
			size, ok := sizes[r.ref]
			if !ok { // it has just ended
				continue
			}
			f := out[r.ref.Channel]
			f.InFlight += r.progress.Slots(size)
			switch r.progress.State {
			case weir.Sending:
				f.Sending++
			case weir.Active:
				f.Active++
			default:
				f.Unknown++
			}
			out[r.ref.Channel] = f
		}
	}
	return out, nil
}

// sizesInFlight reads the sizes of contacts, in order, if they are in flight.
func (s *Figures) sizesInFlight(ctx context.Context, list []record) (map[weir.Ref]int, error) {
	var rows []struct {
		Channel weir.ChannelID `db:"channel_id"`
		ID      weir.ContactID `db:"id"`
		Size    int            `db:"size"`
	}
	text, args := sizesSQL(list)
	if err := s.Read.SelectContext(ctx, &rows, text, args...); err != nil {
		return nil, err
	}
	sizes := make(map[weir.Ref]int, len(rows))
	for _, r := range rows {
		sizes[weir.Ref{Channel: r.Channel, ID: r.ID}] = r.Size
	}
	return sizes, nil
}

// sizesSQL has one range for each channel.
func sizesSQL(list []record) (string, []any) {
	var ranges []string
	var args []any
	for len(list) > 0 {
		channel, n := list[0].ref.Channel, 0
		args = append(args, int64(channel))
		for n < len(list) && list[n].ref.Channel == channel {
			args = append(args, int64(list[n].ref.ID))
			n++
		}
		ranges, list = append(ranges, "c.channel_id = ? AND c.id IN "+columns.Marks(n)), list[n:]
	}
	return "SELECT c.channel_id, c.id, c.size" + withState + " WHERE (" + strings.Join(ranges, " OR ") + ")" + noState, args
}

const deadByChannel = "SELECT channel_id, COUNT(*) AS n FROM dead_letters GROUP BY channel_id"

// GaugeDead counts the dead letters of each channel into the metrics. It reads an
// index from end to end, a million in a part of a second: for once a minute.
func (s *Figures) GaugeDead(ctx context.Context) error {
	const doing = "count the dead letters of each channel"
	var rows []struct {
		Channel int64 `db:"channel_id"`
		N       int64 `db:"n"`
	}
	if err := s.Read.SelectContext(ctx, &rows, deadByChannel); err != nil {
		return s.Failure(doing, err)
	}
	counts := make(map[string]int64, len(rows))
	for part := range slices.Chunk(rows, columns.PurgeChunk) {
		n, ids := map[int64]int64{}, make([]any, len(part))
		for i, r := range part {
			n[r.Channel], ids[i] = r.N, r.Channel
		}
		var names []struct {
			ID   int64  `db:"id"`
			Name string `db:"name"`
		}
		text := "SELECT id, COALESCE(name, former_name) AS name FROM channels WHERE id IN " + columns.Marks(len(ids))
		if err := s.Read.SelectContext(ctx, &names, text, ids...); err != nil {
			return s.Failure(doing, err)
		}
		for _, c := range names {
			counts[c.Name] += n[c.ID] // one that was deleted may have had the same name
		}
	}
	s.metrics.setDead(counts)
	return nil
}

// setDead shows the counts, and none of channels that have no dead letters.
func (m *Metrics) setDead(counts map[string]int64) {
	m.shown.Lock()
	defer m.shown.Unlock()
	for name := range m.deadOf {
		if _, ok := counts[name]; !ok {
			m.dead.DeleteLabelValues(name)
		}
	}
	for name, n := range counts {
		m.dead.WithLabelValues(name).Set(float64(n))
	}
	m.deadOf = counts
}

// Metrics count the dead letters of each channel.
type Metrics struct {
	dead   *prometheus.GaugeVec
	shown  sync.Mutex
	deadOf map[string]int64 // channels with dead letters, as shown
}

// NewMetrics registers the figure.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{dead: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
		Name: "weir_dead_letters_contacts", Help: "Dead letters in the store, counted every minute; channels that have some.",
	}, []string{"channel"})}
}
