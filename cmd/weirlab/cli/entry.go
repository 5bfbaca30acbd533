package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is the value of a flag that describes an object with several properties:
// NAME[,key=value][,key]…
type entry struct {
	name string
	keys map[string][]string
	text string
	err  error
}

func parseEntry(text string) *entry {
	parts := strings.Split(text, ",")
	e := &entry{name: parts[0], keys: map[string][]string{}, text: text}
	if e.name == "" {
		e.fail("it begins with no name")
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		e.keys[key] = append(e.keys[key], value)
	}
	return e
}

func (e *entry) fail(why string) {
	if e.err == nil {
		e.err = fmt.Errorf("%q: %s", e.text, why)
	}
}

// all removes a key from the entry and returns all its values.
func (e *entry) all(key string) []string {
	values := e.keys[key]
	delete(e.keys, key)
	return values
}

// one removes a key from the entry and returns its last value; empty if there is none.
func (e *entry) one(key string) string {
	values := e.all(key)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// has removes a key without a value and reports whether it was present.
func (e *entry) has(key string) bool {
	_, ok := e.keys[key]
	if v := e.one(key); v != "" {
		e.fail(key + " takes no value")
	}
	return ok
}

func (e *entry) number(key string) int {
	text := e.one(key)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		e.fail(key + " must be a whole number")
	}
	return n
}

func (e *entry) duration(key string) time.Duration {
	text := e.one(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		e.fail(key + " must be a duration such as 2s")
	}
	return d
}

// end returns the first mistake; keys that were not read are mistakes.
func (e *entry) end() error {
	for _, key := range slices.Sorted(maps.Keys(e.keys)) {
		e.fail(fmt.Sprintf("it has no %q", key))
	}
	return e.err
}

// parseEntries reads the values of a flag that may be given several times.
func parseEntries[T any](texts []string, read func(*entry) T) ([]T, error) {
	var out []T
	for _, text := range texts {
		e := parseEntry(text)
		out = append(out, read(e))
		if err := e.end(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
