package daemon

import (
	"testing"
	"time"
)

// A standby is ready while it reaches the owner, and for 10 s after.
func TestAbsence(t *testing.T) {
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
func TestDigest(t *testing.T) {
	t.Parallel()
	o := withDefaults(Options{})
	same := digest(&o.Config, "1.0.0")
	if same != digest(&o.Config, "1.0.0") {
		t.Error("it differs from time to time")
	}
	for name, change := range map[string]func(o *Options){
		"PUBLIC_URL": func(o *Options) { o.Config.PublicURL = "https://weir.example" }, "WEIR_PATH_PREFIX": func(o *Options) { o.Config.PathPrefix = "/weir" },
		"WEIR_RETENTION": func(o *Options) { o.Config.Retention++ }, "WEIR_EVENT_RETENTION": func(o *Options) { o.Config.EventRetention++ },
		"WEIR_CONTACT_EVENTS": func(o *Options) { o.Config.ContactEvents = "on" },
	} {
		other := o
		change(&other)
		if digest(&other.Config, "1.0.0") == same {
			t.Errorf("%s makes no difference", name)
		}
	}
	local := o
	local.Config.ListenAddr, local.Config.LogLevel = "127.0.0.1:9", "debug"
	if digest(&local.Config, "1.0.0") != same {
		t.Error("an address of its own makes a difference")
	}
	if digest(&o.Config, "1.0.1") == same {
		t.Error("the version makes no difference")
	}
}
