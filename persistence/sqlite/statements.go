package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"weir/persistence/dialect"
)

// Statements implements [dialect.Database]. Nothing is locked by reading:
// a write transaction has the whole database.
func (d *Database) Statements() dialect.Statements {
	return dialect.Statements{
		UpdateContacts: updateContacts(),
		KeepContact:    " ON CONFLICT DO NOTHING",
		AddCount:       " ON CONFLICT (channel_id) DO UPDATE SET queued = queued + excluded.queued",
		RenewWake:      " ON CONFLICT (channel_id, wake) DO UPDATE SET id = excluded.id",
		OwnerGone:      "1 = 0",
		Prepare:        true,
	}
}

func updateContacts() string {
	columns := dialect.Columns()
	var from, set []string
	for i, c := range columns {
		from = append(from, fmt.Sprintf("value ->> %d AS %s", i, c))
		if i > slices.Index(columns, "was_rev") && c != "waiting" {
			set = append(set, c+" = j."+c)
		}
	}
	return "UPDATE contacts SET " + strings.Join(set, ", ") +
		", expire_at = CASE WHEN j.waiting = 1 AND contacts.not_after > 0 THEN contacts.not_after END" +
		" FROM (SELECT " + strings.Join(from, ", ") + " FROM json_each(?)) AS j" +
		" WHERE contacts.channel_id = j.channel_id AND contacts.id = j.id AND contacts.rev = j.was_rev"
}
