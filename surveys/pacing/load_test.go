package pacing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/surveys/pacing"
)

func TestLoad_RoomFollowsTheRate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		flow pacing.ChannelLoad
		size int
		next time.Duration
		left time.Duration
		want int
	}{
		{"idle", pacing.ChannelLoad{Capacity: 100, Rate: 50}, 1, time.Minute, time.Hour, 150},
		{"busy", pacing.ChannelLoad{Capacity: 100, InFlight: 100, Rate: 50}, 1, time.Minute, time.Hour, 50},
		{"some wait", pacing.ChannelLoad{Capacity: 100, InFlight: 100, Queued: 30, Rate: 50}, 1, time.Minute, time.Hour, 20},
		{"enough wait", pacing.ChannelLoad{Capacity: 100, InFlight: 100, Queued: 90, Rate: 50}, 1, time.Minute, time.Hour, 0},
		{"the window is about to close", pacing.ChannelLoad{Capacity: 100, InFlight: 100, Rate: 50}, 1, time.Minute, 20 * time.Second, 15},
		{"closed", pacing.ChannelLoad{Capacity: 100, Rate: 50}, 1, time.Minute, 0, 0},
		{"no rate yet", pacing.ChannelLoad{Capacity: 100}, 1, time.Minute, time.Hour, 150},
		{"three messages each", pacing.ChannelLoad{Capacity: 100, Rate: 50}, 3, time.Minute, time.Hour, 50},
		{"larger than the channel", pacing.ChannelLoad{Capacity: 2, Rate: 50}, 3, time.Minute, time.Hour, 0},
		{"others wait, but few", pacing.ChannelLoad{Capacity: 100, Others: 30, Rate: 50}, 1, time.Minute, time.Hour, 120},
		{"others wait without end", pacing.ChannelLoad{Capacity: 100, Others: 900, Rate: 50}, 1, time.Minute, time.Hour, 75},
		{"of three lanes two are surveys", pacing.ChannelLoad{Capacity: 100, Others: 900, Surveys: 2, Rate: 50}, 1, time.Minute, time.Hour, 100},
		{"the fair share waits", pacing.ChannelLoad{Capacity: 100, InFlight: 100, Queued: 25, Others: 900, Rate: 50}, 1, time.Minute, time.Hour, 0},
		{"the capacity was lowered", pacing.ChannelLoad{Capacity: 10, InFlight: 100, Rate: 5}, 1, time.Minute, time.Hour, 5},
	} {
		if got, _ := tt.flow.Room(tt.size, tt.next, tt.left); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Scenario 25: 100,000 contacts for a channel with a throughput of 10,000 a day. If
// Room limits the enqueuing, almost nothing is left in the queue when the window
// closes, and the channel is hardly idle before.
func TestLoad_FewContactsExpire(t *testing.T) {
	t.Parallel()
	for _, hold := range []time.Duration{30 * time.Second, 3 * time.Minute, 10 * time.Minute} {
		t.Run(hold.String(), func(t *testing.T) {
			t.Parallel()
			const capacity, second = 100, time.Second
			var queued, sent, idle int
			var flying []int // ends of the contacts in flight, in seconds
			meter, seen := pacing.RateMeter{}, 0
			day := int((8 * time.Hour) / second)
			for now := range day {
				for len(flying) > 0 && flying[0] <= now {
					flying, seen = flying[1:], seen+1
				}
				if now%60 == 0 { // the poll
					meter, seen = meter.Observe(start().Add(time.Duration(now)*second), seen), 0
					f := pacing.ChannelLoad{Capacity: capacity, InFlight: len(flying), Queued: queued, Rate: meter.PerMinute()}
					n, _ := f.Room(1, time.Minute, time.Duration(day-now)*second)
					queued += n
				}
				for queued > 0 && len(flying) < capacity {
					queued--
					sent++
					flying = append(flying, now+int(hold/second))
				}
				if idle += capacity - len(flying); queued > 2*capacity+400 {
					t.Fatalf("%d wait at second %d", queued, now)
				}
			}
			// All calls are equally long here, so slots are freed in bursts; the
			// remainder is less than one burst.
			if queued > capacity {
				t.Errorf("%d contacts expire of %d", queued, sent)
			}
			if share := float64(idle) / float64(day*capacity); share > 0.15 {
				t.Errorf("the channel is idle for %.0f %% of the time", 100*share)
			}
		})
	}
}

// Scenario 81: no minute, wherever it begins, has more than the limit, and the limit
// is used up.
func TestMinuteLimit_HoldsForAnyMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		var m pacing.MinuteLimit
		var taken []time.Time
		now := start()
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
			left := m.Left(now, limit)
			if next := m.Next(now, limit); left > 0 != next.Equal(now) || next.Sub(now) > 62*time.Second {
				t.Fatalf("%d left, the next at %v", left, next)
			} else if left == 0 && (m.Left(next.Add(-1), limit) > 0 || m.Left(next, limit) == 0) {
				t.Fatalf("the next is not at %v", next)
			} else if left == 0 {
				now = next
				left = m.Left(now, limit)
			}
			n := rapid.IntRange(0, left).Draw(t, "n")
			m.Add(now, n)
			for range n {
				taken = append(taken, now)
			}
		}
		for i, at := range taken {
			if j := i + limit; j < len(taken) && taken[j].Sub(at) < time.Minute {
				t.Fatalf("more than %d within %v", limit, taken[j].Sub(at))
			}
		}
	})
}

