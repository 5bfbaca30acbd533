package httpgateway

import (
	"slices"
	"strings"

	"weir"
	"weir/internal/plainjson"
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
	consent    *consent
}

// parse reads the settings of a channel. The list has every mistake, with pointers
// relative to the settings.
func parse(s weir.Settings) (*template, content, []weir.FieldError) {
	var wrong mistakes
	known := names{readNames(&wrong, s, settingSecrets), readNames(&wrong, s, settingValues)}
	root := readObject(&wrong, document(s[settingTemplate]), "/"+settingTemplate, "send", "answer", "ask", "check", "callback", "states", "incoming", "consent")
	if root.fields == nil {
		return nil, content{}, wrong
	}
	t := &template{states: readStates(root)}
	root.need("send", "the request that dispatches a message")
	if send, ok := root.object("send", requestKeys("per")...); ok {
		t.perContact = send.choice("per", "message", "contact") == "contact"
		t.send = readRequest(send, scope{known, placeholderNames(func(p placeholder) bool { return p.send })})
	}
	root.need("answer", "rules for the answers to send, such as [{\"status\": \"2xx\", \"fate\": \"accepted\"}]")
	t.answer = readRules(root, "answer", sendRule, "fate", "reason", "fault", "retry_after")
	if ask, ok := root.object("ask", requestKeys("answer")...); ok {
		q := readRequest(ask, scope{known, placeholderNames(func(p placeholder) bool { return p.ask })})
		t.ask, t.askAnswer = &q, readRules(ask, "answer", askRule, "knowledge", "state")
		ask.need("answer", "rules for the answers to ask")
	}
	if check, ok := root.object("check", requestKeys("up")...); ok {
		q := readRequest(check, scope{names: known})
		t.check, t.up = &q, readRules(check, "up", func(object, *rule) {})
	}
	// After the rules of answers: whether a callback needs a state depends on them.
	t.callback = readCallback(root, t.completes(), known.secrets)
	t.incoming, t.consent = readIncoming(root), readConsent(root, known.values)
	if !t.ends() {
		wrong.fail(root.under("states"), "required", "at least one state has to end a message: one of %s. Where nothing is reported, an answer has the fate completed", strings.Join(outcomes()[1:], ", "))
	}
	if len(wrong) > 0 {
		return nil, content{}, wrong
	}
	return t, content{secrets: known.secrets, values: known.values}, nil
}

// document returns an object that is given as such, or as a text that holds it.
// Forms and the command line can only give texts.
func document(v any) any {
	if s, isText := v.(string); isText {
		var out any
		if plainjson.Unmarshal([]byte(s), &out) == nil {
			return out
		}
	}
	return v
}

// readNames reads a setting that is an object of texts.
func readNames(wrong *mistakes, s weir.Settings, key string) map[string]string {
	out := map[string]string{}
	v, ok := s[key]
	if !ok {
		return out
	}
	o := readObject(wrong, document(v), "/"+key)
	for _, name := range o.keys() {
		if out[name] = o.text(name); strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" {
			wrong.fail(o.under(name), "format", "a name has letters, digits, _ and - only")
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
