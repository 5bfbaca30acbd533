package httpgateway

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
	"weir/internal/backoff"
	"weir/internal/plainjson"
)

// rule maps an answer that it matches to a result.
type rule struct {
	status string // "200", "2xx"
	match  []condition
	begins []string // one of these begins the body
	empty  pointer  // leads to nothing, or to an empty list or text

	result    channels.SendResult  // of a rule of send
	retry     string               // name of the header with the pause
	retryAt   pointer              // of the pause in seconds
	knowledge channels.QueryStatus // of a rule of ask; 0: state says
	state     pointer
	ref       reference
}

// reference is where an answer has the gateway's reference, and how it begins.
type reference struct {
	at     pointer
	begins []string
}

// text returns the reference; empty: there is none.
func (f reference) text(body any) string {
	s := f.at.text(body)
	if f.begins != nil && !slices.ContainsFunc(f.begins, func(b string) bool { return strings.HasPrefix(s, b) }) {
		return ""
	}
	return bounded(s)
}

// reference reads a pointer, or an object with it and how a reference begins.
func (o object) reference(key string) reference {
	if _, isObject := o.fields[key].(map[string]any); !isObject {
		return reference{at: o.pointer(key)}
	}
	of, _ := o.object(key, "at", "begins")
	of.need("at", "pointer to the reference")
	return reference{of.pointer("at"), of.texts("begins")}
}

// condition holds if a value of the body is one of some texts, or none of them.
type condition struct {
	at pointer
	in []string
	// none: the value is none of them. A document without the value does not match.
	none bool
}

// reasons are the shared reasons that rules and states name.
func reasons() []string {
	return []string{
		channels.OptedOut, channels.NumberNotUsable, channels.MessageNotAcceptable, channels.RateLimited, channels.WindowClosed, channels.Machine,
		channels.FailedAtProvider, channels.CanceledAtProvider,
	}
}

