package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/plainjson"
	"weir/internal/validation"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/imports"
)

// States of the rows of an import.
const (
	stateQueued    = "queued"
	stateDuplicate = "duplicate"
)

// importedContact is a row as a contact.
type importedContact struct {
	body map[string]any
	sum  string // of its content
}

// contactKind makes contacts of rows.
type contactKind struct {
	channel, run string
	defaults     map[string]any // of what rows leave out
	columns      []imports.Column
	// take queues contacts, all or none. A dry run checks them, and lists none.
	take func(ctx context.Context, bodies []any) (api.AcceptedList, error)
}

// Read implements [imports.Kind].
func (k *contactKind) Read(columns []imports.Column, cells []string) (importedContact, *imports.Mistake) {
	k.columns = columns
	body, call, labels := map[string]any{}, map[string]any{}, map[string]any{}
	var texts []any
	for i, value := range cells {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		field := columns[i].Field
		if name, ok := strings.CutPrefix(field, "label."); ok {
			labels[name] = value
			continue
		}
		switch field {
		case "":
		case "message":
			texts = append(texts, value)
		case "call_flow_id":
			n, err := strconv.ParseInt(value, 10, 54)
			if err != nil {
				return importedContact{}, &imports.Mistake{Column: columns[i].Header, Reason: "is not a whole number"}
			}
			call[field] = float64(n)
		case "callback_url", "twiml":
			call[field] = value
		default:
			body[field] = value
		}
	}
	for name, value := range map[string]any{"messages": texts, "call": call, "labels": labels} {
		body[name] = value
	}
	return k.row(filledFields(body))
}

// Object implements [imports.Kind].
func (k *contactKind) Object(text string) (importedContact, *imports.Mistake) {
	v, err := plainjson.Parse([]byte(text))
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return importedContact{}, &imports.Mistake{Reason: "is not a contact: it must be one JSON object"}
	}
	maps.DeleteFunc(body, func(name string, _ any) bool { return respondents.IsRemark(name) })
	return k.row(filledFields(body))
}

// filledFields returns the fields that say something: null, and what is empty, is as if it were absent.
func filledFields(body map[string]any) map[string]any {
	out := make(map[string]any, len(body))
	for name, v := range body {
		switch x := v.(type) {
		case nil:
			continue
		case string:
			if x == "" {
				continue
			}
		case []any:
			if len(x) == 0 {
				continue
			}
		case map[string]any:
			if name == "call" {
				x = filledFields(x)
				v = x
			}
			if len(x) == 0 {
				continue
			}
		}
		out[name] = v
	}
	return out
}

// row completes a contact with the defaults, and gives it a key.
func (k *contactKind) row(body map[string]any) (importedContact, *imports.Mistake) {
	for name, value := range k.defaults {
		own, has := body[name].(map[string]any)
		if given, ok := value.(map[string]any); ok && has && name == "labels" {
			all := maps.Clone(given)
			maps.Copy(all, own)
			body[name] = all
		} else if body[name] == nil {
			body[name] = value
		}
	}
	if body["to"] == nil {
		return importedContact{}, &imports.Mistake{Column: k.header("to"), Reason: "is missing"}
	}
	sum, err := respondents.ContactKey(k.channel, k.run, body)
	if err != nil {
		return importedContact{}, &imports.Mistake{Reason: "is not a contact: it must be one JSON object"}
	}
	if body["key"] == nil {
		body["key"] = sum
	}
	return importedContact{body, sum}, nil
}

// header returns the header of the column that is a field, or else the field.
func (k *contactKind) header(field string) string {
	if field == "messages" {
		field = "message"
	}
	if i := slices.IndexFunc(k.columns, func(c imports.Column) bool { return field != "" && c.Field == field }); i >= 0 {
		return k.columns[i].Header
	}
	return field
}

// Store implements [imports.Kind]. Contacts are queued by the route of POST …/contacts, which
// takes all or none, and no key twice: rows that it names are refused, and the others sent again
// without them.
func (k *contactKind) Store(ctx context.Context, rows []*imports.Row[importedContact]) error {
	for {
		first := map[any]*imports.Row[importedContact]{}
		var once, again []*imports.Row[importedContact]
		for _, r := range rows {
			if r.Wrong != nil || r.State != "" {
				continue
			}
			if key := keyOf(r); first[key] == nil {
				first[key] = r
				once = append(once, r)
			} else {
				again = append(again, r)
			}
		}
		if len(once) == 0 {
			return nil
		}
		if err := k.storeOnce(ctx, once); err != nil {
			return err
		}
		for _, r := range again {
			switch before := first[keyOf(r)]; {
			case before.Value.sum == r.Value.sum && before.Wrong != nil:
				r.Wrong = before.Wrong
			case before.Value.sum == r.Value.sum:
				r.State = stateDuplicate
			case before.Wrong == nil:
				r.Refuse(k.header("key"), fmt.Sprintf("is the key of line %d, too, which has other content", before.Line))
			}
		}
	}
}

// keyOf returns the key of a row, which may be no text.
func keyOf(r *imports.Row[importedContact]) any {
	if key, ok := r.Value.body["key"].(string); ok {
		return key
	}
	return r
}

// storeOnce queues rows with different keys.
func (k *contactKind) storeOnce(ctx context.Context, rows []*imports.Row[importedContact]) error {
	for len(rows) > 0 {
		bodies := make([]any, len(rows))
		for i, r := range rows {
			bodies[i] = r.Value.body
		}
		list, err := k.take(ctx, bodies)
		if err == nil {
			for i, r := range rows {
				if r.State = stateQueued; i < len(list.Contacts) && list.Contacts[i].Duplicate {
					r.State = stateDuplicate
				}
			}
			return nil
		}
		k.refuse(err, rows)
		kept := slices.DeleteFunc(slices.Clone(rows), func(r *imports.Row[importedContact]) bool { return r.Wrong != nil })
		if len(kept) == len(rows) {
			return err
		}
		rows = kept
	}
	return nil
}

// refuse refuses the rows that an error names.
func (k *contactKind) refuse(err error, rows []*imports.Row[importedContact]) {
	known, ok := err.(*weir.Error) //nolint:errorlint // of the route itself
	if !ok {
		return
	}
	for _, e := range known.Fields {
		parts := strings.Split(strings.TrimPrefix(e.Pointer, "/contacts/"), "/")
		i, err := strconv.Atoi(parts[0])
		if err != nil || i < 0 || i >= len(rows) {
			continue
		}
		field := ""
		if len(parts) > 1 {
			field = parts[1]
		}
		if field == "call" && len(parts) > 2 {
			field = parts[2]
		}
		rows[i].Refuse(k.header(auth.MaskText(validation.Clip(field))), e.Detail)
	}
}
