package kannel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"

	"github.com/google/go-cmp/cmp"
)

func TestStatus_FollowsTheLinks(t *testing.T) {
	t.Parallel()
	admin := weir.Settings{"admin_url": "http://kannel.test"}
	links := func(states ...string) (o simulator.Options) {
		for i, s := range states {
			o.Links = append(o.Links, simulator.Link{ID: string(rune('A' + i)), State: s})
		}
		return o
	}
	locked := links(simulator.Online)
	locked.StatusPassword = password
	faulty := func(fault string) simulator.Options { return simulator.Options{Faults: []string{fault}} }
	up := channels.Status{Health: weir.Up}
	down := func(reason string) channels.Status { return channels.Status{Health: weir.Down, Reason: reason} }
	erring := func(reason string) channels.Status { return channels.Status{Health: weir.Erring, Reason: reason} }
	for name, tt := range map[string]struct {
		options  simulator.Options
		settings []weir.Settings
		want     channels.Status
		prepare  string // part of Prepare's error
	}{
		"smsbox alone":        {links(simulator.Dead), nil, up, ""},
		"wrong password":      {links(simulator.Online), []weir.Settings{{"password": "wrong"}}, erring("credentials refused"), "credentials refused; check"},
		"wrong path":          {links(simulator.Online), []weir.Settings{{"sendsms_url": "http://kannel.test/x"}}, erring("not found at the provider"), "check sendsms_url"},
		"no server":           {links(simulator.Online), []weir.Settings{{"sendsms_url": "http://nowhere.test/x"}}, erring("connection refused"), "connection refused"},
		"smsbox hangs":        {faulty("hang@send"), nil, erring("timeout"), "timeout"},
		"online":              {links(simulator.Online), []weir.Settings{admin}, up, ""},
		"one of two":          {links(simulator.Reconnecting, simulator.Online), []weir.Settings{admin}, up, ""},
		"down":                {links(simulator.Reconnecting, simulator.Dead), []weir.Settings{admin}, down("no link of Kannel is online"), ""},
		"ours is down":        {links(simulator.Reconnecting, simulator.Online), []weir.Settings{admin, {"smsc": "A"}}, down("no link of Kannel is online"), ""},
		"ours is online":      {links(simulator.Reconnecting, simulator.Online), []weir.Settings{admin, {"smsc": "B"}}, up, ""},
		"no such link":        {links(simulator.Online), []weir.Settings{admin, {"smsc": "C"}}, down("Kannel has no such link"), "the setting smsc"},
		"password given":      {locked, []weir.Settings{admin, {"status_password": password}}, up, ""},
		"password wrong":      {locked, []weir.Settings{admin, {"status_password": "wrong"}}, erring("status of bearerbox: credentials refused"), "check admin_url and status_password"},
		"password missing":    {locked, []weir.Settings{admin}, erring("status of bearerbox: credentials refused"), "check admin_url and status_password"},
		"bearerbox is silent": {faulty("hang@status"), []weir.Settings{admin}, erring("status of bearerbox: timeout"), "timeout"},
		"another server":      {links(simulator.Online), []weir.Settings{{"admin_url": "http://weir.test"}}, erring("status of bearerbox: not found at the provider"), "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, tt.options, basicSettings(tt.settings...), func(w *world) {
				ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
				got := w.driver.Status(ctx)
				cancel()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				ctx, cancel = context.WithTimeout(w.t.Context(), 10*time.Second)
				defer cancel()
				switch err := w.driver.Prepare(ctx); {
				case (err == nil) != (tt.prepare == ""):
					t.Errorf("prepare: %v", err)
				case err != nil && !strings.Contains(err.Error(), tt.prepare):
					t.Errorf("prepare: %v", err)
				case err != nil:
					keepsSecrets(t, err.Error())
				}
				if n := len(w.sim.Records().Messages); n != 0 {
					t.Errorf("%d messages went out", n)
				}
			})
		})
	}
}

