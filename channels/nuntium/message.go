package nuntium

import (
	"fmt"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
	"weir/internal/plainjson"
)

const (
	protocol      = "sms://"
	guidAttribute = "weir_guid"
	maxPart       = 9999 // max index accepted in a guid
)

// tokenOf returns the token that the messages of a contact share.
func tokenOf(r weir.Ref) string { return r.String() }

// guidOf returns the guid of one message of a contact, given the contact's token.
func guidOf(token string, part int) string { return token + "." + strconv.Itoa(part) }

// parseGUID parses the output of guidOf. ok is false for any other text,
// including a second spelling of the same guid.
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
	if err != nil || part < 0 || part > maxPart || guidOf(contact, part) != s {
		return weir.Ref{}, 0, false
	}
	return ref, part, true
}

// batch returns the request body that dispatches a contact, with its messages in
// order.
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
	token := tokenOf(a.ID.Ref)
	room := 2
	for _, body := range a.Messages {
		room += len(body) + len(to) + len(from) + 3*len(token) + len(s.channel) + 128
	}
	out := append(make([]byte, 0, room), '[')
	for i, body := range a.Messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = s.message(out, from, to, body, token, guidOf(token, i))
	}
	return append(out, ']'), nil
}

// message appends one element of the batch. Nuntium treats every key that it does
// not know as a custom attribute, which it stores and echoes.
func (s *settings) message(out []byte, from, to, body, token, guid string) []byte {
	out = append(out, '{')
	if from != "" {
		out = append(plainjson.AppendText(append(out, `"from":`...), from), ',')
	}
	out = plainjson.AppendText(append(out, `"to":`...), to)
	out = plainjson.AppendText(append(out, `,"body":`...), body)
	out = plainjson.AppendText(append(out, `,"guid":`...), guid)
	out = plainjson.AppendText(append(out, `,"token":`...), token)
	out = plainjson.AppendText(append(out, `,"channel":`...), s.channel)
	out = plainjson.AppendText(append(out, `,"`+guidAttribute+`":`...), guid)
	return append(out, '}')
}

// address returns a phone number in the form that Nuntium requires. The error does
// not repeat the number.
func address(number string) (string, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(number), protocol), "+")
	digits = strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -.()", c) {
			return -1
		}
		return c
	}, digits)
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", fmt.Errorf("the address is not a phone number")
	}
	return protocol + digits, nil
}
