package people_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"pgregory.net/rapid"

	"weir"
	"weir/limits"
	"weir/people"
)

func compiled(t *testing.T, p people.Purpose) *people.Purpose {
	t.Helper()
	out, wrong := p.Compile()
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return out
}

func zonesOf(t *testing.T, names ...string) (zones []*time.Location) {
	t.Helper()
	for _, name := range names {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	return zones
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestJudge_QuietHoursAndHolidays(t *testing.T) {
	t.Parallel()
	night := &people.Hours{From: "21:00", To: "08:00"}
	for name, tt := range map[string]struct {
		purpose people.Purpose
		zones   []string
		now     string
		rule    people.Rule
		due     string // with a rule
		until   string // without
	}{
		"in the evening":                     {people.Purpose{QuietHours: night}, []string{"Africa/Nairobi"}, "2026-03-02T18:30:00Z", people.RuleHours, "2026-03-03T05:00:00Z", ""},
		"after midnight":                     {people.Purpose{QuietHours: night}, []string{"Africa/Nairobi"}, "2026-03-02T22:30:00Z", people.RuleHours, "2026-03-03T05:00:00Z", ""},
		"by day":                             {people.Purpose{QuietHours: night}, []string{"Africa/Nairobi"}, "2026-03-02T10:00:00Z", "", "", "2026-03-02T18:00:00Z"},
		"the first minute after them":        {people.Purpose{QuietHours: night}, []string{"UTC"}, "2026-03-02T08:00:00Z", "", "", "2026-03-02T21:00:00Z"},
		"the last minute before them":        {people.Purpose{QuietHours: night}, []string{"UTC"}, "2026-03-02T20:59:59Z", "", "", "2026-03-02T21:00:00Z"},
		"at noon":                            {people.Purpose{QuietHours: &people.Hours{From: "12:00", To: "14:00"}}, []string{"UTC"}, "2026-03-02T13:00:00Z", people.RuleHours, "2026-03-02T14:00:00Z", ""},
		"before noon":                        {people.Purpose{QuietHours: &people.Hours{From: "12:00", To: "14:00"}}, []string{"UTC"}, "2026-03-02T10:00:00Z", "", "", "2026-03-02T12:00:00Z"},
		"behind noon":                        {people.Purpose{QuietHours: &people.Hours{From: "12:00", To: "14:00"}}, []string{"UTC"}, "2026-03-02T14:00:00Z", "", "", "2026-03-03T12:00:00Z"},
		"two zones: one has night still":     {people.Purpose{QuietHours: night}, []string{"America/New_York", "America/Los_Angeles"}, "2026-01-15T14:00:00Z", people.RuleHours, "2026-01-15T16:00:00Z", ""},
		"two zones: by day in both":          {people.Purpose{QuietHours: night}, []string{"America/New_York", "America/Los_Angeles"}, "2026-01-15T17:00:00Z", "", "", "2026-01-16T02:00:00Z"},
		"the clocks are put forward":         {people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "02:30"}}, []string{"Europe/Berlin"}, "2026-03-29T00:30:00Z", people.RuleHours, "2026-03-29T01:30:00Z", ""},
		"a holiday, and the night behind it": {people.Purpose{QuietHours: night, Holidays: []people.Holiday{{Date: "2026-12-25"}}}, []string{"UTC"}, "2026-12-25T10:00:00Z", people.RuleHoliday, "2026-12-26T08:00:00Z", ""},
		"two holidays":                       {people.Purpose{Holidays: []people.Holiday{{Date: "2026-12-26"}, {Date: "2026-12-25"}}}, []string{"UTC"}, "2026-12-25T10:00:00Z", people.RuleHoliday, "2026-12-27T00:00:00Z", ""},
		"the day before a holiday":           {people.Purpose{Holidays: []people.Holiday{{Date: "2026-12-25"}}}, []string{"UTC"}, "2026-12-24T10:00:00Z", "", "", "2026-12-25T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := people.Judge(&people.Claim{Name: "p", Purpose: compiled(t, tt.purpose), Zones: zonesOf(t, tt.zones...)}, instant(t, tt.now))
			if v.Rule != string(tt.rule) {
				t.Fatalf("the rule is %q: %+v", v.Rule, v)
			}
			if tt.due != "" && !v.Due.Equal(instant(t, tt.due)) {
				t.Errorf("it waits until %v: %s", v.Due, v.Reason)
			}
			if tt.until != "" && !v.Until.Equal(instant(t, tt.until)) {
				t.Errorf("it may be dispatched until %v", v.Until)
			}
		})
	}
}