func TestMinuteLimit_IsUsedUpOverTenMinutes(t *testing.T) {
	t.Parallel()
	var m pacing.MinuteLimit
	total := 0
	for now := start(); now.Before(start().Add(10 * time.Minute)); now = now.Add(time.Second) {
		n := m.Left(now, 100)
		m.Add(now, n)
		total += n
	}
	if total != 1000 {
		t.Errorf("%d in ten minutes at 100 a minute", total)
	}
	// A clock that goes back frees nothing.
	if got := m.Left(start(), 100); got != 0 && got != 100 {
		t.Errorf("%d left", got)
	}
	if got := m.Next(start(), 0); !got.After(start()) {
		t.Errorf("a limit of 0 lets one through at %v", got)
	}
}

func TestSplitBudget_GivesRetriesHalf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ budget, retries, starts, retry, start int }{
		{100, 1000, 1000, 50, 50},
		{100, 10, 1000, 10, 90},
		{100, 1000, 10, 90, 10},
		{100, 20, 30, 20, 30},
		{1, 5, 5, 1, 0},
		{0, 5, 5, 0, 0},
		{7, 0, 9, 0, 7},
		{7, 9, 0, 7, 0},
	} {
		retry, start := pacing.SplitBudget(tt.budget, tt.retries, tt.starts)
		if retry != tt.retry || start != tt.start {
			t.Errorf("%+v: %d and %d", tt, retry, start)
		}
	}
}

func TestRateMeter_ConvergesToTheRate(t *testing.T) {
	t.Parallel()
	var m pacing.RateMeter
	now := start()
	m = m.Observe(now, 1000) // before the observation
	if m.PerMinute() != 0 {
		t.Errorf("known before anything was seen: %v", m.PerMinute())
	}
	for range 60 {
		now = now.Add(time.Minute)
		m = m.Observe(now, 50)
	}
	if got := m.PerMinute(); got < 49.9 || got > 50.1 {
		t.Errorf("50 a minute are %v", got)
	}
	now = now.Add(8 * time.Hour)
	m = m.Skip(now) // the night
	for range 10 {
		now = now.Add(time.Minute)
		m = m.Observe(now, 10)
	}
	if got := m.PerMinute(); got < 20 || got > 40 {
		t.Errorf("ten minutes of 10 after an hour of 50 are %v", got)
	}
}

// Scenario 18: the surveys of a channel get equal shares, or shares by their weights,
// over polls of any size.
func TestFairShare_FollowsTheWeights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 5).Draw(t, "weights")
		sum, claims := 0, []pacing.Claim(nil)
		for i, w := range weights {
			sum += w
			claims = append(claims, pacing.Claim{Survey: fmt.Sprint(i), Weight: w, Wants: 1_000_000})
		}
		var share pacing.FairShare
		total, room := make([]int, len(weights)), 0
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 50).Draw(t, "rooms") {
			var got []int
			got, share = share.Share(n, claims)
			for i := range got {
				total[i] += got[i]
			}
			room += n
		}
		for i, w := range weights {
			if off := float64(total[i]) - float64(room*w)/float64(sum); off > float64(len(weights)) || off < -float64(len(weights)) {
				t.Fatalf("weights %v share %d as %v", weights, room, total)
			}
		}
	})
}

// slot is the value of one slot in a fair share.
const slot = 720720

func TestFairShare_UsesAllRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var share pacing.FairShare
		for range 20 {
			var claims []pacing.Claim
			wants := 0
			for i := range rapid.IntRange(0, 5).Draw(t, "claims") {
				c := pacing.Claim{Survey: fmt.Sprint(i), Weight: rapid.IntRange(0, 100).Draw(t, "weight"), Wants: rapid.IntRange(-1, 300).Draw(t, "wants")}
				wants += max(0, c.Wants)
				claims = append(claims, c)
			}
			room := rapid.IntRange(0, 500).Draw(t, "room")
			got, next := share.Share(room, claims)
			sum := 0
			for i, n := range got {
				if sum += n; n < 0 || n > max(0, claims[i].Wants) {
					t.Fatalf("%+v gets %d", claims[i], n)
				}
			}
			if sum != min(room, wants) {
				t.Fatalf("%d of %d are shared, wanted are %d", sum, room, wants)
			}
			share = next
			for name, debt := range share {
				if debt > 3*slot || debt < -3*slot {
					t.Fatalf("survey %s is owed %d", name, debt)
				}
			}
		}
	})
	got, _ := pacing.FairShare{}.Share(3, []pacing.Claim{{Survey: "a", Weight: 1, Wants: 9}, {Survey: "b", Weight: 1, Wants: 9}})
	slices.Sort(got)
	if diff := cmp.Diff([]int{1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

// Balances stay small even if surveys come and go for long, so that neither a new
// survey nor the others have to wait.
func TestFairShare_BalancesStaySmall(t *testing.T) {
	t.Parallel()
	var share pacing.FairShare
	for i := range 10_000 {
		claims := []pacing.Claim{{Survey: "a", Weight: 3, Wants: 2 + i%2}, {Survey: "b", Weight: 5, Wants: 1 + i%3}, {Survey: "c", Weight: 1, Wants: 100}}
		_, share = share.Share(1+i%4, claims[i%2:])
		for name, debt := range share {
			if debt > 2*slot || debt < -2*slot {
				t.Fatalf("after %d polls survey %s is owed %d", i, name, debt)
			}
		}
	}
}

func start() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }
