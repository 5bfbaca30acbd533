package channels

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"weir"
	"weir/internal/phonenumber"
)

// CommonSettings returns the keys that every channel takes, whatever its type.
func CommonSettings() []Setting {
	return []Setting{
		{Key: "at_least_once", Kind: Boolean, Help: "send again if it is unknown whether the provider has a contact (false: never twice)", Default: "false"},
		{Key: "rate_per_second", Kind: Integer, Help: "max dispatches per second; of text messages, segments (0: no limit). A provider that answers \"rate limited\" lowers it for a while", Default: "0"},
		{Key: "burst", Kind: Integer, Help: "dispatches that may follow each other at once within rate_per_second (default a tenth of it, at least 1)"},
		{Key: "reply_reserve", Kind: Integer, Help: "slots that only contacts of priority reply may take", Default: "0"},
		{Key: "only_to", Kind: String, Help: "addresses, joined by commas, that alone are contacted, as for a test; other contacts end as suppressed (default: all)"},
		{Key: "region", Kind: String, Help: "country of phone numbers that are written without a country code, as ISO 3166, such as KE: addresses are converted to E.164, and impossible ones refused (default: addresses stay as they are given)"},
	}
}

// AtLeastOnce returns the common setting at_least_once.
func AtLeastOnce(s weir.Settings) bool {
	v, _ := s["at_least_once"].(bool)
	return v
}

// Sender returns the address of a sender that a provider reports on a channel of this type, in
// the form of a contact's: a phone number as E.164, read in the channel's region as an address
// of a contact is. Anything else is as reported.
func (t *Type) Sender(from, region string) string {
	if number, ok := phonenumber.Reported(from, region); ok {
		return number
	}
	return from
}

// ReplyReserve returns the common setting reply_reserve.
func ReplyReserve(s weir.Settings) int {
	v, _ := weir.Number(s["reply_reserve"])
	return int(v)
}

