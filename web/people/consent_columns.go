package people

import (
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/people"
	"weir/surveys/respondents"
	"weir/web/imports"
)

// Fields that a column of a file of consents can be.
const (
	fieldTo      = "to"
	fieldStatus  = "status"
	fieldAt      = "at"
	fieldWords   = "words"
	fieldPurpose = "purpose"
)

// consentHeaders returns the headers that usually are a field, as [respondents.PlainHeader] returns them; of several,
// the first one counts. A date of a person's record is none of a refusal, so that "created" is not among them. A status
// has none: see [statusHeaders].
func consentHeaders() map[string][]string {
	return map[string][]string{
		fieldTo:      {"to", "phone", "phonenumber", "number", "msisdn", "optedoutnumber", "destinationphonenumber", "recipient", "mobile", "mobilenumber", "telephone", "contactid", "address"},
		fieldAt:      {"at", "optedouttimestamp", "optedoutat", "optedoutdate", "optoutat", "optoutdate", "optouttimestamp", "dateoptedout", "dateofconsent", "timestamp", "datetime", "date"},
		fieldWords:   {"words"},
		fieldPurpose: {"purpose"},
	}
}

// statusHeaders returns the headers of columns that may be the status. They are asked for: to read a list of consents
// as refusals would be as wrong as the reverse.
func statusHeaders() []string {
	return []string{"status", "consent", "consentstatus", "optinstatus", "optoutstatus", "optedout", "optout", "optedin", "optin", "subscribed", "unsubscribed"}
}

// ConsentColumns says what the columns of a file of consents are: as the parameter columns says, and the others as
// their headers suggest. Its mistakes quote no header: without one, the first line has a person's number.
func ConsentColumns(headers []string, chosen string) ([]imports.Column, []weir.FieldError) {
	m := consentMapping{plain: make([]string, len(headers)), headers: headers, settled: make([]bool, len(headers)), asked: map[string]bool{}}
	for i, header := range headers {
		m.plain[i] = respondents.PlainHeader(header)
	}
	if chosen != "" {
		list, err := respondents.SplitList(chosen)
		if err != nil {
			return make([]imports.Column, len(headers)), []weir.FieldError{{Pointer: "/columns", Code: "format", Detail: "must be a list of COLUMN=FIELD, separated by commas: " + err.Error()}}
		}
		for _, item := range list {
			m.choose(item)
		}
	}
	m.suggest()
	fields := []imports.Field{
		{Name: fieldTo, Required: true, Missing: "no column of addresses is found: the first line must name the columns, one of them phone"},
		{Name: fieldStatus}, {Name: fieldAt}, {Name: fieldWords}, {Name: fieldPurpose},
	}
	columns, wrong := imports.Map(fields, imports.MaxColumns, headers, respondents.JoinList(append(m.items, imports.Rest+"=")))
	return columns, append(wrong, m.wrong...)
}

// consentMapping collects what is said of columns, for [imports.Map].
type consentMapping struct {
	headers, plain []string
	items          []string
	settled        []bool          // by column
	asked          map[string]bool // by field: the client says which column it is
	wrong          []weir.FieldError
}

// choose takes an item of the parameter columns.
func (m *consentMapping) choose(item string) {
	at := strings.LastIndexByte(item, '=')
	if at < 0 {
		m.items = append(m.items, item) // a mistake
		return
	}
	column, field := strings.TrimSpace(item[:at]), item[at+1:]
	m.asked[field] = true
	if column == "" || column == imports.Rest && field == "" {
		return
	}
	named := m.named(column)
	for _, i := range named {
		m.settled[i] = true
	}
	if len(named) == 1 {
		column = number(named[0])
	}
	m.items = append(m.items, column+"="+field)
}

// named returns the columns that a text names.
func (m *consentMapping) named(text string) (list []int) {
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "#")); err == nil && text[0] == '#' && n > 0 && n <= len(m.headers) {
		return []int{n - 1}
	}
	for i, header := range m.headers {
		if strings.EqualFold(strings.TrimSpace(header), text) {
			return []int{i} // two columns may differ in signs alone
		}
		if m.plain[i] == respondents.PlainHeader(text) {
			list = append(list, i)
		}
	}
	return list
}

// suggest gives the fields that the client says nothing of the columns whose headers suggest them.
func (m *consentMapping) suggest() {
	known := consentHeaders()
	for _, field := range []string{fieldTo, fieldAt, fieldWords, fieldPurpose} {
		if m.asked[field] {
			continue
		}
		for _, header := range known[field] {
			list := m.free(header)
			if len(list) == 0 {
				continue
			}
			if len(list) > 1 {
				m.refuse(list[1], "duplicate", "has the same name as another column: say which one is "+field)
			}
			if header == "to" && len(m.free("from")) > 0 {
				// Of a message that a person sent, the number of the person is in from.
				m.refuse(list[0], "required", "may be that of the person, as may from: say which one is to")
			}
			m.settled[list[0]] = true
			m.items = append(m.items, number(list[0])+"="+field)
			break
		}
	}
	for _, header := range statusHeaders() {
		if list := m.free(header); !m.asked[fieldStatus] && len(list) > 0 {
			m.refuse(list[0], "required", "may say who refused and who gave consent: say that it is status, or that no column is, and every row is a refusal")
			return
		}
	}
}

// free returns the columns with a header that are nothing yet.
func (m *consentMapping) free(header string) (list []int) {
	for i, plain := range m.plain {
		if plain == header && !m.settled[i] {
			list = append(list, i)
		}
	}
	return list
}

func (m *consentMapping) refuse(column int, code, detail string) {
	m.wrong = append(m.wrong, weir.FieldError{Pointer: "/columns/" + strconv.Itoa(column), Code: code, Detail: detail})
}

// number names a column.
func number(column int) string { return "#" + strconv.Itoa(column+1) }

// meansYes returns the status of true in a column: of opted_out it is another than of opted_in. Empty: its header does
// not say.
func meansYes(header string) people.Status {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(respondents.PlainHeader(header), p) })
	}
	switch {
	case has("optedout", "optout", "unsubscribe", "refus", "donotcontact", "donotcall", "dnc"):
		return people.Refused
	case has("optedin", "optin", "subscribe", "consent", "given"):
		return people.Given
	}
	return ""
}

// statusOf returns the status that a value says in a column. A person who has not opted out has not said anything: no
// status.
func statusOf(header, value string) (status people.Status, wrong string) {
	yes := meansYes(header)
	switch respondents.PlainHeader(value) {
	case "refused", "optedout", "optout", "unsubscribed":
		return people.Refused, ""
	case "given", "optedin", "optin", "reoptin", "subscribed":
		return people.Given, ""
	case "true", "yes", "1":
		if yes != "" {
			return yes, ""
		}
	case "false", "no", "0":
		switch yes {
		case people.Given:
			return people.Refused, ""
		case people.Refused:
			return "", ""
		}
	}
	if yes == "" {
		return "", "must be refused or given (or opted out, opted in)"
	}
	return "", "must be refused or given (or opted out, opted in, true, false)"
}
