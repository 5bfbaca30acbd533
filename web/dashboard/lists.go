package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir"
	webapi "weir/web/api"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

const rowsPerPage = 50

// interval bounds a list in time, as entered in its form.
type interval struct {
	From, Until  string // values of datetime-local inputs; empty: open
	since, until time.Time
}

// Given reports whether the list is bounded.
func (i interval) Given() bool { return i.From != "" || i.Until != "" }

// readInterval reads the inputs from and until, which are in UTC.
func readInterval(asked url.Values) (i interval, err error) {
	i.From, i.Until = asked.Get("from"), asked.Get("until")
	if i.since, err = readMoment("from", i.From); err == nil {
		i.until, err = readMoment("until", i.Until)
	}
	return i, err
}

// momentRule says what readMoment takes.
const momentRule locale.Message = "must be a date and a time in UTC, such as 2026-05-04T09:00"

// readMoment parses what browsers send from such an input, and what users type in
// browsers without one.
func readMoment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := form.ReadMoment(text); ok {
		return t, nil
	}
	return time.Time{}, &problem{
		Status: http.StatusUnprocessableEntity, words: "the period has an invalid time",
		Errors: []weir.FieldError{{Pointer: "/" + name, Code: "format", Detail: string(momentRule)}},
	}
}

// put adds the bounds to a query of the API.
func (i interval) put(query url.Values, since, until string) {
	for name, t := range map[string]time.Time{since: i.since, until: i.until} {
		if !t.IsZero() {
			query.Set(name, t.Format(time.RFC3339))
		}
	}
}

// pager holds the links of one page of a list.
type pager struct{ Next, First string }

// more returns the links to a list's next page and back to its first, each empty if
// there is none.
func (v *visit) more(cursor string) pager {
	var p pager
	if cursor != "" {
		p.Next = v.pageLink(cursor)
	}
	if v.r.URL.Query().Get("cursor") != "" {
		p.First = v.pageLink("")
	}
	return p
}

// pageLink returns the link to another page of the current list: the same query
// with another cursor.
func (v *visit) pageLink(cursor string) string {
	q := v.r.URL.Query()
	q.Del("cursor")
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	page := url.URL{Path: v.r.URL.Path, RawPath: v.r.URL.RawPath, RawQuery: q.Encode()}
	return v.d.Prefix + page.RequestURI()
}

func contactLink(id string) string { return "/contacts/" + url.PathEscape(id) }

func contactCrumbs(l *locale.Locale, id string, more ...crumb) []crumb {
	return append([]crumb{{Text: l.T("Contacts"), Link: "/contacts"}, {Text: id, Link: contactLink(id)}}, more...)
}

const maxListed = 10 // contacts and messages in each list on a channel's page

// listQuery returns the query for the page of a list that the browser asks for.
func (v *visit) listQuery(size int) url.Values {
	query := url.Values{"limit": {strconv.Itoa(size)}}
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}

// intervalQuery returns the query for a page of a list that can be bounded in time.
func (v *visit) intervalQuery() (url.Values, interval, error) {
	span, err := readInterval(v.r.URL.Query())
	query := v.listQuery(rowsPerPage)
	span.put(query, "since", "until")
	return query, span, err
}

// choose returns the value of a filter if it is one of those offered, and adds it to
// the query. Any other value means no filter.
func choose[T ~string](v *visit, query url.Values, name string, offered []T) string {
	value := v.r.URL.Query().Get(name)
	if !slices.Contains(offered, T(value)) {
		return ""
	}
	query.Set(name, value)
	return value
}

// export forwards a file of the API to the browser, for the spreadsheets of its country. A channel
// that does not exist is reported on a page.
func (v *visit) export(w http.ResponseWriter, path string, query url.Values) error {
	if name := query.Get("channel"); name != "" {
		if err := v.get(apiPath("v1", "channels", name), nil, &webapi.ChannelView{}); err != nil {
			return err
		}
	}
	query.Set("spreadsheet", "comma")
	if v.DecimalComma(v.r.Header.Get("Accept-Language")) {
		query.Set("spreadsheet", "semicolon")
	}
	return v.forward(w, withQuery(path, query))
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
