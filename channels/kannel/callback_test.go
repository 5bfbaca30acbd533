package kannel_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func reader(t testing.TB, more ...weir.Settings) channels.Driver {
	t.Helper()
	d, err := kannel.Type().New(channels.Config{Settings: basicSettings(more...), HTTP: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	at        = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	delivered = weir.Settings{"final_state": "delivered"}
)

func TestCallback_ReadsReports(t *testing.T) {
	t.Parallel()
	const receipt = "id:1 sub:001 dlvrd:000 submit date:2601 done date:2601 stat:"
	tests := map[string]struct {
		settings weir.Settings
		state    string
		receipt  string
		outcome  weir.Outcome
		reason   string
		none     bool // no report
	}{
		"delivered":               {nil, "1", receipt + "DELIVRD err:000", weir.Completed, "", false},
		"delivered, final":        {delivered, "1", "", weir.Completed, "", false},
		"sent is final":           {nil, "8", "ACK/", weir.Completed, "", false},
		"sent is not final":       {delivered, "8", "ACK/", "", "", false},
		"buffered":                {nil, "4", "", "", "", false},
		"intermediate":            {nil, "32", "", "", "", false},
		"sent and delivered":      {delivered, "9", "", weir.Completed, "", false},
		"failed":                  {nil, "2", receipt + "UNDELIV", weir.Failed, channels.FailedAtProvider, false},
		"failed without receipt":  {nil, "2", "", weir.Failed, channels.FailedAtProvider, false},
		"failed after sent":       {nil, "10", "", weir.Failed, channels.FailedAtProvider, false},
		"expired, Debian":         {nil, "2", receipt + "EXPIRED err:000", weir.Expired, channels.WindowClosed, false},
		"expired, newer line":     {nil, "34", "", weir.Expired, channels.WindowClosed, false},
		"unknown, newer line":     {nil, "66", "", weir.Failed, channels.FailedAtProvider, false},
		"rejected":                {nil, "2", receipt + "REJECTD", weir.Failed, "rejected by the operator", false},
		"refused: number":         {nil, "16", "NACK/0x0000000b/Invalid Destination Address", weir.Failed, "number not usable", false},
		"refused: sender":         {nil, "16", "NACK/0x0000000a/Invalid", weir.Failed, "sender not usable", false},
		"refused: length":         {nil, "16", "NACK/0x00000001/Message", weir.Failed, "message not acceptable", false},
		"refused: other":          {nil, "16", "NACK/0x00000045/Submit", weir.Failed, "refused by the operator", false},
		"refused: words":          {nil, "16", "NACK/never", weir.Failed, "refused by the operator", false},
		"refused without words":   {nil, "16", "", weir.Failed, "refused by the operator", false},
		"no route":                {nil, "16", "NACK/no SMSC", weir.Failed, "number not usable", false},
		"black list":              {nil, "16", "NACK/receiver in black-list", weir.Failed, "number not usable", false},
		"validity over":           {nil, "16", "NACK/validity expired", weir.Expired, channels.WindowClosed, false},
		"nothing known":           {nil, "0", "", "", "", true},
		"a state of the future":   {nil, "64", "", "", "", true},
		"receipt of another kind": {nil, "2", "stat:REJECTD", weir.Failed, "rejected by the operator", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reader(t, tt.settings).ParseCallback(channels.Callback{
				Method: "GET", Path: "dlr/7-1z-2/3", Query: url.Values{"state": {tt.state}, "receipt": {tt.receipt + "  "}}, At: at,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := channels.CallbackResult{Reports: []weir.Report{{
				Attempt: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: 2}, Part: 3, Outcome: tt.outcome, Reason: tt.reason, At: at,
			}}}
			if tt.none {
				want = channels.CallbackResult{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallback_StrangeOnesReportNothing(t *testing.T) {
	t.Parallel()
	state := url.Values{"state": {"1"}}
	for name, tt := range map[string]struct {
		callback channels.Callback
		wrong    bool
	}{
		"unknown path":       {channels.Callback{Method: "GET", Path: "ack"}, true},
		"no path":            {channels.Callback{Method: "GET"}, true},
		"too long a path":    {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/0/x", Query: state}, true},
		"another method":     {channels.Callback{Method: "PUT", Path: "dlr/7-1z-2/0", Query: state}, true},
		"no state":           {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/0"}, true},
		"empty state":        {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/0", Query: url.Values{"state": {""}}}, true},
		"unfilled state":     {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/0", Query: url.Values{"state": {"%d"}}}, true},
		"negative state":     {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/0", Query: url.Values{"state": {"-1"}}}, true},
		"no attempt":         {channels.Callback{Method: "GET", Path: "dlr/x/0", Query: state}, true},
		"a contact":          {channels.Callback{Method: "GET", Path: "dlr/7-1z/0", Query: state}, true},
		"negative part":      {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/-1", Query: state}, true},
		"second spelling":    {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/00", Query: state}, true},
		"part out of bounds": {channels.Callback{Method: "GET", Path: "dlr/7-1z-2/10000", Query: state}, true},
		"without a sender":   {channels.Callback{Method: "GET", Path: "incoming", Query: url.Values{"text": {"hello"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reader(t).ParseCallback(tt.callback)
			if (err != nil) != tt.wrong {
				t.Errorf("error %v", err)
			}
			if err != nil {
				keepsSecrets(t, err.Error())
			}
			if diff := cmp.Diff(channels.CallbackResult{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Reports as the simulator sends them, over HTTP: late, doubled, swapped, lost.
func TestCallback_ReportsArriveDespiteFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		outcome string
		faults  []string
		want    []weir.Outcome
	}{
		"delivered":  {simulator.Delivered, nil, []weir.Outcome{"", weir.Completed}},
		"sent":       {simulator.Sent, nil, []weir.Outcome{""}},
		"failed":     {simulator.Failed, nil, []weir.Outcome{"", weir.Failed}},
		"expired":    {simulator.Expired, nil, []weir.Outcome{"", weir.Expired}},
		"buffered":   {simulator.Buffered, nil, []weir.Outcome{"", "", weir.Completed}},
		"refused":    {simulator.Refused, nil, []weir.Outcome{weir.Failed}},
		"reversed":   {simulator.Reversed, nil, []weir.Outcome{weir.Completed, ""}},
		"silent":     {simulator.Silent, nil, nil},
		"doubled":    {simulator.Refused, []string{"duplicate@dlr"}, []weir.Outcome{weir.Failed, weir.Failed}},
		"swapped":    {simulator.Failed, []string{"swap@dlr:#1"}, []weir.Outcome{weir.Failed, ""}},
		"late":       {simulator.Delivered, []string{"delay=5s@dlr:#1"}, []weir.Outcome{weir.Completed, ""}},
		"lost":       {simulator.Delivered, []string{"drop@dlr"}, nil},
		"answer cut": {simulator.Delivered, []string{"cut@send"}, []weir.Outcome{"", weir.Completed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, simulator.Options{Outcomes: []string{tt.outcome}, Faults: tt.faults}, basicSettings(delivered), func(w *world) {
				w.send(attempt(1, "hello"))
				w.after(time.Minute)
				var got []weir.Outcome
				for _, r := range w.reports() {
					if r.Attempt.String() != "7-1-2" || r.Part != 0 {
						t.Errorf("report %+v", r)
					}
					got = append(got, r.Outcome)
				}
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
				for _, u := range w.heard {
					keepsSecrets(t, u) // neither text nor number
				}
			})
		})
	}
}

func TestCallback_ReadsIncoming(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Options{NoGlobalSender: true}, basicSettings(), func(w *world) {
		for _, in := range []simulator.Incoming{
			{From: "+15550009", To: "4000", Text: "yes & no + 100%", ID: "g-1"},
			{From: "+15550009", To: "4000", Text: "כן 😀", Coding: 2, ID: "g-2"},
		} {
			if err := w.sim.Receive(in); err != nil {
				t.Fatal(err)
			}
		}
		w.after(time.Minute)
		var got []weir.Incoming
		for _, r := range w.readings {
			got = append(got, r.Incoming...)
		}
		want := []weir.Incoming{
			{From: "+15550009", To: "4000", Body: "yes & no + 100%", GUID: "g-1", Fields: map[string]string{"coding": "0", "charset": "UTF-8"}},
			{From: "+15550009", To: "4000", Body: "כן 😀", GUID: "g-2", Fields: map[string]string{"coding": "2", "charset": "UTF-16BE"}},
		}
		for i := range got {
			if got[i].Fields["ts"] == "" || got[i].ReceivedAt.IsZero() {
				t.Errorf("message %+v", got[i])
			}
			delete(got[i].Fields, "ts")
			got[i].ReceivedAt = time.Time{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r := w.sim.Records(); r.Texted != 0 || r.Incoming.Taken != 2 {
			t.Errorf("records %+v", r)
		}
	})
}

// Without an id, a repeated request is recognized by the time of the message.
func TestCallback_WithoutIDTheTimeTellsRepeats(t *testing.T) {
	t.Parallel()
	d := reader(t)
	guid := func(query string, at time.Time) string {
		q, _ := url.ParseQuery(query)
		got, err := d.ParseCallback(channels.Callback{Method: "GET", Path: "incoming", At: at, Query: q})
		if err != nil {
			t.Fatal(err)
		}
		return got.Incoming[0].GUID
	}
	if a, b := guid("from=1&text=yes", at), guid("from=1&text=yes", at.Add(time.Second)); a == b {
		t.Error("two messages have one name")
	}
	if a, b := guid("from=1&text=yes&ts=5", at), guid("from=1&text=yes&ts=5", at.Add(time.Second)); a != b {
		t.Error("one message has two names")
	}
	if a, b := guid("from=1&text=yes&ts=5", at), guid("from=1&text=no&ts=5", at); a == b {
		t.Error("two texts have one name")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("GET", "dlr/7-1z-1/0", "state=8&receipt=ACK%2F", "")
	f.Add("GET", "dlr/7-1z-1/1", "state=16&receipt=NACK%2F0x0000000b%2FInvalid", "")
	f.Add("GET", "incoming", "from=%2B1&text=%00%68%00&coding=2&charset=UTF-16BE&id=x", "")
	f.Add("POST", "incoming", "from=&text=%ff%00", "from=2&%ff=1&charset=ISO-8859-1")
	f.Fuzz(func(t *testing.T, method, path, query, form string) {
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
		if len(got.Body) != 0 || got.ContentType != "" {
			t.Errorf("Kannel would text %q", got.Body)
		}
		for _, r := range got.Reports {
			if r.Part < 0 || r.Attempt.Channel <= 0 || r.Attempt.ID <= 0 || r.Attempt.Number <= 0 || !r.At.Equal(at) {
				t.Errorf("report %+v", r)
			}
		}
		for _, m := range got.Incoming {
			if m.From == "" || m.GUID == "" || strings.ToValidUTF8(m.Body, "") != m.Body {
				t.Errorf("message %+v", m)
			}
		}
	})
}
