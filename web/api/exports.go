package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// exportRoutes serves lists as CSV files of any length. Each has the filter of its list.
type exportRoutes struct {
	contacts  contactRoutes
	dead      deadLetterRoutes
	audit     auditRoutes
	downloads *route.Downloads
}

func (r *exportRoutes) table() []*route.Route {
	file := func(path, id, tag, summary, about string, query []httpjson.Parameter, serve func(*route.CSV) error) *route.Route {
		return &route.Route{
			Method: "GET", Path: path + ".csv", ID: id, Tag: tag, Summary: summary, Description: about + " " + route.CSVHelp,
			Query: append(query, route.SpreadsheetParameter()), Download: route.CSVType,
			Serve: func(c *route.Call, w http.ResponseWriter) error {
				return r.downloads.Write(c, w, id[len("export-"):], serve)
			},
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the file"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		}
	}
	return []*route.Route{
		file("/v1/contacts", "export-contacts", "contacts", "Export contacts, one row each",
			"In the order of the list with the same filter. Without pii:read phone numbers are masked. labels, messages and call are JSON; attempts is the number of the latest one.", contactFilters(), r.writeContacts),
		file("/v1/dead-letters", "export-dead-letters", "contacts", "Export dead letters, one row each",
			"By channel, the latest first. Without pii:read phone numbers are masked. The columns that follow reason are those of the contact.", deadLetterFilters(), r.writeDeadLetters),
		file("/v1/audit", "export-audit", "access", "Export the audit log, newest first",
			"changes is JSON, as in the list.", auditFilters(), r.writeAudit),
	}
}

// contactFile makes rows of contacts.
type contactFile struct {
	header []string
	rest   []reflect.StructField // members of a contact that have no place of their own: their columns are the last
}

func newContactFile() contactFile {
	f := contactFile{header: []string{
		"id", "channel", "key", "to", "priority", "survey", "purpose", "time_zone", "not_before", "not_after", "state", "outcome", "reason", "rule",
		"queued_at", "finished_at", "attempts", "size", "segments", "labels", "messages", "call",
	}}
	for _, m := range reflect.VisibleFields(reflect.TypeFor[api.ContactView]()) {
		// why is what holds now, and not of the contact
		if name := jsonName(m); name != "" && len(m.Index) == 1 && name != "canceling" && !slices.Contains(f.header, name) {
			f.header, f.rest = append(f.header, name), append(f.rest, m)
		}
	}
	return f
}

// jsonName returns the name of a member in JSON; empty: it has none.
func jsonName(m reflect.StructField) string {
	name, _, _ := strings.Cut(m.Tag.Get("json"), ",")
	return name
}

func (f contactFile) row(v *api.ContactView) []string {
	attempts := 0
	for i := range v.Attempts {
		attempts = max(attempts, v.Attempts[i].Number)
	}
	labels, messages, call := "", "", ""
	if len(v.Labels) > 0 {
		labels = jsonCell(v.Labels)
	}
	if len(v.Messages) > 0 {
		messages = jsonCell(v.Messages)
	}
	if v.Call != nil {
		call = jsonCell(v.Call)
	}
	cells := []string{
		v.ID, v.Channel, v.Key, v.To, v.Priority, v.Survey, v.Purpose, v.TimeZone, instantCell(v.NotBefore), instantCell(v.NotAfter), v.State, v.Outcome, v.Reason, v.Rule,
		instantCell(v.QueuedAt), instantCell(v.FinishedAt), strconv.Itoa(attempts), strconv.Itoa(v.Size), strconv.Itoa(v.Segments), labels, messages, call,
	}
	for _, m := range f.rest {
		cells = append(cells, anyCell(reflect.ValueOf(v).Elem().FieldByIndex(m.Index)))
	}
	return cells
}

// anyCell returns the value of a member: empty if it has none, a text and an instant as they are, others as JSON.
func anyCell(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return x
	case time.Time:
		return instantCell(x)
	}
	if v.IsZero() {
		return ""
	}
	return jsonCell(v.Interface())
}

