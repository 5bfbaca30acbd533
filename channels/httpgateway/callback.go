package httpgateway

import (
	"errors"
	"slices"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// callback is how the gateway's reports are read.
type callback struct {
	verify    verification
	each      pointer // list of reports in one callback
	id        pointer // of what {id} or {attempt} was sent as; nil: the path has it
	state     pointer
	ref       pointer
	plainBody string // answered to every callback
}

// incoming is how messages that people send are read.
type incoming struct {
	each                      pointer
	from, to, body, reference pointer
	match                     []condition
}

// readCallback reads how reports arrive. A template in which no answer, no question and no report can
// end a message is refused: each contact would hold its slots until it is lost.
func readCallback(root object, completes bool, secrets map[string]string) callback {
	o, ok := root.object("callback", "verify", "each", "id", "state", "ref", "answer")
	if !ok {
		if !root.has("ask") && !completes {
			root.need("callback", "how reports are read: without it, ask or an answer of fate completed no message would ever end")
		}
		return callback{}
	}
	if !completes {
		o.need("state", "pointer to the gateway's state in a report, such as /status")
	}
	o.need("verify", "how callbacks are verified: {\"scheme\": \"none\"} relies on the secret in their address")
	return callback{
		verify: readVerification(o, secrets), each: o.pointer("each"), id: o.pointer("id"), state: o.pointer("state"), ref: o.pointer("ref"),
		plainBody: o.text("answer"),
	}
}

func readIncoming(root object) *incoming {
	o, ok := root.object("incoming", "each", "from", "to", "text", "id", "match")
	if !ok {
		return nil
	}
	o.need("from", "pointer to the sender's address")
	o.need("text", "pointer to the text")
	return &incoming{each: o.pointer("each"), from: o.pointer("from"), to: o.pointer("to"), body: o.pointer("text"), reference: o.pointer("id"), match: readConditions(o, "match")}
}

// fieldsOf returns what a callback says as a document: its body if that is JSON,
// otherwise the fields of its form and its URL.
// The body is read as JSON whatever its Content-Type: gateways send it as text/plain, too.
func fieldsOf(c *channels.Callback) any {
	if v := decode(c.Body, ""); v != nil && c.Form == nil {
		return v
	}
	return formObject(c.Form, c.Query)
}

// items returns the entries of a callback with several.
func items(each pointer, document any) ([]any, error) {
	if each == nil {
		return []any{document}, nil
	}
	found, _ := each.find(document)
	list, ok := found.([]any)
	if !ok {
		return nil, errors.New("there is no list of entries")
	}
	return list, nil
}

// reports reads reports. They come twice, late and out of order; the broker handles that.
func (b *callback) reports(c *channels.Callback, path []string, document any, states map[string]meaning) ([]weir.Report, error) {
	var out []weir.Report
	list, err := items(b.each, document)
	if b.state == nil || (b.id != nil) == (len(path) > 0) { // nothing is reported, or not there
		return nil, channels.ErrPath
	}
	if err != nil {
		return nil, err
	}
	for _, item := range list {
		state := b.state.text(item)
		// One entry that cannot be read refuses the whole callback, before any of its reports is
		// applied.
		if state == "" {
			return nil, errors.New("there is no state")
		}
		m, known := states[state]
		// States that the gateway adds later must not fail a message.
		if !known {
			continue
		}
		id := path
		if b.id != nil {
			id = strings.Split(b.id.text(item), ".")
		}
		attempt, part, err := provider.ParseMessage(id)
		if err != nil {
			return nil, err
		}
		out = append(out, weir.Report{
			Attempt: attempt, Part: part, Outcome: m.outcome, Reason: m.reason, ProviderRef: bounded(b.ref.text(item)), At: c.At,
		})
	}
	return out, nil
}

// read reads messages of people; nil: the template does not describe any.
func (in *incoming) read(c *channels.Callback, document any) ([]weir.Incoming, error) {
	if in == nil {
		return nil, channels.ErrPath
	}
	list, err := items(in.each, document)
	if err != nil {
		return nil, err
	}
	var out []weir.Incoming
	for _, item := range list {
		if !hold(in.match, item) {
			continue
		}
		m := weir.Incoming{From: in.from.text(item), To: in.to.text(item), Body: in.body.text(item), GUID: bounded(in.reference.text(item)), ReceivedAt: c.At}
		if m.From == "" {
			return nil, errors.New("there is no sender")
		}
		// The time of arrival is part of an invented id: a person may send the same text twice,
		// and only the gateway's own id distinguishes that from a repeated callback.
		if m.GUID == "" {
			m.GUID = provider.InventedGUID(m.From, m.To, m.Body, c.At.UTC().String())
		}
		out = append(out, m)
	}
	return out, nil
}

// consent is how callbacks of any kind show that a person has refused, or is back.
type consent struct {
	each, address, reference pointer
	refused, given           []condition
}

// readConsent reads it. Its conditions may name entries of the setting values, because some
// gateways have one address for all senders of an account.
func readConsent(root object, values map[string]string) *consent {
	o, ok := root.object("consent", "each", "address", "id", "refused", "given")
	if !ok {
		return nil
	}
	o.need("address", "pointer to the address of the person")
	s := &consent{each: o.pointer("each"), address: o.pointer("address"), reference: o.pointer("id"), refused: readConditions(o, "refused"), given: readConditions(o, "given")}
	if len(s.refused) == 0 {
		o.wrong.fail(o.under("refused"), "required", "pointers to values by which a callback shows that the person has refused")
	}
	for _, list := range [][]condition{s.refused, s.given} {
		for c := range list {
			in := list[c].in
			for i, text := range in {
				if name, named := strings.CutPrefix(text, "{value."); named {
					in[i] = values[strings.TrimSuffix(name, "}")]
				}
			}
			// What a callback does not have is no sign of anything.
			list[c].in = slices.DeleteFunc(in, func(text string) bool { return text == "" })
		}
	}
	return s
}

// read returns the consents in a callback; mostly there is none.
func (s *consent) read(c *channels.Callback, document any) (out []channels.Consent, _ error) {
	if s == nil {
		return nil, nil
	}
	list, err := items(s.each, document)
	if err != nil {
		return nil, nil //nolint:nilerr // a callback of another kind
	}
	for _, item := range list {
		refused := hold(s.refused, item)
		if !refused && (s.given == nil || !hold(s.given, item)) {
			continue
		}
		one := channels.Consent{Address: s.address.text(item), Refused: refused, ID: bounded(s.reference.text(item)), At: c.At}
		if one.Address == "" {
			return nil, errors.New("there is no address")
		}
		out = append(out, one)
	}
	return out, nil
}

// hold reports whether all conditions hold.
func hold(list []condition, item any) bool {
	return !slices.ContainsFunc(list, func(m condition) bool { return !slices.Contains(m.in, m.at.text(item)) })
}
