package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/channels/all"
	"weir/web/peers"
)

// A standby is ready while it reaches the owner, and for 10 s after.
func TestPeering_StandbyIsReadyForTenSecondsWithoutItsOwner(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		now, reached int // seconds since the start; reached 0: never
		ready        bool
	}{
		"at the start":                 {0, 0, true},
		"for 10 s":                     {10, 0, true},
		"for longer":                   {11, 0, false},
		"reached just now":             {100, 99, true},
		"reached 10 s ago":             {100, 90, true},
		"reached earlier":              {100, 89, false},
		"reached and lost long before": {100, 1, false},
	} {
		a := absence{since: begin}
		var reached time.Time
		if c.reached > 0 {
			reached = at(c.reached)
		}
		if got := a.reasons(at(c.now), reached); (got == nil) != c.ready {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The settings that have to agree are those that clients, providers and the store see.
func TestPeering_DigestsCoverWhatOthersSee(t *testing.T) {
	t.Parallel()
	o := withDefaults(Options{Version: "1.0.0"})
	same := peers.Process{Digests: digests(o)}
	differing := func(o Options) string {
		return strings.Join(same.Differing(digests(o)), " ")
	}
	if got := differing(o); got != "" {
		t.Errorf("%s differs from time to time", got)
	}
	for name, change := range map[string]func(o *Options){
		"PUBLIC_URL": func(o *Options) { o.Config.PublicURL = "https://weir.example" }, "WEIR_PATH_PREFIX": func(o *Options) { o.Config.PathPrefix = "/weir" },
		"WEIR_RETENTION": func(o *Options) { o.Config.Retention++ }, "WEIR_EVENT_RETENTION": func(o *Options) { o.Config.EventRetention++ },
		"WEIR_CONTACT_EVENTS": func(o *Options) { o.Config.ContactEvents = "on" }, "version": func(o *Options) { o.Version = "1.0.1" },
		peers.KeysDigest: func(o *Options) { o.Config.PeopleKeys = [][]byte{[]byte("another one")} }, "words": func(o *Options) { o.Config.HelpWords = []string{"who"} }, "channel types": func(o *Options) { o.Types = all.Types(nil) },
		"": func(o *Options) { o.Config.ListenAddr, o.Config.LogLevel = "127.0.0.1:9", "debug" },
	} {
		other := o
		change(&other)
		if got := differing(other); got != name {
			t.Errorf("%q differs, want %q", got, name)
		}
	}
	for _, name := range []string{"http", "workers", "vonage"} {
		if !slices.Contains(channelTypes(nil), name) {
			t.Errorf("%s is not among the channel types and templates: %v", name, channelTypes(nil))
		}
	}
}

// The owner comes first, and each standby is shown with what keeps it from taking over.
func TestPeering_OwnerIsListedFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	standby := func(start int64, change func(s *peers.Standby)) peers.Standby {
		s := peers.Standby{Process: peers.Process{Start: start, Address: fmt.Sprintf("10.0.0.%d:1", start), Version: "1.0.0", Schema: 30}, Seen: now.Add(-500 * time.Millisecond)}
		change(&s)
		return s
	}
	list := processViews(peers.Process{Start: 5, Address: "10.0.0.5:1", Version: "1.1.0", Schema: 31}, now.Add(-time.Hour), []peers.Standby{
		standby(1, func(s *peers.Standby) { s.Needs = 31 }),
		standby(2, func(s *peers.Standby) { s.Unreachable = "connection refused" }),
		standby(3, func(s *peers.Standby) { s.Hindered = "it cannot read the database" }),
		standby(4, func(s *peers.Standby) { s.Differing = []string{"PUBLIC_URL"} }),
		standby(6, func(s *peers.Standby) { s.Seen = now.Add(-4 * time.Second) }),
	}, now)
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"start":5,"address":"10.0.0.5:1","version":"1.1.0","schema":31,"owner":true,"owner_since":"2026-01-01T11:00:00Z","successor":false,"cannot_reach":[{"start":2,"address":"10.0.0.2:1","reason":"connection refused"}],"may_take_over":false},
{"start":1,"address":"10.0.0.1:1","version":"1.0.0","schema":30,"owner":false,"heartbeat_age_seconds":0.5,"successor":false,"may_take_over":false,"take_over_trouble":"the program is too old for the schema of the database: it knows steps up to 30, and the schema needs one that knows step 31"},
{"start":2,"address":"10.0.0.2:1","version":"1.0.0","schema":30,"owner":false,"heartbeat_age_seconds":0.5,"successor":false,"may_take_over":true,"take_over_trouble":"the owner cannot reach it, so it is the last to take over: connection refused"},
{"start":3,"address":"10.0.0.3:1","version":"1.0.0","schema":30,"owner":false,"heartbeat_age_seconds":0.5,"successor":false,"may_take_over":true,"take_over_trouble":"it cannot read the database"},
{"start":4,"address":"10.0.0.4:1","version":"1.0.0","schema":30,"owner":false,"heartbeat_age_seconds":0.5,"successor":true,"differing_settings":["PUBLIC_URL"],"may_take_over":true}]`
	if got := strings.ReplaceAll(string(text), "},{\"start", "},\n{\"start"); got != want {
		t.Errorf("%s", got)
	}
}
