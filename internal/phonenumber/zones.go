package phonenumber

import (
	"slices"
	"strconv"

	"github.com/nyaruka/phonenumbers"
)

// Zones returns the IANA names of the time zones in which the owner of a number in the form
// of E.164 may live; none if nothing is known.
//
// The library's table of prefixes gives one zone for mobile numbers of countries with
// several, such as Moscow for all of Russia. It is believed where the number has an area
// code; otherwise all zones of the country count.
func Zones(number string) []string {
	n, err := phonenumbers.Parse(number, "ZZ")
	if err != nil {
		return nil
	}
	country, err := phonenumbers.GetTimezonesForPrefix(strconv.Itoa(int(n.GetCountryCode())))
	if err != nil || slices.Equal(country, []string{phonenumbers.UNKNOWN_TIMEZONE}) {
		country = nil
	}
	if len(country) == 1 {
		return country
	}
	own, err := phonenumbers.GetTimezonesForNumber(n)
	if err != nil || slices.Contains(own, phonenumbers.UNKNOWN_TIMEZONE) {
		own = nil
	}
	if len(own) > 0 && (len(country) == 0 || phonenumbers.GetLengthOfGeographicalAreaCode(n) > 0) {
		return own
	}
	return country
}
