package operators

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/operators"
	sqlcolumns "weir/persistence/columns"
)

var _ operators.MinuteStore = (*Store)(nil)

// countColumns are the columns of the counters, in their order.
func countColumns() []string {
	return []string{
		"accepted", "sent", "send_failed", "completed", "busy", "no_answer", "failed", "expired", "canceled", "lost", "dead_letter",
		"applied", "duplicate", "late", "not_ours", "collections", "reconciled",
	}
}

const (
	gaugeColumns = "in_flight, in_flight_most, queued, capacity"
	minuteWidth  = 2 + int(operators.Counters) + 4
	minuteChunk  = 200 // rows of one statement, which is a transaction
)

// minuteOf numbers the minutes since 1970.
func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// firstMinute is the first that begins at an instant or after it.
func firstMinute(t time.Time) int64 { return minuteOf(t.Add(time.Minute - time.Nanosecond)) }

func minuteColumns() string {
	return "channel_id, minute, " + strings.Join(countColumns(), ", ") + ", " + gaugeColumns
}

// addMinutes ends an INSERT: counters are added, gauges
// keep their maximum or latest value.
func (s *Store) addMinutes() string {
	fresh := s.Dialect.Fresh
	var set []string
	for _, c := range countColumns() {
		set = append(set, c+" = "+c+" + "+fresh(c))
	}
	most := "in_flight_most"
	set = append(set, most+" = CASE WHEN "+most+" > "+fresh(most)+" THEN "+most+" ELSE COALESCE("+fresh(most)+", "+most+") END")
	for _, c := range []string{"in_flight", "queued", "capacity"} {
		set = append(set, c+" = COALESCE("+fresh(c)+", "+c+")")
	}
	return s.Dialect.Merge("channel_id", "minute") + strings.Join(set, ", ")
}

// AddMinutes implements [operators.MinuteStore]. Each statement is a transaction of its own, so
// that the queue waits for a short one only; what was committed is no part of the rest.
// When a connection breaks in the middle of a commit, repeating may count that one
// transaction's minutes twice: they are for charts.
func (s *Store) AddMinutes(ctx context.Context, list []operators.Minute) (rest []operators.Minute, err error) {
	// One order for all, so that two processes do not wait for each other.
	list = slices.SortedFunc(slices.Values(list), compareMinutes)
	suffix := s.addMinutes()
	for len(list) > 0 {
		part := list[:min(len(list), minuteChunk)]
		err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO channel_minutes ("+minuteColumns()+") VALUES "+sqlcolumns.RowsOf(len(part), minuteWidth)+suffix, minuteRows(part)...)
			if err != nil {
				return err
			}
			return s.addHours(ctx, tx, part)
		})
		if err != nil {
			return list, s.Failure("write the minutes", err)
		}
		list = list[len(part):]
	}
	return nil, nil
}

func minuteRows(list []operators.Minute) []any {
	args := make([]any, 0, len(list)*minuteWidth)
	for i := range list {
		m := &list[i]
		args = append(args, int64(m.Channel), minuteOf(m.At))
		for _, n := range m.Counts {
			args = append(args, n)
		}
		if m.Gauged {
			args = append(args, m.InFlight, m.MaxInFlight, m.Queued, m.Capacity)
		} else {
			args = append(args, nil, nil, nil, nil)
		}
	}
	return args
}

func compareMinutes(a, b operators.Minute) int {
	return cmp.Or(cmp.Compare(a.Channel, b.Channel), a.At.Compare(b.At))
}

// The statements of minutes. Each reads a range of an index.
const (
	minutesWhere = "channel_id = ? AND minute >= ? AND minute < ? ORDER BY minute"
	minuteBefore = "channel_id = ? AND minute < ? AND capacity IS NOT NULL ORDER BY minute DESC LIMIT 1"
)

const oldMinutesSQL = "SELECT channel_id, minute FROM channel_minutes WHERE minute < ? ORDER BY minute LIMIT ?"

func minutesSQL(where string) string {
	return "SELECT " + minuteColumns() + " FROM channel_minutes WHERE " + where
}

