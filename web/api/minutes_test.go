package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/webtest"
)

// minutesRig is a rig whose minutes are in a store, with three of channel a:
// one long ago, one three minutes ago, and the current one, which is not stored
// yet.
func minutesRig(t *testing.T) *webtest.Rig {
	t.Helper()
	store := storetest.SQLite(t)
	r := webtest.New(t, func(o *web.Options) { o.Minutes = store })
	a := r.Channel("a", "texts")
	r.Channel("b", "texts")
	minute := func(back time.Duration, sent, inFlight, most, queued int64) operators.Minute {
		m := operators.Minute{Channel: a.ID, At: webtest.Start().Add(-back), Gauged: true, InFlight: inFlight, MaxInFlight: most, Queued: queued, Capacity: 10}
		m.Counts[operators.CountAccepted], m.Counts[operators.CountSent] = sent+1, sent
		m.Counts[operators.CountCompleted], m.Counts[operators.CountLost], m.Counts[operators.CountUnknownAttempt] = 2, 1, 7
		return m
	}
	if _, err := store.AddMinutes(t.Context(), []operators.Minute{minute(4*time.Hour, 1, 4, 5, 6), minute(3*time.Minute, 2, 1, 9, 3)}); err != nil {
		t.Fatal(err)
	}
	r.Current = []operators.Minute{minute(0, 3, 2, 2, 1)}
	r.Clock.Advance(30 * time.Second)
	return r
}