func jsonCell(v any) string {
	raw, _ := json.Marshal(v) // encoding strings and numbers cannot fail
	return string(raw)
}

func instantCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (r *exportRoutes) writeContacts(w *route.CSV) error {
	f, err := r.contacts.filter(w.Call)
	if err != nil {
		return err
	}
	f.Limit = route.PageRows
	known := map[weir.ChannelID]weir.Channel{}
	if name := w.Query.Text("channel"); name != "" {
		ch, err := r.contacts.lookup.selected(w.Call, name)
		if err != nil {
			return err
		}
		f.Channel = ch.ID
	}
	file := newContactFile()
	return w.Pages(file.header, func(cursor string) (string, error) {
		ctx, cancel := route.StepTimeout(w)
		defer cancel()
		f.Cursor = cursor
		rows, next, err := r.contacts.pages.store.Contacts(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range rows {
			ch, err := r.contacts.lookup.byID(ctx, rows[i].Channel, known)
			if err != nil {
				return "", err
			}
			if c := w.Call; c.Reaches(operators.Channel(ch.Name)) {
				v := shownContact(c, &rows[i], ch.Name)
				w.Row(file.row(&v))
			}
		}
		return next, nil
	})
}

func (r *exportRoutes) writeDeadLetters(w *route.CSV) error {
	f, err := r.dead.filter(w.Call)
	if err != nil {
		return err
	}
	f.Limit = route.PageRows
	known := map[weir.ChannelID]weir.Channel{}
	file := newContactFile()
	header := append([]string{"at", "outcome", "reason"}, file.header...)
	for i := range header[3:] {
		header[3+i] = "contact_" + header[3+i]
	}
	return w.Pages(header, func(cursor string) (string, error) {
		ctx, cancel := route.StepTimeout(w)
		defer cancel()
		f.Cursor = cursor
		list, next, err := r.dead.store.DeadLetters(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range list {
			d := &list[i]
			ch, err := r.dead.lookup.byID(ctx, d.Contact.Channel, known)
			if err != nil {
				return "", err
			}
			if c := w.Call; c.Reaches(operators.Channel(ch.Name)) {
				v := shownDeadLetter(c, d, ch.Name)
				w.Row(append([]string{instantCell(v.At), v.Outcome, v.Reason}, file.row(&v.Contact)...))
			}
		}
		return next, nil
	})
}

func (r *exportRoutes) writeAudit(w *route.CSV) error {
	f := operators.AuditFilter{Limit: route.PageRows}
	f.Since, _ = w.Instant("since")
	f.Until, _ = w.Instant("until")
	if err := w.Invalid(); err != nil {
		return err
	}
	return w.Pages([]string{"id", "at", "token", "action", "subject", "status", "request", "changes"}, func(string) (string, error) {
		ctx, cancel := route.StepTimeout(w)
		defer cancel()
		rows, err := r.audit.trail.Entries(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range rows {
			v := auditView(&rows[i], w.PII())
			changes := ""
			if len(v.Changes) > 0 {
				changes = jsonCell(v.Changes)
			}
			w.Row([]string{v.ID, instantCell(v.At), v.Token, v.Action, v.Subject, strconv.Itoa(v.Status), v.Request, changes})
		}
		if len(rows) < route.PageRows {
			return "", nil
		}
		f.Before = rows[len(rows)-1].ID
		return strconv.FormatInt(f.Before, 10), nil
	})
}

// shownContact returns the view of a contact of a list, as the token may see it.
func shownContact(c *route.Call, contact *weir.Contact, channel string) api.ContactView {
	v := contactView(contact, channel, attemptViews(contact, nil))
	if !c.PII() {
		maskContact(&v)
	}
	return v
}

// shownDeadLetter returns the view of a dead letter, as the token may see it.
func shownDeadLetter(c *route.Call, d *operators.DeadLetter, channel string) api.DeadView {
	v := api.DeadView{At: d.At, Outcome: string(d.Outcome), Reason: d.Reason, Contact: shownContact(c, &d.Contact, channel)}
	if !c.PII() {
		v.Reason = auth.MaskText(v.Reason)
	}
	return v
}
