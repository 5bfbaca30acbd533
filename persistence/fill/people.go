package fill

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"weir"
)

// People describes a number of people, who all have refused everything and have been
// contacted once, evenly over a time.
type People struct {
	Channel weir.ChannelID // that contacted them
	Count   int
	Begin   time.Time // when the first was contacted
	Span    time.Duration
}

// hash returns the hash of the person numbered n. Hashes are spread evenly, as those of real
// people are, and ascend, so that filling is quick.
func (p People) hash(server bool, n string) string {
	const space = 1 << 60 // 15 hexadecimal digits; the other 17 are the number
	if server {
		return fmt.Sprintf("UNHEX(CONCAT(LPAD(HEX(%[1]s * %[2]d), 15, '0'), LPAD(HEX(%[1]s), 17, '0')))", n, space/p.Count)
	}
	return fmt.Sprintf("unhex(printf('%%015x%%017x', %[1]s * %[2]d, %[1]s))", n, space/p.Count)
}

// refusals returns the columns of consent_states.
func (p People) refusals(server bool) []Column {
	return []Column{
		{"hash", p.hash(server, "n")}, {"purpose", "'all'"}, {"status", "'refused'"}, {"source", "'import'"}, {"said_at", p.at("n")}, {"version", "n + 1"},
	}
}

// history returns the columns of person_contacts for the person numbered n.
func (p People) history(server bool, n string, number int) []Column {
	return []Column{
		{"hash", p.hash(server, n)}, {"claimed_at", p.at(n)}, {"channel_id", fmt.Sprint(int64(p.Channel))}, {"contact_id", n + " + 1"},
		{"number", strconv.Itoa(number)}, {"purpose", "'default'"}, {"text", "0"},
	}
}

func (p People) at(n string) string {
	return fmt.Sprintf("%d + %s * %d", p.Begin.UnixMicro(), n, p.Span.Microseconds()/int64(p.Count))
}

// Rows that ascend fill pages to the last byte, so that each of the first rows that is inserted
// later would split one. Those of real people come in any order, and leave a third of a page
// free: on SQLite by spare rows, one for so many people, that are deleted, and on a server by
// the table's being built anew.
const spareEvery = 3

func (s *Store) loosen(ctx context.Context) error {
	texts := []string{"DELETE FROM person_contacts WHERE number = 2"}
	if s.server {
		texts = []string{"SET GLOBAL innodb_fill_factor = 70", "ALTER TABLE person_contacts FORCE"}
	}
	for _, text := range texts {
		if _, err := s.db.Pools().Write.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
