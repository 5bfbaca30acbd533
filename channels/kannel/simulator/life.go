package simulator

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/channels/simulation"
)

// States of delivery reports.
const (
	stateDelivered = 1
	stateFailed    = 2
	stateBuffered  = 4
	stateSent      = 8
	stateRefused   = 16
)

// message is a message in Kannel.
type message struct {
	attributes Message
	link       *link
	reportURL  string
	mask       int
	outcome    string
	over       bool // its slot is free
}

func (m *message) key() string { return simulation.TextKey(m.attributes.To, m.attributes.Text) }

// step is one report in the life of a message.
type step struct {
	state   int
	receipt string
	late    bool // after DeliverTime, otherwise with the step before
}

func steps(outcome string) []step {
	sent := step{state: stateSent, receipt: "ACK/"}
	final := func(state int, stat string) step { return step{state, receipt(stat), true} }
	switch outcome {
	case Sent:
		return []step{sent}
	case Failed:
		return []step{sent, final(stateFailed, "UNDELIV")}
	case Expired:
		return []step{sent, final(stateFailed, "EXPIRED")}
	case Buffered:
		return []step{sent, final(stateBuffered, "ENROUTE"), final(stateDelivered, "DELIVRD")}
	case Refused:
		return []step{{state: stateRefused, receipt: "NACK/0x0000000b/Invalid Destination Address"}}
	case Reversed:
		return []step{{state: stateDelivered, receipt: receipt("DELIVRD")}, sent}
	case Silent:
		return nil
	}
	return []step{sent, final(stateDelivered, "DELIVRD")}
}

// receipt is the text of an SMPP receipt.
func receipt(stat string) string {
	return "id:1 sub:001 dlvrd:001 submit date:2601020304 done date:2601020305 stat:" + stat + " err:000 text:hello"
}

// begin hands a message to its link. The caller holds the lock.
func (s *Server) begin(m *message) {
	s.advance(m, steps(m.outcome), s.options.SendTime)
}

// advance performs the steps one after the other. The caller holds the lock.
func (s *Server) advance(m *message, rest []step, wait time.Duration) {
	s.Later(wait, func() {
		if len(rest) == 0 { // the SMSC took it without a word
			s.end(m)
			return
		}
		// The SMSC's acknowledgment frees the slot; the receipt of the handset may come hours
		// later.
		if rest[0].state != stateBuffered {
			s.end(m)
		}
		s.report(m, rest[0].state, rest[0].receipt)
		if len(rest) > 1 {
			pause := time.Duration(0)
			if rest[1].late {
				pause = s.options.DeliverTime
			}
			s.advance(m, rest[1:], pause)
		}
	})
}

func (s *Server) end(m *message) {
	if !m.over {
		m.over = true
		s.Tally().End(m.link.ID, m.key())
	}
}

// report requests the report URL, if the client asked for this state. The caller
// holds the lock.
func (s *Server) report(m *message, state int, receipt string) {
	if m.reportURL == "" || m.mask <= 0 || m.mask&state == 0 && (state != stateRefused || m.mask&stateFailed == 0) {
		return
	}
	target := fill(m.reportURL, values{
		'd': fmt.Sprint(state), 'A': receipt, 'p': m.attributes.From, 'P': m.attributes.To, 'i': m.attributes.Link,
	}, receipt)
	s.call(opReport, m.attributes.To, target, &s.records.Reports, nil)
}

// SetLink changes the state of a link. One that comes online takes what waits.
func (s *Server) SetLink(id, state string) error {
	if err := checkState(state); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	for _, l := range s.links {
		if l.ID != id {
			continue
		}
		l.State = state
		if state == Online {
			for _, m := range l.waiting {
				s.begin(m)
			}
			l.waiting = nil
		}
		return nil
	}
	return errors.New("no such link")
}

func (s *Server) statusDocument() string {
	s.Lock()
	defer s.Unlock()
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<gateway>\n<version>Kannel bearerbox version `1.4.5'.\n</version>\n" +
		"<status>running, uptime 0d 0h 1m 0s</status>\n<boxes>\n\t<box>\n\t\t<type>smsbox</type>\n\t\t<id></id>\n" +
		"\t\t<status>on-line 0d 0h 0m 58s</status>\n\t</box></boxes>\n")
	fmt.Fprintf(&b, "<smscs><count>%d</count>\n", len(s.links))
	for _, l := range s.links {
		state := l.State
		if state == Online {
			state = "online 60s"
		}
		b.WriteString("\t<smsc>\n\t\t<id>")
		_ = xml.EscapeText(&b, []byte(l.ID))
		fmt.Fprintf(&b, "</id>\n\t\t<status>%s</status>\n\t\t<queued>%d</queued>\n\t</smsc>\n", state, len(l.waiting))
	}
	b.WriteString("</smscs>\n</gateway>\n")
	return b.String()
}

// call makes a request and repeats it as often as configured until the answer is
// 200 or 202. heard may be nil. The caller holds the lock.
func (s *Server) call(kind, subject, url string, count *simulation.CallCount, heard func(body []byte)) {
	s.Repeat(simulation.Repeated{
		Callback: simulation.Callback{Subject: subject, Kind: kind, Request: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err == nil {
				r.Header.Set("User-Agent", "Kannel/1.4.5")
			}
			return r, err
		}},
		// smsbox counts a 204 as a failure, so that a receiver has to answer 200.
		Count: count, Taken: func(status int) bool { return status == http.StatusOK || status == http.StatusAccepted }, Heard: heard,
		Again: func(failures, _ int, _ error) (time.Duration, bool) {
			return s.options.RetryDelay, failures <= s.options.Retries
		},
	})
}
