package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir"
	"weir/channels"
)

// Text returns a setting that is a text; empty: it is absent.
func Text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}

// Settings are a channel's settings while they are checked. Every mistake is collected,
// not only the first: a form shows all of them at once.
type Settings struct {
	weir.Settings
	mistakes []weir.FieldError
}

// Text returns a setting that is a text; empty: it is absent.
func (s *Settings) Text(key string) string { return Text(s.Settings, key) }

// Has reports whether a setting that is a text is present.
func (s *Settings) Has(key string) bool { return s.Text(key) != "" }

// Wrong adds a mistake.
func (s *Settings) Wrong(key, code, detail string) {
	s.mistakes = append(s.mistakes, weir.FieldError{Pointer: "/" + key, Code: code, Detail: detail})
}

// OneOf requires that a setting, if it is present, has one of these values.
func (s *Settings) OneOf(key string, values ...string) {
	if s.Has(key) && !slices.Contains(values, s.Text(key)) {
		s.Wrong(key, "value", "must be "+strings.Join(values, " or "))
	}
}

// BaseURL requires that a setting, if it is present, is an address as in [BaseURL].
func (s *Settings) BaseURL(key string) {
	if !s.Has(key) {
		return
	}
	if _, err := BaseURL(s.Text(key)); err != nil {
		s.Wrong(key, "format", "must be http or https with a host and no more than a path")
	}
}

// Check returns the function Check of a channel type.
func Check(check func(*Settings)) func(weir.Settings) []weir.FieldError {
	return func(given weir.Settings) []weir.FieldError {
		s := &Settings{Settings: given}
		check(s)
		return s.mistakes
	}
}

// New returns the function New of a channel type, which is to build drivers only with a
// client and with settings that pass the checks: those of a stored channel may not.
func New[D channels.Driver](check func(*Settings), build func(channels.Config) (D, error)) func(channels.Config) (channels.Driver, error) {
	return func(c channels.Config) (channels.Driver, error) {
		if errs := Check(check)(c.Settings); len(errs) > 0 {
			return nil, fmt.Errorf("%s: %s", errs[0].Pointer, errs[0].Detail)
		}
		if c.HTTP == nil {
			return nil, errors.New("no HTTP client")
		}
		return build(c)
	}
}
