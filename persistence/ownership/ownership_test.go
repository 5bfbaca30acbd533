package ownership_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/persistence/ownership"
)

// A process takes the database if it is free, or if its lease has expired and it has read
// the row without a gap for a whole lease.
func TestWatch_TakesAFreeOrExpiredDatabase(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	owned := ownership.Row{Start: 1, Epoch: 1, Expires: 10, Now: 9}
	expired := ownership.Row{Start: 1, Epoch: 1, Expires: 10, Now: 10}
	free := ownership.Row{Epoch: 1}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	every := func(step, long time.Duration) (list []time.Duration) {
		for at := time.Duration(0); at <= long; at += step {
			list = append(list, at)
		}
		return list
	}
	for name, c := range map[string]struct {
		row  ownership.Row
		at   []time.Duration // when it was read
		want bool
	}{
		"free":                                {free, every(time.Second, 0), true},
		"expired, seen once":                  {expired, every(time.Second, 0), false},
		"expired, almost a lease":             {expired, every(time.Second, 4*time.Second), false},
		"expired, a lease":                    {expired, every(time.Second, 5*time.Second), true},
		"good, a lease":                       {owned, every(time.Second, 5*time.Second), false},
		"expired, with a gap":                 {expired, []time.Duration{0, 1 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second}, false},
		"expired, a lease after the last gap": {expired, []time.Duration{0, 3 * time.Second, 5 * time.Second, 7 * time.Second, 8 * time.Second}, true},
	} {
		var w ownership.Watch
		for _, at := range c.at {
			w.Saw(begin.Add(at), c.row, lease)
		}
		if got := w.Decide(c.row, lease, 2, 3) == ownership.Take; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An owner whose renewals fail twice in a row acts until the third, which is in time also if the
// others took a moment each.
func TestRenewEvery_TwoInARowMayFail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lease := time.Duration(rapid.Int64Range(int64(3*time.Second), int64(ownership.MaxLease)).Draw(t, "lease"))
		renewed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		third := renewed.Add(3*ownership.RenewEvery(lease) + lease/25)
		if until := ownership.ValidUntil(renewed, lease); !third.Before(until) {
			t.Fatalf("the third renewal of a lease of %v is at %v, and the owner may act until %v", lease, third, until)
		}
	})
}

// However far the database's clock goes back, a database whose owner has ended is taken after a
// whole lease in which the row stayed as it is, and one whose owner lives never is: it corrects
// the row four times a lease.
func TestWatch_TakesADatabaseWhoseClockWentBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lease := time.Duration(rapid.Int64Range(int64(3*time.Second), int64(ownership.MaxLease)).Draw(t, "lease"))
		longest := ownership.Longest(lease)
		back := time.Duration(rapid.Int64Range(int64(longest+3*lease), int64(100*24*time.Hour)).Draw(t, "back"))
		renewed := time.Duration(rapid.Int64Range(0, int64(ownership.RenewEvery(lease))).Draw(t, "renewed before the clock went back"))
		lives := rapid.Bool().Draw(t, "lives")
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func(at time.Duration) int64 { return begin.Add(at - back).UnixMicro() } // from instant 0 on
		row := ownership.Row{Start: 1, Epoch: 1, Expires: begin.Add(lease - renewed).UnixMicro()}
		acts := -renewed + lease - lease/5 // until when it may act, at least
		next := ownership.RenewEvery(lease) - renewed
		var w ownership.Watch
		// It has been watched for long, or from now on.
		at := time.Duration(0)
		if rapid.Bool().Draw(t, "watched before") {
			for early := -2 * lease; early < 0; early += ownership.LookEvery(lease) {
				before := row
				before.Expires, before.Now = begin.Add(early+lease).UnixMicro(), begin.Add(early).UnixMicro()
				w.Saw(begin.Add(early), before, lease)
			}
		}
		for ; at < 3*lease; at += ownership.LookEvery(lease) {
			for lives && next <= at {
				row.Expires, acts, next = clock(next)+lease.Microseconds(), next+lease-lease/5, next+ownership.RenewEvery(lease)
			}
			row.Now = clock(at)
			w.Saw(begin.Add(at), row, lease)
			if w.Decide(row, lease, 2, 3) != ownership.Take {
				continue
			}
			if lives || at < acts {
				t.Fatalf("taken after %v, while its owner may act until %v", at, acts)
			}
			return
		}
		if !lives {
			t.Fatalf("not taken in three leases of %v", lease)
		}
	})
}

