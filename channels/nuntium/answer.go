package nuntium

import (
	"encoding/json"
	"errors"
	"time"

	"weir"
	"weir/channels"
)

// listed is one message of a query's result.
type listed struct {
	guid  string
	echo  string // the guid that we gave; for a copy it differs from guid
	state string // empty: Nuntium reports none
}

// readList parses the answer to a query. Custom attributes are siblings of the
// message's own keys and may have any type.
func readList(body []byte) ([]listed, error) {
	var raw []map[string]json.RawMessage
	if json.Unmarshal(body, &raw) != nil || raw == nil { // the decoder's error may quote the body
		return nil, errors.New("the answer is not a list of messages of Nuntium")
	}
	out := make([]listed, len(raw))
	for i, m := range raw {
		out[i] = listed{guid: textOf(m["guid"]), echo: textOf(m[guidAttribute]), state: textOf(m["state"])}
	}
	return out, nil
}

// textOf returns a JSON string, or an empty one for any other value.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// judge interprets a query's list for a contact of the given number of messages.
//
// A batch is not atomic, so messages may be missing while others are there. As
// long as one of them is under way, so is the contact: it keeps its slots and the
// missing ones are left open. Once all that are there have ended, the contact
// takes no slot at the provider and the missing ones were never stored, so it
// counts as absent: dispatching it again sends only the missing ones, because
// Nuntium drops the others. One failed message fails the contact; the missing ones
// are then not worth sending and count as failed.
func judge(final finalState, ref weir.Ref, parts int, list []listed, now time.Time) channels.Answer {
	verdicts := make([]part, parts)
	for _, m := range list {
		if of, i, ok := parseGUID(m.guid); ok && of == ref && i < parts {
			verdicts[i].take(final.meaning(m.state), m.state)
		} else if of, i, ok := parseGUID(m.echo); ok && of == ref && i < parts {
			verdicts[i].takeCopy(final.meaning(m.state))
		}
	}
	var ended, missing, failed, going int
	answer := channels.Answer{Status: channels.Underway, ProviderRef: tokenOf(ref)}
	for i := range verdicts {
		m := verdicts[i].result()
		switch {
		case !verdicts[i].present:
			missing++
			continue
		case m.outcome == "":
			if m.known {
				going++
			}
			continue
		case m.outcome == weir.Failed:
			failed++
		}
		ended++
		answer.Reports = append(answer.Reports, report(ref, i, m, now))
	}
	switch {
	case missing == parts, missing > 0 && ended+missing == parts && failed == 0:
		return absent(missing < parts)
	case ended+missing < parts:
		answer.Silent = going == 0
		return answer
	}
	for i := range verdicts {
		if !verdicts[i].present {
			lost := meaning{outcome: weir.Failed, reason: "never stored by the provider"}
			answer.Reports = append(answer.Reports, report(ref, i, lost, now))
		}
	}
	answer.Status = channels.Finished
	return answer
}

func absent(partial bool) channels.Answer {
	reason := "the provider has no message of it"
	if partial {
		reason = "the provider has only some of its messages"
	}
	return channels.Answer{Status: channels.Absent, Partial: partial, Reason: reason}
}

// part collects what a list reports on one message and its broadcast copies.
type part struct {
	present bool
	own     meaning
	spread  bool // the message was replaced by copies
	copies  int
	open    int
	good    bool
	bad     meaning
}

func (p *part) take(m meaning, state string) {
	p.present = true
	p.own = m
	p.spread = state == stateBroadcasted
}

func (p *part) takeCopy(m meaning) {
	p.present = true
	p.copies++
	switch m.outcome {
	case weir.Completed:
		p.good = true
	case "":
		p.open++
	default:
		p.bad = m
	}
}

// result returns the state of the message: its own or, for a broadcast one,
// success as soon as one copy was delivered and failure when all copies failed.
func (p *part) result() meaning {
	switch {
	case !p.spread && p.copies == 0, p.own.outcome == weir.Completed:
		return p.own
	case p.good:
		return meaning{known: true, outcome: weir.Completed}
	case p.copies == 0 || p.open > 0:
		return meaning{known: true}
	}
	return p.bad
}
