package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/ops"
	"weir/surveys"
)

// Bounds of the changes that the audit log records for one request.
const (
	maxChanges     = 50
	maxChangeValue = 300 // characters
)

// changesOf lists the fields that differ between two documents, by path. For a
// secret it records only that it changed.
func changesOf(before, after map[string]any, secret func(path string) bool) []ops.FieldChange {
	was, is := map[string]string{}, map[string]string{}
	flatten("", before, was)
	flatten("", after, is)
	paths := maps.Clone(was)
	maps.Copy(paths, is)
	var list []ops.FieldChange
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		switch {
		case was[path] == is[path]:
		case len(list) == maxChanges:
			return append(list, ops.FieldChange{Field: "…"})
		case secret(path):
			list = append(list, ops.FieldChange{Field: path, Secret: true})
		default:
			list = append(list, ops.FieldChange{Field: path, Before: shorten(was[path]), After: shorten(is[path])})
		}
	}
	return list
}

// flatten collects the leaves of a document by path; a list of plain values is
// a leaf.
func flatten(path string, v any, into map[string]string) {
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			flatten(at(name), value, into)
		}
	case []any:
		if !slices.ContainsFunc(x, func(v any) bool { _, object := v.(map[string]any); return object }) {
			raw, _ := json.Marshal(x) // cannot fail: x was decoded from JSON
			into[path] = string(raw)
			return
		}
		for i, value := range x {
			flatten(at(fmt.Sprint(i)), value, into)
		}
	case nil:
	default:
		into[path] = fmt.Sprint(x)
	}
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxChangeValue {
		return text
	}
	return string([]rune(text)[:maxChangeValue]) + "…"
}

// channelChanges lists the differences between two versions of a channel.
// Settings that the channel type does not show, or of an unknown type, count as
// secret.
func (s *service) channelChanges(before, after weir.Channel) []ops.FieldChange {
	doc := func(ch weir.Channel) map[string]any {
		settings := map[string]any{}
		maps.Copy(settings, ch.Settings)
		out := map[string]any{"settings": settings}
		if ch.ID != 0 || ch.Capacity != 0 {
			out["type"], out["capacity"], out["paused"] = ch.Type, ch.Capacity, ch.Paused
		}
		if ch.Title != "" {
			out["name"] = ch.Title
		}
		return out
	}
	shown := map[string]any{}
	if t, ok := s.Directory.Type(after.Type); ok {
		for _, ch := range []weir.Channel{before, after} {
			flattened := map[string]string{}
			flatten("settings", map[string]any(t.Redact(ch.Settings)), flattened)
			for path := range flattened {
				shown[path] = true
			}
		}
	}
	return changesOf(doc(before), doc(after), func(path string) bool {
		return strings.HasPrefix(path, "settings.") && shown[path] == nil
	})
}

// surveyChanges lists the differences between two versions of a survey. An
// empty name in before means that there was none.
func surveyChanges(before, after surveys.Survey) []ops.FieldChange {
	was := map[string]any{}
	if before.Name != "" {
		was, _ = document(bodyOf(before)) // cannot fail: it was encoded when stored
	}
	is, _ := document(bodyOf(after))
	return changesOf(was, is, surveySecret)
}

// surveySecret reports whether a path in a survey is that of a secret.
func surveySecret(path string) bool { return path == "application.secret" }

// changeViews returns the view of changes, with phone numbers masked unless
// pii.
func changeViews(list []ops.FieldChange, pii bool) []AuditChangeView {
	var out []AuditChangeView
	for _, c := range list {
		v := AuditChangeView(c)
		if !pii {
			mask := maskValue
			if strings.Contains(c.Field, "messages") {
				mask = maskText
			}
			v.Before, v.After = mask(v.Before), mask(v.After)
		}
		out = append(out, v)
	}
	return out
}
