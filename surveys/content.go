package surveys

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/internal/validation"
	"weir/surveys/respondents"
)

// Person holds the data of a respondent that the content needs.
type Person struct {
	ID         string
	Token      string // see [Tokens]
	Phone      string // E.164
	Attributes map[string]string
}

// labelQuestionnaire is the label that names the questionnaire of a contact.
const labelQuestionnaire = "questionnaire"

// Contact returns the contact to enqueue for an outreach. It fails if the person
// lacks an attribute, or if the attributes make the content longer than allowed:
// one person must not make the store or the provider fail. In a survey of questions it is what a person
// gets who has not answered; [Plan.Ask] has what the conversation says.
func (pl *Plan) Contact(survey string, person Person, p Progress, o Outreach) (weir.Spec, error) {
	if pl.Questions != nil {
		r := &Respondent{Attributes: person.Attributes, Progress: p}
		p, _, spoken := pl.Ask(r, p, Effects{Enqueue: &o}, pl.Talker(survey, r, person, o.NotBefore))
		return pl.Asking(survey, person, p, o, spoken.Say), nil
	}
	all := pl.content[pl.Arms[p.Arm].Questionnaire][o.Mode]
	t := all[min(max(o.Attempt, 1), len(all))-1]
	for _, part := range t.texts() {
		if missing := missingFrom(part.fields(), person.Attributes); len(missing) > 0 {
			return weir.Spec{}, &weir.Error{
				Code: weir.CodeInvalid, Cause: ErrMissingValue,
				Message: fmt.Sprintf("no value for %s of respondent %s", strings.Join(missing, ", "), person.ID),
			}
		}
	}
	values := person.values(survey, o.Mode, o.Attempt)
	s := pl.outreach(survey, person, p, o)
	for _, m := range t.messages {
		s.Messages = append(s.Messages, m.fill(values, asIs))
	}
	if t.called {
		s.Call = &weir.Call{CallbackURL: t.url.fill(values, inURL), CallFlowID: t.flow, TwiML: t.twiml.fill(values, inXML)}
	}
	if tooLong(&s) {
		return weir.Spec{}, weir.Errorf(weir.CodeInvalid, "the attributes of respondent %s make the content too long", person.ID)
	}
	return s, nil
}

// Asking returns the contact to enqueue for an outreach that says the present turn of a conversation
// of questions.
func (pl *Plan) Asking(survey string, person Person, p Progress, o Outreach, say []string) weir.Spec {
	s := pl.outreach(survey, person, p, o)
	s.Key, s.Messages, s.Labels[labelTurn] = turnKey(s.Key, p.Talk.Turn), say, strconv.Itoa(p.Talk.Turn)
	return s
}

// outreach returns the contact of an outreach without its content.
func (pl *Plan) outreach(survey string, person Person, p Progress, o Outreach) weir.Spec {
	s := weir.Spec{
		Key: ContactKey(person.ID, o.Serial), To: person.Phone, Priority: o.Priority, Survey: survey,
		NotBefore: o.NotBefore, NotAfter: o.NotAfter, Purpose: pl.Purpose, TimeZone: person.Attributes[respondents.FieldTimeZone],
		Labels: map[string]string{respondents.FieldRespondent: person.ID, respondents.FieldMode: string(o.Mode), respondents.FieldAttempt: strconv.Itoa(o.Attempt), labelQuestionnaire: pl.Arms[p.Arm].Questionnaire},
	}
	for _, name := range pl.Labels {
		if value := person.Attributes[name]; value != "" && utf8.RuneCountInString(value) <= maxLabel {
			s.Labels[name] = value
		}
	}
	return s
}

// values returns the lookup of the values of a template's fields.
func (person Person) values(survey string, mode Mode, attempt int) func(string) string {
	return func(name string) string {
		switch name {
		case respondents.FieldRespondent:
			return person.ID
		case respondents.FieldSurvey:
			return survey
		case respondents.FieldAttempt:
			return strconv.Itoa(attempt)
		case respondents.FieldMode:
			return string(mode)
		default:
			if value := person.Attributes[name]; value != "" || name != respondents.FieldToken {
				return value
			}
			return person.Token
		}
	}
}

// tooLong reports whether a person's values made a content longer than allowed.
func tooLong(s *weir.Spec) bool {
	return slices.ContainsFunc(s.Messages, func(m string) bool { return utf8.RuneCountInString(m) > maxMessage }) ||
		s.Call != nil && (len(s.Call.CallbackURL) > maxURL || len(s.Call.TwiML) > maxTwiML)
}

// templates yields the contents of all questionnaires with their modes.
func (pl *Plan) templates() iter.Seq2[Mode, template] {
	return func(yield func(Mode, template) bool) {
		for _, modes := range pl.content {
			for mode, contents := range modes {
				for _, t := range contents {
					if !yield(mode, t) {
						return
					}
				}
			}
		}
	}
}

