package httpgateway

import (
	"time"

	"weir"
	"weir/channels"
)

// Render returns the requests that a template makes for a contact, without sending
// them, or every mistake in the settings. Secrets are replaced by their names.
func Render(s weir.Settings, to string, messages []string, callback string) ([]Rendered, []weir.FieldError, error) {
	t, fixed, errs := parse(s)
	if len(errs) > 0 {
		return nil, errs, nil
	}
	for name := range fixed.secrets {
		fixed.secrets[name] = "secret." + name
	}
	fixed.callback = callback
	d := &driver{t: t, fixed: fixed}
	a := channels.Attempt{ID: weir.AttemptRef{Ref: weir.Ref{Channel: 1, ID: 1}, Number: 1}, To: to, Messages: messages, ClaimedAt: time.Now(), Priority: weir.Normal}
	parts := len(messages)
	if t.perContact {
		parts = 1
	}
	var list []Rendered
	for i := range parts {
		r, err := t.send.render(d.content(a, d.part(i)))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, r)
	}
	return list, nil, nil
}
