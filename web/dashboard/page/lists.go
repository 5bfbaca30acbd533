package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

const RowsPerPage = 50

// Interval bounds a list in time, as entered in its form.
type Interval struct {
	From, Until string // values of datetime-local inputs; empty: open
	Begin, End  time.Time
}

// Given reports whether the list is bounded.
func (i Interval) Given() bool { return i.From != "" || i.Until != "" }

// ReadInterval reads the inputs from and until, which are in UTC.
func ReadInterval(asked url.Values) (i Interval, err error) {
	i.From, i.Until = asked.Get("from"), asked.Get("until")
	if i.Begin, err = ReadMoment("from", i.From); err == nil {
		i.End, err = ReadMoment("until", i.Until)
	}
	return i, err
}

// momentRule says what ReadMoment takes.
const momentRule locale.Message = "must be a date and a time in UTC, such as 2026-05-04T09:00"

// ReadMoment parses what browsers send from such an input, and what users type in
// browsers without one.
func ReadMoment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := form.ReadMoment(text); ok {
		return t, nil
	}
	return time.Time{}, &Problem{
		Status: http.StatusUnprocessableEntity, Words: "the period has an invalid time",
		Errors: []weir.FieldError{{Pointer: "/" + name, Code: "format", Detail: string(momentRule)}},
	}
}

// Put adds the bounds to a query of the API.
func (i Interval) Put(query url.Values, since, until string) {
	for name, t := range map[string]time.Time{since: i.Begin, until: i.End} {
		if !t.IsZero() {
			query.Set(name, t.Format(time.RFC3339))
		}
	}
}

// Pager holds the links of one page of a list.
type Pager struct{ Next, First string }

// More returns the links to a list's next page and back to its first, each empty if
// there is none.
func (v *Visit) More(cursor string) Pager {
	var p Pager
	if cursor != "" {
		p.Next = v.pageLink(cursor)
	}
	if v.Request.URL.Query().Get("cursor") != "" {
		p.First = v.pageLink("")
	}
	return p
}

// pageLink returns the link to another page of the current list: the same query
// with another cursor.
func (v *Visit) pageLink(cursor string) string {
	q := v.Request.URL.Query()
	q.Del("cursor")
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	page := url.URL{Path: v.Request.URL.Path, RawPath: v.Request.URL.RawPath, RawQuery: q.Encode()}
	return v.d.Prefix + page.RequestURI()
}

const MaxListed = 10 // contacts and messages in each list on a channel's page

// ListQuery returns the query for the page of a list that the browser asks for.
func (v *Visit) ListQuery(size int) url.Values {
	query := url.Values{"limit": {strconv.Itoa(size)}}
	if cursor := v.Request.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}

// IntervalQuery returns the query for a page of a list that can be bounded in time.
func (v *Visit) IntervalQuery() (url.Values, Interval, error) {
	span, err := ReadInterval(v.Request.URL.Query())
	query := v.ListQuery(RowsPerPage)
	span.Put(query, "since", "until")
	return query, span, err
}

// Choose returns the value of a filter if it is one of those offered, and adds it to
// the query. Any other value means no filter.
func Choose[T ~string](v *Visit, query url.Values, name string, offered []T) string {
	value := v.Request.URL.Query().Get(name)
	if !slices.Contains(offered, T(value)) {
		return ""
	}
	query.Set(name, value)
	return value
}

// Export forwards a file of the API to the browser, for the spreadsheets of its country. A channel
// that does not exist is reported on a page.
func (v *Visit) Export(w http.ResponseWriter, path string, query url.Values) error {
	if name := query.Get("channel"); name != "" {
		if err := v.Get(Path("v1", "channels", name), nil, &api.ChannelView{}); err != nil {
			return err
		}
	}
	query.Set("spreadsheet", "comma")
	if v.DecimalComma(v.Request.Header.Get("Accept-Language")) {
		query.Set("spreadsheet", "semicolon")
	}
	return v.Forward(w, WithQuery(path, query))
}

// WithQuery adds a query to a path.
func WithQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// MaxEmptyPages is the maximum number of pages without a match that one request
// skips.
const MaxEmptyPages = 10

// SumDays is over how many days pages show what was spent and skipped; today is the last.
const SumDays = 30
