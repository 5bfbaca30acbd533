package fill

import (
	"context"
	"errors"
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

// spareEvery is for how many people there is a row on SQLite that is inserted only to be deleted.
const spareEvery = 3

// loosen leaves a third of the pages of person_contacts free, as rows that come in any order do.
// Rows that ascend fill pages to the last byte: each of the first rows that is inserted later would
// split one. On SQLite spare rows are deleted, and on a server the table is built anew.
func (s *Store) loosen(ctx context.Context) error {
	write := s.db.Pools().Write
	if !s.server {
		_, err := write.ExecContext(ctx, "DELETE FROM person_contacts WHERE number = 2")
		return err
	}
	var before int
	if err := write.QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_fill_factor").Scan(&before); err != nil {
		return err
	}
	_, err := write.ExecContext(ctx, "SET GLOBAL innodb_fill_factor = 70")
	if err == nil {
		_, err = write.ExecContext(ctx, "ALTER TABLE person_contacts FORCE")
		_, errBack := write.ExecContext(context.WithoutCancel(ctx), "SET GLOBAL innodb_fill_factor = "+strconv.Itoa(before))
		err = errors.Join(err, errBack)
	}
	return err
}
