package plainjson

import "bytes"

// Bounds of a body. An object takes up to 350 bytes of memory for 2 bytes of text, a
// value up to 100. The largest valid body has 1,000 objects with 100 members.
const (
	MaxContainers = 20_000  // objects and arrays
	MaxValues     = 150_000 // members and elements
)

// TooMany reports whether a JSON text has more than [MaxContainers] objects and
// arrays or more than [MaxValues] values, so that it should not be parsed.
func TooMany(raw []byte) bool {
	count := func(c string) int { return bytes.Count(raw, []byte(c)) }
	if count("{")+count("[") <= MaxContainers && count(",") < MaxValues {
		return false
	}
	containers, commas := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"': // skip to the end of the string
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			containers++
		case ',':
			commas++
		}
	}
	return containers > MaxContainers || commas >= MaxValues
}
