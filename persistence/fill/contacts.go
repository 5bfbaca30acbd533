package fill

import (
	"fmt"
	"strings"
	"time"

	"weir"
)

// Contacts are some that are alike. Each has a number; its id, its key, its
// address and its instants follow from that, a millisecond between one and the
// next.
type Contacts struct {
	Channels []weir.ChannelID // in turn
	Finished bool             // each with one attempt, completed; else they are queued
	First    int              // the number of the first
	Count    int
	Begin    time.Time // the instant of number 0
	Message  string
}

// Parts of an id: milliseconds since 2025 above those of the process and its
// count, which are 0 here.
const (
	idEpoch = 1735689600000
	idStep  = 1 << 22
)

// How long after it was queued a contact was claimed, sent, and ended; in
// microseconds.
const (
	untilClaimed = 2_000
	untilSent    = 4_000
	untilEnded   = 14_000
)

// columns are those of the table contacts. What is always the same is said once
// more than needed, so that no default decides what is measured.
func (c Contacts) columns() []Column {
	queued := fmt.Sprintf("(%d + n) * 1000", c.Begin.UnixMilli())
	id := fmt.Sprintf("(%d + n) * %d", c.Begin.UnixMilli()-idEpoch, idStep)
	after := func(us int) string { return fmt.Sprintf("%s + %d", queued, us) }
	list := []Column{
		{"channel_id", inTurn(c.Channels)},
		{"id", id},
		{"ckey", fmt.Sprintf("CONCAT(%s, '000-', n + 1)", queued)},
		{"addr", "CONCAT('+1555', 1000000 + n)"},
		{"priority", fmt.Sprint(int(weir.Normal))},
		{"survey", "''"}, {"labels", "''"},
		{"content", quoted(`{"messages":["` + c.Message + `"]}`)},
		{"not_before", "0"}, {"not_after", "0"}, {"expire_at", "NULL"}, {"due_at", "0"}, {"size", "1"},
		{"queued_at", queued},
		{"failures", "0"}, {"reason", "''"}, {"cancel_asked", "0"},
		{"for_survey", "0"}, {"for_id", "0"}, {"for_serial", "0"},
	}
	if !c.Finished {
		return append(list, []Column{
			{"state", fmt.Sprint(int(weir.Queued))},
			{"lane", fmt.Sprint(int64(weir.LaneOf(weir.Normal, "")))}, {"pos", id},
			{"rev", "0"}, {"attempt", "0"}, {"claimed_at", "0"}, {"sent_at", "0"}, {"heard_at", "0"}, {"finished_at", "0"},
			{"provider_ref", "''"}, {"parts", "''"}, {"outcome", "''"},
		}...)
	}
	return append(list, []Column{
		{"state", fmt.Sprint(int(weir.Done))},
		{"lane", "0"}, {"pos", after(untilEnded)},
		{"rev", "4"}, {"attempt", "1"}, {"claimed_at", after(untilClaimed)}, {"sent_at", after(untilSent)},
		{"heard_at", after(untilEnded)}, {"finished_at", after(untilEnded)},
		{"provider_ref", "'1'"}, {"parts", "'d'"}, {"outcome", quoted(string(weir.Completed))},
	}...)
}

// inTurn is the channel of a number.
func inTurn(channels []weir.ChannelID) string {
	if len(channels) == 1 {
		return fmt.Sprint(int64(channels[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CASE n %% %d", len(channels))
	for i, id := range channels {
		fmt.Fprintf(&b, " WHEN %d THEN %d", i, int64(id))
	}
	return b.String() + " END"
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
