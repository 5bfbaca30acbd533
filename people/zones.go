package people

import (
	"strings"
	"sync"
	"time"

	"weir/internal/phonenumber"
)

// Zones finds the time zones in which a person may live. What it has found is kept. It
// may be used by several goroutines.
type Zones struct {
	mu       sync.Mutex
	byName   map[string]*time.Location
	byCode   map[string][]*time.Location // of calling codes; none: they depend on the number
	byNumber map[string][]*time.Location
}

// maxKept bounds the memory of names, and that of numbers. There are some 230 calling codes.
const maxKept = 10_000

// Load returns the zone of a name as [phonenumber.LoadZone] does, and whether there is one.
func (z *Zones) Load(name string) (*time.Location, bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.load(name)
}

func (z *Zones) load(name string) (*time.Location, bool) {
	zone, known := z.byName[name]
	if !known {
		zone, _ = phonenumber.LoadZone(name) // nil: there is none
		if z.byName == nil || len(z.byName) >= maxKept {
			z.byName = map[string]*time.Location{}
		}
		z.byName[name] = zone
	}
	return zone, zone != nil
}

// Of returns the zones of a person: the one that the contact names, otherwise those that
// the number may be in, otherwise the fallback. A number whose zone is not sure, such as that
// of a mobile phone in a country with several, has all zones of its country.
func (z *Zones) Of(named, canonical string, fallback *time.Location) []*time.Location {
	z.mu.Lock()
	defer z.mu.Unlock()
	if named != "" {
		if zone, ok := z.load(named); ok {
			return []*time.Location{zone}
		}
	}
	if number, ok := strings.CutPrefix(canonical, "tel:"); ok {
		if zones := z.ofNumber(number); len(zones) > 0 {
			return zones
		}
	}
	return []*time.Location{fallback}
}

// ofNumber returns the zones of a number. They are kept for its calling code, if each number of it has them, as those of
// most countries do. Otherwise they are kept for this number alone: its last digits may decide whether it is one of
// Australia or of its islands in another ocean.
func (z *Zones) ofNumber(number string) []*time.Location {
	code := phonenumber.CallingCode(number)
	zones, known := z.byCode[code]
	if !known {
		zones = z.loadAll(phonenumber.ZonesOfCode(code))
		if z.byCode == nil {
			z.byCode = map[string][]*time.Location{}
		}
		z.byCode[strings.Clone(code)] = zones
	}
	if len(zones) > 0 {
		return zones
	}
	if zones, known = z.byNumber[number]; known {
		return zones
	}
	zones = z.loadAll(phonenumber.Zones(number))
	if z.byNumber == nil || len(z.byNumber) >= maxKept {
		z.byNumber = map[string][]*time.Location{}
	}
	z.byNumber[number] = zones
	return zones
}

// loadAll returns those of the zones that can be loaded.
func (z *Zones) loadAll(names []string) (zones []*time.Location) {
	for _, name := range names {
		if zone, ok := z.load(name); ok {
			zones = append(zones, zone)
		}
	}
	return zones
}
