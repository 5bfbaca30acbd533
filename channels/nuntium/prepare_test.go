package nuntium_test

import (
	"context"
	"encoding/json"
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

func TestPrepare_SetsTheChannelUp(t *testing.T) {
	t.Parallel()
	own := simulator.Channel{Name: "sms", Application: "weir"}
	shared := simulator.Channel{Name: "sms"}
	sharedUp := simulator.Channel{Name: "sms", Enabled: true}
	foreign := simulator.Channel{Name: "sms", Application: "other", Enabled: true}
	tests := map[string]struct {
		channel  simulator.Channel
		settings weir.Settings
		fault    string
		want     string // in the error; empty: no error
	}{
		"token, own channel":       {channel: own, settings: bearerSettings()},
		"token, shared channel":    {channel: shared, settings: bearerSettings()},
		"token, foreign channel":   {channel: foreign, settings: bearerSettings()},
		"password, own channel":    {channel: own, settings: basicSettings()},
		"password, shared, up":     {channel: sharedUp, settings: basicSettings()},
		"password, shared, off":    {channel: shared, settings: basicSettings(), want: "enable it in Nuntium and assign it to the application, or use a token that may"},
		"password, foreign":        {channel: foreign, settings: basicSettings(), want: "cannot enable the channel: credentials refused (HTTP 403)"},
		"no such channel":          {channel: own, settings: basicSettings(weir.Settings{"channel": "nowhere"}), want: "cannot enable the channel: not found at the provider (HTTP 404)"},
		"wrong password":           {channel: own, settings: basicSettings(weir.Settings{"password": "wrong"}), want: "credentials refused (HTTP 401); correct the credentials, or set them in Nuntium yourself: interface = http_post_callback, delivery_ack = post, URL = the address that weir channel callback prints"},
		"wrong token":              {channel: own, settings: bearerSettings(weir.Settings{"token": "wrong"}), want: "credentials refused (HTTP 401)"},
		"token of another account": {channel: own, settings: bearerSettings(weir.Settings{"account": "other"}), want: "credentials refused (HTTP 401)"},
		"token of another app":     {channel: own, settings: bearerSettings(weir.Settings{"application": "other"}), want: "the token belongs to another application"},
		"500":                      {channel: own, settings: basicSettings(), fault: "status=500@admin", want: "provider error (HTTP 500)"},
		"hang":                     {channel: own, settings: basicSettings(), fault: "hang@admin", want: "no answer from Nuntium at http://nuntium.test (timeout)"},
		"no server":                {channel: own, settings: basicSettings(weir.Settings{"base_url": "http://elsewhere.test"}), want: "cannot connect to Nuntium at http://elsewhere.test (connection refused)"},
		"not Nuntium":              {channel: own, settings: basicSettings(weir.Settings{"base_url": "http://page.test"}), want: "the answer is not an application"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{
				Channels: []simulator.Channel{tt.channel}, Faults: []string{tt.fault},
				Applications: []simulator.Application{
					{Name: "other", Password: "x"}, {Name: "weir", Password: password, Tokens: []string{bearer}},
				},
			}
			inWorld(t, o, tt.settings, func(w *world) {
				defer w.net.Serve("page.test", page("<html>welcome"))()
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				for range 2 { // it may be repeated
					err := w.driver.Prepare(ctx)
					if tt.want == "" {
						if err != nil {
							t.Fatal(err)
						}
						continue
					}
					if err == nil || !strings.Contains(err.Error(), tt.want) {
						t.Fatalf("error %v, want %q in it", err, tt.want)
					}
					keepsSecrets(t, err.Error())
					return
				}
				checkPrepared(w)
			})
		})
	}
}

// checkPrepared checks the application's settings in Nuntium.
func checkPrepared(w *world) {
	w.t.Helper()
	_, _, body := w.request("GET", "/api/applications/me?account=acme", "acme/weir", password, "")
	var got simulator.Application
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		w.t.Fatal(err)
	}
	base := "http://weir.test/callbacks/sms/" + secret
	want := simulator.Application{
		Name: "weir", Interface: simulator.Interface{Type: "http_post_callback", URL: base + "/incoming"},
		Ack: simulator.Ack{Method: "post", URL: base + "/ack"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Error(diff)
	}
	if s := w.driver.Status(w.t.Context()); s.Health != weir.Up {
		w.t.Errorf("the channel is %+v", s)
	}
}

