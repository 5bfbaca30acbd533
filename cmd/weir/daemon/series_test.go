package daemon_test

import (
	"fmt"
	"strings"
	"testing"
)

// Scenario 191: 100 channels, with 10 of them active, make at most 3,000 series, and
// no channel makes more than 30.
func TestSeries_OfAHundredChannelsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, environment(sqliteURL(t)))
	const all, busy, each = 100, 10, 20
	for i := range all {
		r.do("PUT", fmt.Sprintf("/v1/channels/calls%d", i), map[string]any{"type": "verboice", "capacity": 3, "settings": map[string]any{
			"base_url": r.callURL, "username": "u", "password": "p", "channel": "main",
		}}, nil)
		if i >= busy {
			continue
		}
		var list []map[string]any
		for k := range each {
			list = append(list, map[string]any{"key": fmt.Sprint("k", k), "to": "+15550001", "call": map[string]any{"call_flow_id": 7}})
		}
		r.do("POST", fmt.Sprintf("/v1/channels/calls%d/contacts", i), map[string]any{"contacts": list}, nil)
	}
	r.eventually("all are done", func() bool {
		var page struct{ Contacts []struct{ ID string } }
		r.do("GET", "/v1/contacts?state=queued,sending,active,unknown&limit=1", nil, &page)
		return len(page.Contacts) == 0
	})
	series, of := 0, map[string]int{}
	for line := range strings.Lines(r.metrics()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series++
		if _, rest, ok := strings.Cut(line, `channel="`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			of[name]++
		}
	}
	most := 0
	for _, n := range of {
		most = max(most, n)
	}
	t.Logf("%d series, at most %d of a channel, %d channels", series, most, len(of))
	if series > 3000 || most > 30 || len(of) < busy {
		t.Errorf("%d series, at most %d of a channel, of %d channels", series, most, len(of))
	}
}