func TestMinutes_OfAChannelAreShown(t *testing.T) {
	t.Parallel()
	r := minutesRig(t)
	v := webtest.Into[api.MinutesView](t, r.Do("GET", "/v1/channels/a/minutes?since="+webtest.Start().Add(-5*time.Minute).Format(time.RFC3339), ""), 200)
	if v.Channel != "a" || v.Step != "1m" || !v.Since.Equal(webtest.Start().Add(-5*time.Minute)) || !v.Until.Equal(webtest.Start().Add(time.Minute)) || len(v.Minutes) != 6 {
		t.Fatalf("%+v", v)
	}
	number := func(p *int64) int64 {
		if p == nil {
			return -1
		}
		return *p
	}
	var lines []string
	for _, m := range v.Minutes {
		lines = append(lines, fmt.Sprintf("%s sent %d of %d, in flight %d at most %d, queued %d of %d", m.At.Format("15:04"), m.Sent, m.Accepted,
			number(m.InFlight), number(m.InFlightMost), number(m.Queued), number(m.Capacity)))
	}
	want := []string{
		"11:55 sent 0 of 0, in flight 4 at most 4, queued 6 of 10",
		"11:56 sent 0 of 0, in flight 4 at most 4, queued 6 of 10",
		"11:57 sent 2 of 3, in flight 1 at most 9, queued 3 of 10",
		"11:58 sent 0 of 0, in flight 1 at most 1, queued 3 of 10",
		"11:59 sent 0 of 0, in flight 1 at most 1, queued 3 of 10",
		"12:00 sent 3 of 4, in flight 2 at most 2, queued 1 of 10",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if m := v.Minutes[5]; m.Finished != (api.FinishedView{Completed: 2, Lost: 1}) || m.Callbacks != (api.CallbacksView{Unknown: 7}) {
		t.Errorf("%+v", m)
	}
	day := webtest.Into[api.MinutesView](t, r.Do("GET", "/v1/channels/a/minutes?step=1h&since="+webtest.Start().Add(-40*time.Hour).Format(time.RFC3339), ""), 200)
	if n := len(day.Minutes); n != 41 || day.Minutes[0].InFlight != nil || day.Minutes[36].Sent != 1 || day.Minutes[39].Sent != 2 || day.Minutes[40].Sent != 3 {
		t.Errorf("%d hours: %+v", n, day)
	}
}

func TestMinutes_OfAllChannelsAreShown(t *testing.T) {
	t.Parallel()
	r := minutesRig(t)
	v := webtest.Into[api.AllMinutesView](t, r.Do("GET", "/v1/minutes?since="+webtest.Start().Add(-30*time.Minute).Format(time.RFC3339), ""), 200)
	want := api.AllMinutesView{Step: "15m", Since: webtest.Start().Add(-30 * time.Minute), Until: webtest.Start().Add(15 * time.Minute), Channels: []api.ChannelMinutes{{
		Channel: "a", Accepted: []int64{0, 3, 4}, Sent: []int64{0, 2, 3}, SendFailed: []int64{0, 0, 0}, Finished: []int64{0, 3, 3}, Completed: []int64{0, 2, 2},
		InFlightMost: []int64{0, 9, 2}, Queued: []int64{0, 3, 1},
	}}}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if v := webtest.Into[api.AllMinutesView](t, r.Do("GET", "/v1/minutes?limit=1", ""), 200); v.NextCursor != "Y2hhbm5lbHMvYQ" {
		t.Errorf("%+v", v)
	}
	if v := webtest.Into[api.AllMinutesView](t, r.Do("GET", "/v1/minutes?limit=1&cursor=Y2hhbm5lbHMvYQ", ""), 200); v.NextCursor != "" || len(v.Channels) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestMinutes_BadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	r := minutesRig(t)
	for path, want := range map[string]webtest.Refused{
		"/v1/channels/a/minutes?step=2m":                                               {Mistakes: []webtest.Mistake{{Pointer: "/step", Code: "enum"}}},
		"/v1/channels/a/minutes?step=1m,5m":                                            {Mistakes: []webtest.Mistake{{Pointer: "/step", Code: "enum"}}},
		"/v1/channels/a/minutes?since=yesterday":                                       {Mistakes: []webtest.Mistake{{Pointer: "/since", Code: "format"}}},
		"/v1/channels/a/minutes?since=2026-02-01T00:00:00Z":                            {Mistakes: []webtest.Mistake{{Pointer: "/since", Code: "range"}}},
		"/v1/minutes?since=2026-03-01T12:01:00Z":                                       {Mistakes: []webtest.Mistake{{Pointer: "/since", Code: "range"}}},
		"/v1/minutes?since=2026-02-28T11:00:00Z":                                       {Mistakes: []webtest.Mistake{{Pointer: "/since", Code: "range"}}},
		"/v1/minutes?cursor=A":                                                         {Mistakes: []webtest.Mistake{{Pointer: "/cursor", Code: "format"}}},
		"/v1/channels/a/minutes?since=2026-03-01T11:00:00Z&until=2026-03-01T10:00:00Z": {Mistakes: []webtest.Mistake{{Pointer: "/since", Code: "range"}}},
	} {
		r.Refuses(t, "GET", path, want)
	}
	if g := r.Do("GET", "/v1/channels/nobody/minutes", ""); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
}

func TestHours_OfAChannelAreShown(t *testing.T) {
	t.Parallel()
	r := minutesRig(t)
	v := webtest.Into[api.HoursView](t, r.Do("GET", "/v1/channels/a/hours", ""), 200)
	// Minutes four hours and three minutes before noon; each stands for itself, of 60.
	if len(v.Hours) != 2 || !v.Hours[0].At.Equal(webtest.Start().Add(-4*time.Hour)) || v.Hours[0].Sent != 1 || v.Hours[0].Capacity != 10 || v.Hours[0].Utilization != 0.007 || !v.Hours[1].At.Equal(webtest.Start().Add(-time.Hour)) {
		t.Errorf("%+v", v.Hours)
	}
	if v := webtest.Into[api.HoursView](t, r.Do("GET", "/v1/channels/a/hours?since="+webtest.Start().Add(-2*time.Hour).Format(time.RFC3339), ""), 200); len(v.Hours) != 1 {
		t.Errorf("%+v", v.Hours)
	}
	for _, query := range []string{"since=" + webtest.Start().AddDate(0, 0, -92).Format(time.RFC3339), "since=" + webtest.Start().Add(time.Hour).Format(time.RFC3339), "until=noon"} {
		if p := r.Do("GET", "/v1/channels/a/hours?"+query, "").Problem(t); p.Status != 422 {
			t.Errorf("%s: %+v", query, p)
		}
	}
	if p := r.Do("GET", "/v1/channels/none/hours", "").Problem(t); p.Status != 404 {
		t.Errorf("%+v", p)
	}
}