func TestJudge_Caps(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-03-05T12:00:00Z")
	at := func(texts ...string) (list []people.Entry) {
		for _, text := range texts {
			list = append(list, people.Entry{At: instant(t, text), Purpose: "p"})
		}
		return list
	}
	oneADay := []people.Cap{{Max: 1, Within: "1d", Kind: people.Calendar}}
	for name, tt := range map[string]struct {
		caps   []people.Cap
		before []people.Entry
		left   int
		due    string // empty: it passes
		zones  string // empty: Nairobi
	}{
		"nothing before":                    {[]people.Cap{{Max: 1, Within: "7d"}}, nil, 0, "", ""},
		"one left":                          {[]people.Cap{{Max: 3, Within: "7d"}}, at("2026-03-01T12:00:00Z"), 1, "", ""},
		"rolling":                           {[]people.Cap{{Max: 2, Within: "7d"}}, at("2026-03-01T12:00:00Z", "2026-03-03T12:00:00Z"), 0, "2026-03-08T12:00:00Z", ""},
		"out of the window":                 {[]people.Cap{{Max: 1, Within: "2d"}}, at("2026-03-03T12:00:00Z"), 0, "", ""},
		"lowered since":                     {[]people.Cap{{Max: 1, Within: "7d"}}, at("2026-03-01T12:00:00Z", "2026-03-03T12:00:00Z"), 0, "2026-03-10T12:00:00Z", ""},
		"calendar day":                      {[]people.Cap{{Max: 1, Within: "1d", Kind: people.Calendar}}, at("2026-03-04T22:00:00Z"), 0, "2026-03-05T21:00:00Z", ""}, // it is the 5th in Nairobi
		"the calendar day before":           {[]people.Cap{{Max: 1, Within: "1d", Kind: people.Calendar}}, at("2026-03-04T20:00:00Z"), 0, "", ""},
		"a week of calendar days":           {[]people.Cap{{Max: 1, Within: "7d", Kind: people.Calendar}}, at("2026-03-04T20:00:00Z"), 0, "2026-03-10T21:00:00Z", ""},
		"another purpose":                   {[]people.Cap{{Max: 1, Within: "7d"}}, []people.Entry{{At: instant(t, "2026-03-05T11:00:00Z"), Purpose: "q"}}, 0, "", ""},
		"over all purposes":                 {[]people.Cap{{Max: 1, Within: "7d", Over: people.OverAll}}, []people.Entry{{At: instant(t, "2026-03-05T11:00:00Z"), Purpose: "q"}}, 0, "2026-03-12T11:00:00Z", ""},
		"two caps, the later counts":        {[]people.Cap{{Max: 1, Within: "1d"}, {Max: 1, Within: "3d"}}, at("2026-03-05T11:00:00Z"), 0, "2026-03-08T11:00:00Z", ""},
		"a calendar day, of several zones":  {oneADay, at("2026-03-05T10:00:00Z"), 0, "2026-03-06T08:00:00Z", "America/New_York America/Los_Angeles"},
		"the same, in another order":        {oneADay, at("2026-03-05T10:00:00Z"), 0, "2026-03-06T08:00:00Z", "America/Los_Angeles America/New_York"},
		"it is the next day already in one": {oneADay, at("2026-03-05T05:30:00Z"), 0, "2026-03-06T05:00:00Z", "America/Los_Angeles America/New_York"},
		"a day before in all of them":       {oneADay, at("2026-03-05T04:30:00Z"), 0, "", "America/Los_Angeles America/New_York"},
		"days, of several zones":            {[]people.Cap{{Max: 1, Within: "2d", Kind: people.Calendar}}, at("2026-03-05T10:00:00Z"), 0, "2026-03-07T08:00:00Z", "America/New_York America/Los_Angeles America/Chicago"},
		"the clock was put back a week":     {[]people.Cap{{Max: 1, Within: "1d"}}, at("2026-03-12T11:00:00Z"), 0, "2026-03-13T11:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := people.Judge(&people.Claim{Name: "p", Purpose: compiled(t, people.Purpose{Caps: tt.caps}), Zones: zonesOf(t, strings.Fields(cmp.Or(tt.zones, "Africa/Nairobi"))...), Before: tt.before}, now)
			if tt.due != "" {
				if v.Rule != "cap" || !v.Due.Equal(instant(t, tt.due)) {
					t.Errorf("the verdict is %+v", v)
				}
				return
			}
			if facts, ok := people.ReadFacts(v.Receipt); v.Rule != "" || !ok || facts.Left[0].N != tt.left {
				t.Errorf("the verdict is %+v", v)
			}
		})
	}
}

