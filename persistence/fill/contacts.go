package fill

import (
	"fmt"
	"strings"
	"time"

	"weir"
)

// Contacts describes a number of similar contacts. Each has a number, which determines
// its id, key, address and instants; consecutive contacts are one millisecond apart.
type Contacts struct {
	Channels []weir.ChannelID // in turn
	Finished bool             // each with one attempt, completed; otherwise they are queued
	First    int              // the number of the first
	Count    int
	Begin    time.Time // the instant of number 0
	Message  string
}

// Parts of an id: milliseconds since 2025, above the bits of the process and of its
// counter, which are 0 here.
const (
	idEpoch = 1735689600000
	idStep  = 1 << 22
)

// Delays after a contact was queued until it was claimed, sent, and done; in
// microseconds.
const (
	untilClaimed = 2_000
	untilSent    = 4_000
	untilEnded   = 14_000
)

// tables returns the tables that hold the contacts, with their columns. Constants are
// listed as well, so that no default of the schema affects the measurement.
func (c Contacts) tables() map[string][]Column {
	queued := fmt.Sprintf("(%d + n) * 1000", c.Begin.UnixMilli())
	id := fmt.Sprintf("(%d + n) * %d", c.Begin.UnixMilli()-idEpoch, idStep)
	after := func(us int) string { return fmt.Sprintf("%s + %d", queued, us) }
	lane := fmt.Sprint(int64(weir.LaneOf(weir.Normal, "")))
	key := []Column{{"channel_id", inTurn(c.Channels)}, {"id", id}}
	tables := map[string][]Column{"contacts": append(key[:2:2], []Column{
		{"ckey", fmt.Sprintf("CONCAT(%s, '000-', n + 1)", queued)},
		{"addr", "CONCAT('+1555', 1000000 + n)"},
		{"priority", fmt.Sprint(int(weir.Normal))},
		{"survey", "''"}, {"labels", "''"},
		{"content", quoted(`{"messages":["` + c.Message + `"]}`)},
		{"not_before", "0"}, {"not_after", "0"}, {"size", "1"}, {"queued_at", queued}, {"lane", lane},
		{"for_survey", "0"}, {"for_id", "0"}, {"for_serial", "0"},
	}...)}
	if !c.Finished {
		tables["contacts_queued"] = append(key[:2:2], Column{"lane", lane}, Column{"rev", "0"}, Column{"size", "1"}, Column{"progress", "NULL"})
		return tables
	}
	tables["contacts_done"] = append(key[:2:2], []Column{
		{"finished_at", after(untilEnded)}, {"rev", "4"}, {"attempt", "1"}, {"failures", "0"},
		{"claimed_at", after(untilClaimed)}, {"sent_at", after(untilSent)}, {"heard_at", after(untilEnded)},
		{"provider_ref", "'1'"}, {"parts", "'d'"}, {"outcome", quoted(string(weir.Completed))}, {"reason", "''"}, {"cancel_asked", "0"},
	}...)
	return tables
}

// inTurn returns the SQL expression of a contact's channel by its number.
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
