package nuntium

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
)

const (
	protocol      = "sms://"
	guidAttribute = "weir_guid"
	maxPart       = 9999 // parts in a guid are believed up to here
)

// message is one element of the batch that Nuntium takes. Every key that it
// does not know is a custom attribute, which it stores and echoes.
type message struct {
	From    string `json:"from,omitempty"`
	To      string `json:"to"`
	Body    string `json:"body"`
	GUID    string `json:"guid"`
	Token   string `json:"token"`
	Channel string `json:"channel"`
	Echo    string `json:"weir_guid"` // guidAttribute
}

// tokenOf is the token that the messages of a contact share.
func tokenOf(r weir.Ref) string { return r.String() }

// guidOf names one message of a contact.
func guidOf(r weir.Ref, part int) string { return r.String() + "." + strconv.Itoa(part) }

// parseGUID reads what guidOf wrote. ok is false for any other text, also for
// a second spelling of the same guid.
func parseGUID(s string) (_ weir.Ref, part int, ok bool) {
	contact, index, found := strings.Cut(s, ".")
	if !found {
		return weir.Ref{}, 0, false
	}
	ref, err := weir.ParseRef(contact)
	if err != nil {
		return weir.Ref{}, 0, false
	}
	part, err = strconv.Atoi(index)
	if err != nil || part < 0 || part > maxPart || guidOf(ref, part) != s {
		return weir.Ref{}, 0, false
	}
	return ref, part, true
}

// batch is the body that hands a contact over, its messages in their order.
func (s *settings) batch(a channels.Attempt) ([]byte, error) {
	to, err := address(a.To)
	if err != nil {
		return nil, err
	}
	if len(a.Messages) == 0 {
		return nil, fmt.Errorf("no message")
	}
	from := ""
	if s.from != "" {
		if from, err = address(s.from); err != nil {
			return nil, fmt.Errorf("the setting from: %w", err)
		}
	}
	out := make([]message, len(a.Messages))
	for i, body := range a.Messages {
		guid := guidOf(a.ID.Ref, i)
		out[i] = message{
			From: from, To: to, Body: body, GUID: guid,
			Token: tokenOf(a.ID.Ref), Channel: s.channel, Echo: guid,
		}
	}
	return json.Marshal(out)
}

// address writes a phone number as Nuntium wants it. The error does not repeat
// the number.
func address(number string) (string, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(number), protocol), "+")
	digits = strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "").Replace(digits)
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", fmt.Errorf("the address is not a phone number")
	}
	return protocol + digits, nil
}
