package twilio

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns the channel type for SMS and WhatsApp, for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "twilio", Content: channels.Text, Address: canonical, Summary: "SMS and WhatsApp through Twilio",
		SetUp: append(setUp(),
			"For WhatsApp, the sender is whatsapp: and the number. WhatsApp delivers free text only within 24 hours of a person's message.",
			"For messages from people, set the webhook \"A message comes in\" of the number to the callback address of the channel and /incoming.",
		),
		Callbacks: []channels.CallbackPath{
			{Path: incomingPath, ByHand: "Messages from people"}, {Path: messagePath + "/{attempt}"}, {Path: messagePath + "/{attempt}/{part}"},
		},
		Settings: append(account(),
			channels.Setting{Key: "from", Kind: channels.String, Help: "sender: a number such as +15550100100, a name, or whatsapp: and a number"},
			channels.Setting{Key: "messaging_service_sid", Kind: channels.String, Help: "messaging service (MG…) that chooses the sender"},
			channels.Setting{Key: "final_state", Kind: channels.String, Help: "state that ends a message and frees its slot: sent (the carrier has it) or delivered (the handset has it)", Default: finalSent, Values: finalStates()},
		),
		Check: provider.Check(checkText),
		New:   provider.New(checkText, newTextDriver),
	}
}

// VoiceType returns the channel type for phone calls, for the table of types.
func VoiceType() channels.Type {
	return channels.Type{
		Name: "twilio_voice", Content: channels.Voice, Address: canonical, Summary: "phone calls through Twilio", SetUp: setUp(),
		Callbacks: []channels.CallbackPath{{Path: callPath + "/{attempt}"}},
		Settings: append(account(),
			channels.Setting{Key: "from", Kind: channels.String, Required: true, Help: "caller: a number such as +15550100100"},
			channels.Setting{Key: "ring_seconds", Kind: channels.Integer, Help: "how long a phone rings, 1 to 600", Default: strconv.Itoa(defaultRing)},
			channels.Setting{Key: "machine_detection", Kind: channels.String, Help: "answering machines: Enable (detect) or DetectMessageEnd (wait for the end of the greeting); without it there is no detection", Values: machineDetections()},
		),
		Check: provider.Check(checkVoice),
		New:   provider.New(checkVoice, newVoiceDriver),
	}
}

// setUp returns the steps that both types have.
func setUp() []string {
	return []string{
		"Take the account SID and the primary auth token from Twilio's console, and a number of the account.",
		"PUBLIC_URL of Weir must be exactly the address at which Twilio reaches it: Twilio signs its callbacks over it.",
	}
}

func finalStates() []string { return []string{finalSent, finalDelivered} }

func machineDetections() []string { return []string{"Enable", "DetectMessageEnd"} }

// account returns the settings of both types.
func account() []channels.Setting {
	return []channels.Setting{
		{Key: "account_sid", Kind: channels.String, Place: true, Required: true, Help: "SID of the account (AC…)"},
		// Twilio signs with the primary auth token whatever credentials make the requests, so
		// that a channel with an API key needs both, or accepts unsigned callbacks explicitly.
		{Key: "auth_token", Kind: channels.String, Secret: true, Help: "primary auth token of the account; it also verifies callbacks"},
		{Key: "api_key", Kind: channels.String, Help: "SID of an API key (SK…) for requests; goes with api_secret"},
		{Key: "api_secret", Kind: channels.String, Secret: true, Help: "secret of the API key"},
		{Key: "unsigned_callbacks", Kind: channels.Boolean, Help: "accept callbacks without verifying them, for a channel without auth_token", Default: "false"},
		{Key: "base_url", Kind: channels.URL, Place: true, Help: "address of the API", Default: defaultBaseURL},
	}
}

const defaultBaseURL = "https://api.twilio.com"

// SIDs come back from Twilio and go into paths of requests, so that their form is checked first.
var sidPattern = regexp.MustCompile(`^[A-Z]{2}[0-9a-f]{32}$`)

// isSID reports whether a text is a SID with one of the prefixes, and so can be a
// part of a path.
func isSID(s string, prefixes ...string) bool {
	return sidPattern.MatchString(s) && slices.Contains(prefixes, s[:2])
}

// checkSID requires that a setting, if it is present, is a SID.
func checkSID(s *provider.Settings, key, prefix string) {
	if s.Has(key) && !isSID(s.Text(key), prefix) {
		s.Wrong(key, "format", "must be "+prefix+" and 32 digits or letters a to f")
	}
}

// checkAccount finds mistakes in the settings that both types have.
func checkAccount(s *provider.Settings) {
	if !s.Has("account_sid") {
		s.Wrong("account_sid", "required", "must be AC and 32 digits or letters a to f")
	}
	checkSID(s, "account_sid", "AC")
	checkSID(s, "api_key", "SK")
	s.BaseURL("base_url")
	if token, _ := s.Settings["auth_token"].(string); strings.ContainsFunc(token, unicode.IsSpace) {
		s.Wrong("auth_token", "format", "must be the auth token of the account, without blanks")
	}
	unsigned, _ := s.Settings["unsigned_callbacks"].(bool)
	switch {
	case s.Has("api_key") && !s.Has("api_secret"):
		s.Wrong("api_secret", "required", "goes with api_key")
	case s.Has("api_secret") && !s.Has("api_key"):
		s.Wrong("api_key", "required", "goes with api_secret")
	case !s.Has("auth_token") && !s.Has("api_key"):
		s.Wrong("auth_token", "required", "give auth_token, or api_key and api_secret")
	case !s.Has("auth_token") && !unsigned:
		s.Wrong("auth_token", "required", "verifies callbacks: give it, or set unsigned_callbacks to true")
	// Both together would leave open whether a wrong signature is refused.
	case s.Has("auth_token") && unsigned:
		s.Wrong("unsigned_callbacks", "conflict", "callbacks are verified with auth_token: leave out one of them")
	}
}

// checkText finds mistakes that involve several settings, or need this package's
// rules.
func checkText(s *provider.Settings) {
	checkAccount(s)
	checkSID(s, "messaging_service_sid", "MG")
	s.OneOf("final_state", finalStates()...)
	if !s.Has("from") && !s.Has("messaging_service_sid") {
		s.Wrong("from", "required", "give from or messaging_service_sid")
	}
}

func checkVoice(s *provider.Settings) {
	checkAccount(s)
	s.OneOf("machine_detection", machineDetections()...)
	if v, ok := weir.Number(s.Settings["ring_seconds"]); ok && (v < 1 || v > maxRing) {
		s.Wrong("ring_seconds", "range", "must be 1 to 600")
	}
}