// canned answers sendsms like Kannel and anything else with one body.
type canned struct{ body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, c.body
	if r.Method == http.MethodPost {
		status, body = http.StatusBadRequest, "Missing receiver(s) number(s), rejected"
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func statusOf(t testing.TB, document string) channels.Status {
	t.Helper()
	d, err := kannel.Type().New(channels.Config{
		Settings: basicSettings(weir.Settings{"admin_url": "http://kannel.test"}), HTTP: &http.Client{Transport: canned{document}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d.Status(t.Context())
}

const statusForm = `<?xml version="1.0"?>
<gateway>
<version>Kannel bearerbox version ` + "`1.4.5'" + `.</version>
<status>%s</status>
<boxes><box><type>smsbox</type><id></id><IP>127.0.0.1</IP><queue>0</queue><status>%s</status><ssl>no</ssl></box></boxes>
<smscs><count>1</count><smsc><name>FAKE:20000</name><admin-id>F</admin-id><id>F</id><status>%s</status></smsc></smscs>
</gateway>`

func TestStatus_UnderstandsDocuments(t *testing.T) {
	t.Parallel()
	form := func(state, box, link string) string { return fmt.Sprintf(statusForm, state, box, link) }
	const running, on, online = "running, uptime 0d 0h 0m 4s", "on-line 0d 0h 0m 2s", "online 4s"
	for name, tt := range map[string]struct{ document, want string }{
		"running":       {form(running, on, online), "up "},
		"isolated":      {form("isolated, uptime 0d", on, online), "up "},
		"suspended":     {form("suspended, uptime 0d", on, online), "down Kannel is suspended or shutting down"},
		"filled":        {form("filled, uptime 0d", on, online), "down Kannel's queue is full"},
		"going down":    {form("going down, uptime 0d", on, online), "down Kannel is suspended or shutting down"},
		"no smsbox":     {strings.Replace(form(running, on, online), "smsbox", "wapbox", 1), "down no smsbox is connected to Kannel"},
		"smsbox gone":   {form(running, "off-line", online), "down no smsbox is connected to Kannel"},
		"connecting":    {form(running, on, "connecting"), "down no link of Kannel is online"},
		"reconnecting":  {form(running, on, "re-connecting"), "down no link of Kannel is online"},
		"dead":          {form(running, on, "dead"), "down no link of Kannel is online"},
		"not XML":       {"running", "error status of bearerbox: answer not understood"},
		"cut":           {form(running, on, online)[:200], "error status of bearerbox: answer not understood"},
		"another":       {"<html><status>running</status></html>", "error status of bearerbox: answer not understood"},
		"without state": {"<gateway></gateway>", "error status of bearerbox: answer not understood"},
		"denied":        {"<?xml version=\"1.0\"?>\n<gateway>\nDenied</gateway>", "error status of bearerbox: credentials refused"},
	} {
		if got := statusOf(t, tt.document); string(got.Health)+" "+got.Reason != tt.want {
			t.Errorf("%s: got %s %s", name, got.Health, got.Reason)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(fmt.Sprintf(statusForm, "running", "on-line", "online 4s"))
	f.Add("<gateway><status>suspended</status></gateway>")
	f.Fuzz(func(t *testing.T, document string) {
		got := statusOf(t, document)
		if (got.Health == weir.Up) != (got.Reason == "") {
			t.Errorf("got %+v", got)
		}
		if got.Health == weir.Up && !strings.Contains(document, "online") {
			t.Errorf("up without a link: %q", document)
		}
	})
}

func TestSettings_AreChecked(t *testing.T) {
	t.Parallel()
	typ := kannel.Type()
	for name, tt := range map[string]struct {
		change weir.Settings
		want   string // pointer and code
	}{
		"fine":             {weir.Settings{"from": "My Shop", "smsc": "A", "final_state": "delivered"}, ""},
		"with admin":       {weir.Settings{"admin_url": "http://k.test:13000", "status_password": "x"}, ""},
		"state":            {weir.Settings{"final_state": "confirmed"}, "/final_state value"},
		"URL with secret":  {weir.Settings{"sendsms_url": "http://u:p@k.test/x"}, "/sendsms_url format"},
		"URL with query":   {weir.Settings{"sendsms_url": "http://k.test/x?username=u"}, "/sendsms_url format"},
		"admin with query": {weir.Settings{"admin_url": "http://k.test/x?password=p"}, "/admin_url format"},
		"blank at the end": {weir.Settings{"password": "secret "}, "/password format"},
		"line break":       {weir.Settings{"username": "a\r\nX-Kannel-To: 1"}, "/username format"},
		"no ASCII":         {weir.Settings{"from": "Café"}, "/from format"},
		"no admin":         {weir.Settings{"status_password": "x"}, "/admin_url required"},
		"no user":          {weir.Settings{"username": nil}, "/username type"},
		"unknown":          {weir.Settings{"token": "x"}, "/token unknown"},
	} {
		var got []string
		for _, e := range typ.CheckSettings(basicSettings(tt.change), 10) {
			got = append(got, e.Pointer+" "+e.Code)
			keepsSecrets(t, e.Detail)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %v, want %s", name, got, tt.want)
		}
	}
	if _, err := typ.New(channels.Config{Settings: basicSettings()}); err == nil {
		t.Error("a driver without a client")
	}
	if _, err := typ.New(channels.Config{Settings: weir.Settings{}, HTTP: &http.Client{}}); err == nil {
		t.Error("a driver without settings")
	}
}
