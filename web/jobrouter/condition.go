package jobrouter

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/routing"
)

// condition holds the conditional headers of a request.
type condition struct {
	match   []string // If-Match
	none    []string // If-None-Match
	matches bool     // If-Match is present
	refuses bool     // If-None-Match is present
	since   time.Time
}

func conditionOf(h http.Header) (condition, error) {
	var c condition
	c.match, c.matches = tags(h, "If-Match")
	c.none, c.refuses = tags(h, "If-None-Match")
	if v := h.Get("If-Unmodified-Since"); v != "" {
		at, err := http.ParseTime(v)
		if err != nil {
			return c, mistake("If-Unmodified-Since", "format", "it has to be like Mon, 02 Jan 2006 15:04:05 GMT")
		}
		c.since = at
	}
	if c.matches {
		c.since = time.Time{} // If-Match is more exact and takes precedence (RFC 9110, 13.1.4)
	}
	return c, nil
}

// tags splits a list of entity tags. The tags of this API contain no comma.
func tags(h http.Header, name string) (list []string, ok bool) {
	for _, line := range h.Values(name) {
		ok = true
		for tag := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(tag))
		}
	}
	return list, ok
}

// against returns the engine's condition for a resource whose current version is
// now (0 if it does not exist).
func (c condition) against(now routing.Version) (routing.If, error) {
	if c.refuses && now != 0 && holds(c.none, now) {
		return routing.If{}, weir.Errorf(weir.CodePrecondition, "it exists, or has the version that it was not to have")
	}
	out := routing.If{UnmodifiedSince: c.since}
	switch {
	case !c.matches:
	case now != 0 && holds(c.match, now):
		out.Version = now
	default:
		out.Unmatchable = true
	}
	return out, nil
}

func holds(list []string, now routing.Version) bool {
	tag := etag(now)
	for _, t := range list {
		if t == "*" || t == tag {
			return true
		}
	}
	return false
}

// etag returns the entity tag of a version.
func etag(v routing.Version) string { return `"` + strconv.FormatUint(uint64(v), 16) + `"` }
