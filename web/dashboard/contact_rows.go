package dashboard

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weir/surveys/respondents"
)

// fieldLabel is the field of a column whose values become a label of its name.
const fieldLabel = "label"

// rowFields returns the fields of a contact that a column can have, with what people call them.
func rowFields() []option {
	return []option{
		{"", "not sent"}, {"to", "phone number or address"}, {"message", "text"}, {"key", "key"}, {"priority", "priority"}, {"not_before", "not before"}, {"not_after", "not after"},
		{"survey", "survey"}, {"purpose", "purpose"}, {"time_zone", "time zone"}, {fieldLabel, "label"},
		{"callback_url", "call: document URL"}, {"call_flow_id", "call: flow"}, {"twiml", "call: document"},
	}
}

// guessFields returns the field of each column, by its name.
func guessFields(names []string) []string {
	known := map[string]string{
		"to": "to", "phone": "to", "phonenumber": "to", "number": "to", "msisdn": "to", "mobile": "to", "mobilenumber": "to", "telephone": "to", "tel": "to", "recipient": "to", "address": "to",
		"message": "message", "text": "message", "sms": "message", "body": "message", "key": "key", "idempotencykey": "key", "externalid": "key",
		"priority": "priority", "notbefore": "not_before", "notafter": "not_after", "survey": "survey", "purpose": "purpose", "timezone": "time_zone", "zone": "time_zone",
		"callbackurl": "callback_url", "callflowid": "call_flow_id", "callflow": "call_flow_id", "twiml": "twiml",
	}
	fields := make([]string, len(names))
	for i, name := range names {
		if rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(name)), "label."); ok && rest != "" {
			fields[i] = fieldLabel
			continue
		}
		plain := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, name)
		// Several texts are several messages; of another field, the first column counts.
		if field := known[plain]; field == "message" || !slices.Contains(fields, field) {
			fields[i] = field
		}
	}
	return fields
}

// mapping is how the rows of a file become contacts.
type mapping struct {
	Names  []string // of the columns
	Fields []string // of each column; empty: it is not sent
	Run    string   // with another name, the same rows are sent again
	// Defaults of rows that leave them out.
	Text, Priority, Purpose string
}

// mistakes returns what is wrong with the mapping; empty: nothing.
func (m *mapping) mistakes() []string {
	var list []string
	allowed := rowFields()
	count := map[string]int{}
	for i, field := range m.Fields {
		count[field]++
		if !slices.ContainsFunc(allowed, func(o option) bool { return o.Value == field }) {
			list = append(list, fmt.Sprintf("Column %d has an unknown field.", i+1))
		}
	}
	if count["to"] == 0 {
		list = append(list, "No column has the phone number or address.")
	}
	for _, o := range allowed {
		if n := count[o.Value]; n > 1 && o.Value != "" && o.Value != "message" && o.Value != fieldLabel {
			list = append(list, fmt.Sprintf("%d columns have the same field: %s.", n, o.Text))
		}
	}
	return list
}

// header identifies the columns of a file, in their order.
func header(names []string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// importRow is a row of a file.
type importRow struct {
	Line   int
	cells  []string // as in the file
	body   map[string]any
	Key    string
	size   int    // of the body, in bytes
	Column string // that Reason is about; empty: the whole row
	Reason string // why the row is not sent; empty: it can be sent
}

// refused marks a row as one that cannot be sent, because of a field.
func (r importRow) refused(m *mapping, field, reason string) importRow {
	r.Reason, r.Column = reason, field
	column := field
	if field == "messages" {
		column = "message"
	}
	if i := slices.Index(m.Fields, column); i >= 0 && field != "" {
		r.Column = m.Names[i]
	}
	return r
}

// To returns the address, for the preview.
func (r importRow) To() string { s, _ := r.body["to"].(string); return s }

// Texts returns the texts, for the preview.
func (r importRow) Texts() []string { s, _ := r.body["messages"].([]string); return s }

// Others returns the other fields in words, for the preview.
func (r importRow) Others() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.body)) {
		if name != "to" && name != "messages" && name != "key" {
			raw, _ := json.Marshal(r.body[name]) // texts and numbers cannot fail
			parts = append(parts, name+": "+strings.Trim(string(raw), `"`))
		}
	}
	return strings.Join(parts, "; ")
}

// nextRow reads the next row of a file as a contact. The error is io.EOF after the last one, and
// otherwise one after which nothing more can be read.
func (m *mapping) nextRow(from *respondents.Reader) (importRow, error) {
	cells, line, err := from.Fields()
	r := importRow{Line: line, cells: slices.Clone(cells)}
	if bad, ok := errors.AsType[*respondents.RowError](err); ok {
		r.Reason, r.Column = bad.Reason, bad.Column
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.body = filled("priority", m.Priority, "purpose", m.Purpose)
	if reason, field := m.fill(r.body, r.cells); reason != "" {
		return r.refused(m, field, reason), nil
	}
	if r.To() == "" {
		return r.refused(m, "to", "is missing"), nil
	}
	raw, err := json.Marshal(r.body)
	if err != nil {
		return r, err
	}
	r.size = len(raw) + 100 // of the key
	if r.Key, _ = r.body["key"].(string); r.Key == "" {
		r.Key = rowKey(m.Run, raw)
		r.body["key"] = r.Key
	}
	return r, nil
}

// fill sets the fields of a contact from the cells of its row.
func (m *mapping) fill(body map[string]any, cells []string) (reason, field string) {
	var texts []string
	call, labels := map[string]any{}, map[string]string{}
	for i, value := range cells {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		switch field := m.Fields[i]; field {
		case "":
		case "message":
			texts = append(texts, value)
		case fieldLabel:
			name := strings.TrimSpace(m.Names[i])
			if rest := len("label."); len(name) > rest && strings.EqualFold(name[:rest], "label.") {
				name = name[rest:]
			}
			labels[name] = value
		case "call_flow_id":
			n, err := strconv.ParseInt(value, 10, 54)
			if err != nil {
				return "is not a whole number", field
			}
			call[field] = n
		case "callback_url", "twiml":
			call[field] = value
		default:
			body[field] = value
		}
	}
	if len(texts) == 0 && m.Text != "" {
		texts = []string{m.Text}
	}
	if len(texts) > 0 {
		body["messages"] = texts
	}
	if len(call) > 0 {
		body["call"] = call
	}
	if len(labels) > 0 {
		body["labels"] = labels
	}
	return "", ""
}

// rowKey returns the idempotency key of a row that has none: a hash of the run and of what is sent,
// with the address. A file sent again has the same keys, also when rows were added, removed or
// mended meanwhile, so that nobody is contacted twice. A hash of the file and the line would not.
func rowKey(run string, body []byte) string {
	sum := sha256.Sum256(append([]byte(run+"\n"), body...))
	return "file-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// readRows reads at most limit rows.
func (m *mapping) readRows(from *respondents.Reader, limit int) (list []importRow, err error) {
	for len(list) < limit {
		r, err := m.nextRow(from)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
	return list, nil
}
