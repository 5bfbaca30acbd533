package phonenumber

import (
	_ "embed"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

// zoneTab has the time zones of each country: the file of this name in tz 2025b, which is in
// the public domain.
//
//go:embed zone.tab
var zoneTab string

// Zones returns the IANA names of the time zones in which the owner of a number in the form
// of E.164 may live; none if nothing is known.
//
// The country decides. The library's own table maps prefixes to groups of similar zones, not to
// countries: the Canary Islands for Morocco, and Jakarta for all mobile numbers of Indonesia. It
// is used for a number with an area code if all zones that it returns are zones of the country;
// otherwise all zones of the country count. For a number that several countries share, the zones
// of each count.
func Zones(number string) []string {
	n, err := phonenumbers.Parse(number, "ZZ")
	if err != nil {
		return nil
	}
	code := int(n.GetCountryCode())
	regions := phonenumbers.GetRegionCodesForCountryCode(code)
	if region := phonenumbers.GetRegionCodeForNumber(n); region != "" {
		regions = []string{region}
	}
	country := zonesOf(regions)
	switch {
	case len(country) == 0: // Ascension, Kosovo and what belongs to no country
		return known(phonenumbers.GetTimezonesForPrefix(strconv.Itoa(code)))
	case len(country) == 1 || !hasAreaCode(n):
		return country
	}
	area := known(phonenumbers.GetTimezonesForNumber(n))
	if len(area) == 0 || slices.ContainsFunc(area, func(zone string) bool { return !slices.Contains(country, zone) }) {
		return country
	}
	return area
}

// CallingCode returns the calling code of a number in the form of E.164, such as "+254"; empty: it has none.
func CallingCode(number string) string {
	if !IsE164(number) {
		return ""
	}
	for end := len("+1"); end <= len("+123"); end++ {
		if len(regionsOf(number[:end])) > 0 {
			return number[:end]
		}
	}
	return ""
}

// ZonesOfCode returns what [Zones] returns for each number of a calling code; none if that depends on the number.
func ZonesOfCode(code string) []string {
	regions := regionsOf(code)
	if zones := zonesOf(regions); len(regions) == 1 && len(zones) == 1 {
		return zones
	}
	return nil
}

func regionsOf(code string) []string {
	n, err := strconv.Atoi(strings.TrimPrefix(code, "+"))
	if err != nil {
		return nil
	}
	return phonenumbers.GetRegionCodesForCountryCode(n)
}

// zonesOf returns the zones of regions, in the order of the file.
func zonesOf(regions []string) (zones []string) {
	for zone := range table(func(region string) bool { return slices.Contains(regions, region) }) {
		zones = append(zones, zone)
	}
	return zones
}

// table yields the zones of those regions of [zoneTab] that are wanted.
func table(wanted func(region string) bool) iter.Seq[string] {
	return func(yield func(zone string) bool) {
		for line := range strings.SplitSeq(zoneTab, "\n") {
			region, rest, _ := strings.Cut(line, "\t")
			if !wanted(region) {
				continue
			}
			_, rest, _ = strings.Cut(rest, "\t") // the coordinates
			if zone, _, _ := strings.Cut(rest, "\t"); zone != "" && !yield(zone) {
				return
			}
		}
	}
}

var errZone = errors.New("is not an IANA time zone, like Africa/Nairobi")

// LoadZone loads the time zone of an IANA name. Blanks around it do not count, nor does the case
// of the zones of countries and of abbreviations such as UTC.
func LoadZone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	names := []string{name, strings.ToUpper(name)}
	for zone := range table(func(string) bool { return true }) {
		if strings.EqualFold(zone, name) {
			names = []string{zone}
		}
	}
	for _, name := range names {
		// LoadLocation accepts two names that are not zones: the empty one and Local.
		if zone, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
			return zone, nil
		}
	}
	return nil, errZone
}

// known returns zones of the library's table that are known.
func known(zones []string, err error) []string {
	if err != nil || slices.Contains(zones, phonenumbers.UNKNOWN_TIMEZONE) {
		return nil
	}
	return zones
}

// hasAreaCode reports whether a number has a geographic area code. The library treats the
// operators' prefixes of Indonesia's mobile numbers as area codes.
func hasAreaCode(n *phonenumbers.PhoneNumber) bool {
	if n.GetCountryCode() == 62 && phonenumbers.GetNumberType(n) == phonenumbers.MOBILE {
		return false
	}
	return phonenumbers.GetLengthOfGeographicalAreaCode(n) > 0
}
