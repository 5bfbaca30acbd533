package fill

import (
	"fmt"
	"time"

	"weir"
)

// People describes a number of people, who all have refused everything and have been
// contacted once. Consecutive ones were contacted one millisecond apart.
type People struct {
	Channel weir.ChannelID // that contacted them
	Count   int
	Begin   time.Time // when the first was contacted
}

// tables returns the tables that hold the people, with their columns. The hashes are spread
// evenly, as those of real people are, and ascend, so that filling is quick.
func (p People) tables(server bool) map[string][]Column {
	const space = 1 << 60 // 15 hexadecimal digits; the other 17 are the number
	hash := fmt.Sprintf("unhex(printf('%%015x%%017x', n * %d, n))", space/p.Count)
	if server {
		hash = fmt.Sprintf("UNHEX(CONCAT(LPAD(HEX(n * %d), 15, '0'), LPAD(HEX(n), 17, '0')))", space/p.Count)
	}
	at := fmt.Sprintf("(%d + n) * 1000", p.Begin.UnixMilli())
	return map[string][]Column{
		"consent_states": {
			{"hash", hash}, {"purpose", "'all'"}, {"status", "'refused'"}, {"source", "'import'"}, {"said_at", at}, {"version", "n + 1"},
		},
		"person_contacts": {
			{"hash", hash}, {"claimed_at", at}, {"channel_id", fmt.Sprint(int64(p.Channel))}, {"contact_id", "n + 1"}, {"number", "1"}, {"purpose", "'default'"}, {"text", "0"},
		},
	}
}
