package people

import "time"

// Openings remembers, of the latest minute, until when contacts for purposes are allowed in zones:
// quiet hours and holidays begin and end with a minute, and many claims of a minute ask for the
// same. It remembers nothing of those that are not allowed. The zero value is ready to use, by one
// goroutine.
type Openings struct {
	minute int64
	known  map[opening]time.Time
}

// opening is what one asks for.
type opening struct {
	purpose *Purpose
	n       int
	zones   [4]*time.Location
}

// maxOpenings bounds the memory.
const maxOpenings = 1000

// of returns the key for a purpose and zones, and false for too many zones.
func (o *Openings) of(p *Purpose, zones []*time.Location) (key opening, ok bool) {
	key = opening{purpose: p, n: len(zones)}
	return key, copy(key.zones[:], zones) == len(zones)
}

// lookup returns until when contacts are allowed (zero: not within two days), if it is stored
// that they are at an instant.
func (o *Openings) lookup(p *Purpose, zones []*time.Location, at time.Time) (closes time.Time, allowed bool) {
	if o == nil || minuteAt(at) != o.minute {
		return time.Time{}, false
	}
	key, ok := o.of(p, zones)
	if !ok {
		return time.Time{}, false
	}
	closes, allowed = o.known[key]
	return closes, allowed
}

// store notes until when contacts are allowed that are at an instant. A zone whose minutes are
// not those of all, as long ago, is not remembered.
func (o *Openings) store(p *Purpose, zones []*time.Location, at, closes time.Time) {
	if o == nil {
		return
	}
	key, ok := o.of(p, zones)
	for _, zone := range zones {
		_, offset := at.In(zone).Zone()
		ok = ok && offset%60 == 0
	}
	if !ok {
		return
	}
	if minute := minuteAt(at); minute != o.minute || len(o.known) >= maxOpenings {
		o.minute, o.known = minute, map[opening]time.Time{}
	}
	o.known[key] = closes
}

func minuteAt(at time.Time) int64 { return at.Truncate(time.Minute).Unix() }
