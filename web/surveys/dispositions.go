package surveys

import (
	"cmp"
	"net/http"
	"time"

	"weir"
	"weir/internal/spill"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

// maxSorted bounds the entries of a log that are in memory while it is sorted, of some 200 bytes each.
const maxSorted = 50_000

// dispositionsRoute returns the route of the history of the dispositions.
func (s exportRoutes) dispositionsRoute() *route.Route {
	return &route.Route{
		Method: "GET", Path: Path + "/dispositions.csv", ID: "get-dispositions", Tag: "surveys",
		Summary: "How the dispositions of respondents changed, one row per change",
		Description: "By respondent, oldest first. mode is the one in which the respondent was last contacted, and at is in the time zone of the survey. " +
			"Respondents who were not contacted have no rows; those who were removed keep theirs. " + route.CSVHelp,
		Query:    []httpjson.Parameter{formatParameter(), route.SpreadsheetParameter()},
		Download: route.CSVType, Serve: s.download("dispositions", (*csvDownload).dispositions),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (d *csvDownload) dispositions(v surveys.Survey) error {
	zone, header, mode, instant := zoneOf(v), []string{"respondent", "disposition", "mode", "at"}, ownMode, zoned
	if d.ncd() {
		header, mode, instant = []string{"Respondent ID", "Disposition", "Mode", "Timestamp"}, ncdMode, ncdInstant
	}
	return d.byRespondent(v, header, (*surveys.LogEntry).Shows, func(e *surveys.LogEntry, t surveys.Trail, changed bool) []string {
		if !changed {
			return nil
		}
		return []string{e.Respondent.String(), string(t.Disposition), mode(t.Mode), instant(e.At, zone)}
	})
}

// byRespondent writes the rows that are made of the log, one respondent after the other. No index of the
// log has the respondents, so the entries that keep returns are sorted here. row returns nil for an entry without a row.
func (d *csvDownload) byRespondent(v surveys.Survey, header []string, keep func(*surveys.LogEntry) bool, row func(e *surveys.LogEntry, t surveys.Trail, changed bool) []string) error {
	sorted := spill.Sorter[surveys.LogEntry]{Max: maxSorted, Compare: func(a, b *surveys.LogEntry) int {
		return cmp.Or(cmp.Compare(a.Respondent, b.Respondent), cmp.Compare(a.ID, b.ID))
	}}
	defer func() { _ = sorted.Close() }()
	for after, more := int64(0), true; more; {
		entries, err := d.entries(v.ID, after)
		for i := range entries {
			if e := &entries[i]; err == nil && e.Respondent != 0 && keep(e) {
				err = sorted.Add(*e)
			}
		}
		if err != nil {
			return err
		}
		if more = len(entries) > 0; more {
			after = entries[len(entries)-1].ID
		}
	}
	d.Row(header)
	if err := d.trails(&sorted, row); err != nil {
		d.Abort(err)
	}
	return nil
}

// trails writes the rows of a sorted log.
func (d *csvDownload) trails(sorted *spill.Sorter[surveys.LogEntry], row func(e *surveys.LogEntry, t surveys.Trail, changed bool) []string) error {
	var trail surveys.Trail
	n := 0
	for e, err := range sorted.Sorted() {
		if n++; err == nil && n%route.PageRows == 0 {
			if err = d.CheckContinue(); err == nil {
				err = d.Flush()
			}
		}
		if err != nil {
			return err
		}
		changed := trail.Next(&e)
		if cells := row(&e, trail, changed); cells != nil {
			d.Row(cells)
		}
	}
	return d.Flush()
}

func ownMode(m surveys.Mode) string { return string(m) }

// zoneOf returns the time zone of a survey, or UTC if the system does not have it any more.
func zoneOf(v surveys.Survey) *time.Location {
	if plan := progressOf(v).plan; plan != nil {
		return plan.Schedule.Zone()
	}
	return time.UTC
}

// zoned formats an instant in a zone, with its offset; zero is empty.
func zoned(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format(time.RFC3339)
}
