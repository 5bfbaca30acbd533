package limits_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/limits"
)

func personOf(n int) (p limits.Person) {
	binary.BigEndian.PutUint64(p[:], uint64(n))
	return p
}

// Whatever is claimed, undone and when: the people of the last 24 hours count and no others, they are
// no more than allowed, and in no second are more dispatches than the rate and its burst.
func TestUsage_NeverExceedsItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: rapid.IntRange(1, 5).Draw(t, "people"), PerSecond: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "rate")}
		u := limits.NewUsage(l)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		type contact struct {
			person int
			at     time.Time
		}
		var made []contact
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 500, 1000, 3600_000, 5 * 3600_000, 24 * 3600_000}).Draw(t, "ms")) * time.Millisecond)
			u.Begin()
			var batch []contact
			for range rapid.IntRange(1, 4).Draw(t, "claims") {
				person := rapid.IntRange(0, 9).Draw(t, "person")
				h, ok := u.Room("l", &limits.Demand{Person: personOf(person), Units: 1}, 0, now)
				if !ok {
					if !h.Until.After(now) {
						t.Fatalf("no room until %v, which is not after %v", h.Until, now)
					}
					continue
				}
				u.Take(&limits.Demand{Person: personOf(person), Units: 1}, now)
				batch = append(batch, contact{person, now})
			}
			if rapid.IntRange(0, 4).Draw(t, "commits") == 0 { // it is rolled back
				continue
			}
			u.Committed()
			made = append(made, batch...)
			if len(made) > 0 && rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
				i := rapid.IntRange(0, len(made)-1).Draw(t, "which")
				u.UndoContacted(personOf(made[i].person), made[i].at)
				made = slices.Delete(made, i, i+1)
			}
			recent := map[int]bool{}
			second := 0
			for _, c := range made {
				if now.Sub(c.at) < 24*time.Hour {
					recent[c.person] = true
				}
				if now.Sub(c.at) < time.Second {
					second++
				}
			}
			if n := u.People(now); n != len(recent) {
				t.Fatalf("%d people count, want the %d of the last 24 hours", n, len(recent))
			}
			if len(recent) > l.NewPeoplePerDay {
				t.Fatalf("%d people in 24 hours, %d are allowed", len(recent), l.NewPeoplePerDay)
			}
			if l.PerSecond > 0 && second > l.PerSecond+1 {
				t.Fatalf("%d in a second, %d are allowed", second, l.PerSecond)
			}
		}
	})
}

func TestUsage_WhoeverWasContactedIsNotNew(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := limits.NewUsage(&limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: 2})
	for _, person := range []int{1, 2, 1} {
		if h, ok := u.Room("l", &limits.Demand{Person: personOf(person), Units: 1}, 0, now); !ok {
			t.Fatalf("person %d: %+v", person, h)
		}
		u.Take(&limits.Demand{Person: personOf(person), Units: 1}, now)
	}
	if h, ok := u.Room("l", &limits.Demand{Person: personOf(3), Units: 1}, 0, now); ok || h.Channel || h.Rule != limits.RuleNewPeople {
		t.Errorf("a third person in the same batch: %+v", h)
	}
	u.Committed()
	now = now.Add(23 * time.Hour)
	u.Begin()
	if _, ok := u.Room("l", &limits.Demand{Person: personOf(2), Units: 1}, 0, now); !ok {
		t.Error("the second person is new after 23 hours")
	}
	u.Take(&limits.Demand{Person: personOf(2), Units: 1}, now)
	u.Committed()
	now = now.Add(time.Hour)
	if n := u.People(now); n != 1 {
		t.Errorf("%d people count after a day, want the one who was contacted again", n)
	}
	if h, ok := u.Room("l", &limits.Demand{Person: personOf(3), Units: 1}, 0, now); !ok {
		t.Errorf("a third person after a day: %+v", h)
	}
}

