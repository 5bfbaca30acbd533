package kannel

import (
	"strings"

	"weir"
	"weir/channels/provider"
)

// check finds mistakes that involve several settings, or need this package's rules.
func check(s weir.Settings) []weir.FieldError {
	var errs []weir.FieldError
	add := func(key, code, detail string) {
		errs = append(errs, weir.FieldError{Pointer: "/" + key, Code: code, Detail: detail})
	}
	for _, key := range []string{"sendsms_url", "admin_url"} {
		if raw := text(s, key); raw != "" || key == "sendsms_url" {
			if _, err := provider.BaseURL(raw); err != nil {
				add(key, "format", "must be http or https with a host and no more than a path")
			}
		}
	}
	switch finalState(text(s, "final_state")) {
	case "", finalSent, finalDelivered:
	default:
		add("final_state", "value", "must be sent or delivered")
	}
	for _, key := range []string{"username", "password", "from", "smsc", "status_password"} {
		if !fitsHeader(text(s, key)) {
			add(key, "format", "must be printable ASCII without blanks at its ends")
		}
	}
	if text(s, "status_password") != "" && text(s, "admin_url") == "" {
		add("admin_url", "required", "status_password is sent there")
	}
	return errs
}

// fitsHeader reports whether Kannel reads a value from a header as it is: it strips
// blanks at the ends.
func fitsHeader(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return strings.Trim(s, " ") == s
}

func text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}
