package respondents

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"weir"
)

// ResultPrefix begins a column of the results with an attribute that has the name of another column.
const ResultPrefix = "attributes."

// ResultColumns returns the columns that the results of every survey have, before those of the
// attributes, and the last one, with the attributes that have no column.
func ResultColumns() (own []string, last string) {
	return []string{
		"id", FieldPhone, "status", "disposition", "arm", "questionnaire", "mode", "attempts_ivr", "attempts_sms", "attempts_mobileweb", "attempts_cati",
		"bucket", "counted", "opted_out", "added_at", "started_at", "finished_at", "updated_at",
		"messages_sent", "messages_received", "call_seconds",
	}, "other_attributes"
}

// Ignored returns which columns of a file are no attributes: those of the results of a survey, if
// the file has all of them. Results can thus be the list of the next survey.
func Ignored(header []string) []bool {
	own, last := ResultColumns()
	out, count := make([]bool, len(header)), 0
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		out[i] = name == last || name != FieldPhone && slices.Contains(own, name)
		if out[i] {
			count++
		}
	}
	if count < len(own) { // one of them is phone
		clear(out)
	}
	return out
}

// ContactHeaders returns the headers that usually are a field of a contact besides its own name, in lower case and
// only letters and digits. A header that begins with "label." is a label.
func ContactHeaders() map[string][]string {
	return map[string][]string{
		"to":      {"phone", "phonenumber", "number", "msisdn", "mobile", "mobilenumber", "telephone", "tel", "recipient", "address"},
		"message": {"text", "sms", "body"}, "key": {"idempotencykey", "externalid"}, "time_zone": {"zone"}, "call_flow_id": {"callflow"},
	}
}

// PhoneHeaders returns the headers that usually are the phone number of a respondent, as [PlainHeader]
// returns them.
func PhoneHeaders() []string {
	return []string{FieldPhone, "phonenumber", "telephone", "mobile", "msisdn", "number", "tel", "telefono", "celular"}
}

// PlainHeader returns a header in lower case, with only its letters and digits.
func PlainHeader(header string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, header)
}

// ContactKey returns the idempotency key of a row that has none: a hash of the channel, of the run
// and of the contact, with the address, as the API takes it. A file that is sent again has the same
// keys, whoever sends it, also when rows were added, removed or mended meanwhile, so that no
// recipient is contacted twice.
func ContactKey(channel, run string, contact any) (string, error) {
	raw, err := json.Marshal(contact)
	if err != nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return "", err
	}
	delete(fields, "key")
	for _, name := range []string{"not_before", "not_after"} { // the same instant, however it is written
		var text string
		if json.Unmarshal(fields[name], &text) == nil {
			if at, _, wrong := weir.ParseInstant(text); wrong == "" {
				fields[name], _ = json.Marshal(at.UTC()) // an instant cannot fail
			}
		}
	}
	if raw, err = canonical(fields); err != nil {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat([]byte(channel+"\n"+run+"\n"), raw))
	return "row-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])), nil
}

// canonical returns fields as JSON, those of objects inside in order of their names, too.
func canonical(fields map[string]json.RawMessage) ([]byte, error) {
	values := make(map[string]any, len(fields))
	for name, raw := range fields {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		values[name] = value
	}
	return json.Marshal(values)
}
