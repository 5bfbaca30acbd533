package dashboard

import (
	"math"
	"net/http"
	"strconv"

	"weir/api"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// process is a process of the database on the overview.
type process struct{ api.ProcessView }

// readProcesses lists the processes of the database, if there is more than one.
func readProcesses(c *page.Caller) ([]process, error) {
	var list api.ProcessesView
	err := c.Get("/v1/processes", nil, &list)
	if status, _ := page.StatusOf(err); err != nil {
		if status < http.StatusInternalServerError {
			err = nil // the token may not read them
		}
		return nil, err
	}
	if len(list.Processes) < 2 {
		return nil, nil
	}
	out := make([]process, len(list.Processes))
	for i, p := range list.Processes {
		out[i] = process{p}
	}
	return out, nil
}

// Heartbeat is the age of the last heartbeat, rounded up, so that not every update changes the page.
func (p process) Heartbeat(l *locale.Locale) string {
	if p.HeartbeatAge == nil {
		return ""
	}
	return l.T("%s s", strconv.Itoa(int(math.Ceil(*p.HeartbeatAge))))
}