// OnlyTo returns the addresses of the common setting only_to; nil: all may be contacted.
func OnlyTo(s weir.Settings) []string {
	v, ok := s["only_to"].(string)
	if !ok {
		return nil
	}
	list := strings.Split(v, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// Region returns the common setting region.
func Region(s weir.Settings) string {
	v, _ := s["region"].(string)
	return v
}

// maxRate bounds the rate limit and its burst.
const maxRate = 10_000

// Pace returns the common settings rate_per_second and burst. A rate of 0 is no
// limit.
func Pace(s weir.Settings) (rate, burst int) {
	perSecond, _ := weir.Number(s["rate_per_second"])
	rate, burst = int(perSecond), int(perSecond+9)/10
	if v, ok := weir.Number(s["burst"]); ok {
		burst = int(v)
	}
	return rate, max(1, burst)
}

// checkPace returns the mistakes in the rate limit, whose kinds were checked.
func checkPace(s weir.Settings) (errs []weir.FieldError) {
	rate, limited := weir.Number(s["rate_per_second"])
	if rate < 0 || rate > maxRate {
		errs = append(errs, weir.FieldError{Pointer: "/rate_per_second", Code: "range", Detail: fmt.Sprintf("must be 0 (no limit) to %d", maxRate)})
	}
	burst, ok := weir.Number(s["burst"])
	switch {
	case !ok:
	case !limited || rate == 0:
		errs = append(errs, weir.FieldError{Pointer: "/burst", Code: "conflict", Detail: "is a part of the rate limit: set rate_per_second as well"})
	case burst < 1 || burst > maxRate:
		errs = append(errs, weir.FieldError{Pointer: "/burst", Code: "range", Detail: fmt.Sprintf("must be 1 to %d", maxRate)})
	}
	return errs
}

// CheckSettings returns every mistake in the settings of a channel of this type.
// Pointers are relative to the settings object.
func (t *Type) CheckSettings(s weir.Settings, capacity int) []weir.FieldError {
	var errs []weir.FieldError
	known := map[string]Setting{}
	for _, k := range slices.Concat(CommonSettings(), t.Settings) {
		known[k.Key] = k
		v, ok := s[k.Key]
		switch {
		case !ok && k.Required:
			errs = append(errs, weir.FieldError{Pointer: "/" + k.Key, Code: "required", Detail: fmt.Sprintf("channel type %s needs it: %s", t.Name, k.Help)})
		case ok:
			if detail := k.wrong(v); detail != "" {
				errs = append(errs, weir.FieldError{Pointer: "/" + k.Key, Code: "type", Detail: detail})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if _, ok := known[key]; !ok {
			errs = weir.AddMistakes(errs, weir.FieldError{Pointer: "/" + Escape(key), Code: "unknown", Detail: fmt.Sprintf("channel type %s has no such setting", t.Name)})
		}
	}
	if r := ReplyReserve(s); r < 0 || r >= capacity && r > 0 {
		errs = append(errs, weir.FieldError{Pointer: "/reply_reserve", Code: "range", Detail: fmt.Sprintf("must be 0 or more and less than the capacity (%d)", capacity)})
	}
	if region := Region(s); region != "" && !phonenumber.KnownRegion(region) {
		errs = append(errs, weir.FieldError{Pointer: "/region", Code: "unknown", Detail: "must be a country as in ISO 3166, such as KE"})
	}
	errs = append(errs, checkPace(s)...)
	ofKind := func(e weir.FieldError) bool { return e.Code == "type" }
	if t.Check == nil || slices.ContainsFunc(errs, ofKind) { // Check requires that kinds are right
		return errs
	}
	found := len(errs)
	for _, e := range t.Check(s) {
		if !slices.ContainsFunc(errs[:found], func(have weir.FieldError) bool { return have.Pointer == e.Pointer }) {
			errs = weir.AddMistakes(errs, e)
		}
	}
	return errs
}

// wrong describes the mistake in a value; empty if there is none.
func (k Setting) wrong(v any) string {
	switch k.Kind {
	case Boolean:
		if _, ok := v.(bool); !ok {
			return "must be true or false"
		}
	case Integer:
		if n, ok := weir.Number(v); !ok || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return "must be a whole number"
		}
	case Object:
		return wrongObject(v)
	case URL:
		s, _ := v.(string)
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "must be an http or https URL with a host"
		}
	default:
		if s, ok := v.(string); !ok || s == "" || len(s) > 2000 {
			return "must be a text of 1 to 2000 characters"
		}
	}
	return ""
}

// maxObject bounds a setting that is an object, in bytes.
const maxObject = 64 << 10

func wrongObject(v any) string {
	raw, isText := v.(string)
	if isText {
		v = nil
		_ = json.Unmarshal([]byte(raw), &v)
	} else if text, err := json.Marshal(v); err == nil {
		raw = string(text)
	}
	if _, ok := v.(map[string]any); !ok || len(raw) > maxObject {
		return fmt.Sprintf("must be a JSON object of at most %d bytes, or a text that holds one", maxObject)
	}
	return ""
}

// Moves returns the settings whose change means that attempts are looked up at
// another place.
func (t *Type) Moves(from, to weir.Settings) []string {
	var keys []string
	for _, k := range t.Settings {
		if k.Place && !reflect.DeepEqual(from[k.Key], to[k.Key]) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// CheckMove returns the secrets that a change would send to another place: when a
// place changes, the same change must state its secrets. given holds the settings
// that the change states. Pointers are relative to the settings object.
func (t *Type) CheckMove(from, to, given weir.Settings) []weir.FieldError {
	places := t.Moves(from, to)
	var errs []weir.FieldError
	for _, k := range t.Settings {
		_, stated := given[k.Key]
		if _, stored := to[k.Key]; k.Secret && stored && !stated && len(places) > 0 {
			errs = append(errs, weir.FieldError{Pointer: "/" + k.Key, Code: "required", Detail: "must be given again: " + strings.Join(places, ", ") + " changes where it is sent"})
		}
	}
	return errs
}

// Redact returns the settings as clients may see them: without the secrets.
func (t *Type) Redact(s weir.Settings) weir.Settings {
	out := maps.Clone(s)
	for _, k := range t.Settings {
		if k.Secret {
			delete(out, k.Key)
		}
	}
	return out
}

// Secrets returns the secret settings that have a value.
func (t *Type) Secrets(s weir.Settings) (keys []string) {
	for _, k := range t.Settings {
		if _, stored := s[k.Key]; stored && k.Secret {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// Escape writes a key as a JSON pointer token (RFC 6901).
func Escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// MaxAddress is the max length of an address of any type, of visible ASCII
// characters.
const MaxAddress = 255

var (
	errPhoneNumber = errors.New("must be a phone number as in E.164: an optional + and 3 to 15 digits")
	errNational    = errors.New("has no country code, because it begins with 0: write it with + and the country code, or set the channel's region")
)

// PhoneNumber is the form of addresses unless a type has its own: an optional plus
// and 3 to 15 digits, kept as given. With spaces, hyphens, dots or brackets, as people write it, it needs its country code, and
// becomes one of E.164, as one with 00 before its country code does. Any other that begins with 0 is known in its own country
// only: refusals of the person, who is known by the whole number, would not count for it.
func PhoneNumber(to string) (string, error) {
	digits := strings.TrimPrefix(to, "+")
	plain := strings.Trim(digits, "0123456789") == ""
	switch {
	case !plain && WrittenNumber(to):
		return phonenumber.Normalize(to, "")
	case !plain, len(digits) < 3, len(digits) > 17:
		return "", errPhoneNumber
	case digits[0] == '0':
		if number, ok := phonenumber.International(to); ok {
			return number, nil
		}
		return "", errNational
	case len(digits) > 15:
		return "", errPhoneNumber
	}
	return to, nil
}

// phoneSigns are the characters of phone numbers as people write them.
const phoneSigns = "+0123456789 ().-/"

// WrittenNumber reports whether a text is a phone number with spaces or other signs, as people write it.
func WrittenNumber(text string) bool {
	return strings.Trim(text, phoneSigns) == "" && strings.ContainsAny(text, " ().-/") && strings.ContainsAny(text[:1], "+(0123456789")
}

// CanonicalAddress returns the canonical form of an address on channels of this type,
// or an error that states what is allowed. In a region, phone numbers are converted to
// E.164. Signs that programs add to a number do not count: see [phonenumber.Clean].
func (t *Type) CanonicalAddress(to, region string) (string, error) {
	to, err := phonenumber.Clean(to)
	if err != nil {
		return "", err
	}
	if region != "" && strings.Trim(to, phoneSigns) == "" {
		number, err := phonenumber.Normalize(to, region)
		if err != nil {
			return "", fmt.Errorf("%w (region %s)", err, region)
		}
		to = number
	}
	if t.Address == nil {
		return PhoneNumber(to)
	}
	return t.Address(to)
}