// Whoever waits for a place waits until an hour's part of them is free, not for each alone.
func TestUsage_PlacesAreFreeByTheHour(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for places, part := range map[int]int{1: 1, 24: 1, 47: 1, 48: 2, 96: 4} {
		u := limits.NewUsage(&limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: places})
		for i := range places {
			u.Contacted(personOf(i), begin.Add(time.Duration(i)*time.Minute))
		}
		h, ok := u.Room("l", &limits.Demand{Person: personOf(places), Units: 1}, 0, begin.Add(12*time.Hour))
		if want := begin.Add(24*time.Hour + time.Duration(part-1)*time.Minute); ok || !h.Until.Equal(want) {
			t.Errorf("of %d places %d are free at %v, want %v", places, part, h.Until, want)
		}
	}
}

func TestUsage_InFlightCountsAllChannelsAndTheBatch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := limits.NewUsage(&limits.Limit{Channels: []string{"a", "b"}, InFlight: 3})
	for i := range 2 {
		if h, ok := u.Room("l", &limits.Demand{Person: personOf(i), Units: 1}, 1, now); !ok {
			t.Fatalf("%+v", h)
		}
		u.Take(&limits.Demand{Person: personOf(i), Units: 1}, now)
	}
	if h, ok := u.Room("l", &limits.Demand{Person: personOf(9), Units: 1}, 1, now); ok || !h.Channel || h.Rule != limits.RuleInFlight {
		t.Errorf("beyond: %+v", h)
	}
	for _, end := range []func(){u.Begin, u.Committed} { // what was in flight and the batch of before are counted by others
		if end(); !hasRoom(u, 2, now) || hasRoom(u, 3, now) {
			t.Error("behind the batch it still counts")
		}
		u.Take(&limits.Demand{Units: 1}, now)
	}
}

func hasRoom(u *limits.Usage, inFlight int, now time.Time) bool {
	_, ok := u.Room("l", &limits.Demand{Units: 1}, inFlight, now)
	return ok
}

// Who is refused for the rate has room at the instant that the refusal names, and not 2 ms before it, whatever was
// taken and however long nobody has asked. A batch that was not written has taken nothing.
func TestUsage_RateHasRoomWhenItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := limits.NewUsage(&limits.Limit{Channels: []string{"a"}, PerSecond: rapid.SampledFrom([]int{1, 2, 7, 30, 100}).Draw(t, "rate")})
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		refused := 0
		for range rapid.IntRange(1, 30).Draw(t, "claims") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 10, 300, 2000}).Draw(t, "ms")) * time.Millisecond)
			u.Begin()
			w := limits.Demand{Units: rapid.IntRange(1, 12).Draw(t, "units")}
			h, ok := u.Room("l", &w, 0, now)
			if !ok {
				refused++
				if early := h.Until.Add(-2 * time.Millisecond); early.After(now) {
					if _, ok := u.Room("l", &w, 0, early); ok || h.Rule != limits.RulePerSecond || !h.Channel {
						t.Fatalf("%+v, and there is room at %v: %v", h, early, ok)
					}
				}
				now = h.Until
				if h, ok = u.Room("l", &w, 0, now); !ok {
					t.Fatalf("there is no room at %v: %+v", now, h)
				}
			}
			if u.Take(&w, now); rapid.IntRange(0, 3).Draw(t, "commits") > 0 {
				u.Committed()
			}
		}
		if refused == 0 {
			t.Fatal("the first claim of a start has room")
		}
	})
}

func TestLimit_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit   limits.Limit
		pointer string
	}{
		"no channel":        {limits.Limit{InFlight: 1}, "/channels"},
		"a channel twice":   {limits.Limit{InFlight: 1, Channels: []string{"a", "a"}}, "/channels/1"},
		"it limits nothing": {limits.Limit{Channels: []string{"a"}}, ""},
	} {
		if wrong := tt.limit.Check(); len(wrong) != 1 || wrong[0].Pointer != tt.pointer {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
}