// The reason names the zone in which it is not allowed, and of how many it is one.
func TestJudge_NamesTheZone(t *testing.T) {
	t.Parallel()
	p := compiled(t, people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}})
	for zones, want := range map[string]string{
		"Africa/Nairobi":                   "it is 22:00 in Africa/Nairobi, and 21:00 to 08:00 are quiet hours",
		"UTC Africa/Nairobi":               "it is 22:00 in Africa/Nairobi, one of 2 zones that the number may be in, and 21:00 to 08:00 are quiet hours",
		"UTC Africa/Nairobi Asia/Calcutta": "it is 22:00 in Africa/Nairobi, one of 3 zones that the number may be in, and 21:00 to 08:00 are quiet hours",
	} {
		v := people.Judge(&people.Claim{Name: "p", Purpose: p, Zones: zonesOf(t, strings.Fields(zones)...)}, instant(t, "2026-03-05T19:00:00Z"))
		if v.Rule != "quiet_hours" || v.Reason != want {
			t.Errorf("%s: %+v, want %q", zones, v, want)
		}
	}
}

// A contact counts until its last calendar day is over in every zone that the person may be in.
func TestJudge_CalendarCapsHoldInAllZones(t *testing.T) {
	t.Parallel()
	p := compiled(t, people.Purpose{Caps: []people.Cap{{Max: 1, Within: "1d", Kind: people.Calendar}}})
	for _, tt := range []struct{ before, zones, due string }{
		{"2026-03-05T10:00:00Z", "Africa/Nairobi America/Los_Angeles", "2026-03-06T08:00:00Z"},
		{"2026-03-05T10:00:00Z", "America/Los_Angeles Africa/Nairobi", "2026-03-06T08:00:00Z"},
		{"2026-03-05T07:00:00Z", "Africa/Nairobi America/Los_Angeles", "2026-03-05T21:00:00Z"}, // in Los Angeles it was the day before
		{"2026-03-05T07:00:00Z", "America/Los_Angeles Africa/Nairobi", "2026-03-05T21:00:00Z"},
	} {
		v := people.Judge(&people.Claim{
			Name: "p", Purpose: p, Zones: zonesOf(t, strings.Fields(tt.zones)...), Before: []people.Entry{{At: instant(t, tt.before), Purpose: "p"}},
		}, instant(t, "2026-03-05T12:00:00Z"))
		if v.Rule != "cap" || !v.Due.Equal(instant(t, tt.due)) {
			t.Errorf("contacted at %s, maybe in %s: %+v, want it to wait until %s", tt.before, tt.zones, v, tt.due)
		}
	}
}

// A cap and the night: the contact waits for both.
func TestJudge_WaitsForAllRules(t *testing.T) {
	t.Parallel()
	p := compiled(t, people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}, Caps: []people.Cap{{Max: 1, Within: "12h"}}})
	v := people.Judge(&people.Claim{Name: "p", Purpose: p, Zones: zonesOf(t, "UTC"), Before: []people.Entry{{At: instant(t, "2026-03-05T11:00:00Z"), Purpose: "p"}}}, instant(t, "2026-03-05T12:00:00Z"))
	if v.Rule != "cap" || !v.Due.Equal(instant(t, "2026-03-06T08:00:00Z")) {
		t.Errorf("the verdict is %+v", v)
	}
}

