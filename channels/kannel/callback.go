package kannel

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Paths below the channel's callback URL.
const (
	reportPath   = "dlr"
	incomingPath = "incoming"
)

// reportFields are the parameters of a report, in Kannel's escapes: the state and
// the first nine words of the receipt. In an SMPP receipt the state is the eighth
// word and the text of the message begins with the tenth.
const reportFields = "?state=%d&receipt=%k+%s+%s+%s+%s+%s+%s+%s+%s"

// reportURL returns where Kannel reports on one message.
func (d *driver) reportURL(id weir.AttemptRef, part int) string {
	return fmt.Sprintf("%s/%s/%s/%d", d.callbackURL, reportPath, id, part) + reportFields
}

// ParseCallback interprets a delivery report or a person's message.
//
// No answer has a body: Kannel would text it to the person.
func (d *driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return channels.CallbackResult{}, errors.New("want GET or POST")
	}
	switch path := strings.Split(c.Path, "/"); {
	case len(path) == 3 && path[0] == reportPath:
		return d.readReport(c, path[1:])
	case len(path) == 1 && path[0] == incomingPath:
		return readIncoming(c)
	}
	return channels.CallbackResult{}, channels.ErrPath
}

// readReport reads the state of a message. Reports come twice, late and out of
// order; the broker handles that.
func (d *driver) readReport(c channels.Callback, id []string) (channels.CallbackResult, error) {
	attempt, part, err := provider.ParseMessage(id)
	if err != nil {
		return channels.CallbackResult{}, err
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
		Attempt: attempt, Part: part, Outcome: outcome, Reason: reason, At: c.At,
	}}}, nil
}

// readIncoming reads a message that a person sent, with the parameters that
// docs/providers.md puts into the get-url of the service.
func readIncoming(c channels.Callback) (channels.CallbackResult, error) {
	p := provider.Parameters{c.Form, c.Query}
	m := weir.Incoming{
		From: p.Get("from"), To: p.Get("to"), Body: decode(p.Raw("text"), p.Get("coding"), p.Get("charset")),
		GUID: p.Get("id"), ReceivedAt: c.At, Fields: p.Others("from", "to", "text", "id"),
	}
	if m.From == "" {
		return channels.CallbackResult{}, errors.New("from is missing")
	}
	// A get-url without the id may still have the time of the message (ts), by which repeats are
	// detected.
	if m.GUID == "" {
		m.GUID = provider.InventedGUID(m.From, m.To, m.Body, cmp.Or(m.Fields["ts"], c.At.UTC().String()))
	}
	return channels.CallbackResult{Incoming: []weir.Incoming{m}}, nil
}
