package people_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/people"
)

// What is remembered of a minute changes no verdict: not when clocks change, not on the edge of
// hours and holidays, not in several zones, nor when the clock goes back.
func TestOpenings_ChangeNoVerdict(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "Africa/Monrovia", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	minute := rapid.SampledFrom([]string{"00:00", "00:01", "01:30", "02:00", "02:30", "08:00", "12:00", "21:00", "23:59"})
	rapid.Check(t, func(t *rapid.T) {
		var purposes []*people.Purpose
		for range 2 {
			p := people.Purpose{Caps: []people.Cap{{Max: 100, Within: "1d"}}}
			if from, to := minute.Draw(t, "from"), minute.Draw(t, "to"); from != to {
				p.QuietHours = &people.Hours{From: from, To: to}
			}
			if rapid.Bool().Draw(t, "holidays") {
				p.Holidays = []people.Holiday{{Date: "2026-03-29"}, {Date: "2026-10-25"}, {Date: "1971-12-31"}}
			}
			compiled, wrong := p.Compile()
			if len(wrong) > 0 {
				t.Fatal(wrong)
			}
			purposes = append(purposes, compiled)
		}
		starts := []time.Time{
			time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 14, 29, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), time.Date(1971, 12, 31, 0, 0, 0, 0, time.UTC),
		}
		at := rapid.SampledFrom(starts).Draw(t, "start")
		var openings people.Openings
		for range rapid.IntRange(1, 60).Draw(t, "claims") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Second, 29 * time.Second, 59 * time.Second, time.Minute, 7 * time.Hour, -time.Minute}).Draw(t, "later"))
			c := people.Claim{Name: "p", Purpose: rapid.SampledFrom(purposes).Draw(t, "purpose"), Zones: rapid.SliceOfN(rapid.SampledFrom(zones), 1, 6).Draw(t, "zones")}
			want := people.Judge(&c, at)
			c.Openings = &openings
			if got := people.Judge(&c, at); !reflect.DeepEqual(got, want) {
				t.Fatalf("at %v: %+v, and without what is remembered %+v", at, got, want)
			}
		}
	})
}

// In a zone whose minutes began half a minute later, hours begin within one of those that are
// remembered.
func TestOpenings_KnowOfZonesWithOtherMinutes(t *testing.T) {
	t.Parallel()
	monrovia, err := time.LoadLocation("Africa/Monrovia")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := (&people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}}).Compile()
	c := people.Claim{Name: "p", Purpose: p, Zones: []*time.Location{monrovia}, Openings: &people.Openings{}}
	quiet := time.Date(1971, 12, 31, 21, 0, 0, 0, monrovia)
	if v := people.Judge(&c, quiet.Add(-time.Second)); v.Rule != "" {
		t.Errorf("a second before the hours: %+v", v)
	}
	if v := people.Judge(&c, quiet); v.Rule != string(people.RuleHours) {
		t.Errorf("within the hours: %+v", v)
	}
}

// BenchmarkJudge_Hours judges claims that hours, holidays and a cap have nothing against.
func BenchmarkJudge_Hours(b *testing.B) {
	p, _ := (&people.Purpose{
		QuietHours: &people.Hours{From: "22:00", To: "08:00"}, Holidays: []people.Holiday{{Date: "2026-12-25"}, {Date: "2027-01-01"}}, Caps: []people.Cap{{Max: 3, Within: "7d"}},
	}).Compile()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, openings := range map[string]*people.Openings{"remembered": {}, "each": nil} {
		b.Run(name, func(b *testing.B) {
			c := people.Claim{Name: "p", Purpose: p, Zones: []*time.Location{time.UTC}, Openings: openings}
			for b.Loop() {
				people.Judge(&c, at)
			}
		})
	}
}
