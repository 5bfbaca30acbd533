package surveys

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/web/dashboard/channels"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// Rows of the form that are empty when it is opened.
const (
	spareWindows = 2
	spareQuotas  = 2
	spareTexts   = 1
	maxFormRows  = 60 // of each kind
)

// messageSeparator is a line between the messages of one attempt.
const messageSeparator = "---"

// surveyForm is the form that sets the definition of a survey, as it was filled in. It lays
// what it knows over a definition, so that fields that it does not know are kept.
type surveyForm struct {
	*locale.Locale
	New      bool // with a name to fill in
	Launched bool // only some fields can change
	Name     string
	Version  int64 // that the form was made of

	Title, TimeZone, BlockedDays, StartDate, EndDate string
	Weekdays                                         []weekday
	Windows                                          []windowRow
	Painted                                          bool // the schedule is the painted week, not the rows of days and windows
	Week                                             paintedWeek
	Modes                                            []*modeForm
	Fallback, Cutoff, PerMinute, Region, Purpose     string
	Budget, Currency                                 string
	CountPartial                                     bool
	Quotas                                           []quotaRow
	QuotaMessage, AppURL, AppSecret                  string
	HasSecret                                        bool
	AnswerFirst                                      bool // the first message is the answer
	Thanks                                           string
	Asks                                             bool // a new one asks questions, which are written on their page

	ManyArms   bool     // the arms and their texts are too many for the form, which keeps them
	RichQuotas bool     // the quotas are, too
	Kept       []string // fields of the definition that the form keeps and does not show
	Channels   []page.Option
	NoChannels string            // why there are none to choose from; empty: there are some
	types      map[string]string // of those whose type can be read
	Purposes   []page.Option
	Mistakes   map[string]string
	Problem    *page.Problem

	windowRows, quotaRows []int
}

// weekday is a checkbox.
type weekday struct {
	Name    string
	Text    locale.Message
	Checked bool
}

// windowRow is a row for a window.
type windowRow struct {
	Form     *surveyForm
	Row      int
	From, To string
}

// Field returns the name of a field of the row.
func (r windowRow) Field(name string) string { return fmt.Sprintf("window_%d_%s", r.Row, name) }

// quotaRow is a row for a quota of one attribute.
type quotaRow struct {
	Form                     *surveyForm
	Row                      int
	Attribute, Values, Quota string
}

// Field returns the name of a field of the row.
func (r quotaRow) Field(name string) string { return fmt.Sprintf("quota_%d_%s", r.Row, name) }

// modeForm is the part of the form about a mode.
type modeForm struct {
	Form                    *surveyForm
	Mode                    surveys.Mode
	Channel, Retries, Order string
	URL, Flow               string // of the call
	Texts                   []textRow
	Kept                    bool // the contents are too many for the form, which keeps them

	textRows []int
}

// textRow is a row for the messages of an attempt.
type textRow struct {
	Mode *modeForm
	Row  int
	Text string
}

// Field returns the name of the row's field.
func (r textRow) Field() string { return r.Mode.Field(fmt.Sprintf("text_%d", r.Row)) }

// Field returns the name of a field of the mode.
func (m *modeForm) Field(name string) string { return string(m.Mode) + "_" + name }

// Name returns the name of the mode in words.
func (m *modeForm) Name() locale.Message {
	switch m.Mode {
	case surveys.IVR:
		return "Calls (ivr)"
	case surveys.SMS:
		return "Text messages (sms)"
	case surveys.MobileWeb:
		return "Text messages with a link (mobileweb)"
	default:
		return "Interviews by people (cati)"
	}
}

// Calls reports whether the contents of the mode have a call.
func (m *modeForm) Calls() bool { return m.Mode == surveys.IVR || m.Mode == surveys.CATI }

// HasTexts reports whether the contents of the mode have texts.
func (m *modeForm) HasTexts() bool { return m.Mode != surveys.IVR }

// Used reports whether anything of the mode is filled in.
func (m *modeForm) Used() bool {
	return m.Channel != "" || m.Retries != "" || m.URL != "" || m.Flow != "" || m.Kept || slices.ContainsFunc(m.Texts, func(r textRow) bool { return r.Text != "" }) || m.Form.wrong(string(m.Mode)+"_")
}

