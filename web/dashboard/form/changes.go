package form

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// A form may send what was changed in it alone. It then remembers the texts that it showed, in the
// page itself, and can show what somebody else has changed meanwhile beside what was typed.

// Texts are the texts of the fields of a form, by their names.
type Texts map[string]string

// maxLine is the longest text that a page keeps whole, and shows in a line.
const maxLine = 200

// Texts returns the texts of all fields but secrets. Those that are long are replaced by a digest:
// they are compared only.
func (f *Form) Texts() Texts {
	out := Texts{}
	for _, in := range f.Inputs {
		if in.Kind == Secret || in.Create {
			continue
		}
		out[in.Name] = in.Value
		if len(in.Value) > maxLine {
			sum := sha256.Sum256([]byte(in.Value))
			out[in.Name] = "sha256:" + hex.EncodeToString(sum[:])
		}
	}
	return out
}

// String returns the texts as a page keeps them.
func (t Texts) String() string {
	raw, _ := json.Marshal(t) // of texts it cannot fail
	return string(raw)
}

// Recall returns the texts that a page has kept. ok is false for a form without them.
func Recall(text string) (was Texts, ok bool) {
	err := json.Unmarshal([]byte(text), &was)
	return was, err == nil && was != nil
}

// Changes returns what differs from the texts that were shown, as a patch; nil: those of a new document.
func (f *Form) Changes(was Texts) map[string]any {
	body, now := map[string]any{}, f.Texts()
	for _, in := range f.Inputs {
		changed := was == nil && now[in.Name] != "" || was != nil && now[in.Name] != was[in.Name]
		switch {
		case in.Create:
		case in.Kind == Secret && in.Value != "", in.Kind != Secret && changed && in.Value != "":
			put(body, in.place(), in.json())
		case in.Kind == Secret && in.Remove, in.Kind != Secret && changed:
			put(body, in.place(), in.none())
		}
	}
	return body
}

// Change is a field that somebody else has changed, and what its text is by now.
type Change struct {
	*Input
	Text string
}

// Merge takes over what somebody else has changed where nothing was typed, and returns all of it. was
// is what this form has shown, now what it would show.
func (f *Form) Merge(theirs *Form, was, now Texts) (list []Change) {
	typed := f.Texts()
	for _, in := range f.Inputs {
		if in.Kind == Secret || in.Create || now[in.Name] == was[in.Name] {
			continue
		}
		their := theirs.Input(in.Name).Value
		list = append(list, Change{in, their})
		if typed[in.Name] == was[in.Name] {
			in.Value = their
		}
	}
	return list
}

// Long reports whether the text is no line to be shown.
func (c Change) Long() bool { return len(c.Text) > maxLine || strings.Contains(c.Text, "\n") }

// Forget clears the secrets before the form is sent to the browser.
func (f *Form) Forget() {
	for _, in := range f.Inputs {
		if in.Kind == Secret && in.Value != "" {
			in.Value, in.Lost = "", true
		}
	}
}