func TestJudge_RepliesOnlyNeedThatNobodyRefused(t *testing.T) {
	t.Parallel()
	p := compiled(t, people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}, Caps: []people.Cap{{Max: 1, Within: "12h"}}, RepeatGuard: "1h"})
	now := instant(t, "2026-03-05T23:00:00Z")
	c := &people.Claim{Name: "p", Purpose: p, Reply: true, Text: 1, Zones: zonesOf(t, "UTC"), Before: []people.Entry{{At: now, Purpose: "p", Text: 1}}}
	if v := people.Judge(c, now); v.Rule != "" {
		t.Errorf("a reply: %+v", v)
	}
	c.States = []people.State{{Purpose: people.AllPurposes, Status: people.Refused, At: now, Version: 7}}
	if v := people.Judge(c, now); v.Rule != "consent" || !v.Due.IsZero() {
		t.Errorf("a reply to somebody who refused: %+v", v)
	}
}

// Whatever the rules, zones and earlier contacts are: what waits may go when it is due, and
// what goes is within the hours, in all zones, and no cap is exceeded.
func TestJudge_KeepsEveryRule(t *testing.T) {
	t.Parallel()
	names := []string{"UTC", "Africa/Nairobi", "America/St_Johns", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Apia", "America/Sao_Paulo"}
	minute := rapid.Custom(func(t *rapid.T) string {
		return time.Date(2026, 1, 1, 0, rapid.IntRange(0, 24*60-1).Draw(t, "minute"), 0, 0, time.UTC).Format("15:04")
	})
	rapid.Check(t, func(rt *rapid.T) {
		raw := people.Purpose{Caps: []people.Cap{{Max: rapid.IntRange(1, 3).Draw(rt, "max"), Within: rapid.SampledFrom([]string{"1h", "1d", "7d"}).Draw(rt, "within")}}}
		if from, to := minute.Draw(rt, "from"), minute.Draw(rt, "to"); from != to {
			raw.QuietHours = &people.Hours{From: from, To: to}
		}
		if rapid.Bool().Draw(rt, "calendar") && raw.Caps[0].Within != "1h" {
			raw.Caps[0].Kind = people.Calendar
		}
		p, wrong := raw.Compile()
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
		zones := zonesOf(t, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID[string]).Draw(rt, "zones")...)
		now := time.Date(2026, 1, 1, 0, rapid.IntRange(0, 366*24*60).Draw(rt, "now"), 0, 0, time.UTC)
		var before []people.Entry
		for _, ago := range rapid.SliceOfN(rapid.IntRange(0, 8*24*60), 0, 5).Draw(rt, "before") {
			before = append(before, people.Entry{At: now.Add(-time.Duration(ago) * time.Minute), Purpose: "p"})
		}
		c := &people.Claim{Name: "p", Purpose: p, Zones: zones, Before: before}
		v := people.Judge(c, now)
		if v.Rule != "" {
			if !v.Due.After(now) {
				rt.Fatalf("it waits until %v, which is not after %v", v.Due, now)
			}
			if again := people.Judge(c, v.Due); again.Rule != "" && v.Due.Sub(now) < 30*24*time.Hour {
				rt.Fatalf("when it is due, at %v, it has to wait again: %+v", v.Due, again)
			}
			if early := people.Judge(c, v.Due.Add(-time.Second)); early.Rule == "" {
				rt.Fatalf("it could have gone before it was due: %+v", early)
			}
			return
		}
		end := v.Until
		if end.IsZero() {
			end = now.Add(time.Hour)
		}
		for at := now; at.Before(end) && at.Sub(now) < 24*time.Hour; at = at.Add(7 * time.Minute) {
			for _, zone := range zones {
				if text := at.In(zone).Format("15:04"); raw.QuietHours != nil && isQuiet(raw.QuietHours, text) {
					rt.Fatalf("until %v it may go, and at %s in %v it is quiet", end, text, zone)
				}
			}
		}
	})
}

func isQuiet(h *people.Hours, text string) bool {
	if h.From < h.To {
		return text >= h.From && text < h.To
	}
	return text >= h.From || text < h.To
}

