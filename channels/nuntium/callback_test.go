package nuntium_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/nuntium/simulator"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func reader(t testing.TB, more ...weir.Settings) channels.Driver {
	t.Helper()
	d, err := nuntium.Type().New(channels.Config{Settings: basicSettings(more...), HTTP: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestCallback_ReadsAcks(t *testing.T) {
	t.Parallel()
	report := func(part int, outcome weir.Outcome, reason string) []weir.Report {
		return []weir.Report{{
			Attempt: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}}, Part: part,
			Outcome: outcome, ProviderRef: "7-1z", Reason: reason, At: at,
		}}
	}
	confirmed := weir.Settings{"final_state": "confirmed"}
	tests := map[string]struct {
		settings weir.Settings
		query    string
		want     []weir.Report
	}{
		"delivered":                     {nil, "guid=7-1z.0&channel=sms&state=delivered&weir_guid=7-1z.0", report(0, weir.Completed, "")},
		"another part":                  {nil, "guid=7-1z.12&channel=sms&state=delivered", report(12, weir.Completed, "")},
		"confirmed":                     {nil, "guid=7-1z.0&state=confirmed", report(0, weir.Completed, "")},
		"failed":                        {nil, "guid=7-1z.1&state=failed", report(1, weir.Failed, "failed at the provider")},
		"cancelled":                     {nil, "guid=7-1z.1&state=cancelled", report(1, weir.Failed, "canceled at the provider")},
		"canceled":                      {nil, "guid=7-1z.1&state=canceled", report(1, weir.Failed, "canceled at the provider")},
		"queued":                        {nil, "guid=7-1z.1&state=queued", report(1, "", "")},
		"delivered, phone to come":      {confirmed, "guid=7-1z.0&state=delivered", report(0, "", "")},
		"confirmed by the phone":        {confirmed, "guid=7-1z.0&state=confirmed", report(0, weir.Completed, "")},
		"unknown state":                 {nil, "guid=7-1z.0&state=blessed", nil},
		"empty state":                   {nil, "guid=7-1z.0&state=", nil},
		"no state":                      {nil, "guid=7-1z.0", nil},
		"foreign guid":                  {nil, "guid=2f0c7a10-1111-2222-3333-444455556666&state=delivered", nil},
		"guid of another form":          {nil, "guid=7-1z&state=delivered", nil},
		"guid with an attempt":          {nil, "guid=7-1z-1.0&state=delivered", nil},
		"guid spelled another way":      {nil, "guid=7-1Z.0&state=delivered", nil},
		"part spelled another way":      {nil, "guid=7-1z.%2B1&state=delivered", nil},
		"negative part":                 {nil, "guid=7-1z.-1&state=delivered", nil},
		"part out of all measure":       {nil, "guid=7-1z.99999999999999999999&state=delivered", nil},
		"copy of a broadcast delivered": {nil, "guid=xyz&weir_guid=7-1z.0&state=delivered", report(0, weir.Completed, "")},
		"copy of a broadcast failed":    {nil, "guid=xyz&weir_guid=7-1z.0&state=failed", report(0, "", "")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []channels.Callback{
				{Method: "GET", Path: "ack", Query: values, At: at},
				{Method: "POST", Path: "ack", Form: values, At: at},
				{Method: "POST", Path: "ack", Form: values, Query: url.Values{"guid": {"9-9.9"}}, At: at},
			} {
				got, err := reader(t, tt.settings).ParseCallback(c)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(channels.CallbackResult{Reports: tt.want}, got); diff != "" {
					t.Errorf("%s: %s", c.Method, diff)
				}
			}
		})
	}
}

