// Command history generates a past for channels, for screenshots of the dashboard:
// the invented counters per minute of 13 hours, always the same. Its arguments are
// the URL of a store and the names of channels. Nothing else uses it.
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence"
)

const span = 13 * time.Hour

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: history URL CHANNEL…")
		os.Exit(2)
	}
	if err := write(context.Background(), os.Args[1], os.Args[2:], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		os.Exit(1)
	}
}

// write adds to each channel the minutes before the current one.
func write(ctx context.Context, url string, names []string, now time.Time) (err error) {
	s, err := persistence.Open(ctx, url, persistence.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(ctx); err == nil {
			err = closing
		}
	}()
	for i, name := range names {
		c, err := s.Channel(ctx, name)
		if err != nil {
			return err
		}
		if _, err := s.AddMinutes(ctx, past(c, now.Truncate(time.Minute), uint64(i))); err != nil {
			return err
		}
	}
	return nil
}

// past generates the minutes of a channel: a load that rises and falls, with 48
// minutes in which the provider was slow.
func past(c weir.Channel, until time.Time, seed uint64) []operators.Minute {
	chance := rand.New(rand.NewPCG(7, seed)) // fixed seed: the same numbers each time
	minutes := int(span / time.Minute)
	queued := int64(0)
	var list []operators.Minute
	for i := range minutes {
		m := operators.Minute{Channel: c.ID, At: until.Add(time.Duration(i-minutes) * time.Minute), Gauged: true, Capacity: int64(c.Capacity)}
		ago := float64(minutes-i) / 60
		slow := ago > 1.4 && ago < 2.2
		most := float64(c.Capacity) * 2.2
		wave := .62 + .25*math.Sin(ago*1.1) + .12*math.Sin(ago*5+1)
		accepted := int64(most * wave * (.85 + .3*chance.Float64()))
		sent := min(accepted+queued, int64(most*.95))
		if slow {
			sent = sent * 2 / 5
			m.Counts[operators.CountSendFailed] = 1 + chance.Int64N(4)
		}
		queued += accepted - sent
		m.Counts[operators.CountAccepted], m.Counts[operators.CountSent] = accepted, sent
		outcomes(&m, sent, c.Type != "nuntium", chance)
		m.MaxInFlight = min(m.Capacity, 1+sent*m.Capacity/int64(most))
		if slow {
			m.MaxInFlight = m.Capacity
		}
		m.InFlight, m.Queued = m.MaxInFlight, queued
		list = append(list, m)
	}
	return list
}

// outcomes adds as many outcomes as contacts were dispatched. Text messages are
// never busy or unanswered.
func outcomes(m *operators.Minute, sent int64, calls bool, chance *rand.Rand) {
	part := func(share float64) int64 { return int64(float64(sent)*share*(.5+chance.Float64()) + .5) }
	busy, unanswered, failed := part(.06), part(.14), part(.03)
	if !calls {
		busy, unanswered = 0, 0
	}
	m.Counts[operators.CountBusy], m.Counts[operators.CountNoAnswer], m.Counts[operators.CountFailed] = busy, unanswered, failed
	m.Counts[operators.CountCompleted] = max(0, sent-busy-unanswered-failed)
	m.Counts[operators.CountApplied], m.Counts[operators.CountDuplicate], m.Counts[operators.CountLate] = 2*sent, part(.02), part(.01)
	if m.At.Minute()%2 == 0 {
		m.Counts[operators.CountReconciliations], m.Counts[operators.CountReconciled] = 1, part(.03)
	}
}