func TestCompile_RefusesContradictions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		purpose people.Purpose
		pointer string
	}{
		"quiet all day":              {people.Purpose{QuietHours: &people.Hours{From: "08:00", To: "08:00"}}, "/quiet_hours/to"},
		"no time":                    {people.Purpose{QuietHours: &people.Hours{From: "25:00", To: "08:00"}}, "/quiet_hours/from"},
		"cap of nobody":              {people.Purpose{Caps: []people.Cap{{Max: 0, Within: "1d"}}}, "/caps/0/max"},
		"calendar hours":             {people.Purpose{Caps: []people.Cap{{Max: 1, Within: "12h", Kind: people.Calendar}}}, "/caps/0/within"},
		"no zone":                    {people.Purpose{TimeZone: "Mars/Olympus"}, "/time_zone"},
		"the zone of the machine":    {people.Purpose{TimeZone: "Local"}, "/time_zone"},
		"no day":                     {people.Purpose{Holidays: []people.Holiday{{Date: "2026-02-30"}}}, "/holidays/0/date"},
		"exempt without a reason":    {people.Purpose{ExemptFrom: []people.Rule{people.RuleConsent}}, "/exempt_reason"},
		"exempt and needs a consent": {people.Purpose{Consent: people.IfRecorded, ExemptFrom: []people.Rule{people.RuleConsent}, ExemptReason: "x"}, "/exempt_from/0"},
		"no delay":                   {people.Purpose{RepeatGuard: "soon"}, "/repeat_guard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, wrong := tt.purpose.Compile(); len(wrong) != 1 || wrong[0].Pointer != tt.pointer {
				t.Errorf("the mistakes are %+v, want one at %s", wrong, tt.pointer)
			}
		})
	}
}

func TestZones_OfNumbers(t *testing.T) {
	t.Parallel()
	var z people.Zones
	fallback := zonesOf(t, "Asia/Tokyo")[0]
	for name, tt := range map[string]struct {
		named, to, first string
		n                int
	}{
		"the contact's own":                     {"Europe/Paris", "+254722123456", "Europe/Paris", 1},
		"no such zone: the number's":            {"Mars/Olympus", "+254722123456", "Africa/Nairobi", 1},
		"a country with one zone":               {"", "+254722123456", "Africa/Nairobi", 1},
		"an area code":                          {"", "+16502530000", "America/Los_Angeles", 1},
		"an area code over a border":            {"", "+19075550000", "", 2},
		"toll-free: the whole country":          {"", "+18002530000", "", 29},
		"Mexico by area code":                   {"", "+525512345678", "America/Mexico_City", 1},
		"Mexico's old form":                     {"", "+5215512345678", "America/Mexico_City", 1},
		"Brazil, mobile, by area code":          {"", "+5592981234567", "America/Manaus", 1},
		"a Russian mobile: the whole country":   {"", "+79161234567", "", 26},
		"an Australian mobile: all of it":       {"", "+61412345678", "", 12},
		"no number":                             {"", "chat-1", "Asia/Tokyo", 1},
		"a number that is nowhere on the earth": {"", "+87077321234", "Asia/Tokyo", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := z.Of(tt.named, people.Canonical(tt.to), fallback)
			if len(got) != tt.n || tt.first != "" && got[0].String() != tt.first {
				t.Errorf("%s may be in %d zones: %v", tt.to, len(got), got)
			}
		})
	}
}

func TestFacts_AreOneSentence(t *testing.T) {
	t.Parallel()
	p := compiled(t, people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}, Caps: []people.Cap{{Max: 2, Within: "7d"}}})
	v := people.Judge(&people.Claim{Name: "research", Purpose: p, Zones: zonesOf(t, "Africa/Nairobi"), Contact: weir.Ref{}}, instant(t, "2026-03-05T11:00:00Z"))
	facts, _ := people.ReadFacts(v.Receipt)
	if got, want := facts.Text(instant(t, "2026-03-05T11:00:00Z")), "purpose research; no refusal recorded; 14:00 in Africa/Nairobi; cap 2 in 7d: 1 left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A receipt has the rules that were looked at, whether the contact goes out or not.
