package surveys

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/route"
)

// resultColumns are the columns that the results of every survey have. Columns
// of attributes follow, in order, and last otherColumn with all other
// attributes.
func resultColumns() []string {
	own, _ := respondents.ResultColumns()
	return own
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
}

// exportRoutes serves the downloads of a survey.
type exportRoutes struct {
	finder
	downloads *route.Downloads
	from      exportSource
}

func (s exportRoutes) routes() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: Path + "/results.csv", ID: "get-results", Tag: "surveys",
			Summary: "Results, one row per respondent",
			Description: "Columns that every survey has, then one for each question that Weir asks, in order (one with the name of another column is questions.name; empty if there is no answer), then the attributes in order (up to 100; one with the name of another column is attributes.name), " +
				"then other_attributes with the rest as JSON. " + route.CSVHelp,
			Query:    append(respondentFilters(), valuesParameter(), formatParameter(), route.SpreadsheetParameter()),
			Download: route.CSVType, Serve: s.download("results", (*csvDownload).results),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: Path + "/log.csv", ID: "get-survey-log", Tag: "surveys",
			Summary:     "What happened in a survey, oldest first",
			Description: "With format=ncd, the interactions of respondents, by respondent. " + route.CSVHelp,
			Query:       []httpjson.Parameter{{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Default: int64(0), Description: "only entries with a greater id"}, formatParameter(), route.SpreadsheetParameter()},
			Download:    route.CSVType, Serve: s.download("log", (*csvDownload).log),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		s.dispositionsRoute(),
		s.incentivesRoute(),
		s.codebookRoute(),
		s.workbookRoute(),
	}
}

// csvDownload is one CSV file in progress.
type csvDownload struct {
	*route.CSV
	from exportSource
}

// download returns the handler of a file about a survey.
func (s exportRoutes) download(name string, write func(d *csvDownload, v surveys.Survey) error) func(*route.Call, http.ResponseWriter) error {
	return func(c *route.Call, w http.ResponseWriter) error {
		ctx, cancel := route.StepTimeout(c)
		defer cancel()
		v, err := s.survey(ctx, c.Request.PathValue("survey"))
		if err != nil {
			return err
		}
		return s.downloads.Write(c, w, v.Name+"-"+name, func(f *route.CSV) error { return write(&csvDownload{f, s.from}, v) })
	}
}

// results writes one row per respondent. A first pass collects the attribute
// names; attributes beyond MaxAttributes, and new ones that appear meanwhile,
// go into one column as JSON.
func (d *csvDownload) results(v surveys.Survey) error {
	f, err := respondentFilter(d.Call, v)
	if err != nil {
		return err
	}
	names, err := d.attributes(f)
	if err != nil {
		return err
	}
	how, asked := progressOf(v), asked(v)
	labels := d.Query.Text("values") == "labels"
	layout := ownResults()
	if d.ncd() {
		layout = ncdResults(v)
	}
	d.Row(resultHeader(layout.columns, asked, names))
	err = d.pages(f, len(asked) > 0, func(r *surveys.Respondent) {
		answers := shownAnswers(d.Call, asked, r)
		if labels && len(asked) > 0 {
			label(v, asked, answers)
		}
		shown := shownRespondent(d.Call, d.from.tokens, how, r)
		d.Row(resultRow(layout.row(shown, r, answers), shown.Attributes, answers, names))
	})
	if err != nil {
		d.Abort(err)
	}
	return nil
}