// wrong reports whether there is a mistake in a field whose name begins with one of the prefixes.
func (f *surveyForm) wrong(prefixes ...string) bool {
	for name := range f.Mistakes {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return true
		}
	}
	return false
}

// HasTarget reports whether anything of the target is filled in: optional parts of the form are
// folded.
func (f *surveyForm) HasTarget() bool {
	return f.Cutoff != "" || f.CountPartial || f.QuotaMessage != "" || f.Budget != "" || f.Currency != "" || f.RichQuotas ||
		slices.ContainsFunc(f.Quotas, func(q quotaRow) bool { return q.Attribute != "" || q.Values != "" || q.Quota != "" }) || f.wrong("cutoff", "count_partial", "quota_", "budget_")
}

// HasRules reports whether anything of the rules is filled in.
func (f *surveyForm) HasRules() bool {
	return f.Purpose != "" && f.Purpose != people.DefaultPurpose || f.PerMinute != "" || f.Region != "" || f.wrong("purpose", "limit_per_minute", "region")
}

// HasApplication reports whether anything of the application is filled in.
func (f *surveyForm) HasApplication() bool { return f.AppURL != "" || f.HasSecret || f.wrong("app_") }

// Orders returns the places that a mode can have.
func (m *modeForm) Orders() []page.Option {
	l := m.Form.Locale
	return []page.Option{{Value: "", Text: l.T("in this order")}, {Value: "1", Text: l.T("first")}, {Value: "2", Text: l.T("second")}, {Value: "3", Text: l.T("third")}, {Value: "4", Text: l.T("fourth")}}
}

// Back returns the page to return to.
func (f *surveyForm) Back() string {
	if f.New {
		return "/surveys"
	}
	return Link(f.Name)
}

func (f *surveyForm) content() *page.Content {
	if f.New {
		return &page.Content{Title: f.T("New survey"), Crumbs: []page.Crumb{{Text: f.T("Surveys"), Link: "/surveys"}, {Text: f.T("New")}}, Data: f}
	}
	return &page.Content{Title: f.T("Edit survey %s", f.Name), Crumbs: surveyCrumbs(f.Locale, f.Name, page.Crumb{Text: f.T("Edit")}), Data: f}
}

// WeekRows returns the painted week.
func (f *surveyForm) WeekRows() []weekRow { return f.Week.rows(f.Locale) }

// WeekHours returns the heads of the columns of the painted week.
func (f *surveyForm) WeekHours() []string { return display.Heat{}.Hours() }