func TestReceipt_HasTheRulesThatWereLookedAt(t *testing.T) {
	t.Parallel()
	all := people.Purpose{
		Caps: []people.Cap{{Max: 1, Within: "1d"}}, QuietHours: &people.Hours{From: "12:00", To: "14:00"},
		Holidays: []people.Holiday{{Date: "2026-12-25"}}, RepeatGuard: "1d",
	}
	for at, rule := range map[string]people.Rule{"2026-03-02T10:00:00Z": "", "2026-03-02T13:00:00Z": people.RuleHours, "2026-12-25T10:00:00Z": people.RuleHoliday} {
		v := people.Judge(&people.Claim{Name: "p", Purpose: compiled(t, all), Text: 1, Zones: zonesOf(t, "UTC")}, instant(t, at))
		f, ok := people.ReadFacts(v.Receipt)
		want := []people.Rule{people.RuleConsent, people.RuleRepeat, people.RuleCap, people.RuleHours, people.RuleHoliday}
		if !ok || v.Rule != string(rule) || !slices.Equal(f.Rules, want) {
			t.Errorf("%s: %q, rules %v, want %q and %v", at, v.Rule, f.Rules, rule, want)
		}
	}
	for _, none := range []string{"", "{", "[]"} {
		if f, ok := people.ReadFacts(weir.Receipt{Facts: none}); ok {
			t.Errorf("%q is read as %+v", none, f)
		}
	}
}