// A database that was released is left to the named successor for a second, and nobody who
// has seen no owner waits for it.
func TestWatch_LeavesAReleasedDatabaseToTheSuccessor(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	owned, free := ownership.Row{Start: 1, Epoch: 1, Expires: 10, Now: 9}, ownership.Row{Epoch: 1}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type look struct {
		at  time.Duration
		row ownership.Row
	}
	for name, c := range map[string]struct {
		looks     []look
		successor bool
		want      bool
	}{
		"just released":                {[]look{{0, owned}, {time.Second, free}}, false, false},
		"just released, its successor": {[]look{{0, owned}, {time.Second, free}}, true, true},
		"released for a while":         {[]look{{0, owned}, {time.Second, free}, {1900 * time.Millisecond, free}}, false, false},
		"released for a second":        {[]look{{0, owned}, {time.Second, free}, {2 * time.Second, free}}, false, true},
		"released twice":               {[]look{{0, owned}, {time.Second, free}, {1500 * time.Millisecond, owned}, {2 * time.Second, free}}, false, false},
		"owned, its successor":         {[]look{{0, owned}}, true, false},
	} {
		var w ownership.Watch
		last, successor := c.looks[len(c.looks)-1].row, int64(3)
		if c.successor {
			successor = 2
		}
		for _, l := range c.looks {
			w.Saw(begin.Add(l.at), l.row, lease)
		}
		if got := w.Decide(last, lease, 2, successor) == ownership.Take; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The time of a lease counts from when it was asked for, and ends a fifth early.
func TestValidUntil_EndsAFifthEarly(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := ownership.ValidUntil(asked, 5*time.Second).Sub(asked); got != 4*time.Second {
		t.Errorf("it may act for %v", got)
	}
}

// A process that reads its own start number is the owner: the answer to taking the database
// was lost. It takes it again, since it may act only for a lease that it has asked for itself.
func TestWatch_TakesItsOwnRowAgain(t *testing.T) {
	t.Parallel()
	var w ownership.Watch
	row := ownership.Row{Start: 2, Epoch: 7, Expires: 10, Now: 9}
	w.Saw(time.Now(), row, 5*time.Second)
	if got := w.Decide(row, 5*time.Second, 2, 0); got != ownership.Take {
		t.Errorf("step %v", got)
	}
}

// An owner gives up when it has been unable to write, or has not answered itself, for three
// leases. While renewals fail, writes that fail are no reason.
func TestRenewals_GiveUpAfterThreeLeases(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at                  time.Duration
		stuck, unresponsive time.Duration
		failing             bool
		recovered           time.Duration // when renewals succeeded again; 0: they never failed
		want                ownership.Reason
	}{
		"nothing is wrong":                   {at: time.Hour},
		"stuck, not for long":                {at: time.Hour, stuck: 15*time.Second - 1},
		"stuck":                              {at: time.Hour, stuck: 15 * time.Second, want: ownership.CannotWrite},
		"stuck, and renewals fail":           {at: time.Hour, stuck: time.Minute, failing: true},
		"stuck, owner for a moment":          {at: 14 * time.Second, stuck: time.Minute},
		"stuck, renewals succeed again":      {at: time.Hour, stuck: time.Minute, recovered: time.Hour - 14*time.Second},
		"stuck since renewals succeed again": {at: time.Hour, stuck: time.Minute, recovered: time.Hour - 15*time.Second, want: ownership.CannotWrite},
		"unresponsive, not for long":         {at: time.Hour, unresponsive: 15*time.Second - 1},
		"unresponsive":                       {at: time.Hour, unresponsive: 15 * time.Second, want: ownership.Unresponsive},
		"unresponsive, and renewals fail":    {at: time.Hour, unresponsive: 15 * time.Second, failing: true, want: ownership.Unresponsive},
	} {
		r := ownership.NewRenewals(lease, begin)
		if c.failing || c.recovered != 0 {
			r.After(begin.Add(time.Second), ownership.Failed)
		}
		if c.recovered != 0 {
			r.After(begin.Add(c.recovered), ownership.Renewed)
		}
		if got, _ := r.Before(begin.Add(c.at), c.stuck, c.unresponsive); got != c.want {
			t.Errorf("%s: reason %v, want %v", name, got, c.want)
		}
	}
}

// A renewal that changes no row means that another process is the owner. One that fails is
// tried again, and only the first of a series is a change.
func TestRenewals_RefusalMeansAnotherOwner(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := ownership.NewRenewals(5*time.Second, now)
	for i, c := range []struct {
		result  ownership.Result
		why     ownership.Reason
		changed bool
	}{
		{ownership.Renewed, ownership.None, false},
		{ownership.Failed, ownership.None, true},
		{ownership.Failed, ownership.None, false},
		{ownership.Renewed, ownership.None, true},
		{ownership.Refused, ownership.Taken, false},
	} {
		if why, changed := r.After(now, c.result); why != c.why || changed != c.changed {
			t.Errorf("renewal %d: %v, %v", i, why, changed)
		}
	}
}

// A process that has decided to take the database takes it only from the lease that it has judged, unless nobody owns it.
func TestRow_IsTakenAsItWasSeen(t *testing.T) {
	t.Parallel()
	const lease, self = 5 * time.Second, 9
	at := func(d time.Duration) int64 { return d.Microseconds() }
	seen := ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour), Now: at(time.Hour + time.Second)}
	for name, c := range map[string]struct {
		is   ownership.Row
		want bool
	}{
		"expired":                         {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour), Now: at(time.Hour + 2*time.Second)}, true},
		"void, the clock has gone back":   {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour), Now: at(time.Minute)}, true},
		"released":                        {ownership.Row{Epoch: 5, Now: at(time.Hour)}, true},
		"another's, released":             {ownership.Row{Epoch: 6, Now: at(time.Hour)}, true},
		"its own already":                 {ownership.Row{Start: self, Epoch: 6, Expires: at(2 * time.Hour), Now: at(time.Hour)}, true},
		"renewed":                         {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour + 6*time.Second), Now: at(time.Hour + 2*time.Second)}, false},
		"renewed, and the clock back":     {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour + 6*time.Second), Now: at(time.Minute)}, false},
		"renewed, and the clock ahead":    {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour + 6*time.Second), Now: at(2 * time.Hour)}, false},
		"another's":                       {ownership.Row{Start: 8, Epoch: 6, Expires: at(time.Hour + 6*time.Second), Now: at(time.Hour + 2*time.Second)}, false},
		"another's, and the clock back":   {ownership.Row{Start: 8, Epoch: 6, Expires: at(time.Hour + 6*time.Second), Now: at(time.Minute)}, false},
		"another's, and the clock ahead":  {ownership.Row{Start: 8, Epoch: 6, Expires: at(time.Hour + 6*time.Second), Now: at(2 * time.Hour)}, false},
		"not expired any more, as it was": {ownership.Row{Start: 6, Epoch: 5, Expires: at(time.Hour), Now: at(time.Hour - time.Second)}, false},
	} {
		if got := c.is.MayTake(seen, lease, self); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
