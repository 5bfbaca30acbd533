package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"weir/people"
)

// Decode parses URLs that are separated by commas. The format is in the fragment,
// which is never part of a request.
func (s *Subscriptions) Decode(text string) error {
	var list Subscriptions
	for raw := range strings.SplitSeq(text, ",") {
		address, form, _ := strings.Cut(strings.TrimSpace(raw), "#")
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return errNotAllowed
		}
		one := Subscription{URL: address}
		if strings.Contains(raw, "#") {
			if err := one.Format.Decode(form); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(list, func(have Subscription) bool { return have.URL == one.URL }) {
			return errNotAllowed
		}
		list = append(list, one)
	}
	*s = list
	return nil
}

// String returns one placeholder per URL: URLs of receivers may contain secrets.
func (s Subscriptions) String() string { return placeholders(len(s)) }

// Decode parses the name of a format.
func (f *EventFormat) Decode(s string) error {
	*f = EventFormat(strings.ToLower(s))
	return oneOf(string(*f), "eventgrid", "cloudevents")
}

// Decode parses one of the words.
func (c *ContactEvents) Decode(s string) error {
	*c = ContactEvents(strings.ToLower(s))
	return oneOf(string(*c), "auto", "on", "off")
}

// Decode parses keywords and hosts that are separated by commas.
func (a *Allowances) Decode(s string) error {
	return decodeList(a, s, func(word string) (string, bool) {
		word = strings.ToLower(word)
		return word, hostname(strings.Trim(word, "[]"))
	})
}

// String returns the form that Decode parses.
func (a Allowances) String() string { return strings.Join(a, ",") }

// Decode parses words that are separated by commas.
func (w *Words) Decode(s string) error {
	return decodeList(w, s, func(word string) (string, bool) {
		return word, len(word) <= people.MaxWord && strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	})
}

// String returns the form that Decode parses.
func (w Words) String() string { return strings.Join(w, ",") }

func hostname(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return s != "" && len(s) < 254 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	})
}
