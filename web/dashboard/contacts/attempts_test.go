package contacts

import (
	"strings"
	"testing"
	"time"

	"weir/api"
	"weir/web/dashboard/locale"
)

// An attempt has its times from the claim on, and its place in the life of the contact.
func TestAttemptCourses_AreDrawnOverTheLifeOfTheContact(t *testing.T) {
	t.Parallel()
	queued := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	after := queued.Add
	c := &api.ContactView{QueuedAt: queued, FinishedAt: after(100 * time.Second), Attempts: []api.AttemptView{
		{Number: 1, ClaimedAt: after(10 * time.Second), SentAt: after(20 * time.Second), LastHeardAt: after(25 * time.Second), FinishedAt: after(30 * time.Second)},
		{Number: 2, ClaimedAt: after(90 * time.Second)}, // nothing was heard of it
		{Number: 3},
	}}
	l := locale.New().Choose("en", "")
	rows := attemptCourses(l, c, after(time.Hour))
	if r := rows[0]; r.Sent != "+10 s" || r.Heard != "+15 s" || r.Finished != "+20 s" {
		t.Errorf("%s, %s, %s", r.Sent, r.Heard, r.Finished)
	}
	for i, want := range [][]string{
		{"<title>Attempt 1: begins 10 s after the contact was accepted, lasts 20 s</title>", `<rect class="c5" x="100" y="0" width="100"`, `<rect class="c1" x="200" y="0" width="100"`},
		{"<title>Attempt 2: begins 1 min after the contact was accepted, lasts 10 s</title>", `<rect class="c5" x="900" y="0" width="100"`},
	} {
		for _, part := range want {
			if !strings.Contains(string(rows[i].Bar), part) {
				t.Errorf("attempt %d lacks %s: %s", i+1, part, rows[i].Bar)
			}
		}
	}
	if rows[1].Sent+rows[1].Finished != "" || strings.Contains(string(rows[1].Bar), "c1") || rows[2].Bar != "" {
		t.Errorf("%+v", rows[1:])
	}
	// One that is under way lasts until now, and is never too narrow to be seen.
	c.FinishedAt, c.Attempts = time.Time{}, []api.AttemptView{{Number: 1, ClaimedAt: after(time.Hour - time.Millisecond)}}
	if r := attemptCourses(l, c, after(time.Hour))[0]; !strings.Contains(string(r.Bar), `<rect class="c5" x="992" y="0" width="8"`) {
		t.Errorf("%s", r.Bar)
	}
}