// A confirmation is let through by the refusal that it confirms alone, and for five minutes.
func TestJudge_ConfirmationOfARefusal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	night, _ := (&people.Purpose{Consent: people.IfRecorded, QuietHours: &people.Hours{From: "20:00", To: "09:00"}, Caps: []people.Cap{{Max: 1, Within: "1d"}}}).Compile()
	is := func(purpose string, s people.Status, from people.Source, ago time.Duration, version int64) people.State {
		return people.State{Purpose: purpose, Status: s, Source: from, At: now.Add(-ago), Version: version}
	}
	for name, tc := range map[string]struct {
		states   []people.State
		confirms int64
		want     string // the beginning of the reason; empty: it is dispatched
	}{
		"the refusal that it confirms":    {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 7)}, 7, ""},
		"said again":                      {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 9)}, 7, ""},
		"just in time":                    {[]people.State{is("all", people.Refused, people.FromWord, 5*time.Minute-time.Microsecond, 7)}, 7, ""},
		"five minutes over":               {[]people.State{is("all", people.Refused, people.FromWord, 5*time.Minute, 7)}, 7, "a refusal is confirmed within five minutes"},
		"taken back":                      {[]people.State{is("all", people.Given, people.FromWord, 0, 8)}, 7, "the refusal that it confirms was taken back"},
		"nothing recorded":                {nil, 7, "the refusal that it confirms was taken back"},
		"an older refusal":                {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 6)}, 7, "refused: the person sent a stop word"},
		"an operator's":                   {[]people.State{is("all", people.Refused, people.FromOperator, 0, 8)}, 7, "refused: the person said so"},
		"the provider has heard it later": {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 7), is("channel:texts", people.Refused, people.FromProvider, 0, 8)}, 7, "refused: the provider reports"},
		"the provider heard it before":    {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 7), is("channel:texts", people.Refused, people.FromProvider, time.Hour, 3)}, 7, ""},
		"an ordinary reply":               {[]people.State{is("all", people.Refused, people.FromWord, time.Minute, 7)}, 0, "refused: the person sent a stop word"},
	} {
		c := people.Claim{Name: "research", Purpose: night, Channel: "texts", Reply: true, Confirms: tc.confirms, Zones: []*time.Location{time.UTC}, States: tc.states}
		v := people.Judge(&c, now)
		if (v.Rule == "") != (tc.want == "") || !strings.HasPrefix(v.Reason, tc.want) || !v.Due.IsZero() {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestPurpose_AnswersHaveATextAndALength(t *testing.T) {
	t.Parallel()
	_, wrong := (&people.Purpose{Help: " \n", Confirmation: strings.Repeat("á", 481)}).Compile()
	if len(wrong) != 2 || wrong[0].Pointer != "/help" || wrong[1].Pointer != "/confirmation" {
		t.Errorf("%+v", wrong)
	}
	if _, wrong := (&people.Purpose{Help: strings.Repeat("á", 480)}).Compile(); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
}

// A receipt says what is recorded of the person, and why a refusal did not count.
func TestReceipt_SaysWhatIsRecorded(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-03-02T10:00:00Z")
	state := func(purpose string, s people.Status) people.State {
		return people.State{Purpose: purpose, Status: s, Source: people.FromWord, At: now.Add(-time.Minute), Version: 7}
	}
	exempt := people.Purpose{ExemptFrom: []people.Rule{people.RuleConsent}, ExemptReason: "floods; by order 12"}
	for name, tt := range map[string]struct {
		purpose  people.Purpose
		state    people.State
		confirms int64
		want     string
		refused  bool
	}{
		"refused, and exempt":                  {exempt, state(people.AllPurposes, people.Refused), 0, "purpose p; refused, record 7; exempt: floods; by order 12", true},
		"refused for the purpose, and exempt":  {exempt, state("p", people.Refused), 0, "purpose p; refused, record 7; exempt: floods; by order 12", true},
		"refused over the channel, and exempt": {exempt, state(people.OverChannel("a"), people.Refused), 0, "purpose p; refused, record 7; exempt: floods; by order 12", true},
		"agreed, and exempt":                   {exempt, state("p", people.Given), 0, "purpose p; consent as of record 7", false},
		"agreed":                               {people.Purpose{}, state("p", people.Given), 0, "purpose p; consent as of record 7", false},
		"confirmed":                            {people.Purpose{}, state(people.AllPurposes, people.Refused), 7, "purpose p; confirms the refusal, record 7", true},
		"nothing recorded": {people.Purpose{Caps: []people.Cap{{Max: 2, Within: "7d"}}}, people.State{Purpose: "other", Status: people.Refused, Version: 7}, 0,
			"purpose p; no refusal recorded; 10:00 in UTC; cap 2 in 7d: 1 left", false},
	} {
		c := &people.Claim{Name: "p", Purpose: compiled(t, tt.purpose), Channel: "a", Confirms: tt.confirms, Zones: zonesOf(t, "UTC"), States: []people.State{tt.state}}
		v := people.Judge(c, now)
		f, ok := people.ReadFacts(v.Receipt)
		if v.Rule != "" || !ok || f.Text(now) != tt.want || f.Refused != tt.refused {
			t.Errorf("%s: %q by rule %q, want %q", name, f.Text(now), v.Rule, tt.want)
		}
	}
	stopped := people.Judge(&people.Claim{Name: "p", Purpose: compiled(t, people.Purpose{}), Zones: zonesOf(t, "UTC"), States: []people.State{state("p", people.Refused)}}, now)
	if f, _ := people.ReadFacts(stopped.Receipt); stopped.Rule != "consent" || f.Text(now) != "purpose p; refused, record 7" {
		t.Errorf("suppressed: %q by %q", f.Text(now), stopped.Rule)
	}
}

func TestPurpose_ZoneIsUTCUnlessItNamesOne(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "UTC", "Africa/Nairobi": "Africa/Nairobi"} {
		if got := compiled(t, people.Purpose{TimeZone: name}).Zone(); got.String() != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestSettle_ReplacesWhatWasReservedOnce(t *testing.T) {
	t.Parallel()
	claim := people.Claim{Name: "default", Purpose: &people.Purpose{}, Channel: "a", Cost: 11_000, Currency: "USD"}
	v := people.Judge(&claim, time.Now())
	f, ok := people.ReadFacts(v.Receipt)
	if !ok || f.Cost != 11_000 || f.Currency != "USD" || !strings.HasSuffix(f.Text(time.Now()), "0.011 USD reserved") {
		t.Fatalf("the receipt: %+v, %v", f, ok)
	}
	settled, reserved, currency := people.Settle(v.Receipt, func(limits.Money, string) limits.Money { return 7000 })
	if f, _ = people.ReadFacts(settled); reserved != 11_000 || currency != "USD" || f.Cost != 7000 || !strings.HasSuffix(f.Text(time.Now()), "cost 0.007 USD") {
		t.Errorf("settled: %+v, %s %s", f, reserved, currency)
	}
	again, reserved, currency := people.Settle(settled, func(limits.Money, string) limits.Money { return 1 })
	if again != settled || reserved != 0 || currency != "" {
		t.Errorf("settled twice: %+v, %s %s", again, reserved, currency)
	}
	if other, _, currency := people.Settle(weir.Receipt{}, nil); other != (weir.Receipt{}) || currency != "" {
		t.Errorf("no receipt: %+v", other)
	}
}
