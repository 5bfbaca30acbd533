package persistence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"weir/events"
)

// blockEvent is an event as it lies in a row. Its id follows from its place
// and the row's. Every commit of the router writes such rows and receivers read
// all of them, so that both are done by hand for what has the plain form, and by
// encoding/json for everything else; the bytes are the same.
type blockEvent struct {
	Type    string          `json:"t"`
	Source  string          `json:"s"`
	Subject string          `json:"u"`
	At      int64           `json:"a"`
	Data    json.RawMessage `json:"d"`
}

func encodeBlock(list []events.Event, now time.Time) ([]byte, error) {
	size := 2
	for i := range list {
		size += len(list[i].Type) + len(list[i].Source) + len(list[i].Subject) + len(list[i].Data) + 64
	}
	b := append(make([]byte, 0, size), '[')
	for i := range list {
		e := &list[i]
		at := e.At
		if at.IsZero() {
			at = now
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"t":`...), e.Type)
		b = appendString(append(b, `,"s":`...), e.Source)
		b = appendString(append(b, `,"u":`...), e.Subject)
		b = strconv.AppendInt(append(b, `,"a":`...), micros(at), 10)
		b = append(b, `,"d":`...)
		if len(e.Data) == 0 || skipValue(e.Data, 0, 0) != len(e.Data) {
			text, err := json.Marshal(e.Data)
			if err != nil {
				return nil, err
			}
			b = append(append(b, text...), '}')
			continue
		}
		b = append(append(b, e.Data...), '}')
	}
	return append(b, ']'), nil
}

// appendString writes a text as encoding/json does.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// decodeBlock gives the events of a row.
func decodeBlock(last int64, payload []byte) ([]events.Event, error) {
	if list, ok := decodePlain(payload); ok {
		for i := range list {
			list[i].ID = last - int64(len(list)-1-i)
		}
		return list, nil
	}
	var block []blockEvent
	if err := json.Unmarshal(payload, &block); err != nil {
		return nil, fmt.Errorf("the events up to %d cannot be read: %w", last, err)
	}
	list := make([]events.Event, len(block))
	for i, e := range block {
		list[i] = events.Event{
			ID: last - int64(len(block)-1-i), Type: e.Type, Source: e.Source, Subject: e.Subject, At: instant(e.At), Data: e.Data,
		}
	}
	return list, nil
}

// decodePlain reads what encodeBlock writes. It gives up, rather than guess,
// when anything is different.
func decodePlain(payload []byte) ([]events.Event, bool) {
	if len(payload) < 2 || payload[0] != '[' {
		return nil, false
	}
	p := plain{b: payload[1:], names: map[string]string{}}
	list := make([]events.Event, 0, bytes.Count(payload, []byte(`},{"t":`))+1)
	for {
		var e events.Event
		e.Type = p.name(`{"t":`)
		e.Source = p.name(`,"s":`)
		e.Subject = string(p.text(`,"u":`))
		e.At = instant(p.integer(`,"a":`))
		e.Data = p.value(`,"d":`)
		p.skip("}")
		list = append(list, e)
		if p.bad || len(p.b) == 0 {
			return nil, false
		}
		if p.b[0] != ',' {
			return list, string(p.b) == "]"
		}
		p.b = p.b[1:]
	}
}

// plain reads JSON without whitespace from the front.
type plain struct {
	b     []byte
	names map[string]string // that have come before
	bad   bool
}

func (p *plain) skip(text string) {
	if p.bad = p.bad || len(p.b) < len(text) || string(p.b[:len(text)]) != text; !p.bad {
		p.b = p.b[len(text):]
	}
}

// text reads a string without escapes.
func (p *plain) text(key string) []byte {
	p.skip(key)
	p.skip(`"`)
	end := bytes.IndexByte(p.b, '"')
	if p.bad = p.bad || end < 0 || !unescaped(p.b[:end]); p.bad {
		return nil
	}
	out := p.b[:end]
	p.b = p.b[end+1:]
	return out
}

func unescaped(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(b)
}

// name reads one of few strings.
func (p *plain) name(key string) string {
	b := p.text(key)
	s, known := p.names[string(b)]
	if !known {
		s = string(b)
		p.names[s] = s
	}
	return s
}

func (p *plain) integer(key string) int64 {
	p.skip(key)
	end := 0
	for end < len(p.b) && (p.b[end] == '-' || '0' <= p.b[end] && p.b[end] <= '9') {
		end++
	}
	if p.bad = p.bad || skipNumber(p.b, 0) != end; p.bad {
		return 0
	}
	n, err := strconv.ParseInt(string(p.b[:end]), 10, 64)
	p.bad, p.b = err != nil, p.b[end:]
	return n
}

// value reads any value, as a copy: the row is not kept for one event.
func (p *plain) value(key string) json.RawMessage {
	p.skip(key)
	end := skipValue(p.b, 0, 0)
	if p.bad = p.bad || end < 0; p.bad {
		return nil
	}
	out := bytes.Clone(p.b[:end])
	p.b = p.b[end:]
	return out
}
