package nuntium_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/nuntium/simulator"

	"github.com/google/go-cmp/cmp"
)

// asked summarizes an answer: its knowledge and a word for each report.
func asked(a channels.Answer) string {
	words := []string{map[channels.QueryStatus]string{
		channels.Underway: "underway", channels.Finished: "over", channels.Absent: "absent",
		channels.CannotTell: "cannot tell", channels.QueryFailed: "ask failed",
	}[a.Status]}
	if a.Partial {
		words = append(words, "in part")
	}
	for _, r := range a.Reports {
		words = append(words, fmt.Sprintf("%d:%s", r.Part, r.Outcome))
	}
	return strings.Join(words, " ")
}

// What Nuntium reports on a message, whatever the credentials are, when asked at
// 0, 2, 4, 6 and 8 s; messages change their state at odd seconds.
func TestQuery_FollowsMessagesToTheirEnd(t *testing.T) {
	t.Parallel()
	const under, over = "underway", "over 0:completed"
	confirmed := weir.Settings{"final_state": "confirmed"}
	tests := map[string]struct {
		outcome  string
		settings weir.Settings
		want     []string
	}{
		"confirmed":       {simulator.Confirmed, nil, []string{under, under, over, over, over}},
		"delivered":       {simulator.Delivered, nil, []string{under, under, over, over, over}},
		"confirmed only":  {simulator.ConfirmedOnly, nil, []string{under, under, over, over, over}},
		"failed":          {simulator.Failed, nil, []string{under, under, "over 0:failed", "over 0:failed", "over 0:failed"}},
		"failover":        {simulator.Failover, nil, []string{under, under, "over 0:failed", over, over}},
		"delayed":         {simulator.DelayedFirst, nil, []string{under, under, under, under, over}},
		"by a rule":       {simulator.Canceled, nil, []string{under, under, "over 0:failed", "over 0:failed", "over 0:failed"}},
		"by a user":       {simulator.Cancelled, nil, []string{under, under, "over 0:failed", "over 0:failed", "over 0:failed"}},
		"no state":        {simulator.NullState, nil, []string{under, under, under, under, under}},
		"stuck":           {simulator.Stuck, nil, []string{under, under, under, under, under}},
		"wait for phone":  {simulator.Confirmed, confirmed, []string{under, under, under, over, over}},
		"phone is silent": {simulator.Delivered, confirmed, []string{under, under, under, under, under}},
	}
	for name, tt := range tests {
		for kind, settings := range map[string]weir.Settings{"password": basicSettings(tt.settings), "token": bearerSettings(tt.settings)} {
			t.Run(name+" by "+kind, func(t *testing.T) {
				t.Parallel()
				o := simulator.Options{
					Outcomes: []string{tt.outcome}, QueueTime: time.Second, DeliverTime: 2 * time.Second, ConfirmTime: 2 * time.Second,
				}
				inWorld(t, o, settings, func(w *world) {
					a := attempt(1, "hello")
					w.driver.Send(w.t.Context(), a)
					var got []string
					for range tt.want {
						got = append(got, asked(w.driver.Query(w.t.Context(), a)))
						w.after(2 * time.Second)
					}
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}

func TestQuery_TellsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings weir.Settings
		outcomes []string
		want     string
	}{
		"never sent":                  {nil, nil, "absent"},
		"explicit channel is unknown": {weir.Settings{"channel": "nowhere"}, nil, "absent"},
		"half a batch, under way":     {nil, []string{"crash:#2", "stuck"}, "underway"},
		"half a batch, ended well":    {nil, []string{"crash:#2"}, "absent in part"},
		"half a batch, failed":        {nil, []string{"crash:#2", "failed"}, "over 0:failed 1:failed 2:failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{Outcomes: tt.outcomes}, basicSettings(tt.settings), func(w *world) {
				a := attempt(1, "a", "b", "c")
				if name != "never sent" {
					w.driver.Send(w.t.Context(), a)
					w.after(time.Second)
				}
				if got := asked(w.driver.Query(w.t.Context(), a)); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// A contact of many messages is listed over several pages, and the credentials
// are sent only to the configured host, whatever the Link header contains.
func TestQuery_ReadsEveryPage(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]weir.Settings{"password": basicSettings(), "token": bearerSettings()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{}, settings, func(w *world) {
				messages := make([]string, 120)
				for i := range messages {
					messages[i] = fmt.Sprint("hello ", i)
				}
				a := attempt(1, messages...)
				w.driver.Send(w.t.Context(), a)
				w.after(time.Second)
				got := w.driver.Query(w.t.Context(), a)
				if got.Status != channels.Finished || len(got.Reports) != 120 {
					t.Errorf("got %d reports of knowledge %d", len(got.Reports), got.Status)
				}
			})
		})
	}
}

func TestQuery_FailsWithItsReason(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault    string
		settings weir.Settings
		want     string
	}{
		"500":            {"status=500@query", nil, "provider error"},
		"404":            {"status=404@query", nil, "not found at the provider"},
		"hang":           {"hang@query", nil, "timeout"},
		"cut":            {"reset@query", nil, "connection cut"},
		"wrong password": {"", weir.Settings{"password": "wrong"}, "credentials refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{Faults: []string{tt.fault}}, basicSettings(tt.settings), func(w *world) {
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				got := w.driver.Query(ctx, attempt(1, "hello"))
				want := channels.Answer{Status: channels.QueryFailed, Reason: tt.want}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// askCanned asks about contact 7-1 while Nuntium gives one fixed answer.
func askCanned(t testing.TB, c *canned, settings weir.Settings, parts int) channels.Answer {
	t.Helper()
	d, err := nuntium.Type().New(channels.Config{Settings: settings, CallbackURL: "http://weir.test", HTTP: &http.Client{Transport: c}})
	if err != nil {
		t.Fatal(err)
	}
	return d.Query(t.Context(), attempt(1, make([]string, parts)...))
}

func TestQuery_UnderstandsLists(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"empty":                      {`[]`, "absent"},
		"not a list":                 {`{"error":"no"}`, "ask failed"},
		"null":                       {`null`, "ask failed"},
		"HTML":                       {`<html>`, "ask failed"},
		"cut":                        {`[{"guid":"7-1.0"`, "ask failed"},
		"foreign messages":           {`[{"guid":"x","state":"delivered"},{"guid":"8-1.0","state":"delivered"},{"guid":"7-2.0","state":"delivered"}]`, "absent"},
		"second spelling":            {`[{"guid":"7-01.0","state":"delivered"},{"guid":"7-1.00","state":"delivered"},{"guid":"7-1.-0","state":"delivered"}]`, "absent"},
		"a part too many":            {`[{"guid":"7-1.0","state":"delivered"},{"guid":"7-1.1","state":"delivered"},{"guid":"7-1.2","state":"failed"}]`, "over 0:completed 1:completed"},
		"out of order":               {`[{"guid":"7-1.1","state":"failed"},{"guid":"7-1.0","state":"confirmed"}]`, "over 0:completed 1:failed"},
		"state of another type":      {`[{"guid":"7-1.0","state":7},{"guid":"7-1.1","state":["delivered"]}]`, "underway"},
		"unknown state":              {`[{"guid":"7-1.0","state":"blessed"},{"guid":"7-1.1","state":"delivered"}]`, "underway 1:completed"},
		"no state":                   {`[{"guid":"7-1.0"},{"guid":"7-1.1","state":null}]`, "underway"},
		"broadcast, copies unseen":   {`[{"guid":"7-1.0","state":"broadcasted"},{"guid":"7-1.1","state":"delivered"}]`, "underway 1:completed"},
		"broadcast, one copy has it": {`[{"guid":"7-1.0","state":"broadcasted"},{"guid":"p","weir_guid":"7-1.0","state":"queued"},{"guid":"q","weir_guid":"7-1.0","state":"delivered"},{"guid":"7-1.1","state":"delivered"}]`, "over 0:completed 1:completed"},
		"broadcast, one copy open":   {`[{"guid":"7-1.0","state":"broadcasted"},{"guid":"p","weir_guid":"7-1.0","state":"queued"},{"guid":"q","weir_guid":"7-1.0","state":"failed"},{"guid":"7-1.1","state":"delivered"}]`, "underway 1:completed"},
		"broadcast, all copies fail": {`[{"guid":"p","weir_guid":"7-1.0","state":"canceled"},{"guid":"7-1.0","state":"broadcasted"},{"guid":"q","weir_guid":"7-1.0","state":"failed"},{"guid":"7-1.1","state":"delivered"}]`, "over 0:failed 1:completed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := askCanned(t, &canned{status: 200, body: tt.body}, basicSettings(), 2)
			if asked(got) != tt.want {
				t.Errorf("got %s, want %s", asked(got), tt.want)
			}
			keepsSecrets(t, got.Reason)
		})
	}
}

func TestQuery_FollowsLinksOnItsOwnHost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		link  string
		pages int
	}{
		"next":          {`<http://evil.test/?page=2>; rel="next"`, 40},
		"among others":  {`<http://x/?a=1,2>; rel="prev", <http://x/>; title=y; rel="last next"`, 40},
		"unquoted":      {`</2>; rel=next`, 40},
		"only previous": {`<http://x/next>; rel="prev"`, 1},
		"none":          {``, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &canned{status: 200, body: `[]`, header: http.Header{"Link": {tt.link}}}
			askCanned(t, c, bearerSettings(), 1)
			if len(c.seen) != tt.pages {
				t.Errorf("asked for %d pages, want %d", len(c.seen), tt.pages)
			}
			for _, u := range c.seen {
				if u.Host != "nuntium.test" {
					t.Errorf("asked %s", u.Host)
				}
			}
		})
	}
}

func FuzzAsk(f *testing.F) {
	f.Add(`[]`)
	f.Add(`[{"guid":"7-1.0","state":null},{"guid":"7-1.1","state":"delivered","weir_guid":["a"]}]`)
	f.Add(`[{"guid":"x","weir_guid":"7-1.0","state":"failed"}]`)
	f.Add(`[null,{"guid":7}]`)
	f.Fuzz(func(t *testing.T, body string) {
		got := askCanned(t, &canned{status: 200, body: body}, basicSettings(), 2)
		seen := map[int]bool{}
		for _, r := range got.Reports {
			if r.Part < 0 || r.Part > 1 || seen[r.Part] || r.Outcome == "" || r.Attempt.String() != "7-1-0" {
				t.Errorf("report %+v", r)
			}
			seen[r.Part] = true
		}
		if (got.Status == channels.Finished) != (len(seen) == 2) || got.Status == channels.Absent && len(seen) > 0 {
			t.Errorf("answer %+v", got)
		}
	})
}
