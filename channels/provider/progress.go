package provider

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
)

// Partly returns the result of a contact whose first messages were accepted and
// the next one was not, or not certainly. Then dispatching the contact again would
// send the first ones twice, so that it counts as accepted, and its reference
// keeps how far it came: Query reports the rest as failed.
func Partly(accepted, of int, s channels.SendResult) channels.SendResult {
	if accepted == 0 {
		return s
	}
	return channels.SendResult{Status: channels.Accepted, ProviderRef: Progress{accepted, of, s.Status == channels.Unclear}.String()}
}

// Progress is how many messages of a contact a provider accepted that is given them one
// by one: "1/3", or "1/3?" if it is not known whether it has one more.
type Progress struct {
	Accepted, Of int
	Unclear      bool
}

func (p Progress) String() string {
	mark := ""
	if p.Unclear {
		mark = "?"
	}
	return fmt.Sprintf("%d/%d%s", p.Accepted, p.Of, mark)
}

// ParseProgress parses the output of String, and nothing else.
func ParseProgress(s string) (p Progress, ok bool) {
	body, unclear := strings.CutSuffix(s, "?")
	first, second, _ := strings.Cut(body, "/")
	p.Unclear = unclear
	var err1, err2 error
	p.Accepted, err1 = strconv.Atoi(first)
	p.Of, err2 = strconv.Atoi(second)
	return p, err1 == nil && err2 == nil && p.Accepted > 0 && p.Accepted < p.Of && p.String() == s
}

// NotSent reports the messages that were certainly not sent.
func (p Progress) NotSent(attempt weir.AttemptRef, now time.Time) []weir.Report {
	first := p.Accepted
	if p.Unclear {
		first++
	}
	var out []weir.Report
	for part := first; part < p.Of; part++ {
		out = append(out, weir.Report{
			Attempt: attempt, Part: part, Outcome: weir.Failed, Reason: "not sent: an earlier message was not accepted", At: now,
		})
	}
	return out
}
