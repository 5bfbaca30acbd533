package people

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
	"weir/internal/validation"
	"weir/operators"
	"weir/people"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/imports"
	"weir/web/route"
)

// consentRoutes serves what people said.
type consentRoutes struct {
	consents  people.Consents
	purposes  people.Purposes
	broker    Broker
	downloads *route.Downloads
	maxImport int64 // bytes of one file
	now       func() time.Time
}

func (r *consentRoutes) table() []*route.Route {
	post := &route.Route{
		Method: "POST", Path: "/v1/consents", ID: "post-consents", Tag: "people", Summary: "Record refusals and consents",
		Description: "As JSON: 1 to 1000, all or none. As text/csv (the first line names the columns; commas, semicolons or tabs separate them), as an Excel workbook, or application/x-ndjson (one consent a line, as in the JSON body), or as multipart/form-data with such a part file: a file of any length, read row by row and recorded in parts; of one person in the order of the rows. " +
			"Rows with mistakes are left out, and the first 1000 of them reported. Accept: text/csv, or application/x-ndjson for such a file, answers with the rejected rows, each with its reason, in the format of the file, at most 64 MiB; the header Weir-Import has the figures as JSON. Accept: multipart/mixed answers with both. Whoever mends the rows can send them as they are: the columns weir_line, weir_column and weir_reason are ignored. " +
			"A file that breaks off leaves the rows up to last_line of the answer, and may leave some behind it. It can be sent again: a row of CSV gets a key of its content and the run, and so is not recorded twice; lines of NDJSON need keys for that. " + imports.XLSXHelp() +
			"They are durable before the response, and a contact whose claim begins after it is not dispatched to an address that has refused: it ends as suppressed, also if it waited already. What is in flight is called off where the provider can. " +
			"A refusal that a person sent as a message, or that a provider reports, can be taken back only by the person. The state is kept by a keyed hash of the address.",
		Body: route.TypeOf[api.ConsentsBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBatchBody, Handle: r.record, Uploads: imports.Types(),
		Query: []httpjson.Parameter{
			{Name: "dry_run", Kind: "boolean", Description: "record nothing: check the consents, and show of a file what the columns are and what the first rows say"},
			{Name: "columns", Kind: "string", Longest: 16 << 10, Description: "of a file in CSV: what columns are, as COLUMN=FIELD, separated by commas; quoted as in CSV if it has one. COLUMN is the name in the file, #3 for the third column, or empty: no column is the field; FIELD is to, status, at, words or purpose, or empty: the column is left out. The other columns are what their names say, or left out. No column is status by its name; a name that suggests it is refused. Without it every row is a refusal"},
			{Name: "header", Kind: "string", Description: "refuse a file of CSV with other columns than those of the dry run that has answered this header: columns by number would be others"},
			{Name: "encoding", Kind: "string", Enum: respondents.Encodings(), Single: true, Description: "of a file; absent: the charset of the content type, else as the file says, UTF-8, or windows-1252 of CSV"},
			imports.SheetParameter(),
			{Name: "run", Kind: "string", Longest: maxRun, Description: "of a file in CSV, name of the run: under another one the same rows are recorded again"},
		},
		Answers:  []route.Answer{{Status: http.StatusOK, Description: "what counts of each address now, in the order of the request, with pii:read; or what became of a file", Body: route.TypeOf[api.StateList]()}},
		OnDemand: []string{route.CSVType, route.NDJSONType, imports.MixedType},
		Refusal:  route.TypeOf[api.ConsentProblem](),
	}
	post.File = func(c *route.Call, w http.ResponseWriter) error { return r.recordFile(c, w, post) }
	return []*route.Route{
		post,
		{
			Method: "GET", Path: "/v1/consents", ID: "list-consents", Tag: "people", Summary: "List the consents of everybody",
			Description: "In the order in which they were recorded, as for an export. Without pii:read addresses are masked, and what was said is left out. An erased one has no address.",
			Query:       route.Paging(1000, 1000), Handle: r.everything,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.ConsentList]()}},
		},
		{
			Method: "POST", Path: "/v1/consents:search", ID: "search-consents", Tag: "people", Summary: "Find what a person has said",
			Description: "The address is in the body so that no address, log or history keeps it. The search is in the audit log, with the address masked.",
			Body:        route.TypeOf[api.ConsentSearchBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.search, Repeatable: true,
			Also:    []operators.Scope{operators.ScopePIIRead}, // otherwise it could be found out by trial who has refused
			Answers: []route.Answer{{Status: http.StatusOK, Description: "what counts, and the history", Body: route.TypeOf[api.PersonConsents]()}},
		},
	}
}

// callOff calls off what is in flight to people who refused.
func (r *consentRoutes) callOff(ctx context.Context, list []people.Consent, states []people.State) int {
	return r.broker.CallOff(ctx, people.Withdrawn(list, states, r.purposes.Purposes()))
}

// record records consents.
func (r *consentRoutes) record(c *route.Call) (route.Reply, error) {
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	given, _ := c.Body["consents"].([]any)
	list := make([]people.Consent, 0, len(given))
	known := r.purposes.Purposes()
	for i, g := range given {
		body, _ := g.(map[string]any)
		list = append(list, r.consentOf(body, c.Principal.ID(), known, "/consents/"+strconv.Itoa(i), &c.Errors))
	}
	refused := refusals(list)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Reply{Status: http.StatusOK, Body: api.StateList{States: []api.StateView{}}}, nil
	}
	states, err := r.consents.RecordConsents(c, list)
	if err != nil {
		return route.Reply{}, err
	}
	changes := recorded(refused, len(list)-refused)
	if len(list) == 1 {
		only, _ := given[0].(map[string]any)
		changes = append(changes, operators.FieldChange{Field: "to", After: auth.MaskNumber(text(only, "to"))})
	}
	out := api.StateList{States: stateViews(states), InFlight: r.callOff(c, list, states)}
	if !c.PII() { // whoever may record what people said does not learn by it what is known of them
		out = api.StateList{States: []api.StateView{}}
	}
	for i := range list {
		if !people.IsPossibleNumber(list[i].Address) {
			out.OtherAddresses++
		}
	}
	return route.Reply{Status: http.StatusOK, Body: out, Changes: changes}, nil
}

