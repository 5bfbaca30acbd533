package config

import (
	"encoding/base64"
	"errors"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types below decode themselves; envconfig calls Decode. The caller reports
// the variable's "allowed" tag, so the errors here need no text.
var errNotAllowed = errors.New("not allowed")

// Decode parses a number of minutes.
func (m *Minutes) Decode(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return err
	}
	if math.IsNaN(n) || math.Abs(n) > 1e6 { // above every bound; larger values could overflow time.Duration
		return errNotAllowed
	}
	// Rounded, because most fractions have no exact binary form.
	*m = Minutes(math.Round(n * float64(time.Minute)))
	return nil
}

// String returns the form that Decode parses.
func (m Minutes) String() string {
	return strconv.FormatFloat(m.Duration().Minutes(), 'f', -1, 64)
}

// Decode parses a duration of time.ParseDuration or a number of days.
func (p *Period) Decode(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil {
			return err
		}
		if math.IsNaN(n) || math.Abs(n) > 1e5 {
			return errNotAllowed
		}
		*p = Period(math.Round(n * 24 * float64(time.Hour)))
		return nil
	}
	d, err := time.ParseDuration(s)
	*p = Period(d)
	return err
}

// String returns the form that Decode parses.
func (p Period) String() string {
	s := p.Duration().String()
	for _, nothing := range []string{"0s", "0m"} {
		if short, ok := strings.CutSuffix(s, nothing); ok && short != "" && !strings.ContainsAny(short[len(short)-1:], "0123456789.-") {
			s = short
		}
	}
	return s
}

// decodeList parses elements that are separated by commas.
func decodeList[L ~[]T, T any](into *L, s string, decode func(text string) (element T, ok bool)) error {
	var list L
	for text := range strings.SplitSeq(s, ",") {
		element, ok := decode(strings.TrimSpace(text))
		if !ok {
			return errNotAllowed
		}
		list = append(list, element)
	}
	*into = list
	return nil
}

// Decode parses tokens that are separated by commas.
func (t *Tokens) Decode(s string) error {
	return decodeList(t, s, func(token string) (string, bool) {
		return token, token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	})
}

// String returns one placeholder per token: it shows the number, not the tokens.
func (t Tokens) String() string { return placeholders(len(t)) }

// Decode parses keys in base64 that are separated by commas.
func (k *AccessKeys) Decode(s string) error {
	return decodeList(k, s, func(text string) ([]byte, bool) {
		key, err := base64.StdEncoding.Strict().DecodeString(text)
		return key, err == nil && 8 <= len(key) && len(key) <= 1024
	})
}

// String returns one placeholder per key: it shows the number, not the keys.
func (k AccessKeys) String() string { return placeholders(len(k)) }

// Decode parses pairs that are separated by commas.
func (h *Headers) Decode(s string) error {
	headers := Headers{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		// The specification of OpenTelemetry's variables has values in percent-encoding.
		value, err := url.PathUnescape(value)
		if !ok || err != nil || !headerName.MatchString(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return errNotAllowed
		}
		headers[name] = value
	}
	*h = headers
	return nil
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// String returns the names with a placeholder for each value.
func (h Headers) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		list = append(list, name+"="+redacted)
	}
	return strings.Join(list, ",")
}

func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat(redacted+",", n), ",")
}

// Decode parses the name of a level.
func (l *LogLevel) Decode(s string) error {
	*l = LogLevel(strings.ToLower(s))
	return oneOf(string(*l), "debug", "info", "warn", "error")
}

// Decode parses the name of a format.
func (f *LogFormat) Decode(s string) error {
	*f = LogFormat(strings.ToLower(s))
	return oneOf(string(*f), "text", "json")
}

func oneOf(s string, allowed ...string) error {
	if !slices.Contains(allowed, s) {
		return errNotAllowed
	}
	return nil
}

// Decode parses addresses and networks in CIDR form.
func (n *Networks) Decode(s string) error {
	for text := range strings.SplitSeq(s, ",") {
		text = strings.TrimSpace(text)
		if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
			text = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()).String()
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		// 10.0.0.1/8 is refused and not read as 10.0.0.0/8: it may be a mistake in either part.
		if network != network.Masked() || network.Addr().Is4In6() || slices.Contains(*n, network) {
			return errNotAllowed
		}
		*n = append(*n, network)
	}
	return nil
}

// String returns the form that Decode parses.
func (n Networks) String() string {
	texts := make([]string, len(n))
	for i, network := range n {
		texts[i] = network.String()
	}
	return strings.Join(texts, ",")
}
