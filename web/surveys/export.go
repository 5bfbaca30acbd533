package surveys

import (
	"encoding/csv"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// resultColumns are the columns that the results of every survey have. Columns
// of attributes follow, in order, and last otherColumn with all other
// attributes.
func resultColumns() []string {
	return []string{
		"id", "phone", "status", "disposition", "arm", "questionnaire", "mode", "attempts_ivr", "attempts_sms", "attempts_mobileweb", "attempts_cati",
		"bucket", "counted", "opted_out", "added_at", "started_at", "finished_at", "updated_at",
		"messages_sent", "messages_received", "call_seconds",
	}
}

func logColumns() []string {
	return []string{"id", "at", "respondent", "event", "mode", "channel", "attempt", "outcome", "from", "to", "reason"}
}

const otherColumn = "other_attributes"

// exportSource is where the rows of a download come from.
type exportSource struct {
	respondents respondentStore
	log         logStore
	tokens      surveys.Tokens
	ending      func() bool // downloads end now
	logger      *slog.Logger
}

// exportRoutes serves the downloads of a survey.
type exportRoutes struct {
	finder
	transfers *auth.ConcurrencyLimit // limits imports and downloads
	from      exportSource
}

func (s exportRoutes) routes() []*route.Route {
	const help = "A connection that breaks off before the end means that the file is not whole. " +
		"A text that a spreadsheet would take for a formula has an apostrophe in front; numbers with a sign, like those of phones, have none."
	return []*route.Route{
		{
			Method: "GET", Path: Path + "/results.csv", ID: "get-results", Tag: "surveys",
			Summary: "Results, one row per respondent",
			Description: "Columns that every survey has, then the attributes in order (up to 100; one with the name of another column is attributes.name), " +
				"then other_attributes with the rest as JSON. " + help,
			Query:    respondentFilters(),
			Download: CSVType, Serve: s.download("results", (*csvDownload).results),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: Path + "/log.csv", ID: "get-survey-log", Tag: "surveys",
			Summary: "What happened in a survey, oldest first", Description: help,
			Query:    []httpjson.Parameter{{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Default: int64(0), Description: "only entries with a greater id"}},
			Download: CSVType, Serve: s.download("log", (*csvDownload).log),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

// csvDownload is one CSV file in progress.
type csvDownload struct {
	from exportSource
	c    *route.Call
	out  *csv.Writer
}

// download returns the handler of a file about a survey. The HTTP header is written with
// the first row: until then write may return an error, which is a normal problem response.
func (s exportRoutes) download(name string, write func(d *csvDownload, v surveys.Survey) error) func(*route.Call, http.ResponseWriter) error {
	return func(c *route.Call, w http.ResponseWriter) error {
		ctx, cancel := route.StepTimeout(c)
		defer cancel()
		v, err := s.survey(ctx, c.Request.PathValue("survey"))
		if err != nil {
			return err
		}
		release, err := acquireTransfer(c, s.transfers)
		if err != nil {
			return err
		}
		defer release()
		p := route.NewDeadlines(w)
		p.ClearRead()
		w.Header().Set("Content-Type", CSVType+"; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+v.Name+"-"+name+`.csv"`)
		if err := write(&csvDownload{s.from, c, csv.NewWriter(p)}, v); err != nil {
			w.Header().Del("Content-Disposition")
			return err
		}
		return nil
	}
}

func (d *csvDownload) row(cells []string) {
	for i := range cells {
		cells[i] = escapeFormula(cells[i])
	}
	_ = d.out.Write(cells) // the writer keeps its error
}

// abort aborts the connection: a truncated file must not look complete.
func (d *csvDownload) abort(err error) {
	d.from.logger.WarnContext(d.c, "download aborted", slog.Any("error", err))
	panic(http.ErrAbortHandler)
}

// plainNumber matches what a spreadsheet reads as a number, with or without a
// sign.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)

// formulaSigns are the characters that begin a formula, with all characters
// that normalize to them.
const formulaSigns = "=+-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−"

// escapeFormula prevents a spreadsheet from reading a text as a formula (CSV
// injection), by prefixing an apostrophe. It examines the first visible
// character in its normalized form: a full-width sign, or a sign after
// whitespace or zero-width characters, begins a formula too. Numbers, including
// phone numbers, stay unchanged.
func escapeFormula(cell string) string {
	invisible := func(r rune) bool {
		return r != '\t' && r != '\r' && (unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector))
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(cell, invisible))
	if !plainNumber.MatchString(cell) && strings.ContainsRune("\t\r"+formulaSigns, first) {
		return "'" + cell
	}
	return cell
}

// results writes one row per respondent. A first pass collects the attribute
// names; attributes beyond MaxAttributes, and new ones that appear meanwhile,
// go into one column as JSON.
func (d *csvDownload) results(v surveys.Survey) error {
	f, err := respondentFilter(d.c, v)
	if err != nil {
		return err
	}
	names, err := d.attributes(f)
	if err != nil {
		return err
	}
	d.row(resultHeader(names))
	how := progressOf(v)
	err = d.pages(f, func(r *surveys.Respondent) { d.row(resultRow(shownRespondent(d.c, d.from.tokens, how, r), r, names)) })
	if err != nil {
		d.abort(err)
	}
	return nil
}

// attributes returns the attribute names of the respondents, sorted: the first
// MaxAttributes that occur.
func (d *csvDownload) attributes(f surveys.Filter) ([]string, error) {
	known := map[string]bool{}
	err := d.pages(f, func(r *surveys.Respondent) {
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			if len(known) < respondents.MaxAttributes {
				known[name] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(known)), err
}

// pages reads all respondents of a filter in pages of bounded memory, and
// flushes the output after each page.
func (d *csvDownload) pages(f surveys.Filter, each func(*surveys.Respondent)) error {
	f.Limit = route.PageRows
	for {
		if err := d.checkContinue(); err != nil {
			return err
		}
		ctx, cancel := route.StepTimeout(d.c)
		rows, next, err := d.from.respondents.Respondents(ctx, f)
		cancel()
		if err != nil {
			return err
		}
		size := 1
		for i := range rows {
			for name, value := range rows[i].Attributes {
				size += len(name) + len(value)
			}
			each(&rows[i])
		}
		if d.out.Flush(); d.out.Error() != nil {
			return d.out.Error()
		}
		if next == 0 {
			return nil
		}
		f.After = next
		f.Limit = min(route.PageRows, max(route.PageRows/100, f.Limit*2*route.PageBytes/size))
	}
}

func (d *csvDownload) checkContinue() error {
	if d.from.ending() {
		return route.ErrDraining()
	}
	if !d.c.Principal.StillAdmitted() {
		return auth.ErrWrongToken()
	}
	return d.c.Err()
}

func resultHeader(names []string) []string {
	out := resultColumns()
	for _, name := range names {
		if slices.Contains(resultColumns(), name) || name == otherColumn {
			name = "attributes." + name
		}
		out = append(out, name)
	}
	return append(out, otherColumn)
}

func resultRow(v RespondentView, r *surveys.Respondent, names []string) []string {
	arm, bucket := "", ""
	if v.Arm != nil {
		arm = strconv.Itoa(*v.Arm)
	}
	if v.Bucket != nil {
		bucket = strconv.Itoa(*v.Bucket)
	}
	out := []string{
		v.ID, v.Phone, string(v.Status), string(v.Disposition), arm, v.Questionnaire, string(v.Mode),
		strconv.Itoa(v.Attempts.IVR), strconv.Itoa(v.Attempts.SMS), strconv.Itoa(v.Attempts.MobileWeb), strconv.Itoa(v.Attempts.CATI),
		bucket, strconv.FormatBool(v.Counted), strconv.FormatBool(v.OptedOut), moment(r.Added), moment(r.Started), moment(r.Finished), moment(v.UpdatedAt),
		strconv.Itoa(v.MessagesSent), strconv.Itoa(v.MessagesReceived), strconv.Itoa(v.CallSeconds),
	}
	for _, name := range names {
		out = append(out, v.Attributes[name])
	}
	return append(out, others(v.Attributes, names))
}

// others returns the attributes without a column, as JSON.
func others(attributes map[string]string, names []string) string {
	rest := maps.Clone(attributes)
	for _, name := range names {
		delete(rest, name)
	}
	if len(rest) == 0 {
		return ""
	}
	raw, _ := json.Marshal(rest) // encoding strings cannot fail
	return string(raw)
}

// moment formats an instant; zero is empty.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// log writes the events of a survey, oldest first.
func (d *csvDownload) log(v surveys.Survey) error {
	rows, err := d.entries(v.ID, int64(d.c.Query.Int("after")))
	if err != nil {
		return err
	}
	d.row(logColumns())
	for len(rows) > 0 {
		for i := range rows {
			d.row(logRow(&rows[i]))
		}
		if d.out.Flush(); d.out.Error() != nil {
			d.abort(d.out.Error())
		}
		if rows, err = d.entries(v.ID, rows[len(rows)-1].ID); err != nil {
			d.abort(err)
		}
	}
	d.out.Flush() // the header of a log without entries
	return nil
}

func (d *csvDownload) entries(survey, after int64) ([]surveys.LogEntry, error) {
	if err := d.checkContinue(); err != nil {
		return nil, err
	}
	ctx, cancel := route.StepTimeout(d.c)
	defer cancel()
	return d.from.log.Log(ctx, survey, after, route.PageRows)
}

func logRow(e *surveys.LogEntry) []string {
	attempt := ""
	if e.Attempt > 0 {
		attempt = strconv.Itoa(e.Attempt)
	}
	who := ""
	if e.Respondent != 0 {
		who = e.Respondent.String()
	}
	return []string{
		strconv.FormatInt(e.ID, 10), moment(e.At), who, e.Event, string(e.Mode), e.Channel, attempt,
		string(e.Outcome), string(e.From), string(e.To), e.Reason,
	}
}