func weekdays(checked []string) (list []weekday) {
	for _, name := range []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} {
		list = append(list, weekday{name, map[string]locale.Message{"mon": "Monday", "tue": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday"}[name], slices.Contains(checked, name)})
	}
	return list
}

func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// surveyFormOf returns the form of a survey with its definition filled in.
func surveyFormOf(l *locale.Locale, b *api.SurveyBody) *surveyForm {
	f := &surveyForm{
		Locale: l, Title: b.Title, TimeZone: b.Schedule.TimeZone, Weekdays: weekdays(b.Schedule.Weekdays), BlockedDays: strings.Join(b.Schedule.BlockedDays, "\n"),
		StartDate: b.Schedule.StartDate, EndDate: b.Schedule.EndDate, Fallback: b.FallbackDelay, Cutoff: numberText(b.Cutoff), CountPartial: b.CountPartial,
		PerMinute: numberText(b.LimitPerMinute), Region: b.Region, Purpose: cmp.Or(b.Purpose, people.DefaultPurpose), QuotaMessage: b.QuotaMessage, Mistakes: map[string]string{},
	}
	if b.Application != nil {
		f.AppURL = b.Application.URL
	}
	if b.Answer != nil {
		f.AnswerFirst, f.Thanks = true, b.Answer.Thanks
	}
	if b.Budget != nil {
		f.Budget, f.Currency = b.Budget.Money, b.Budget.Currency
	}
	for _, w := range b.Schedule.Windows {
		f.Windows = append(f.Windows, windowRow{f, len(f.Windows) + 1, w.From, w.To})
	}
	f.Week, f.Painted = weekOf(&b.Schedule)
	f.limits(b)
	for _, q := range b.Quotas {
		if f.RichQuotas {
			break
		}
		for name, match := range q.Where {
			f.Quotas = append(f.Quotas, quotaRow{f, len(f.Quotas) + 1, name, strings.Join(match.In, ", "), strconv.Itoa(q.Quota)})
		}
	}
	f.fillModes(b)
	f.addRows()
	return f
}

// limits finds out what of a definition the form cannot show.
func (f *surveyForm) limits(b *api.SurveyBody) {
	many := len(b.Arms) > 1 || len(b.Questionnaires) > 1
	f.ManyArms = many || b.Questions != nil // whose texts have a page of their own
	f.RichQuotas = len(b.Quotas) > maxFormRows-spareQuotas || slices.ContainsFunc(b.Quotas, func(q surveys.Bucket) bool { return !plainQuota(q) })
	f.Kept = nil
	for name, present := range map[string]bool{
		"stop_words": b.StopWords != nil, "labels": len(b.Labels) > 0, "breakdowns": len(b.Breakdowns) > 0, "weight": b.Weight != 0, "batch_size": b.BatchSize != 0, "initial_success_rate": b.InitialSuccessRate != nil,
		"arms": many, "questionnaires": many, "questions": b.Questions != nil, "quotas": f.RichQuotas,
	} {
		if present {
			f.Kept = append(f.Kept, name)
		}
	}
	slices.Sort(f.Kept)
}

// plainQuota reports whether a quota is about the values of one attribute, as a row can show.
func plainQuota(q surveys.Bucket) bool {
	if len(q.Where) != 1 {
		return false
	}
	for _, match := range q.Where {
		return match.From == nil && match.To == nil && len(match.In) > 0 && !slices.ContainsFunc(match.In, func(s string) bool { return strings.Contains(s, ",") || s != strings.TrimSpace(s) })
	}
	return false
}

// contents returns the contents of a mode in the only questionnaire.
func contentsOf(b *api.SurveyBody, mode surveys.Mode) []surveys.Content {
	for _, modes := range b.Questionnaires {
		return modes[mode]
	}
	return nil
}

func (f *surveyForm) fillModes(b *api.SurveyBody) {
	for _, mode := range surveys.Modes() {
		m := &modeForm{Form: f, Mode: mode, Channel: b.Modes[mode].Channel, Retries: b.Modes[mode].Retries}
		f.Modes = append(f.Modes, m)
		if f.ManyArms {
			continue
		}
		if len(b.Arms) == 1 && len(b.Arms[0].Modes) > 1 {
			if i := slices.Index(b.Arms[0].Modes, mode); i >= 0 {
				m.Order = strconv.Itoa(i + 1)
			}
		}
		contents := contentsOf(b, mode)
		if m.Kept = !plainContents(mode, contents); m.Kept {
			f.Kept = append(f.Kept, f.T("the contents of %s", mode))
			continue
		}
		for _, c := range contents {
			if c.Call != nil {
				m.URL = c.Call.CallbackURL
				if c.Call.CallFlowID != 0 {
					m.Flow = strconv.FormatInt(c.Call.CallFlowID, 10)
				}
			}
			if m.HasTexts() {
				m.Texts = append(m.Texts, textRow{m, len(m.Texts) + 1, strings.Join(c.Messages, "\n"+messageSeparator+"\n")})
			}
		}
	}
}

// plainContents reports whether the form can show the contents of a mode.
func plainContents(mode surveys.Mode, list []surveys.Content) bool {
	m := &modeForm{Mode: mode}
	if m.Calls() && len(list) > 1 || len(list) > maxFormRows-spareTexts {
		return false
	}
	return !slices.ContainsFunc(list, func(c surveys.Content) bool {
		return c.Call != nil && c.Call.TwiML != "" || slices.ContainsFunc(c.Messages, func(s string) bool {
			return strings.Contains("\n"+s+"\n", "\n"+messageSeparator+"\n") || strings.Contains(s, "\r") || s != strings.TrimSpace(s)
		})
	})
}

// addRows adds empty rows to fill in.
func (f *surveyForm) addRows() {
	for range spareWindows {
		f.Windows = append(f.Windows, windowRow{Form: f, Row: len(f.Windows) + 1})
	}
	for range spareQuotas {
		f.Quotas = append(f.Quotas, quotaRow{Form: f, Row: len(f.Quotas) + 1})
	}
	for _, m := range f.Modes {
		spare := spareTexts
		if m.Calls() {
			spare = max(0, 1-len(m.Texts)) // one attempt
		}
		for range spare {
			m.Texts = append(m.Texts, textRow{Mode: m, Row: len(m.Texts) + 1})
		}
	}
}

// read fills the form from what was posted. What it cannot show stays as in the definition.
func (f *surveyForm) read(form url.Values) {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	lines := func(name string) string { return strings.ReplaceAll(form.Get(name), "\r\n", "\n") }
	f.Title, f.TimeZone, f.BlockedDays, f.StartDate, f.EndDate = field("title"), field("time_zone"), lines("blocked_days"), field("start_date"), field("end_date")
	f.Weekdays, f.Week, f.Painted = weekdays(form["weekdays"]), readWeek(form), form.Get("schedule_as") == weekField
	f.Fallback, f.Cutoff, f.PerMinute, f.Purpose, f.QuotaMessage = field("fallback_delay"), field("cutoff"), field("limit_per_minute"), field("purpose"), strings.TrimSpace(lines("quota_message"))
	f.CountPartial, f.AppURL, f.AppSecret = field("count_partial") != "", field("app_url"), form.Get("app_secret")
	f.Asks = f.New && field("asks") != ""
	f.AnswerFirst, f.Thanks = field("answer_first") != "", strings.TrimSpace(lines("answer_thanks"))
	f.Budget, f.Currency = field("budget_money"), field("budget_currency")
	f.Windows, f.Quotas = nil, nil
	for row := 1; row <= maxFormRows; row++ {
		if w := (windowRow{Form: f, Row: row}); form.Has(w.Field("from")) {
			w.From, w.To = field(w.Field("from")), field(w.Field("to"))
			f.Windows = append(f.Windows, w)
		}
		if q := (quotaRow{Form: f, Row: row}); form.Has(q.Field("quota")) {
			q.Attribute, q.Values, q.Quota = field(q.Field("attribute")), field(q.Field("values")), field(q.Field("quota"))
			f.Quotas = append(f.Quotas, q)
		}
	}
	if !f.Launched {
		f.Region = field("region")
	}
	for _, m := range f.Modes {
		m.Retries = field(m.Field("retries"))
		if !f.Launched {
			m.read(form)
		}
	}
}

func (m *modeForm) read(form url.Values) {
	field := func(name string) string { return strings.TrimSpace(form.Get(m.Field(name))) }
	m.Channel, m.Order, m.URL, m.Flow, m.Texts = field("channel"), field("order"), field("url"), field("flow"), nil
	for row := 1; row <= maxFormRows; row++ {
		if r := (textRow{Mode: m, Row: row}); form.Has(r.Field()) {
			r.Text = strings.TrimSpace(strings.ReplaceAll(form.Get(r.Field()), "\r\n", "\n"))
			m.Texts = append(m.Texts, r)
		}
	}
}

// apply merges the fields of the form into a definition, and returns it as a document. A number
// that is none stays a text, so that the API reports it.
func (f *surveyForm) apply(b api.SurveyBody) (map[string]any, error) {
	b.Title, b.FallbackDelay, b.CountPartial, b.QuotaMessage = f.Title, f.Fallback, f.CountPartial, f.QuotaMessage
	if b.Purpose != "" || f.Purpose != people.DefaultPurpose {
		b.Purpose = f.Purpose
	}
	b.Schedule = f.schedule(&b.Schedule)
	b.Region = f.Region
	b.Modes = f.layModes(b.Modes)
	if !f.Launched && !f.ManyArms {
		f.layTexts(&b)
	}
	b.Answer = f.answer(b.Answer)
	if b.Application, b.Budget = f.application(), nil; f.Budget != "" || f.Currency != "" {
		b.Budget = &api.Budget{Money: f.Budget, Currency: f.Currency}
	}
	document, err := documentOf(b)
	if err != nil {
		return nil, err
	}
	f.layNumber(document, "cutoff", f.Cutoff)
	f.layNumber(document, "limit_per_minute", f.PerMinute)
	if !f.RichQuotas {
		f.layQuotas(document)
	}
	if f.Asks {
		document["questions"] = starter(f.Locale)
		for _, name := range []string{"questionnaires", "answer", "application", "quota_message"} {
			delete(document, name)
		}
	}
	return document, nil
}

// answer returns how Weir evaluates the answers. The name of the attribute stays.
func (f *surveyForm) answer(base *surveys.Answer) *surveys.Answer {
	byText := func(m *modeForm) bool { return (m.Mode == surveys.SMS || m.Mode == surveys.MobileWeb) && m.used() }
	if !f.AnswerFirst || !slices.ContainsFunc(f.Modes, byText) {
		return nil // without a mode by text there are no answers by text
	}
	answer := surveys.Answer{Thanks: f.Thanks}
	if base != nil {
		answer.Attribute = base.Attribute
	}
	return &answer
}

func (f *surveyForm) application() *api.ApplicationBody {
	if f.AppURL == "" && f.AppSecret == "" {
		return nil
	}
	return &api.ApplicationBody{URL: f.AppURL, Secret: f.AppSecret}
}

// numberOf returns the number that a text is, or the text.
func numberOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

func (f *surveyForm) layNumber(document map[string]any, name, text string) {
	delete(document, name)
	if text != "" {
		document[name] = numberOf(text)
	}
}

// schedule returns the schedule of the form. Days that the definition has keep their order.
func (f *surveyForm) schedule(base *calendar.ScheduleSpec) calendar.ScheduleSpec {
	s := calendar.ScheduleSpec{TimeZone: f.TimeZone, StartDate: f.StartDate, EndDate: f.EndDate, Weekdays: []string{}, Windows: []calendar.WindowSpec{}, BlockedDays: strings.Fields(f.BlockedDays)}
	f.windowRows = nil
	if f.Painted {
		var wrong string
		if s.Weekdays, s.Windows, wrong = f.Week.schedule(f.Locale, base); wrong != "" {
			f.Mistakes[weekField] = wrong // without windows, the API refuses it and finds the other mistakes
		}
		return s
	}
	for _, d := range f.Weekdays {
		if d.Checked {
			s.Weekdays = append(s.Weekdays, d.Name)
		}
	}
	slices.SortStableFunc(s.Weekdays, func(a, b string) int {
		return cmp.Compare(uint(slices.Index(base.Weekdays, a)), uint(slices.Index(base.Weekdays, b))) // new ones are last
	})
	for _, w := range f.Windows {
		if w.From == "" && w.To == "" {
			continue
		}
		to := w.To
		if to == "00:00" { // inputs for times have no 24:00
			to = "24:00"
		}
		s.Windows, f.windowRows = append(s.Windows, calendar.WindowSpec{From: w.From, To: to}), append(f.windowRows, w.Row)
	}
	return s
}

func (f *surveyForm) layModes(base map[surveys.Mode]surveys.ModeSpec) map[surveys.Mode]surveys.ModeSpec {
	out := maps.Clone(base)
	if out == nil {
		out = map[surveys.Mode]surveys.ModeSpec{}
	}
	for _, m := range f.Modes {
		if _, had := base[m.Mode]; m.used() || had && f.ManyArms {
			out[m.Mode] = surveys.ModeSpec{Channel: m.Channel, Retries: m.Retries}
		} else {
			delete(out, m.Mode)
		}
	}
	return out
}

// used reports whether the survey uses the mode.
func (m *modeForm) used() bool { return m.Channel != "" || m.Retries != "" || len(m.contents()) > 0 }

// contents returns the contents of the rows that are filled in.
func (m *modeForm) contents() (list []surveys.Content) {
	m.textRows = nil
	var call *weir.Call
	if m.URL != "" || m.Flow != "" {
		call = &weir.Call{CallbackURL: m.URL}
		call.CallFlowID, _ = strconv.ParseInt(m.Flow, 10, 64)
	}
	if m.Calls() {
		var c surveys.Content
		if c.Call = call; len(m.Texts) > 0 && m.Texts[0].Text != "" {
			c.Messages = messagesOf(m.Texts[0].Text)
		}
		if c.Call == nil && c.Messages == nil {
			return nil
		}
		m.textRows = []int{1}
		return []surveys.Content{c}
	}
	for _, r := range m.Texts {
		if r.Text != "" {
			list, m.textRows = append(list, surveys.Content{Messages: messagesOf(r.Text)}), append(m.textRows, r.Row)
		}
	}
	return list
}

func messagesOf(text string) (list []string) {
	for part := range strings.SplitSeq("\n"+text+"\n", "\n"+messageSeparator+"\n") {
		list = append(list, strings.Trim(part, "\n"))
	}
	return list
}

// layTexts lays the modes in their order and their contents over the only arm and the only
// questionnaire.
func (f *surveyForm) layTexts(b *api.SurveyBody) {
	name := "main"
	for have := range b.Questionnaires {
		name = have
	}
	contents := maps.Clone(b.Questionnaires[name])
	if contents == nil {
		contents = map[surveys.Mode][]surveys.Content{}
	}
	var used []*modeForm
	for _, m := range f.Modes {
		if !m.Kept {
			delete(contents, m.Mode)
			if list := m.contents(); len(list) > 0 {
				contents[m.Mode] = list
			}
		}
		if m.used() || m.Kept {
			used = append(used, m)
		}
	}
	slices.SortStableFunc(used, func(a, b *modeForm) int { return cmp.Compare(cmp.Or(a.Order, "9"), cmp.Or(b.Order, "9")) })
	arm := surveys.Arm{Modes: []surveys.Mode{}}
	if len(b.Arms) == 1 {
		arm = b.Arms[0]
		arm.Modes = []surveys.Mode{}
	}
	for _, m := range used {
		arm.Modes = append(arm.Modes, m.Mode)
	}
	b.Arms = []surveys.Arm{arm}
	b.Questionnaires = map[string]map[surveys.Mode][]surveys.Content{name: contents}
}

func (f *surveyForm) layQuotas(document map[string]any) {
	delete(document, "quotas")
	f.quotaRows = nil
	var list []any
	for _, q := range f.Quotas {
		if q.Attribute == "" && q.Values == "" && q.Quota == "" {
			continue
		}
		values := []string{}
		for value := range strings.SplitSeq(q.Values, ",") {
			if value = strings.TrimSpace(value); value != "" {
				values = append(values, value)
			}
		}
		list = append(list, map[string]any{"where": map[string]any{q.Attribute: map[string]any{"in": values}}, "quota": numberOf(q.Quota)})
		f.quotaRows = append(f.quotaRows, q.Row)
	}
	if len(list) > 0 {
		document["quotas"] = list
	}
}

// channelUsers returns the scopes whose limits name the channels that a survey may use.
func channelUsers() []operators.Scope {
	return []operators.Scope{operators.ScopeContactsWrite, operators.ScopeChannelsAdmin, operators.ScopeSurveysAdmin}
}

// addChoices reads the channels and purposes to choose from. Those that the survey has are
// always among them.
func (f *surveyForm) addChoices(c *page.Caller) error {
	list, _, err := choices.Channels(c)
	if err != nil {
		return err
	}
	f.Channels, f.types = []page.Option{{Value: "", Text: f.T("not used")}}, map[string]string{}
	var names []string
	for i := range list {
		if name := list[i].Channel; c.MayChannel(name, channelUsers()...) {
			f.Channels, names = append(f.Channels, page.Option{Value: name, Text: name + " (" + list[i].Type + ")"}), append(names, name)
			f.types[name] = list[i].Type
		}
	}
	for _, name := range choices.Unreadable(c, names, channelUsers()...) {
		f.Channels = append(f.Channels, page.Option{Value: name, Text: name})
	}
	has := func(options []page.Option, value string) bool {
		return slices.ContainsFunc(options, func(o page.Option) bool { return o.Value == value })
	}
	for _, m := range f.Modes {
		if !has(f.Channels, m.Channel) {
			f.Channels = append(f.Channels, page.Option{Value: m.Channel, Text: m.Channel})
		}
	}
	if len(f.Channels) == 1 { // not used
		f.NoChannels = choices.NoChannels(c, channelUsers()...)
	}
	all, err := choices.Purposes(c)
	if err != nil {
		return err
	}
	f.Purposes = []page.Option{{Value: people.DefaultPurpose, Text: people.DefaultPurpose}}
	for i := range all {
		if !has(f.Purposes, all[i].Name) {
			f.Purposes = append(f.Purposes, page.Option{Value: all[i].Name, Text: all[i].Name})
		}
	}
	if !has(f.Purposes, f.Purpose) {
		f.Purposes = append(f.Purposes, page.Option{Value: f.Purpose, Text: f.Purpose})
	}
	return nil
}

// spot returns the field that a mistake of the API is about.
func (f *surveyForm) spot(e *weir.FieldError) form.Spot {
	field, where := f.fieldOf(strings.Split(strings.TrimPrefix(e.Pointer, "/"), "/"))
	if e.Pointer == "/arms/0/modes" {
		e.Detail = f.T("choose a channel for at least one mode")
	}
	if where != "" {
		e.Detail = f.T("%[1]s: %[2]s", where, e.Detail)
	}
	nameTaken(f.Locale, e)
	said := e.Pointer == "/survey" && f.Mistakes["name"] != "" || field == weekField && f.Mistakes[weekField] != ""
	return form.Spot{Field: field, Add: true, Said: said}
}

// fieldOf returns the field that a JSON pointer is about, and where in it a mistake is if that
// is not obvious. Empty: it is about none.
func (f *surveyForm) fieldOf(at []string) (field, where string) {
	part := func(i int) string {
		if i < len(at) {
			return at[i]
		}
		return ""
	}
	row := func(rows []int, i int) int {
		if n, err := strconv.Atoi(part(i)); err == nil && n >= 0 && n < len(rows) {
			return rows[n]
		}
		return 0
	}
	switch at[0] {
	case "survey":
		return "name", ""
	case "title", "cutoff", "quota_message", "fallback_delay", "purpose", "limit_per_minute", "region":
		return at[0], ""
	case "answer":
		return map[bool]string{true: "answer_thanks", false: "answer_first"}[part(1) == "thanks"], ""
	case "budget":
		return "budget_" + cmp.Or(part(1), "money"), ""
	case "application":
		return map[string]string{"url": "app_url", "secret": "app_secret"}[part(1)], ""
	case "schedule":
		if f.Painted && (part(1) == "weekdays" || part(1) == "windows") {
			return weekField, ""
		}
		if n := row(f.windowRows, 2); part(1) == "windows" && n > 0 {
			return windowRow{Row: n}.Field(cmp.Or(part(3), "from")), f.T("window %d", n)
		}
		switch part(1) {
		case "time_zone", "weekdays", "windows", "blocked_days", "start_date", "end_date":
			return part(1), ""
		}
		return "windows", ""
	case "modes":
		if len(at) == 3 && (part(2) == "channel" || part(2) == "retries") {
			return part(1) + "_" + part(2), ""
		}
		return "modes", ""
	case "arms":
		if !f.ManyArms {
			return "modes", ""
		}
	case "questionnaires":
		return f.contentField(at, row)
	case "quotas":
		if n := row(f.quotaRows, 1); n > 0 {
			name := map[string]string{"quota": "quota", "where": "values"}[part(2)]
			return quotaRow{Row: n}.Field(cmp.Or(name, "attribute")), f.T("quota %d", n)
		}
	}
	return "", ""
}

// contentField returns the field of a content.
func (f *surveyForm) contentField(at []string, row func([]int, int) int) (field, where string) {
	if f.ManyArms || len(at) < 3 {
		if f.ManyArms {
			return "", ""
		}
		return "modes", ""
	}
	for _, m := range f.Modes {
		if string(m.Mode) != at[2] || m.Kept {
			continue
		}
		n := max(1, row(m.textRows, 3))
		if m.Calls() && (len(at) < 5 || at[4] == "call") {
			if slices.Contains(at, "call_flow_id") {
				return m.Field("flow"), ""
			}
			return m.Field("url"), ""
		}
		return textRow{Mode: m, Row: n}.Field(), ""
	}
	return "", ""
}

func newSurvey(v *page.Visit) (*page.Content, error) {
	f := surveyFormOf(v.Locale, &api.SurveyBody{SurveyDefinition: api.SurveyDefinition{Schedule: api.ScheduleSpec{
		Weekdays: []string{"mon", "tue", "wed", "thu", "fri"}, Windows: []api.WindowSpec{{From: "09:00", To: "18:00"}},
	}}})
	f.New, f.AnswerFirst = true, true // who has an application unchecks it; without either nobody would ever complete
	if err := f.addChoices(v.Caller); err != nil {
		return nil, err
	}
	return f.content(), f.chooseOnly(v.Caller)
}

// chooseOnly chooses the channel if there is only one.
func (f *surveyForm) chooseOnly(c *page.Caller) error {
	if len(f.Channels) != 2 || f.types[f.Channels[1].Value] == "" { // the first is none
		return nil
	}
	only := f.Channels[1].Value
	kinds, err := channels.ReadKinds(c)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		mode := map[string]surveys.Mode{"text": surveys.SMS, "voice": surveys.IVR, "any": surveys.CATI}[k.Content]
		if i := slices.IndexFunc(f.Modes, func(m *modeForm) bool { return m.Mode == mode }); i >= 0 && k.Type == f.types[only] {
			f.Modes[i].Channel = only
			break
		}
	}
	return nil
}

// openSurveyForm returns the form of the survey of the path, and its definition.
func openSurveyForm(v *page.Visit) (*surveyForm, api.SurveyBody, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, api.SurveyBody{}, err
	}
	body := surveyBody(&s)
	f := surveyFormOf(v.Locale, &body)
	f.Name, f.Version, f.Launched = s.Survey, s.Version, s.State != surveys.Draft
	f.HasSecret = s.Application != nil && s.Application.HasSecret
	return f, body, nil
}

