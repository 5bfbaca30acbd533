package kannel

import (
	"strings"

	"weir/channels/provider"
)

// check finds mistakes that involve several settings, or need this package's rules.
func check(s *provider.Settings) {
	s.BaseURL("sendsms_url")
	s.BaseURL("admin_url")
	s.OneOf("final_state", finalStates()...)
	for _, key := range []string{"username", "password", "from", "smsc", "status_password"} {
		if !fitsHeader(s.Text(key)) {
			s.Wrong(key, "format", "must be printable ASCII without blanks at its ends")
		}
	}
	if s.Has("status_password") && !s.Has("admin_url") {
		s.Wrong("admin_url", "required", "status_password is sent there")
	}
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
