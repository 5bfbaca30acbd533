package router

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir/router"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	maxBoardWorkers = 200 // on a page of the board
	maxBoardJobs    = 5   // of a worker
)

// staffBoard is the data of the board: who works, and what waits.
type staffBoard struct {
	Rows   []staffRow
	Queues []queueFigures // longest first
	More   bool           // there are more queues
	Pager  page.Pager
}

// staffRow is a worker on the board.
type staffRow struct {
	router.Worker
	Doing string
	Since time.Time     // zero: not known
	Last  timelineEntry // the last event; zero: none is in the log
}

// Jobs returns the jobs to show.
func (r staffRow) Jobs() []router.AssignedJob {
	return r.AssignedJobs[:min(maxBoardJobs, len(r.AssignedJobs))]
}

// Hidden returns how many jobs are not shown.
func (r staffRow) Hidden() int { return len(r.AssignedJobs) - len(r.Jobs()) }

func (p *workerHistories) loadStaffBoard(v *page.Visit) (*page.Content, error) {
	b := &staffBoard{}
	query := listQuery(v)
	query.Set("maxpagesize", strconv.Itoa(maxBoardWorkers))
	workers, more, err := listPage[router.Worker](v, "workers", query)
	if err != nil {
		return nil, err
	}
	b.Pager = more
	var figures routerBoard
	if err := clientOf(v.Caller).Figures(v.Request.Context(), url.Values{"maxpagesize": {strconv.Itoa(maxBoardQueues)}}, &figures); err != nil {
		return nil, err
	}
	b.Queues, b.More = figures.Queues, figures.Next != ""
	slices.SortStableFunc(b.Queues, func(x, y queueFigures) int { return cmp.Compare(y.Length, x.Length) })
	last, err := lastOfWorkers(v.Caller, p, func(id string) string { return v.Link("/router/jobs", id) })
	if err != nil {
		return nil, err
	}
	for i := range workers {
		b.Rows = append(b.Rows, staffRowOf(v.Locale, &workers[i], last[workers[i].ID]))
	}
	return &page.Content{Title: v.T("Board of the router"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Board")}), Data: b}, nil
}

// staffRowOf says what a worker does. The router's API has no instant since when a worker waits, so
// the last event stands for it.
func staffRowOf(l *locale.Locale, w *router.Worker, last timelineEntry) staffRow {
	r := staffRow{Worker: *w, Last: last, Doing: l.T("no new offers")}
	switch {
	case len(w.AssignedJobs) > 0:
		r.Doing = l.T("has %d jobs", len(w.AssignedJobs))
		r.Since = w.AssignedJobs[0].AssignedAt
		for _, a := range w.AssignedJobs {
			if a.AssignedAt.Before(r.Since) {
				r.Since = a.AssignedAt
			}
		}
	case len(w.Offers) > 0:
		r.Doing = l.T("is offered %d jobs", len(w.Offers))
		r.Since = w.Offers[0].OfferedAt
		for _, o := range w.Offers {
			if o.OfferedAt.Before(r.Since) {
				r.Since = o.OfferedAt
			}
		}
	case w.AvailableForOffers:
		r.Doing = l.T("waits for a job")
	}
	return r
}