func dropMinutesSQL(channels int) string {
	return "DELETE FROM channel_minutes WHERE minute = ? AND channel_id IN " + sqlcolumns.Marks(channels)
}

// Minutes implements [operators.MinuteStore].
func (s *Store) Minutes(ctx context.Context, channel weir.ChannelID, from, until time.Time) ([]operators.Minute, *operators.Minute, error) {
	first := firstMinute(from)
	list, err := s.selectMinutes(ctx, minutesSQL(minutesWhere), int64(channel), first, firstMinute(until))
	if err != nil {
		return nil, nil, err
	}
	before, err := s.selectMinutes(ctx, minutesSQL(minuteBefore), int64(channel), first)
	if err != nil || len(before) == 0 {
		return list, nil, err
	}
	return list, &before[0], nil
}

func (s *Store) selectMinutes(ctx context.Context, text string, args ...any) ([]operators.Minute, error) {
	rows, err := s.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, s.Failure("read the minutes", err)
	}
	defer func() { _ = rows.Close() }()
	var list []operators.Minute
	for rows.Next() {
		var m operators.Minute
		var minute int64
		var gauges [4]sql.NullInt64
		into := []any{&m.Channel, &minute}
		for i := range m.Counts {
			into = append(into, &m.Counts[i])
		}
		if err := rows.Scan(append(into, &gauges[0], &gauges[1], &gauges[2], &gauges[3])...); err != nil {
			return nil, s.Failure("read the minutes", err)
		}
		m.At, m.Gauged = time.Unix(minute*60, 0).UTC(), gauges[3].Valid
		m.InFlight, m.MaxInFlight, m.Queued, m.Capacity = gauges[0].Int64, gauges[1].Int64, gauges[2].Int64, gauges[3].Int64
		list = append(list, m)
	}
	return list, s.Failure("read the minutes", rows.Err())
}

// quartersChunk is how many channels one statement is about.
const quartersChunk = 200

// latestShift makes room for a gauge below its minute, so that MAX finds the latest.
const latestShift = 1 << 48

// quartersSQL sums minutes: counters add up, of gauges the greatest or the latest stays.
func quartersSQL(channels int) string {
	columns := []string{"channel_id", "minute - minute % 15"}
	for _, c := range countColumns() {
		columns = append(columns, "SUM("+c+")")
	}
	latest := func(c string) string {
		return fmt.Sprintf("MAX(CASE WHEN capacity IS NOT NULL THEN (minute %% 15) * %d + %s END)", int64(latestShift), c)
	}
	columns = append(columns, latest("in_flight"), "MAX(in_flight_most)", latest("queued"), latest("capacity"))
	return "SELECT " + strings.Join(columns, ", ") + " FROM channel_minutes WHERE channel_id IN " + sqlcolumns.Marks(channels) +
		" AND minute >= ? AND minute < ? GROUP BY channel_id, minute - minute % 15"
}

