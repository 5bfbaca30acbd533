package kannel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
)

// Paths below the channel's callback URL.
const (
	reportPath   = "dlr"
	incomingPath = "incoming"
	maxPart      = 9999 // max index accepted in a path
)

// reportFields are the parameters of a report, in Kannel's escapes: the state and
// the first nine words of the receipt. In an SMPP receipt the state is the eighth
// word and the text of the message begins with the tenth.
const reportFields = "?state=%d&receipt=%k+%s+%s+%s+%s+%s+%s+%s+%s"

// reportURL returns where Kannel reports on one message.
func (d *driver) reportURL(id weir.AttemptRef, part int) string {
	return fmt.Sprintf("%s/%s/%s/%d", d.callbackURL, reportPath, id, part) + reportFields
}

// ParseCallback interprets a delivery report or a person's message. Any other path
// is ignored and answered with success, so that Kannel does not repeat it.
//
// No answer has a body: Kannel would text it to the person.
func (d *driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return channels.CallbackResult{}, errors.New("want GET or POST")
	}
	switch path := strings.Split(strings.Trim(c.Path, "/"), "/"); {
	case len(path) == 3 && path[0] == reportPath:
		return d.readReport(c, path[1], path[2])
	case len(path) == 1 && path[0] == incomingPath:
		return readIncoming(c)
	}
	return channels.CallbackResult{}, nil
}

// readReport reads the state of a message. Reports come twice, late and out of
// order; the broker handles that.
func (d *driver) readReport(c channels.Callback, attempt, index string) (channels.CallbackResult, error) {
	ref, err := weir.ParseAttemptRef(attempt)
	if err != nil {
		return channels.CallbackResult{}, errors.New("the path names no attempt")
	}
	part, err := strconv.Atoi(index)
	if err != nil || part < 0 || part > maxPart || strconv.Itoa(part) != index {
		return channels.CallbackResult{}, errors.New("the path names no message")
	}
	state, err := strconv.Atoi(c.Query.Get("state"))
	if err != nil || state < 0 {
		return channels.CallbackResult{}, errors.New("state is missing or not a number")
	}
	outcome, reason, known := d.final.outcomeOf(state, strings.TrimSpace(c.Query.Get("receipt")))
	// Newer Kannels have states that 1.4.5 has not. An unknown one must not fail a message.
	if !known {
		return channels.CallbackResult{}, nil
	}
	return channels.CallbackResult{Reports: []weir.Report{{
		Attempt: ref, Part: part, Outcome: outcome, Reason: reason, At: c.At,
	}}}, nil
}

// readIncoming reads a message that a person sent, with the parameters that
// docs/providers.md puts into the get-url of the service.
func readIncoming(c channels.Callback) (channels.CallbackResult, error) {
	get := func(key string) string { return strings.ToValidUTF8(value(c, key), "\uFFFD") }
	from := get("from")
	if from == "" {
		return channels.CallbackResult{}, errors.New("from is missing")
	}
	m := weir.Incoming{
		From: from, To: get("to"), Body: decode(value(c, "text"), get("coding"), get("charset")),
		GUID: get("id"), ReceivedAt: c.At, Fields: map[string]string{},
	}
	for _, key := range keys(c) {
		switch key {
		case "from", "to", "text", "id":
		default:
			m.Fields[key] = get(key)
		}
	}
	if m.GUID == "" {
		m.GUID = inventedGUID(c, m)
	}
	return channels.CallbackResult{Incoming: []weir.Incoming{m}}, nil
}

// inventedGUID names a message for a get-url without its id. With the time of the
// message (ts), repeats are detected; without it better twice than lost.
func inventedGUID(c channels.Callback, m weir.Incoming) string {
	at := m.Fields["ts"]
	if at == "" {
		at = c.At.UTC().String()
	}
	sum := sha256.Sum256([]byte(m.From + "\x00" + m.To + "\x00" + m.Body + "\x00" + at))
	return "weir-" + hex.EncodeToString(sum[:16])
}

// value returns a parameter of the form or the URL, as bytes.
func value(c channels.Callback, key string) string {
	for _, v := range []url.Values{c.Form, c.Query} {
		if v.Has(key) {
			return v.Get(key)
		}
	}
	return ""
}

// keys returns the names of the parameters in order, without names that are not
// valid UTF-8.
func keys(c channels.Callback) []string {
	var out []string
	for _, v := range []url.Values{c.Form, c.Query} {
		for key := range v {
			if key == strings.ToValidUTF8(key, "") {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
