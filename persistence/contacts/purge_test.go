package contacts_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/limits"
	"weir/persistence"
	"weir/persistence/columns"
	"weir/persistence/storetest"
)

// outlive are the tables whose rows name a contact and do not go with it: the history that caps
// and limits count is deleted by its own age, the outbox when it was read, and respondents with their survey.
func outlive() []string {
	return []string{"person_contacts", "person_replies", "outbox", "respondents"}
}

// tablesOfContacts lists the tables whose rows go with a contact, with the column that has its id.
func tablesOfContacts(t *testing.T, db *sql.DB, folder string) map[string]string {
	t.Helper()
	ask := "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'contact_id'"
	if folder == "mysql" {
		ask = "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'contact_id'"
	}
	rows, err := db.QueryContext(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[string]string{"contacts": "id", "contacts_done": "id"}
	if folder == "sqlite" {
		found["contacts_by_channel"], found["contacts_by_end"] = "id", "id"
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(outlive(), name) {
			found[name] = "contact_id"
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// Nothing of a contact outlives it: every table whose rows belong to contacts has some before the
// purge, and none behind it.
func TestPurge_LeavesNothingOfAContact(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		ctx := t.Context()
		s, db := storetest.OpenWithDatabase(t, url, persistence.Options{IndexEvery: 1})
		if err := s.OpenPeople(ctx, nil); err != nil {
			t.Fatal(err)
		}
		channel, by := storetest.OpenChannel(t, s, "a")
		if err := s.PutPrice(ctx, "a", &limits.Price{Currency: "USD", PerSegment: "1"}); err != nil { // so that attempts have receipts
			t.Fatal(err)
		}
		got, err := s.Accept(ctx, channel, []weir.Spec{{To: "1", Messages: []string{"x"}}, {To: "2", Messages: []string{"x"}}, {To: "3", Messages: []string{"x"}}})
		if err != nil {
			t.Fatal(err)
		}
		var refs []weir.Ref
		var gone []any
		for _, a := range got[:2] {
			refs, gone = append(refs, a.Contact.Ref), append(gone, int64(a.Contact.ID))
		}
		for range 4 { // claimed, tried again, claimed, failed
			var list []weir.Transition
			for _, c := range storetest.ReadAll(t, s, refs) {
				tr := storetest.Advance(c)
				if tr.Contact.State == weir.Done {
					tr.Contact.Outcome, tr.Contact.Reason = weir.Failed, "busy"
				}
				list = append(list, tr)
			}
			if r := <-storetest.Commit(s, by, list...); r.Err != nil || len(r.Stale) > 0 {
				t.Fatalf("%+v", r)
			}
		}
		if again, err := s.Requeue(ctx, channel, []weir.ContactID{got[0].Contact.ID}, "t1"); err != nil || len(again.Contacts) != 1 {
			t.Fatalf("tried again as a new contact: %+v, %v", again, err)
		}

		folder, _ := db.Migrations()
		tables := tablesOfContacts(t, db.Pools().Read, folder)
		rows := func(table string) (n int) {
			t.Helper()
			text := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE channel_id = ? AND %s IN %s", table, tables[table], columns.Marks(len(gone)))
			if err := db.Pools().Read.QueryRowContext(ctx, text, append([]any{int64(channel)}, gone...)...).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for table := range tables {
			if rows(table) == 0 {
				t.Errorf("%s has no row of a contact that could be purged", table)
			}
		}
		if n, err := s.Purge(ctx, time.Now().Add(time.Hour), 100); n != len(gone) || err != nil {
			t.Fatalf("%d were purged: %v", n, err)
		}
		for table := range tables {
			if n := rows(table); n != 0 {
				t.Errorf("%s has %d rows of contacts that were purged", table, n)
			}
		}
		if _, _, err := s.Contact(ctx, got[2].Contact.Ref); err != nil {
			t.Errorf("a contact that waits: %v", err)
		}
	})
}
