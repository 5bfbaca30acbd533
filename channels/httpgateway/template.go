package httpgateway

import (
	"encoding/json"
	"slices"
	"strings"

	"weir"
)

// Settings of a channel of this type.
const (
	settingTemplate = "template"
	settingSecrets  = "secrets"
	settingValues   = "values"
)

// template is a parsed template.
type template struct {
	send       request
	perContact bool // one request for all messages
	answer     []rule
	ask        *request
	askAnswer  []rule
	check      *request
	up         []rule // answers to check; none: any 2xx
	callback   callback
	states     map[string]meaning
	incoming   *incoming
}

// parse reads the settings of a channel. The list has every mistake, with pointers
// relative to the settings.
func parse(s weir.Settings) (*template, content, []weir.FieldError) {
	r := &reader{}
	r.secrets, r.values = r.names(s, settingSecrets), r.names(s, settingValues)
	root := r.object(document(s[settingTemplate]), "/"+settingTemplate, "send", "answer", "ask", "check", "callback", "states", "incoming")
	if root.fields == nil {
		return nil, content{}, r.errs
	}
	t := &template{states: r.states(root)}
	root.need("send", "the request that dispatches a message")
	if send, ok := root.object("send", requestKeys("per")...); ok {
		t.perContact = send.choice("per", "message", "contact") == "contact"
		t.send = r.request(send, placeholderNames(func(p placeholder) bool { return p.send }))
	}
	root.need("answer", "rules for the answers to send, such as [{\"status\": \"2xx\", \"fate\": \"accepted\"}]")
	t.answer = r.rules(root, "answer", sendRule, "fate", "reason", "fault", "retry_after")
	if ask, ok := root.object("ask", requestKeys("answer")...); ok {
		q := r.request(ask, placeholderNames(func(p placeholder) bool { return p.ask }))
		t.ask, t.askAnswer = &q, r.rules(ask, "answer", askRule, "knowledge", "state")
		ask.need("answer", "rules for the answers to ask")
	}
	if check, ok := root.object("check", requestKeys("up")...); ok {
		q := r.request(check, nil)
		t.check, t.up = &q, r.rules(check, "up", func(object, *rule) {})
	}
	// After the rules of answers: whether a callback needs a state depends on them.
	t.callback = r.callback(root, t.completes())
	t.incoming = r.incoming(root)
	if !t.ends() {
		r.fail(root.under("states"), "required", "at least one state has to end a message: one of %s. Where nothing is reported, an answer has the fate completed", strings.Join(outcomes()[1:], ", "))
	}
	if len(r.errs) > 0 {
		return nil, content{}, r.errs
	}
	return t, content{secrets: r.secrets, values: r.values}, nil
}

// document returns an object that is given as such, or as a text that holds it.
// Forms and the command line can only give texts.
func document(v any) any {
	if s, isText := v.(string); isText {
		var out any
		if json.Unmarshal([]byte(s), &out) == nil {
			return out
		}
	}
	return v
}

// names reads a setting that is an object of texts.
func (r *reader) names(s weir.Settings, key string) map[string]string {
	out := map[string]string{}
	v, ok := s[key]
	if !ok {
		return out
	}
	o := r.object(document(v), "/"+key)
	for _, name := range o.keys() {
		if out[name] = o.text(name); strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" {
			r.fail(o.under(name), "format", "a name has letters, digits, _ and - only")
		}
	}
	return out
}

// completes reports whether an answer ends a message.
func (t *template) completes() bool {
	return slices.ContainsFunc(t.answer, func(u rule) bool { return u.result.Outcome == weir.Completed })
}

// ends reports whether an answer or a state ends a message.
func (t *template) ends() bool {
	if t.completes() {
		return true
	}
	for _, m := range t.states {
		if m.outcome != "" {
			return true
		}
	}
	return false
}
