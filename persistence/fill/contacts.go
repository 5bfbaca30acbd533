package fill

import (
	"fmt"
	"strings"
	"time"

	"weir"
	"weir/persistence/contacts"
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

// Delays after a contact was queued until it was claimed, sent, and done.
const (
	untilClaimed = 2 * time.Millisecond
	untilSent    = 4 * time.Millisecond
	untilEnded   = 14 * time.Millisecond
)

// tables returns the tables that hold the contacts, with their columns. Constants are
// listed as well, so that no default of the schema affects the measurement.
func (c Contacts) tables() map[string][]Column {
	queued := fmt.Sprintf("(%d + n) * 1000", c.Begin.UnixMilli())
	id := fmt.Sprintf("(%d + n) * %d", c.Begin.UnixMilli()-idEpoch, idStep)
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
		{"finished_at", fmt.Sprintf("%s + %d", queued, untilEnded.Microseconds())}, {"rev", "4"},
		{"outcome", quoted(string(weir.Completed))}, {"reason", "''"}, {"progress", c.ended()},
	}...)
	return tables
}

// indexed returns the tables of the index by channel.
func (c Contacts) indexed() map[string][]Column {
	tables := c.tables()
	list := map[string][]Column{"contacts_by_channel": tables["contacts"][:2]}
	if c.Finished {
		list["contacts_by_end"] = tables["contacts_done"][:3]
	}
	return list
}

// ended returns the progress of a finished contact as SQL. A database cannot encode it, so
// all have the instants of the first.
func (c Contacts) ended() string {
	at := c.Begin.Add(time.Duration(c.First) * time.Millisecond)
	return fmt.Sprintf("x'%x'", contacts.EncodeProgress(weir.Progress{
		Rev: 4, State: weir.Done, Attempt: 1, ClaimedAt: at.Add(untilClaimed), SentAt: at.Add(untilSent), HeardAt: at.Add(untilEnded), FinishedAt: at.Add(untilEnded),
		ProviderRef: "1", Parts: "d", Outcome: weir.Completed,
	}))
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