// Size returns the max number of slots that a contact of a mode needs.
func (pl *Plan) Size(mode Mode) int {
	size := 1
	for m, t := range pl.templates() {
		if m == mode {
			size = max(size, len(t.messages))
		}
	}
	return size
}

// RequiredAttributes returns the attributes that the content uses, sorted. Each respondent
// must have them all, because any respondent may get any arm and any attempt.
func (pl *Plan) RequiredAttributes() []string {
	names := append(pl.quotaMessage.fields(), slices.DeleteFunc(pl.thanks.fields(), func(name string) bool { return name == pl.answer })...)
	for _, t := range pl.templates() {
		for _, part := range t.texts() {
			names = append(names, part.fields()...)
		}
	}
	names = append(names, pl.inserted...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Warnings returns what may be meant otherwise: doubts about the questions, and each text that has what
// looks like a field and is none, which a person would get as it is.
func (pl *Plan) Warnings() []weir.FieldError {
	warnings := slices.Clone([]weir.FieldError(pl.doubts))
	check := func(t text, at string) {
		if found := t.resembles(); found != "" {
			warnings = append(warnings, weir.FieldError{Pointer: at, Code: "content", Detail: fmt.Sprintf("%q is sent as it is: a field is an attribute's name between {{ and }}", validation.Clip(found))})
		}
	}
	for _, name := range sortedKeys(pl.content) {
		for _, mode := range sortedKeys(pl.content[name]) {
			for i, t := range pl.content[name][mode] {
				at := "/questionnaires/" + validation.Token(name) + "/" + string(mode) + "/" + strconv.Itoa(i)
				for j, message := range t.messages {
					check(message, at+"/messages/"+strconv.Itoa(j))
				}
				check(t.url, at+"/call/callback_url")
				check(t.twiml, at+"/call/twiml")
			}
		}
	}
	check(pl.quotaMessage, "/quota_message")
	check(pl.thanks, "/answer/thanks")
	return warnings
}

func missingFrom(needs []string, attributes map[string]string) []string {
	var out []string
	for _, name := range needs {
		if strings.TrimSpace(attributes[name]) == "" {
			out = append(out, name)
		}
	}
	return out
}

// MissingAttributes returns the attributes of [Plan.RequiredAttributes] that one respondent lacks.
func (pl *Plan) MissingAttributes(attributes map[string]string) []string {
	return missingFrom(pl.RequiredAttributes(), attributes)
}

// maxGaps is the max number of mistakes that a refused launch lists.
const maxGaps = 100

// MissingAttributes collects, before a launch, the respondents that lack an attribute that
// the content uses. It keeps a bounded number of them and counts the rest.
type MissingAttributes struct {
	Needs       []string
	Respondents int // number of respondents that lack something
	first       validation.Errors
}

// Check checks one respondent, and reports whether it lacks nothing.
func (g *MissingAttributes) Check(id string, attributes map[string]string) bool {
	missing := missingFrom(g.Needs, attributes)
	if len(missing) == 0 {
		return true
	}
	g.Respondents++
	for _, name := range missing {
		if len(g.first) < maxGaps {
			g.first.Add("/respondents/"+validation.Token(id)+"/attributes/"+name, "required", "no value for {{%s}}", name)
		}
	}
	return false
}

// Err returns an error that refuses the launch if any respondent lacks anything.
func (g *MissingAttributes) Err() error {
	if g.Respondents == 0 {
		return nil
	}
	return &weir.Error{
		Code: weir.CodeInvalid, Fields: g.first,
		Message: fmt.Sprintf("%s missing a value used in the texts (first %d listed); correct or remove them, or launch with missing=skip", areMissing(g.Respondents), maxGaps),
	}
}

func areMissing(n int) string {
	if n == 1 {
		return "1 respondent is"
	}
	return fmt.Sprintf("%d respondents are", n)
}

// compileContent checks the contents of all questionnaires, and that each arm
// has a content for each of its modes. An arm that names no questionnaire gets
// the only one.
func (d Definition) compileContent(arms []Arm, m *validation.Errors) map[string]map[Mode][]template {
	out := map[string]map[Mode][]template{}
	for _, name := range sortedKeys(d.Questionnaires) {
		out[name] = map[Mode][]template{}
		for _, mode := range sortedKeys(d.Questionnaires[name]) {
			at := "/questionnaires/" + validation.Token(name) + "/" + validation.Token(string(mode))
			contents := d.Questionnaires[name][mode]
			if !slices.Contains(Modes(), mode) {
				m.Add(at, "unknown", "is not one of %v", Modes())
				continue
			}
			if len(contents) == 0 || len(contents) > maxContents {
				m.Add(at, "length", "must list 1 to %d contents, one for each attempt", maxContents)
			}
			for i, c := range contents {
				out[name][mode] = append(out[name][mode], compileOne(c, mode, at+"/"+strconv.Itoa(i), m))
			}
		}
	}
	switch {
	case d.Questions != nil:
		return out
	case len(d.Questionnaires) == 0:
		m.Add("/questionnaires", "required", "must have at least one questionnaire, or questions in its place")
		return out
	}
	for i := range arms {
		d.attach(&arms[i], "/arms/"+strconv.Itoa(i), m)
	}
	return out
}

// attach sets and checks the questionnaire of an arm.
func (d Definition) attach(a *Arm, at string, m *validation.Errors) {
	if a.Questionnaire == "" && len(d.Questionnaires) == 1 {
		a.Questionnaire = sortedKeys(d.Questionnaires)[0]
	}
	modes, ok := d.Questionnaires[a.Questionnaire]
	if !ok {
		m.Add(at+"/questionnaire", "unknown", "%q is not one of the questionnaires: %s", validation.Clip(a.Questionnaire), joinNames(sortedKeys(d.Questionnaires)))
		return
	}
	for j, mode := range a.Modes {
		if len(modes[mode]) == 0 && slices.Contains(Modes(), mode) {
			m.Add(at+"/modes/"+strconv.Itoa(j), "unknown", "questionnaire %q has no content for %s", validation.Clip(a.Questionnaire), mode)
		}
	}
}

// compileOne checks one content.
func compileOne(c Content, mode Mode, at string, m *validation.Errors) (t template) {
	few := len(c.Messages) <= maxMessages
	switch {
	case mode == CATI && (c.Call == nil && len(c.Messages) == 0 || !few):
		m.Add(at, "content", "%s requires a call, up to %d messages as notes, or both", mode, maxMessages)
	case mode == IVR && (c.Call == nil || c.Messages != nil):
		m.Add(at, "content", "%s requires a call and no messages", mode)
		return t
	case !Voice(mode) && (c.Call != nil || len(c.Messages) == 0 || !few):
		m.Add(at, "content", "%s requires 1 to %d messages and no call", mode, maxMessages)
	}
	if c.Call != nil && Voice(mode) {
		if mode == CATI && c.Call.TwiML != "" {
			m.Add(at+"/call/twiml", "content", "cannot be used with %s; give callback_url or call_flow_id", mode)
		}
		t = compileCall(*c.Call, at+"/call", m)
	}
	for i, message := range c.Messages {
		t.messages = append(t.messages, compileMessage(message, at+"/messages/"+strconv.Itoa(i), m))
	}
	return t
}

func compileMessage(message, at string, m *validation.Errors) text {
	if utf8.RuneCountInString(message) > maxMessage || strings.TrimSpace(message) == "" {
		m.Add(at, "length", "must have 1 to %d characters", maxMessage)
	}
	return parsed(parseText, message, at, m)
}

func compileCall(c weir.Call, at string, m *validation.Errors) (t template) {
	t.called = true
	known := 0
	for _, given := range []bool{c.CallbackURL != "", c.CallFlowID != 0, c.TwiML != ""} {
		if given {
			known++
		}
	}
	if known != 1 {
		m.Add(at, "content", "must have exactly one of callback_url, call_flow_id and twiml")
		return t
	}
	switch {
	case c.CallbackURL != "":
		t.url = parsed(parseURL, c.CallbackURL, at+"/callback_url", m)
	case c.TwiML != "":
		t.twiml = parsed(parseTwiML, c.TwiML, at+"/twiml", m)
	case c.CallFlowID < 1:
		m.Add(at+"/call_flow_id", "range", "must be 1 or more")
	}
	t.flow = c.CallFlowID
	return t
}

func parsed(parse func(string) (text, error), s, at string, m *validation.Errors) text {
	t, err := parse(s)
	if err != nil {
		m.Add(at, "format", "%v", err)
	}
	return t
}

// parseTwiML parses the template of a TwiML document. It checks it with a value
// of all characters that are special in XML: fields may stand where text or the
// value of an XML attribute does, and nowhere else.
func parseTwiML(s string) (text, error) {
	t, err := parseText(s)
	if err != nil {
		return nil, err
	}
	if len(s) > maxTwiML {
		return nil, fmt.Errorf("must have at most %d bytes", maxTwiML)
	}
	d := xml.NewDecoder(strings.NewReader(t.fill(func(string) string { return ` "'<&>` }, inXML)))
	for depth, roots := 0, 0; ; {
		tok, err := d.Token()
		switch tok := tok.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				if roots++; tok.Name.Local != "Response" {
					return nil, errors.New("must have Response as its root")
				}
			}
		case xml.EndElement:
			depth--
		}
		if errors.Is(err, io.EOF) && roots == 1 {
			return t, nil
		}
		if err != nil || roots > 1 {
			return nil, errors.New("must be well-formed XML with a Response as its root")
		}
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
