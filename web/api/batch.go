package api

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir"
	"weir/channels"
	"weir/internal/validation"
	"weir/ops"
	"weir/web/wire"
)

// Limits that schema keywords cannot express.
const (
	maxLabelName  = 64
	maxLabelValue = 256
	maxTwiML      = 64 << 10 // bytes
)

// batchReader converts a request body to specs and finds the errors that depend
// on the channel, the clock or several fields. The schema is checked earlier,
// but batchReader also reads a body that failed there, as far as possible, so
// that all errors are reported at once.
type batchReader struct {
	now      time.Time
	content  channels.Content
	typeName string
	capacity int
	reserve  int
	errors   *validation.Errors
	keys     map[string]int // first contact of each key
}

func (b *batchReader) read(body map[string]any) []weir.Spec {
	list, _ := body["contacts"].([]any)
	if len(list) > 1000 {
		return nil // reported by the schema
	}
	b.keys = make(map[string]int, len(list))
	specs := make([]weir.Spec, 0, len(list))
	for i, v := range list {
		if o, ok := v.(map[string]any); ok {
			specs = append(specs, b.contact(o, i))
		}
	}
	return specs
}

func (b *batchReader) contact(o map[string]any, i int) weir.Spec {
	at := "/contacts/" + strconv.Itoa(i)
	var s weir.Spec
	s.Key, _ = o["key"].(string)
	s.To, _ = o["to"].(string)
	s.Survey, _ = o["survey"].(string)
	word, _ := o["priority"].(string)
	s.Priority = priorityOf(word)
	b.key(s.Key, i, at)
	b.window(o, &s, at)
	b.labels(o, &s, at)
	b.messages(o, &s, at)
	b.call(o, &s, at)
	b.kind(o, at)
	b.size(&s, at)
	return s
}

func (b *batchReader) key(key string, i int, at string) {
	if key == "" {
		return
	}
	if strings.HasPrefix(key, ops.RequeuePrefix) {
		b.errors.Add(at+"/key", "reserved", "must not begin with %s: such keys are of contacts that Weir made of dead letters", ops.RequeuePrefix)
		return
	}
	if first, ok := b.keys[key]; ok {
		b.errors.Add(at+"/key", "duplicate", "is the key of /contacts/%d too", first)
		return
	}
	b.keys[key] = i
}

func (b *batchReader) window(o map[string]any, s *weir.Spec, at string) {
	s.NotBefore = instantOf(o["not_before"])
	s.NotAfter = instantOf(o["not_after"])
	switch {
	case s.NotAfter.IsZero():
	case !s.NotAfter.After(b.now):
		b.errors.Add(at+"/not_after", "window", "is over already")
	case !s.NotBefore.Before(s.NotAfter):
		b.errors.Add(at+"/not_after", "window", "must be later than not_before")
	}
}

// instantOf reads an instant; the schema reports invalid ones.
func instantOf(v any) time.Time {
	s, _ := v.(string)
	t, _, _ := weir.ParseInstant(s)
	return t
}

func (b *batchReader) labels(o map[string]any, s *weir.Spec, at string) {
	given, _ := o["labels"].(map[string]any)
	if len(given) == 0 {
		return
	}
	s.Labels = make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, ok := given[name].(string)
		if name == "" || utf8.RuneCountInString(name) > maxLabelName || !printable(name) {
			b.errors.Add(at+"/labels/"+wire.PointerToken(name), "format", "a label's name must be 1 to %d printable characters", maxLabelName)
		}
		if ok && utf8.RuneCountInString(value) > maxLabelValue {
			b.errors.Add(at+"/labels/"+wire.PointerToken(name), "length", "must have 0 to %d characters", maxLabelValue)
		}
		s.Labels[name] = value
	}
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func (b *batchReader) messages(o map[string]any, s *weir.Spec, at string) {
	given, _ := o["messages"].([]any)
	for i, v := range given {
		text, ok := v.(string)
		if n := utf8.RuneCountInString(text); ok && (n < 1 || n > wire.MaxMessage) {
			b.errors.Add(at+"/messages/"+strconv.Itoa(i), "length", "must have 1 to %d characters", wire.MaxMessage)
		}
		s.Messages = append(s.Messages, text)
	}
}

func (b *batchReader) call(o map[string]any, s *weir.Spec, at string) {
	given, ok := o["call"].(map[string]any)
	if !ok {
		return
	}
	known := 0
	for _, name := range []string{"callback_url", "call_flow_id", "twiml"} {
		if _, ok := given[name]; ok {
			known++
		}
	}
	if known != 1 {
		b.errors.Add(at+"/call", "content", "must have exactly one of callback_url, call_flow_id and twiml")
	}
	var c weir.Call
	if v, ok := given["callback_url"].(string); ok {
		c.CallbackURL = v
		if u, err := url.Parse(v); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			b.errors.Add(at+"/call/callback_url", "format", "must be an http or https URL with a host")
		}
	}
	if v, ok := given["call_flow_id"].(float64); ok {
		c.CallFlowID = int64(v)
	}
	if v, ok := given["twiml"].(string); ok {
		c.TwiML = v
		if len(v) > maxTwiML {
			b.errors.Add(at+"/call/twiml", "length", "must have up to %d bytes", maxTwiML)
		} else if !isTwiML(v) {
			b.errors.Add(at+"/call/twiml", "format", "must be well-formed XML with a Response as its root")
		}
	}
	s.Call = &c
}

// isTwiML reports whether s is a well-formed document with one root, Response.
func isTwiML(s string) bool {
	d := xml.NewDecoder(strings.NewReader(s))
	depth, roots := 0, 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return roots == 1 && depth == 0
		}
		if err != nil {
			return false
		}
		switch e := t.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
				if e.Name.Local != "Response" {
					return false
				}
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(e)) != "" {
				return false
			}
		}
	}
}

// Kind checks the content against what the channel type carries.
func (b *batchReader) kind(o map[string]any, at string) {
	if b.content == channels.Any {
		return
	}
	needed, other, carries := "messages", "call", "texts"
	if b.content == channels.Voice {
		needed, other, carries = other, needed, "calls"
	}
	if _, ok := o[needed]; !ok {
		b.errors.Add(at+"/"+needed, "required", "is missing: channel type %s carries %s", b.typeName, carries)
	}
	if _, ok := o[other]; ok {
		b.errors.Add(at+"/"+other, "content", "does not belong here: channel type %s carries %s", b.typeName, carries)
	}
}

// size rejects a contact that could never start on this channel.
func (b *batchReader) size(s *weir.Spec, at string) {
	ledger := weir.Ledger{Capacity: b.capacity, Reserve: b.reserve}
	if !ledger.Blocked(s.Priority, s.Size()) {
		return
	}
	if s.Priority == weir.Reply || s.Size() > b.capacity {
		b.errors.Add(at+"/messages", "size", "takes %d slots, and the channel's capacity is %d", s.Size(), b.capacity)
		return
	}
	b.errors.Add(at+"/messages", "size", "takes %d slots; the channel's capacity is %d, and %d of it are kept for replies", s.Size(), b.capacity, b.reserve)
}
