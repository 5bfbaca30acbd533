package web

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"weir"
)

// shown is how many of a number's last digits stay readable.
const shown = 2

var (
	// numberLike matches a phone number as people write it: seven or more
	// digits, optionally with plus, spaces, dots, dashes, slashes and brackets.
	numberLike = regexp.MustCompile(`\+?\(?[0-9](?:[ ().\-/]{0,2}[0-9]){6,}`)
	// numberOnly matches a value that is only a number, as programs write it.
	numberOnly = regexp.MustCompile(`^\+?[0-9]{7,15}$`)
	// numberPlus matches a number with a plus inside another text.
	numberPlus = regexp.MustCompile(`\+[0-9]{7,15}`)
)

// maskNumber keeps the last digits of a number and hides its length.
func maskNumber(number string) string {
	if len(number) <= shown {
		return "***"
	}
	return "***" + number[len(number)-shown:]
}

// maskText masks every number in a text written by people.
func maskText(text string) string { return numberLike.ReplaceAllStringFunc(text, maskNumber) }

// maskValue masks the numbers in a value set by programs, but not the digits of
// an id or an instant.
func maskValue(value string) string {
	if numberOnly.MatchString(value) {
		return maskNumber(value)
	}
	return numberPlus.ReplaceAllStringFunc(value, maskNumber)
}

func maskValues(values map[string]string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for name, value := range values {
		out[name] = maskValue(value)
	}
	return out
}

// telling is how many of a number's last digits identify it: this many remain
// without the country code.
const telling = 7

// maskOwn masks one number wherever it occurs, in any notation, with or without
// its country code, and every other number with a plus.
func maskOwn(text, number string) string {
	if digits := strings.TrimPrefix(number, "+"); len(digits) > shown {
		text = strings.ReplaceAll(text, "+"+digits, maskNumber(digits))
		text = strings.ReplaceAll(text, digits, maskNumber(digits))
		text = numberLike.ReplaceAllStringFunc(text, func(found string) string {
			if plain := digitsOf(found); strings.Contains(plain, digits[max(0, len(digits)-telling):]) {
				return maskNumber(plain)
			}
			return found
		})
	}
	return numberPlus.ReplaceAllStringFunc(text, maskNumber)
}

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// maskContact masks the phone numbers in a contact.
func maskContact(v *ContactView) {
	number := v.To
	own := func(text string) string { return maskOwn(text, number) }
	v.To, v.Key, v.Survey, v.Reason = maskNumber(number), own(v.Key), own(v.Survey), own(v.Reason)
	labels := maskValues(v.Labels)
	for name := range labels {
		labels[name] = own(labels[name])
	}
	v.Labels = labels
	v.Messages = append([]string(nil), v.Messages...)
	for i := range v.Messages {
		v.Messages[i] = maskText(v.Messages[i])
	}
	if v.Call != nil {
		v.Call = &weir.Call{CallbackURL: own(v.Call.CallbackURL), CallFlowID: v.Call.CallFlowID, TwiML: maskText(v.Call.TwiML)}
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		a.ProviderRef, a.Reason = own(a.ProviderRef), own(a.Reason)
	}
}

// maskIncoming masks a message and all other fields that the provider sent with
// it.
func maskIncoming(v *IncomingView) {
	from := v.From
	v.From, v.Body, v.GUID = maskNumber(from), maskText(v.Body), maskOwn(v.GUID, from)
	if v.To != "" {
		v.To = maskNumber(v.To)
	}
	fields := make(map[string]string, len(v.Fields))
	for name, value := range v.Fields {
		if name == "body" || name == "text" || name == "message" {
			value = maskText(value)
		}
		fields[name] = maskOwn(maskValue(value), from)
	}
	v.Fields = fields
}

func maskRespondent(v *RespondentView) {
	number := v.Phone
	v.Token = "" // a bearer of the token can act for the respondent
	v.Phone, v.Attributes = maskNumber(number), maskValues(v.Attributes)
	for name, value := range v.Attributes {
		v.Attributes[name] = maskOwn(value, number)
	}
}

// maskEvent masks the phone numbers in an event.
func maskEvent(v *EventView) {
	v.Subject = maskValue(v.Subject)
	raw, ok := v.Data.(json.RawMessage)
	if !ok {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keep numbers as written
	var data any
	if d.Decode(&data) != nil {
		v.Data = nil
		return
	}
	v.Data = maskData(data, "")
}

// maskData masks texts at any depth. JSON numbers stay: a phone number is
// always a text.
func maskData(data any, name string) any {
	switch x := data.(type) {
	case map[string]any:
		for key, value := range x {
			x[key] = maskData(value, key)
		}
	case []any:
		for i := range x {
			x[i] = maskData(x[i], name)
		}
	case string:
		if name == "text" || name == "message" {
			return maskText(x)
		}
		return maskValue(x)
	}
	return data
}