func TestCallback_ReadsIncoming(t *testing.T) {
	t.Parallel()
	got, err := reader(t).ParseCallback(channels.Callback{Method: "POST", Path: "incoming", At: at, Form: url.Values{
		"application": {"weir"}, "from": {"sms://15550001"}, "to": {"sms://4000"}, "subject": {""}, "body": {"yes, \xff"},
		"guid": {"g-1"}, "channel": {"sms"}, "country": {"KH"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := channels.CallbackResult{
		ContentType: "application/json", Body: []byte("[]"),
		Incoming: []weir.Incoming{{
			From: "15550001", To: "4000", Body: "yes, \uFFFD", GUID: "g-1", ReceivedAt: at,
			Fields: map[string]string{"application": "weir", "subject": "", "channel": "sms", "country": "KH"}, Line: "sms",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Without a guid, repeats cannot be detected: each one is a message of its own.
func TestCallback_WithoutGUIDEachMessageIsItsOwn(t *testing.T) {
	t.Parallel()
	d := reader(t)
	guid := func(at time.Time) string {
		got, err := d.ParseCallback(channels.Callback{Method: "GET", Path: "incoming", At: at, Query: url.Values{"from": {"sms://1"}, "body": {"yes"}}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Incoming[0].GUID
	}
	if a, b := guid(at), guid(at.Add(time.Second)); a == "" || a == b {
		t.Errorf("guids %q and %q", a, b)
	}
}

func TestCallback_StrangeOnesReportNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		callback channels.Callback
		wrong    bool
	}{
		"unknown path":           {channels.Callback{Method: "GET", Path: "status/1"}, true},
		"no path":                {channels.Callback{Method: "POST"}, true},
		"another method":         {channels.Callback{Method: "PUT", Path: "ack"}, true},
		"ack of nothing":         {channels.Callback{Method: "GET", Path: "ack", Query: url.Values{"state": {"failed"}}}, true},
		"ack as JSON":            {channels.Callback{Method: "POST", Path: "ack", Body: []byte(`{"guid":"7-1.0"}`)}, true},
		"message without sender": {channels.Callback{Method: "POST", Path: "incoming", Form: url.Values{"body": {"hello"}}}, true},
		"message with parts":     {channels.Callback{Method: "POST", Path: "incoming/x", Form: url.Values{"from": {"sms://1"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reader(t).ParseCallback(tt.callback)
			if (err != nil) != tt.wrong {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(channels.CallbackResult{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Acks as the simulator sends them, over HTTP and in the order of the states.
func TestCallback_AcksArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		outcome string
		faults  []string
		want    []weir.Outcome
	}{
		"delivered, confirmed": {simulator.Confirmed, nil, []weir.Outcome{weir.Completed, weir.Completed}},
		"delivered":            {simulator.Delivered, nil, []weir.Outcome{weir.Completed}},
		"confirmed only":       {simulator.ConfirmedOnly, nil, []weir.Outcome{weir.Completed}},
		"twice":                {simulator.Twice, nil, []weir.Outcome{weir.Completed, weir.Completed}},
		"failed":               {simulator.Failed, nil, []weir.Outcome{weir.Failed}},
		"failover":             {simulator.Failover, nil, []weir.Outcome{weir.Failed, weir.Completed}},
		"failover, swapped":    {simulator.Failover, []string{"swap:#1"}, []weir.Outcome{weir.Completed, weir.Failed}},
		"canceled":             {simulator.Canceled, nil, nil},
		"no state":             {simulator.NullState, nil, nil},
		"dropped":              {simulator.Delivered, []string{"drop@ack"}, nil},
		"others dropped":       {simulator.Delivered, []string{"drop@incoming"}, []weir.Outcome{weir.Completed}},
		"duplicated":           {simulator.Failed, []string{"duplicate"}, []weir.Outcome{weir.Failed, weir.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{Outcomes: []string{tt.outcome}, Faults: tt.faults}, basicSettings(), func(w *world) {
				w.prepare()
				w.driver.Send(w.t.Context(), attempt(1, "hello"))
				w.after(time.Minute)
				var got []weir.Outcome
				for _, r := range w.reports() {
					if r.Attempt.String() != "7-1-0" || r.Part != 0 {
						t.Errorf("report of %v, part %d", r.Attempt, r.Part)
					}
					got = append(got, r.Outcome)
				}
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
				for _, r := range w.raw {
					if r.Method != "POST" || strings.Contains(r.URL.RawQuery, "guid") {
						t.Errorf("called back by %s %s", r.Method, r.URL.RawQuery)
					}
				}
			})
		})
	}
}

// The answer to a person's message must not send a text to that person.
func TestCallback_IncomingIsAnsweredWithoutText(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		w.prepare()
		guid, _, err := w.sim.Receive(simulator.Incoming{From: "+15550009", To: "4000", Body: "yes\x07", Fields: map[string]string{"country": "KH"}})
		if err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		if len(w.readings) != 1 || len(w.readings[0].Incoming) != 1 {
			t.Fatalf("readings %+v", w.readings)
		}
		m := w.readings[0].Incoming[0]
		if m.From != "15550009" || m.To != "4000" || m.Body != "yes?" || m.GUID != guid || m.Fields["country"] != "KH" {
			t.Errorf("message %+v", m)
		}
		r := w.sim.Records()
		want := []simulator.IncomingRecord{{GUID: guid, ContentType: "application/json"}}
		if diff := cmp.Diff(want, r.Incoming); diff != "" || r.Stored != 0 {
			t.Errorf("%d messages went out; %s", r.Stored, diff)
		}
	})
}

// Who simulates a person learns when the application has accepted the message: after it was
// refused here, at the second try.
func TestSimulator_ReportsThatAMessageWasAccepted(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{}, basicSettings(), func(w *world) {
		w.answer(func(n int) int { return map[bool]int{true: 503, false: 200}[n == 1] })
		w.prepare()
		began, accepted := time.Now(), []time.Duration{}
		if _, _, err := w.sim.Receive(simulator.Incoming{From: "+15550009", To: "4000", Body: "STOP", Accepted: func() { accepted = append(accepted, time.Since(began)) }}); err != nil {
			t.Fatal(err)
		}
		w.after(10 * time.Minute)
		if diff := cmp.Diff([]time.Duration{time.Minute}, accepted); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("POST", "ack", "guid=7-1z.0&state=delivered", "")
	f.Add("GET", "ack", "guid=x&weir_guid=7-1z.0&state=failed", "channel=sms")
	f.Add("POST", "incoming", "from=sms%3A%2F%2F1&body=hello&guid=g", "country=KH")
	f.Add("GET", "incoming", "from=&body=%ff%00", "from=sms://2&%ff=1")
	f.Fuzz(func(t *testing.T, method, path, form, query string) {
		c := channels.Callback{Method: method, Path: path, At: at}
		c.Form, _ = url.ParseQuery(form)
		c.Query, _ = url.ParseQuery(query)
		got, err := reader(t).ParseCallback(c)
		if err != nil {
			if cmp.Diff(channels.CallbackResult{}, got) != "" {
				t.Errorf("an error and %+v", got)
			}
			return
		}
		for _, r := range got.Reports {
			if r.Part < 0 || r.Attempt.Channel <= 0 || r.Attempt.ID <= 0 || !r.At.Equal(at) {
				t.Errorf("report %+v", r)
			}
		}
		for _, m := range got.Incoming {
			if m.From == "" || m.GUID == "" || string(got.Body) != "[]" || got.ContentType != "application/json" {
				t.Errorf("message %+v, answer %q", m, got.Body)
			}
		}
	})
}