func editSurvey(v *page.Visit) (*page.Content, error) {
	f, _, err := openSurveyForm(v)
	if err != nil {
		return nil, err
	}
	return f.content(), f.addChoices(v.Caller)
}

func createSurvey(v *page.Visit) (*page.Content, error) {
	f := surveyFormOf(v.Locale, &api.SurveyBody{})
	f.New, f.Name = true, strings.TrimSpace(v.Request.PostForm.Get("name"))
	f.read(v.Request.PostForm)
	name, wrong := newSurveyName(v.Caller, f.Name)
	if wrong != "" {
		f.Mistakes["name"] = wrong
	}
	document, err := f.apply(api.SurveyBody{})
	if err != nil {
		return nil, err
	}
	return f.done(v, v.Save(http.MethodPut, page.Path("v1", "surveys", name)+page.Creating(true), document, f.Mistakes, nil))
}

func changeSurvey(v *page.Visit) (*page.Content, error) {
	f, body, err := openSurveyForm(v)
	if err != nil {
		return nil, err
	}
	before, err := documentOf(body)
	if err != nil {
		return nil, err
	}
	f.Version, _ = strconv.ParseInt(v.Request.PostForm.Get("version"), 10, 64)
	f.read(v.Request.PostForm)
	document, err := f.apply(body)
	if err != nil {
		return nil, err
	}
	return f.done(v, patchSurvey(v.Caller, f.Name, f.Version, mergePatch(before, document)))
}

// done sends the browser on, or shows the form again with every mistake.
func (f *surveyForm) done(v *page.Visit, err error) (*page.Content, error) {
	if err == nil {
		c := savedSurvey(f.Locale, f.Name, f.New)
		if f.Asks {
			c.To, c.Flash.Text = Link(f.Name)+"/questions", f.T("Survey %s is created. Write its questions, then import its respondents and launch it.", f.Name)
		}
		return c, nil
	}
	status, p := page.StatusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.Problem = page.Place(p, f.Mistakes, f.spot)
	if p.Status == http.StatusConflict && f.Problem == nil {
		f.Problem = &page.Problem{Status: p.Status, Detail: p.Detail}
	}
	c := f.content()
	c.Status, c.Flash = status, &page.Flash{Bad: true, Text: f.T("Nothing was saved. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.Flash.Text = f.T("Nothing was saved.")
	}
	return c, f.addChoices(v.Caller)
}