// attributes returns the attribute names of the respondents, sorted: the first
// MaxAttributes that occur.
func (d *csvDownload) attributes(f surveys.Filter) ([]string, error) {
	known := map[string]bool{}
	err := d.pages(f, false, func(r *surveys.Respondent) {
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			if len(known) < respondents.MaxAttributes {
				known[name] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(known)), err
}

// pages reads all respondents of a filter in pages of bounded memory, and
// flushes the output after each page. With answers it reads those, too.
func (d *csvDownload) pages(f surveys.Filter, answers bool, each func(*surveys.Respondent)) error {
	for more := true; more; {
		err := d.CheckContinue()
		if err == nil {
			more, err = d.page(&f, answers, each)
		}
		if err == nil {
			err = d.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page reads one page of respondents of a filter, and moves the filter to the next one. A page is shorter
// where the respondents before it were large.
func (d *csvDownload) page(f *surveys.Filter, answers bool, each func(*surveys.Respondent)) (more bool, err error) {
	f.Limit = cmp.Or(f.Limit, route.PageRows)
	ctx, cancel := route.StepTimeout(d)
	defer cancel()
	rows, next, err := d.from.respondents.Respondents(ctx, *f)
	if err == nil && answers {
		err = d.readAnswers(ctx, f.Survey, rows)
	}
	if err != nil {
		return false, err
	}
	size := 1
	for i := range rows {
		for name, value := range rows[i].Attributes {
			size += len(name) + len(value)
		}
		for name, a := range rows[i].Answers {
			size += len(name) + len(a.Value) + len(a.Raw)
		}
		each(&rows[i])
	}
	f.After = next
	f.Limit = min(route.PageRows, max(route.PageRows/100, f.Limit*2*route.PageBytes/size))
	return next != 0, nil
}

// resultLayout is what the results of a survey have before the questions.
type resultLayout struct {
	columns []string
	row     func(v api.RespondentView, r *surveys.Respondent, answers []api.AnswerView) []string
}

func ownResults() resultLayout { return resultLayout{resultColumns(), ownResultRow} }

func resultHeader(own []string, asked []askedQuestion, names []string) []string {
	out, taken := slices.Clone(own), map[string]bool{otherColumn: true}
	for _, name := range out {
		taken[name] = true
	}
	add := func(name, prefix string) {
		if taken[name] {
			name = prefix + name
		}
		out, taken[name] = append(out, name), true
	}
	for _, q := range asked {
		add(q.name, "questions.")
	}
	for _, name := range names {
		add(name, "attributes.")
	}
	return append(out, otherColumn)
}

func ownResultRow(v api.RespondentView, r *surveys.Respondent, _ []api.AnswerView) []string {
	arm, bucket := "", ""
	if v.Arm != nil {
		arm = strconv.Itoa(*v.Arm)
	}
	if v.Bucket != nil {
		bucket = strconv.Itoa(*v.Bucket)
	}
	return []string{
		v.ID, v.Phone, v.Status, v.Disposition, arm, v.Questionnaire, string(v.Mode),
		strconv.Itoa(v.Attempts.IVR), strconv.Itoa(v.Attempts.SMS), strconv.Itoa(v.Attempts.MobileWeb), strconv.Itoa(v.Attempts.CATI),
		bucket, strconv.FormatBool(v.Counted), strconv.FormatBool(v.OptedOut), moment(r.Added), moment(r.Started), moment(r.Finished), moment(v.UpdatedAt),
		strconv.Itoa(v.MessagesSent), strconv.Itoa(v.MessagesReceived), strconv.Itoa(v.CallSeconds),
	}
}

func resultRow(out []string, attributes map[string]string, answers []api.AnswerView, names []string) []string {
	for _, a := range answers {
		out = append(out, a.Value)
	}
	for _, name := range names {
		out = append(out, attributes[name])
	}
	return append(out, others(attributes, names))
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
	if d.ncd() {
		return d.interactions(v)
	}
	rows, err := d.entries(v.ID, int64(d.Query.Int("after")))
	if err != nil {
		return err
	}
	d.Row(logColumns())
	for len(rows) > 0 {
		for i := range rows {
			d.Row(logRow(shownEntry(d.Call, rows[i])))
		}
		if err := d.Flush(); err != nil {
			d.Abort(err)
		}
		if rows, err = d.entries(v.ID, rows[len(rows)-1].ID); err != nil {
			d.Abort(err)
		}
	}
	return d.Flush() // the header of a log without entries
}

func (d *csvDownload) entries(survey, after int64) ([]surveys.LogEntry, error) {
	if err := d.CheckContinue(); err != nil {
		return nil, err
	}
	ctx, cancel := route.StepTimeout(d)
	defer cancel()
	return d.from.log.Log(ctx, survey, after, route.PageRows)
}

func logRow(e surveys.LogEntry) []string {
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
