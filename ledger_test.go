package weir_test

import (
	"testing"

	"pgregory.net/rapid"

	"weir"
)

func TestLedger_KeepsTheReserveForReplies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replies, others int
		priority        weir.Priority
		size            int
		fits, reserve   bool
	}{
		"empty":                        {0, 0, weir.Normal, 4, true, false},
		"the reserve is not for all":   {0, 0, weir.Normal, 5, false, false},
		"a reply may take everything":  {0, 0, weir.Reply, 5, true, false},
		"larger than the channel":      {0, 0, weir.Reply, 6, false, false},
		"others fill their part":       {0, 4, weir.High, 1, false, true},
		"the reserve is left":          {0, 4, weir.Reply, 1, true, true},
		"the reserve is taken":         {1, 3, weir.Reply, 1, true, false},
		"full":                         {1, 4, weir.Reply, 1, false, false},
		"replies beyond their reserve": {3, 1, weir.Normal, 1, true, false},
	}
	for name, tt := range tests {
		l := weir.Ledger{Capacity: 5, Reserve: 1}
		l.Take(weir.Reply, tt.replies)
		l.Take(weir.Normal, tt.others)
		if fits := l.Fits(tt.priority, tt.size); fits != tt.fits {
			t.Errorf("%s: fits %v", name, fits)
		}
		if fits := l.FitsReserve(tt.size); fits != tt.reserve {
			t.Errorf("%s: fits the reserve %v", name, fits)
		}
	}
}

// If contacts take slots only when they fit, usage never exceeds the capacity,
// and contacts that are not replies never enter the reserve.
func TestLedger_NeverExceedsTheCapacity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type taken struct {
			p    weir.Priority
			size int
		}
		l := weir.Ledger{Capacity: rapid.IntRange(1, 9).Draw(t, "capacity")}
		l.Reserve = rapid.IntRange(0, l.Capacity-1).Draw(t, "reserve")
		var held []taken
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			one := taken{weir.Priority(rapid.IntRange(0, 2).Draw(t, "priority")), rapid.IntRange(1, 4).Draw(t, "size")}
			if l.Fits(one.p, one.size) {
				l.Take(one.p, one.size)
				held = append(held, one)
			} else if len(held) > 0 {
				l.Give(held[0].p, held[0].size)
				held = held[1:]
			}
			all, others := 0, 0
			for _, h := range held {
				all += h.size
				if h.p != weir.Reply {
					others += h.size
				}
			}
			if l.InUse() != all || all > l.Capacity || others > l.Capacity-l.Reserve {
				t.Fatalf("in use %d, held %d, of others %d: %+v", l.InUse(), all, others, l)
			}
			if l.Blocked(one.p, one.size) && l.Fits(one.p, one.size) {
				t.Fatalf("what is blocked fits")
			}
		}
	})
}

func TestLedger_PanicsOnASlotFreedTwice(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Fatalf("it gave back more than was taken")
		}
	}()
	l := weir.Ledger{Capacity: 2}
	l.Take(weir.Normal, 1)
	l.Give(weir.Normal, 1)
	l.Give(weir.Normal, 1)
}

func TestLane_DiffersByPriorityAndSurvey(t *testing.T) {
	t.Parallel()
	seen := map[weir.Lane]string{}
	for p := weir.Reply; p <= weir.Normal; p++ {
		for _, survey := range []string{"", "a", "b", "ab", "ba", "s1", "s2", "survey with a long name"} {
			l := weir.LaneOf(p, survey)
			if other, ok := seen[l]; ok {
				t.Errorf("%q and %q share a lane", survey, other)
			}
			seen[l] = survey
			s := weir.Spec{Priority: p, Survey: survey}
			if l.Priority() != p || l < 0 || s.Lane() != l {
				t.Errorf("priority %d, survey %q: lane %d of priority %d", p, survey, l, l.Priority())
			}
		}
	}
}