// reason reads a reason: a shared one, or a few plain words.
func (o object) reason(key string) string {
	s := o.text(key)
	plain := !strings.ContainsFunc(s, func(c rune) bool { return c != ' ' && c != '-' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	// A reason is stored and shown, so it holds nothing of a person: without digits, no number
	// fits into it.
	if s != "" && (!plain || len(s) > 60) {
		o.wrong.fail(o.under(key), "value", "must be one of %s, or at most 60 letters, blanks and hyphens", strings.Join(reasons(), ", "))
	}
	return s
}

// readRules reads the rules of an answer.
func readRules(o object, key string, read func(o object, u *rule), keys ...string) []rule {
	var out []rule
	keys = append([]string{"status", "match", "none", "begins", "empty", "ref"}, keys...)
	for i, v := range o.list(key) {
		at := readObject(o.wrong, v, o.under(key)+"/"+strconv.Itoa(i), keys...)
		at.need("status", "a status such as 200, or 2xx for all of a hundred")
		u := rule{status: at.text("status"), empty: at.pointer("empty"), ref: at.reference("ref")}
		if len(u.status) != 3 || u.status[0] < '1' || u.status[0] > '5' || u.status[1:] != "xx" && strings.Trim(u.status, "0123456789") != "" {
			o.wrong.fail(at.under("status"), "format", "must be a status such as 200, or 2xx for all of a hundred")
		}
		u.match, u.begins = append(readConditions(at, "match"), readConditions(at, "none")...), at.texts("begins")
		read(at, &u)
		out = append(out, u)
	}
	return out
}

// readConditions reads the object match or none.
func readConditions(o object, field string) []condition {
	match, _ := o.object(field)
	var out []condition
	for _, key := range match.keys() {
		p, ok := parsePointer(key)
		if !ok {
			o.wrong.fail(match.under(key), "format", "must be a JSON pointer (RFC 6901) that begins with /")
		}
		out = append(out, condition{at: p, in: match.texts(key), none: field == "none"})
	}
	return out
}

// texts reads a scalar or a list of scalars as texts.
func (o object) texts(key string) []string {
	v, ok := o.fields[key]
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var out []string
	good := len(list) > 0
	for _, e := range list {
		s := scalar(e)
		if _, isText := e.(string); s == "" && !isText {
			good = false
		}
		out = append(out, s)
	}
	if !good {
		o.wrong.fail(o.under(key), "type", "must be a text, a number, true or false, or a list of these")
	}
	return out
}

// sendRule reads what a rule of send says.
func sendRule(o object, u *rule) {
	o.need("fate", "accepted, completed, refused, not_sent or unclear")
	s := &u.result
	s.Reason = o.reason("reason")
	switch o.choice("fate", "unclear", "accepted", "completed", "refused", "not_sent") {
	case "accepted":
		s.Status = channels.Accepted
	case "completed":
		s.Status, s.Outcome = channels.Accepted, weir.Completed
	case "refused":
		s.Status, s.Outcome = channels.Refused, weir.Failed
	case "not_sent":
		s.Status = channels.NotSent
	default:
		s.Status, s.Answered = channels.Unclear, true
	}
	fault := o.choice("fault", "contact", "channel", "recipient")
	s.ChannelFault, s.Later = fault == "channel", fault == "recipient"
	if o.has("fault") && (s.Status == channels.Accepted || s.Status == channels.Refused) || s.Later && s.Status != channels.NotSent {
		o.wrong.fail(o.under("fault"), "conflict", "contact, channel or recipient qualify not_sent, and the first two unclear")
	}
	// A refusal ends the contact for good, so the client has to find a reason in it.
	if s.Status == channels.Refused && s.Reason == "" {
		o.need("reason", "why the contact fails: one of "+strings.Join(reasons(), ", ")+", or words of your own")
	}
	if o.has("retry_after") {
		after := o.text("retry_after")
		if name, ok := strings.CutPrefix(after, "header:"); ok && headerName(name) {
			u.retry = name
		} else if at, ok := strings.CutPrefix(after, "pointer:"); ok && strings.HasPrefix(at, "/") {
			u.retryAt, _ = parsePointer(at)
		} else if d, err := time.ParseDuration(after); err == nil && d > 0 && d <= 24*time.Hour {
			s.RetryAfter = d
		} else {
			o.wrong.fail(o.under("retry_after"), "format", "must be a duration up to 24h such as 30s, header:NAME, or pointer:/PLACE of a number of seconds")
		}
	}
}

// askRule reads what a rule of ask says.
func askRule(o object, u *rule) {
	u.state = o.pointer("state")
	if o.has("knowledge") == o.has("state") {
		o.wrong.fail(o.at, "conflict", "a rule has either knowledge (absent, underway, cannot_tell) or state, a pointer to the gateway's state")
		return
	}
	if o.has("knowledge") {
		u.knowledge = map[string]channels.QueryStatus{
			"absent": channels.Absent, "underway": channels.Underway, "cannot_tell": channels.CannotTell,
		}[o.choice("knowledge", "cannot_tell", "absent", "underway")]
	}
}

// find returns the first rule that an answer fits; nil: none does. Of an answer that was
// cut off, nothing is known but its status, which HTTP itself interprets.
func find(rules []rule, r provider.Result) (*rule, any) {
	if r.Delivery != provider.Answered || r.Err != nil {
		return nil, nil
	}
	body := decode(r.Body, r.Header.Get("Content-Type"))
	i := slices.IndexFunc(rules, func(u rule) bool { return u.fits(r.Status, r.Body, body) })
	if i < 0 {
		return nil, nil
	}
	return &rules[i], body
}

func (u *rule) fits(status int, raw []byte, body any) bool {
	s := strconv.Itoa(status)
	if u.status != s && (u.status[1:] != "xx" || u.status[0] != s[0]) {
		return false
	}
	if u.begins != nil && !slices.ContainsFunc(u.begins, func(b string) bool { return bytes.HasPrefix(raw, []byte(b)) }) {
		return false
	}
	if u.empty != nil && !isEmpty(u.empty, body) {
		return false
	}
	if u.ref.at != nil && u.ref.text(body) == "" {
		return false // an answer without the reference that it should hold was not understood
	}
	for _, c := range u.match {
		found, ok := c.at.find(body)
		if value := scalar(found); !ok || value == "" && c.none || slices.Contains(c.in, value) == c.none {
			return false
		}
	}
	return true
}

// isEmpty reports whether a document has an empty list, or an empty text, at a place. A
// document without that place says nothing.
func isEmpty(p pointer, body any) bool {
	found, ok := p.find(body)
	list, isList := found.([]any)
	return ok && (isList && len(list) == 0 || found == "")
}

// decode reads a body: JSON objects and lists, and forms as an object of their fields.
// Anything else is nil.
func decode(body []byte, contentType string) any {
	body = provider.WithoutMark(body)
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return nil
	}
	if trimmed[0] == '{' || trimmed[0] == '[' {
		var v any
		if plainjson.Unmarshal(body, &v) != nil || tooDeep(v, maxDepth) {
			return nil
		}
		return v
	}
	if contentType != "" {
		if form, err := provider.Form(contentType, body); err == nil && form != nil {
			return formObject(form)
		}
	}
	return nil
}

// maxDepth bounds the nesting of documents.
const maxDepth = 64

func tooDeep(v any, left int) bool {
	if left == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if tooDeep(e, left-1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return tooDeep(e, left-1) })
	}
	return false
}

// formObject returns fields as an object; of a repeated one, the first.
func formObject(lists ...url.Values) map[string]any {
	out := map[string]any{}
	for _, form := range lists {
		for key, list := range form {
			if _, have := out[key]; !have && len(list) > 0 {
				out[key] = strings.ToValidUTF8(list[0], "\uFFFD")
			}
		}
	}
	return out
}

// sent interprets the answer to a request that dispatches.
func sent(rules []rule, r provider.Result) channels.SendResult {
	u, body := find(rules, r)
	if u == nil {
		return r.Sent()
	}
	s := u.result
	s.ProviderRef = u.ref.text(body)
	// The gateway may ask for a longer pause than the template has, never for a shorter one,
	// unless the rule names the place of the pause: then only that place counts.
	s.RetryAfter = max(s.RetryAfter, r.RetryAfter)
	if u.retry != "" && http.CanonicalHeaderKey(u.retry) != "Retry-After" {
		s.RetryAfter = backoff.RetryAfter(r.Header.Get(u.retry), time.Now())
	}
	if u.retryAt != nil {
		s.RetryAfter = backoff.RetryAfter(u.retryAt.text(body), time.Now())
	}
	if s.Reason == "" && s.Status != channels.Accepted {
		s.Reason = r.Reason()
	}
	return s
}

// bounded keeps a reference short.
func bounded(ref string) string { return strings.ToValidUTF8(ref[:min(len(ref), 255)], "") }