func TestStatus_FollowsTheChannel(t *testing.T) {
	t.Parallel()
	up := channels.Status{Health: weir.Up}
	erring := func(reason string) channels.Status { return channels.Status{Health: weir.Erring, Reason: reason} }
	tests := map[string]struct {
		channel  simulator.Channel
		settings weir.Settings
		fault    string
		want     channels.Status
	}{
		"enabled":            {channel: simulator.Channel{Name: "sms", Enabled: true}, want: up},
		"disabled":           {channel: simulator.Channel{Name: "sms"}, want: channels.Status{Health: weir.Down, Reason: "the channel is disabled at the provider"}},
		"connected":          {channel: simulator.Channel{Name: "sms", Kind: "smpp", Enabled: true, Connected: true}, want: up},
		"connection unknown": {channel: simulator.Channel{Name: "sms", Kind: "smpp", Enabled: true}, want: up},
		"unknown":            {channel: simulator.Channel{Name: "other", Enabled: true}, want: erring("not found at the provider")},
		"wrong password":     {settings: weir.Settings{"password": "wrong"}, want: erring("credentials refused")},
		"500":                {fault: "status=500@admin", want: erring("provider error")},
		"hang":               {fault: "hang@admin", want: erring("timeout")},
		"no server":          {settings: weir.Settings{"base_url": "http://elsewhere.test"}, want: erring("connection refused")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := simulator.Options{Channels: []simulator.Channel{tt.channel}, Faults: []string{tt.fault}}
			inWorld(t, o, basicSettings(tt.settings), func(w *world) {
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				if diff := cmp.Diff(tt.want, w.driver.Status(ctx)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A Nuntium that shows false values, and answers that are not channels.
func TestStatus_ReadsAnyAnswer(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]weir.Health{
		`{"name":"sms","enabled":true,"connected":false}`: weir.Down,
		`{"name":"sms","enabled":true,"connected":true}`:  weir.Up,
		`{"name":"sms","enabled":false}`:                  weir.Down,
		`{"name":"sms","enabled":"yes"}`:                  weir.Erring,
		`{}`:                                              weir.Erring,
		`<html>`:                                          weir.Erring,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			d, err := nuntium.Type().New(channels.Config{
				Settings: basicSettings(), HTTP: &http.Client{Transport: &canned{status: 200, body: body}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Status(t.Context()); got.Health != want {
				t.Errorf("got %+v, want %s", got, want)
			}
		})
	}
}

func TestSettings_AreChecked(t *testing.T) {
	t.Parallel()
	without := func(keys ...string) weir.Settings {
		s := basicSettings()
		for _, k := range keys {
			delete(s, k)
		}
		return s
	}
	tests := map[string]struct {
		settings weir.Settings
		want     []string
	}{
		"password":          {basicSettings(), nil},
		"token":             {bearerSettings(), nil},
		"everything":        {basicSettings(weir.Settings{"from": "+1 555", "final_state": "confirmed", "at_least_once": true}), nil},
		"nothing":           {weir.Settings{}, []string{"/base_url required", "/account required", "/channel required", "/password required"}},
		"no credentials":    {without("password"), []string{"/password required"}},
		"both credentials":  {basicSettings(weir.Settings{"token": "x"}), []string{"/token conflict"}},
		"whose password":    {without("application"), []string{"/application required"}},
		"state":             {basicSettings(weir.Settings{"final_state": "sent"}), []string{"/final_state value"}},
		"sender":            {basicSettings(weir.Settings{"from": "INFO"}), []string{"/from format"}},
		"names":             {basicSettings(weir.Settings{"account": "a/b", "application": "a@b"}), []string{"/account format", "/application format"}},
		"token in pieces":   {bearerSettings(weir.Settings{"token": "a\nb"}), []string{"/token format"}},
		"secret in the URL": {basicSettings(weir.Settings{"base_url": "http://u:p@nuntium.test"}), []string{"/base_url format"}},
		"query in the URL":  {basicSettings(weir.Settings{"base_url": "http://nuntium.test/?a=b"}), []string{"/base_url format"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ := nuntium.Type()
			var got []string
			for _, e := range typ.CheckSettings(tt.settings, 10) {
				got = append(got, e.Pointer+" "+e.Code)
				keepsSecrets(t, e.Detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	typ := nuntium.Type()
	shown := typ.Redact(basicSettings(weir.Settings{"token": "x"}))
	if _, ok := shown["password"]; ok || shown["token"] != nil || shown["account"] != "acme" {
		t.Errorf("shown to clients: %v", shown)
	}
}
