package simulator

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"
)

// Incoming is a message sent by a person.
type Incoming struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Text   string `json:"text"`
	Coding int    `json:"coding,omitempty"` // 2: Kannel hands the text on as UTF-16BE
	ID     string `json:"id,omitempty"`     // empty: one is made
}

// Receive simulates a message from a person.
func (s *Server) Receive(in Incoming) error {
	switch {
	case in.From == "":
		return errors.New("from is required")
	case s.options.IncomingURL == "":
		return errors.New("there is no service for messages from people")
	}
	s.Lock()
	defer s.Unlock()
	s.serial++
	text := in.Text
	if in.Coding == 2 {
		units := utf16.Encode([]rune(text))
		raw := make([]byte, 0, 2*len(units))
		for _, u := range units {
			raw = binary.BigEndian.AppendUint16(raw, u)
		}
		text = string(raw)
	}
	// Kannel hands on its own sender as the receiver, if it has one.
	to := cmp.Or(s.options.GlobalSender, in.To)
	charset := map[int]string{0: "UTF-8", 1: "8-BIT", 2: "UTF-16BE"}[in.Coding]
	target := fill(s.options.IncomingURL, values{
		'p': in.From, 'P': to, 'q': international(in.From), 'Q': international(to), 'b': text, 'A': text, 'c': fmt.Sprint(in.Coding), 'C': charset,
		'I': cmp.Or(in.ID, fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.serial)), 'T': fmt.Sprint(time.Now().Unix()),
	}, text)
	s.call(opIncoming, in.From, target, &s.records.Incoming, func(body []byte) {
		if len(body) > 0 {
			s.records.Texted++
		}
	})
	return nil
}

// international replaces a leading 00, as Kannel does for %q and %Q.
func international(number string) string {
	if rest, ok := strings.CutPrefix(number, "00"); ok {
		return "+" + rest
	}
	return number
}

// values holds the replacements of escapes, by their letter.
type values map[byte]string

// fill replaces the escapes of a URL as Kannel does: every percent sign with a
// letter after it, even if it was meant as percent-encoding. %k becomes the first word
// of the text, %s the next one each time, %a all words. Unknown escapes stay as they are.
func fill(pattern string, v values, text string) string {
	words := strings.Fields(text)
	next := 1
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		value, known := v[pattern[i]]
		switch {
		case pattern[i] == 'k' && len(words) > 0:
			b.WriteString(url.QueryEscape(words[0]))
		case pattern[i] == 's' && next < len(words):
			b.WriteString(url.QueryEscape(words[next]))
			next++
		case pattern[i] == 'k', pattern[i] == 's':
		case pattern[i] == '%':
			b.WriteByte('%')
		case known:
			b.WriteString(url.QueryEscape(value))
		case strings.IndexByte("aBDeFfimMnoOrRtuvV", pattern[i]) >= 0: // empty here
		default:
			b.WriteByte('%')
			b.WriteByte(pattern[i])
		}
	}
	return b.String()
}