// Quarters implements [operators.MinuteStore].
func (s *Store) Quarters(ctx context.Context, channels []weir.ChannelID, from, until time.Time) ([]operators.Minute, error) {
	first := func(t time.Time) int64 { return (firstMinute(t) + 14) / 15 * 15 }
	var list []operators.Minute
	for part := range slices.Chunk(channels, quartersChunk) {
		found, err := s.selectMinutes(ctx, quartersSQL(len(part)), append(sqlcolumns.Arguments(part), first(from), first(until))...)
		if err != nil {
			return nil, err
		}
		for i := range found {
			m := &found[i]
			m.InFlight, m.Queued, m.Capacity = m.InFlight%latestShift, m.Queued%latestShift, m.Capacity%latestShift
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, compareMinutes)
	return list, nil
}

// PurgeMinutes implements [operators.MinuteStore].
func (s *Store) PurgeMinutes(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.purgeMinutes(ctx, minuteOf(before), min(limit, sqlcolumns.PurgeChunk))
	return n, s.Failure("purge the minutes", err)
}

func (s *Store) purgeMinutes(ctx context.Context, before int64, limit int) (int, error) {
	var old []struct {
		Channel int64 `db:"channel_id"`
		Minute  int64 `db:"minute"`
	}
	err := s.Read.SelectContext(ctx, &old, oldMinutesSQL, before, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	byMinute := map[int64][]any{}
	for _, r := range old {
		byMinute[r.Minute] = append(byMinute[r.Minute], r.Channel)
	}
	return len(old), s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for minute, channels := range byMinute {
			text := dropMinutesSQL(len(channels))
			if _, err := tx.ExecContext(ctx, text, append([]any{minute}, channels...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// addHours adds minutes to their hours. Of a minute without gauges, only what was sent counts.
func (s *Store) addHours(ctx context.Context, tx *sqlx.Tx, list []operators.Minute) error {
	type key struct {
		channel weir.ChannelID
		hour    int64
	}
	var keys []key
	sums := map[key]*operators.Hour{}
	for i := range list {
		m := &list[i]
		k := key{m.Channel, minuteOf(m.At) / 60}
		if sums[k] == nil {
			keys, sums[k] = append(keys, k), &operators.Hour{}
		}
		h := sums[k]
		h.Sent, h.Used, h.Capacity = h.Sent+m.Counts[operators.CountSent], h.Used+m.InFlight, max(h.Capacity, m.Capacity)
	}
	var args []any
	for _, k := range keys { // as sorted as the minutes
		h := sums[k]
		args = append(args, int64(k.channel), k.hour, h.Sent, h.Used, h.Capacity)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO channel_hours (channel_id, hour, sent, used, capacity) VALUES "+sqlcolumns.RowsOf(len(keys), 5)+s.addHour(), args...)
	return err
}

// addHour ends an INSERT of hours.
func (s *Store) addHour() string {
	fresh := s.Dialect.Fresh
	return s.Dialect.Merge("channel_id", "hour") + "sent = sent + " + fresh("sent") + ", used = used + " + fresh("used") +
		", capacity = CASE WHEN capacity > " + fresh("capacity") + " THEN capacity ELSE " + fresh("capacity") + " END"
}

const (
	hoursSQL    = "SELECT hour, sent, used, capacity FROM channel_hours WHERE channel_id = ? AND hour >= ? AND hour < ? ORDER BY hour"
	oldHoursSQL = "SELECT channel_id, hour FROM channel_hours WHERE hour < ? ORDER BY hour LIMIT ?"
)

// firstHour is the first that begins at an instant or after it.
func firstHour(t time.Time) int64 { return (firstMinute(t) + 59) / 60 }

// Hours implements [operators.MinuteStore].
func (s *Store) Hours(ctx context.Context, channel weir.ChannelID, from, until time.Time) ([]operators.Hour, error) {
	var rows []struct {
		Hour     int64 `db:"hour"`
		Sent     int64 `db:"sent"`
		Used     int64 `db:"used"`
		Capacity int64 `db:"capacity"`
	}
	if err := s.Read.SelectContext(ctx, &rows, hoursSQL, int64(channel), firstHour(from), firstHour(until)); err != nil {
		return nil, s.Failure("read the hours", err)
	}
	list := make([]operators.Hour, len(rows))
	for i, r := range rows {
		list[i] = operators.Hour{At: time.Unix(r.Hour*3600, 0).UTC(), Sent: r.Sent, Used: r.Used, Capacity: r.Capacity}
	}
	return list, nil
}

// PurgeHours implements [operators.MinuteStore].
func (s *Store) PurgeHours(ctx context.Context, before time.Time, limit int) (int, error) {
	var old []struct {
		Channel int64 `db:"channel_id"`
		Hour    int64 `db:"hour"`
	}
	if err := s.Read.SelectContext(ctx, &old, oldHoursSQL, minuteOf(before)/60, min(limit, sqlcolumns.PurgeChunk)); err != nil || len(old) == 0 {
		return 0, s.Failure("purge the hours", err)
	}
	return len(old), s.Failure("purge the hours", s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for _, r := range old {
			if _, err := tx.ExecContext(ctx, "DELETE FROM channel_hours WHERE channel_id = ? AND hour = ?", r.Channel, r.Hour); err != nil {
				return err
			}
		}
		return nil
	}))
}
