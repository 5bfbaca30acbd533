package twilio

import (
	"regexp"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns the channel type for SMS and WhatsApp, for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "twilio", Content: channels.Text, Address: canonical, Summary: "SMS and WhatsApp through Twilio",
		Settings: append(account(),
			channels.Setting{Key: "from", Kind: channels.String, Help: "sender: a number such as +15550100100, a name, or whatsapp: and a number"},
			channels.Setting{Key: "messaging_service_sid", Kind: channels.String, Help: "messaging service (MG…) that chooses the sender"},
			channels.Setting{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: sent (the carrier has it, default) or delivered (the handset has it)"},
		),
		Check: checkText,
		New:   func(c channels.Config) (channels.Driver, error) { return newTextDriver(c) },
	}
}

// VoiceType returns the channel type for phone calls, for the table of types.
func VoiceType() channels.Type {
	return channels.Type{
		Name: "twilio_voice", Content: channels.Voice, Address: canonical, Summary: "phone calls through Twilio",
		Settings: append(account(),
			channels.Setting{Key: "from", Kind: channels.String, Required: true, Help: "caller: a number such as +15550100100"},
			channels.Setting{Key: "ring_seconds", Kind: channels.Integer, Help: "how long a phone rings (1 to 600, default 60)"},
			channels.Setting{Key: "machine_detection", Kind: channels.String, Help: "answering machines: Enable (detect) or DetectMessageEnd (wait for the end of the greeting); without it there is no detection"},
		),
		Check: checkVoice,
		New:   func(c channels.Config) (channels.Driver, error) { return newVoiceDriver(c) },
	}
}

// account returns the settings of both types.
func account() []channels.Setting {
	return []channels.Setting{
		{Key: "account_sid", Kind: channels.String, Place: true, Required: true, Help: "SID of the account (AC…)"},
		// Twilio signs with the primary auth token whatever credentials make the requests, so
		// that a channel with an API key needs both, or accepts unsigned callbacks explicitly.
		{Key: "auth_token", Kind: channels.String, Secret: true, Help: "primary auth token of the account; it also verifies callbacks"},
		{Key: "api_key", Kind: channels.String, Help: "SID of an API key (SK…) for requests; goes with api_secret"},
		{Key: "api_secret", Kind: channels.String, Secret: true, Help: "secret of the API key"},
		{Key: "unsigned_callbacks", Kind: channels.Boolean, Help: "accept callbacks without verifying them, for a channel without auth_token (default false)"},
		{Key: "base_url", Kind: channels.URL, Place: true, Help: "address of the API (default https://api.twilio.com)"},
	}
}

const defaultBaseURL = "https://api.twilio.com"

// SIDs come back from Twilio and go into paths of requests, so that their form is checked first.
var sidPattern = regexp.MustCompile(`^[A-Z]{2}[0-9a-f]{32}$`)

// isSID reports whether a text is a SID with one of the prefixes, and so can be a
// part of a path.
func isSID(s string, prefixes ...string) bool {
	if !sidPattern.MatchString(s) {
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// findings collects the mistakes in settings.
// Every mistake is reported, not only the first: a form shows all of them at once.
type findings struct {
	settings weir.Settings
	errs     []weir.FieldError
}

func (f *findings) add(key, code, detail string) {
	f.errs = append(f.errs, weir.FieldError{Pointer: "/" + key, Code: code, Detail: detail})
}

func (f *findings) has(key string) bool { return text(f.settings, key) != "" }

func (f *findings) sid(key, prefix string) {
	if f.has(key) && !isSID(text(f.settings, key), prefix) {
		f.add(key, "format", "must be "+prefix+" and 32 digits or letters a to f")
	}
}

func (f *findings) oneOf(key string, values ...string) {
	if !f.has(key) {
		return
	}
	for _, v := range values {
		if text(f.settings, key) == v {
			return
		}
	}
	f.add(key, "value", "must be "+strings.Join(values, " or "))
}

// account checks the settings that both types have.
func (f *findings) account() {
	if !f.has("account_sid") {
		f.add("account_sid", "required", "must be AC and 32 digits or letters a to f")
	}
	f.sid("account_sid", "AC")
	f.sid("api_key", "SK")
	if f.has("base_url") {
		if _, err := provider.BaseURL(text(f.settings, "base_url")); err != nil {
			f.add("base_url", "format", err.Error())
		}
	}
	unsigned, _ := f.settings["unsigned_callbacks"].(bool)
	switch {
	case f.has("api_key") && !f.has("api_secret"):
		f.add("api_secret", "required", "goes with api_key")
	case f.has("api_secret") && !f.has("api_key"):
		f.add("api_key", "required", "goes with api_secret")
	case !f.has("auth_token") && !f.has("api_key"):
		f.add("auth_token", "required", "give auth_token, or api_key and api_secret")
	case !f.has("auth_token") && !unsigned:
		f.add("auth_token", "required", "verifies callbacks: give it, or set unsigned_callbacks to true")
	// Both together would leave open whether a wrong signature is refused.
	case f.has("auth_token") && unsigned:
		f.add("unsigned_callbacks", "conflict", "callbacks are verified with auth_token: leave out one of them")
	}
}

// checkText finds mistakes that involve several settings, or need this package's
// rules.
func checkText(s weir.Settings) []weir.FieldError {
	f := &findings{settings: s}
	f.account()
	f.sid("messaging_service_sid", "MG")
	f.oneOf("final_state", finalSent, finalDelivered)
	if !f.has("from") && !f.has("messaging_service_sid") {
		f.add("from", "required", "give from or messaging_service_sid")
	}
	return f.errs
}

func checkVoice(s weir.Settings) []weir.FieldError {
	f := &findings{settings: s}
	f.account()
	f.oneOf("machine_detection", "Enable", "DetectMessageEnd")
	if v, ok := s["ring_seconds"].(float64); ok && (v < 1 || v > maxRing) {
		f.add("ring_seconds", "range", "must be 1 to 600")
	}
	return f.errs
}

func text(s weir.Settings, key string) string {
	v, _ := s[key].(string)
	return v
}
