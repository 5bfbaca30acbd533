package crashtest_test

import (
	"fmt"
	"net/http"
	"strings"
)

// checkEvents verifies that the log has the events of each contact of a channel, once and
// in order, and of nothing that was not committed. Ids have no gap.
func (r *rig) checkEvents(channel string, contacts []contact) {
	r.t.Helper()
	lives := map[string][]string{}
	next := int64(1)
	for cursor := "0"; cursor != ""; {
		var page struct {
			Events []struct {
				ID   int64 `json:"id,string"`
				Type string
				Data struct {
					Contact, Channel, Outcome string
					Attempts                  int
				}
			}
			Next string `json:"next_cursor"`
		}
		r.api.insist(http.MethodGet, "/v1/events?limit=1000&cursor="+cursor, nil, http.StatusOK, &page)
		for _, e := range page.Events {
			if e.ID != next {
				r.t.Errorf("event %d follows %d", e.ID, next-1)
			}
			next = e.ID + 1
			if e.Data.Channel == channel && e.Data.Contact != "" {
				lives[e.Data.Contact] = append(lives[e.Data.Contact], strings.TrimSpace(fmt.Sprint(strings.TrimPrefix(e.Type, "weir.contact."), " ", e.Data.Attempts, " ", e.Data.Outcome)))
			}
		}
		cursor = page.Next
	}
	for i := range contacts {
		c := &contacts[i]
		list := lives[c.ID]
		delete(lives, c.ID)
		if n := len(list); n > 0 && strings.HasPrefix(list[n-1], "corrected") && c.Outcome == "failed" { // since the list was read
			r.api.insist(http.MethodGet, "/v1/contacts/"+c.ID, nil, http.StatusOK, c)
		}
		if !isLife(list, c.Outcome, len(c.Attempts)) {
			r.t.Errorf("contact %s is %s after %d attempts; its events are %q", c.ID, c.Outcome, len(c.Attempts), list)
		}
	}
	if len(lives) > 0 {
		r.t.Errorf("events of contacts that there are not: %v", lives)
	}
}

// isLife reports whether events are those of a contact that ended so: attempts, each of
// them dispatched, accepted or not, and requeued unless it is the last one; then the end,
// which a later report may correct.
func isLife(list []string, outcome string, attempts int) bool {
	if n := len(list); n > 0 && outcome == "completed" && list[n-1] == fmt.Sprintf("corrected %d completed", attempts) {
		list, outcome = list[:n-1], "failed"
	}
	state, number := "waits", 0
	for i, e := range list {
		kind, rest, _ := strings.Cut(e, " ")
		var n int
		_, _ = fmt.Sscan(rest, &n)
		switch {
		case kind == "dispatched" && state == "waits" && (n == number || n == number+1):
			state, number = kind, n
		case kind == "accepted" && state == "dispatched" && n == number:
			state = kind
		case kind == "requeued" && state != "waits" && n == number:
			state = "waits"
		case kind == "done" && i == len(list)-1:
			return rest == fmt.Sprint(attempts, " ", outcome)
		default:
			return false
		}
	}
	return false
}
