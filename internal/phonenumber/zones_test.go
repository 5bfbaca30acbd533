package phonenumber_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/nyaruka/phonenumbers"

	"weir/internal/phonenumber"
)

//go:embed zone.tab
var zoneTab []byte

// countries returns the zones of each country of zone.tab.
func countries(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for lines := bufio.NewScanner(bytes.NewReader(zoneTab)); lines.Scan(); {
		if f := strings.Split(lines.Text(), "\t"); !strings.HasPrefix(lines.Text(), "#") {
			if len(f) < 3 {
				t.Fatalf("the line %q", lines.Text())
			}
			out[f[0]] = append(out[f[0]], f[2])
		}
	}
	// Regions of phone numbers that are no countries of ISO 3166.
	out["AC"], out["TA"], out["XK"] = []string{"Atlantic/St_Helena"}, []string{"Atlantic/St_Helena"}, []string{"Europe/Belgrade"}
	return out
}

// clock is what clocks show in a zone: each offset from UTC in two years, with the hour from
// which on it holds.
type clock string

type clocks map[string]clock

func (known clocks) of(t *testing.T, name string) clock {
	t.Helper()
	if known[name] != "" {
		return known[name]
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	last, start := 1, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := start; at.Before(start.AddDate(2, 0, 0)); at = at.Add(time.Hour) {
		if _, offset := at.In(zone).Zone(); offset != last {
			text = strconv.AppendInt(append(strconv.AppendInt(text, at.Unix(), 10), ' '), int64(offset), 10)
			last = offset
		}
	}
	known[name] = clock(text)
	return known[name]
}

func (known clocks) all(t *testing.T, names []string) []clock {
	t.Helper()
	var out []clock
	for _, name := range names {
		out = append(out, known.of(t, name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func regions() []string {
	var list []string
	for region := range phonenumbers.GetSupportedRegions() {
		list = append(list, region)
	}
	slices.Sort(list)
	return list
}

// samples are numbers of a region, one of each kind that people have.
func samples(region string) map[phonenumbers.PhoneNumberType]string {
	out := map[phonenumbers.PhoneNumberType]string{}
	for _, kind := range []phonenumbers.PhoneNumberType{
		phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.VOIP, phonenumbers.PERSONAL_NUMBER, phonenumbers.TOLL_FREE,
	} {
		n := phonenumbers.GetExampleNumberForType(region, kind)
		// Those of no place are the same for all regions of a code, and so are mobile ones of
		// Australia and its islands. Those of Western Sahara and Saint Martin are taken for
		// Morocco's and Guadeloupe's, where clocks show the same.
		place := kind == phonenumbers.FIXED_LINE || kind == phonenumbers.MOBILE && region != "CC" && region != "CX"
		if n != nil && (place || phonenumbers.GetRegionCodeForNumber(n) == region) {
			out[kind] = phonenumbers.Format(n, phonenumbers.E164)
		}
	}
	return out
}

// TestZones_AreThoseOfTheCountry compares what clocks show in every hour of two years.
func TestZones_AreThoseOfTheCountry(t *testing.T) {
	t.Parallel()
	known, tab := clocks{}, countries(t)
	for _, region := range regions() {
		want := known.all(t, tab[region])
		numbers := samples(region)
		if len(numbers) == 0 || len(want) == 0 {
			t.Errorf("%s has %d example numbers and %d zones", region, len(numbers), len(want))
		}
		for kind, number := range numbers {
			got := known.all(t, phonenumber.Zones(number))
			area := kind == phonenumbers.FIXED_LINE || kind == phonenumbers.MOBILE && slices.Contains([]string{"AR", "BR", "MX", "US", "CA"}, region)
			switch {
			case slices.Equal(got, want):
			case !area:
				t.Errorf("a number of %s, of kind %v, is in %v, want all of %v", region, kind, phonenumber.Zones(number), tab[region])
			case len(got) == 0 || slices.ContainsFunc(got, func(c clock) bool { return !slices.Contains(want, c) }):
				t.Errorf("a number of %s, of kind %v, is in %v, want some of %v", region, kind, phonenumber.Zones(number), tab[region])
			}
		}
	}
}

func TestZones_OfNumbersThatTheLibraryPlacesElsewhere(t *testing.T) {
	t.Parallel()
	tab := countries(t)
	all := func(regions ...string) (list []string) {
		for _, r := range regions {
			list = append(list, tab[r]...)
		}
		slices.Sort(list)
		return list
	}
	for _, tt := range []struct {
		name, number string
		want         []string
	}{
		{"Morocco", "+212612345678", []string{"Africa/Casablanca"}},
		{"South Sudan", "+211977123456", []string{"Africa/Juba"}},
		{"Kenya", "+254722123456", []string{"Africa/Nairobi"}},
		{"Kosovo", "+38343201234", []string{"Europe/Belgrade"}},
		{"Ascension", "+24740123", []string{"Atlantic/St_Helena"}},
		{"Jamaica", "+18762101234", []string{"America/Jamaica"}},
		{"Dominican Republic", "+18092345678", []string{"America/Santo_Domingo"}},
		{"Kazakhstan, mobile", "+77710009998", all("KZ")},
		{"Russia, mobile", "+79123456789", all("RU")},
		{"Indonesia, mobile", "+62812345678", all("ID")},
		{"Indonesia, Jakarta", "+62211234567", []string{"Asia/Jakarta"}},
		{"Brazil, São Paulo, mobile", "+5511961234567", []string{"America/Sao_Paulo"}},
		{"Mexico City", "+525512345678", []string{"America/Mexico_City"}},
		{"New York", "+12125550123", []string{"America/New_York"}},
		{"Arizona", "+16025550123", []string{"America/Phoenix"}},
		{"Hawaii", "+18085550123", []string{"Pacific/Honolulu"}},
		{"toll-free in North America", "+18005550123", all("US")},
		{"Newfoundland: the library has a zone of Puerto Rico among them", "+17092345678", all("CA")},
		{"Christmas Island", "+61891641234", []string{"Indian/Christmas"}},
		{"no number of a country, but of those of its code", "+447000", all("GB", "GG", "IM", "JE")},
		{"freephone of no country", "+80012345678", nil},
		{"networks of no country", "+883510012345", nil},
		{"no code", "+999123456", nil},
		{"no number", "nobody", nil},
	} {
		got := phonenumber.Zones(tt.number)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s is in %v, want %v", tt.name, tt.number, got, tt.want)
		}
	}
}

// TestZones_TableOfTheDocumentation compares the table of countries in which clocks differ with
// what is assumed.
func TestZones_TableOfTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	known, tab := clocks{}, countries(t)
	var want []string
	for _, region := range regions() {
		var names []string
		seen := map[clock]bool{}
		for _, name := range tab[region] {
			if c := known.of(t, name); !seen[c] {
				seen[c], names = true, append(names, name)
			}
		}
		if len(names) > 1 {
			want = append(want, "| "+region+" | "+strconv.Itoa(phonenumbers.GetCountryCodeForRegion(region))+" | "+strings.Join(names, ", ")+" |")
		}
	}
	if rows := strings.Join(want, "\n"); !strings.Contains(string(text), "|\n"+rows+"\n\n") {
		t.Errorf("docs/limits.md must have these rows, and no others:\n%s", rows)
	}
}

// Every zone of a country has its name in any case.
func TestLoadZone_TakesOnlyNamesOfZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " ", "Local", "Mars", "../zone", "EAT", "UTC+3", "TZ", "Africa", "Africa/Nairobi/"} {
		if zone, err := phonenumber.LoadZone(name); err == nil || zone != nil {
			t.Errorf("%q is %v", name, zone)
		}
	}
	names := []string{"UTC", "Etc/GMT+3", "US/Eastern", "EST5EDT"}
	for _, zones := range countries(t) {
		for _, name := range zones {
			names = append(names, name, strings.ToLower(name), strings.ToUpper(name), "\t"+name+" ")
		}
	}
	for _, name := range names {
		if zone, err := phonenumber.LoadZone(name); err != nil || !strings.EqualFold(zone.String(), strings.TrimSpace(name)) || zone.String() == name && zone.String() != strings.TrimSpace(name) {
			t.Errorf("%q is %v, %v", name, zone, err)
		} else if loaded, err := time.LoadLocation(zone.String()); err != nil || loaded.String() != zone.String() {
			t.Errorf("%q is %v: %v", name, zone, err)
		}
	}
}

// TestZonesOfCode_AreThoseOfEachNumber draws numbers of each calling code.
func TestZonesOfCode_AreThoseOfEachNumber(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	same, depend := 0, 0
	for n := range phonenumbers.GetSupportedCallingCodes() {
		code := "+" + strconv.Itoa(n)
		zones := phonenumber.ZonesOfCode(code)
		if len(zones) == 0 {
			depend++
		} else {
			same++
		}
		for range 30 {
			number := []byte(code)
			for digits := 7 + random.IntN(9); len(number) <= digits; {
				number = append(number, '0'+byte(random.IntN(10)))
			}
			if got := phonenumber.CallingCode(string(number)); got != code {
				t.Fatalf("the calling code of %s is %s, want %s", number, got, code)
			}
			if got := phonenumber.Zones(string(number)); len(zones) > 0 && !slices.Equal(got, zones) {
				t.Fatalf("%s is in %v, and all numbers of %s in %v", number, got, code, zones)
			}
		}
	}
	if same < 150 || depend < 20 {
		t.Errorf("%d calling codes have the same zones for each number, and %d do not", same, depend)
	}
	for _, text := range []string{"", "+", "+254", "254700000000", "+25470000000x", "+2100000000", "+0254700000000"} {
		if got := phonenumber.CallingCode(text); got != "" {
			t.Errorf("the calling code of %q is %s", text, got)
		}
	}
}