// recorded is what the audit log has of consents.
func recorded(refused, given int) []operators.FieldChange {
	return []operators.FieldChange{{Field: "refused", After: strconv.Itoa(refused)}, {Field: "given", After: strconv.Itoa(given)}}
}

// refusals counts the refusals among consents.
func refusals(list []people.Consent) (n int) {
	for i := range list {
		if list[i].Status == people.Refused {
			n++
		}
	}
	return n
}

// clientKey begins the keys that clients give, which are then none of those of Weir itself.
const clientKey = "client:"

// consentOf returns the consent of a body that the schema has checked, by whom it is recorded, and
// adds the mistakes that only it can find.
func (r *consentRoutes) consentOf(body map[string]any, by string, known map[string]*people.Purpose, at string, m *validation.Errors) people.Consent {
	one := people.Consent{
		Key: text(body, "key"), Address: people.Canonical(text(body, "to")), Purpose: people.AllPurposes, Status: people.Status(text(body, "status")),
		Source: people.FromAPI, Words: text(body, "words"), By: by,
	}
	if one.Key != "" {
		one.Key = clientKey + one.Key
	}
	if source := text(body, "source"); source != "" {
		one.Source = people.Source(source)
	}
	if said := text(body, "at"); said != "" {
		one.At, _ = time.Parse(time.RFC3339, said) // the schema has checked it
	}
	if purpose := text(body, "purpose"); purpose != "" && purpose != people.AllPurposes {
		one.Purpose = purpose
		m.Append(people.CheckPurpose(at+"/purpose", purpose, known)...)
	}
	if err := people.CheckAddress(text(body, "to")); err != nil {
		m.Add(at+"/to", "format", "%v", err)
	}
	if one.At.After(r.now()) {
		m.Add(at+"/at", "range", "must not be in the future")
	}
	return one
}

// search finds what is known of an address.
func (r *consentRoutes) search(c *route.Call) (route.Reply, error) {
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	to, limit := text(c.Body, "to"), 100
	if n, ok := c.Body["limit"].(float64); ok {
		limit = int(n)
	}
	states, list, err := r.consents.Consents(c, people.Canonical(to), limit)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: personConsents(c, reached(c, states), list), Changes: []operators.FieldChange{{Field: "to", After: auth.MaskNumber(to)}}}, nil
}

func personConsents(c *route.Call, states []people.State, list []people.Consent) api.PersonConsents {
	out := api.PersonConsents{States: stateViews(states), Consents: make([]api.ConsentView, 0, len(list))}
	out.Refused, _ = people.Decide(states, people.AllPurposes)
	for i := range list {
		if !reachesPurpose(c, list[i].Purpose) {
			continue
		}
		view := consentView(&list[i])
		if ours := list[i].Source.ByPerson() && c.Reaches(operators.Channel(list[i].By)); c.Limited() && !ours {
			view.Words, view.Key, view.By = "", "", ""
		}
		out.Consents = append(out.Consents, view)
	}
	return out
}

// reachesPurpose reports whether the sender may know of consents for a purpose. Those for one channel are for those whom
// the channel is for; all others bind everybody.
func reachesPurpose(c *route.Call, purpose string) bool {
	channel, one := people.ChannelOf(purpose)
	return !one || c.Reaches(operators.Channel(channel))
}

// reached returns the states of which the sender may know.
func reached(c *route.Call, states []people.State) []people.State {
	return slices.DeleteFunc(slices.Clone(states), func(s people.State) bool { return !reachesPurpose(c, s.Purpose) })
}

func consentView(x *people.Consent) api.ConsentView {
	return api.ConsentView{
		ID: strconv.FormatInt(x.ID, 10), Key: strings.TrimPrefix(x.Key, clientKey), Purpose: x.Purpose, Status: string(x.Status), Source: string(x.Source),
		At: x.At, Words: x.Words, By: x.By,
	}
}

// everything lists the consents of everybody.
func (r *consentRoutes) everything(c *route.Call) (route.Reply, error) {
	after := cursorOf(c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	limit := c.Query.Int("limit")
	list, err := r.consents.AllConsents(c, after, limit)
	if err != nil {
		return route.Reply{}, err
	}
	out := api.ConsentList{Consents: make([]api.ListedConsent, len(list))}
	for i := range list {
		one := api.ListedConsent{To: plainAddress(list[i].Address), ConsentView: consentView(&list[i])}
		if !c.PII() {
			one.To, one.Words, one.Key = auth.MaskNumber(one.To), "", ""
		}
		out.Consents[i] = one
	}
	if len(list) == limit {
		out.NextCursor = strconv.FormatInt(list[limit-1].ID, 10)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func stateViews(states []people.State) []api.StateView {
	out := make([]api.StateView, len(states))
	for i, s := range states {
		out[i] = api.StateView{Purpose: s.Purpose, Status: string(s.Status), Source: string(s.Source), At: s.At, Version: strconv.FormatInt(s.Version, 10)}
	}
	return out
}
