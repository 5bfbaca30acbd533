package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
)

// life returns the events of a contact, one per line, without instants.
func (r *rig) life(t *testing.T, id string) []string {
	t.Helper()
	v := into[api.TimelineView](t, r.do("GET", "/v1/contacts/"+id+"/timeline", ""), 200)
	var lines []string
	for i, e := range v.Events {
		if i > 0 && e.At.Before(v.Events[i-1].At) {
			t.Errorf("out of order: %+v", v.Events)
		}
		line := e.What
		for _, more := range []string{e.Contact, e.By, e.Action, string(e.Outcome), e.Reason} {
			if more != "" {
				line += " " + more
			}
		}
		if e.Attempt > 0 {
			line += fmt.Sprintf(" (%d)", e.Attempt)
		}
		lines = append(lines, line)
	}
	if len(v.NotRecorded) == 0 {
		t.Error("it claims to be complete")
	}
	return lines
}

func TestTimeline_TellsTheLifeOfAContact(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	r := newRig(t, func(o *web.Options) { o.Dead = store })
	ch := r.channel("a", "texts")
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	c := r.contact(ch, weir.Progress{
		State: weir.Done, Attempt: 2, ClaimedAt: at(20), SentAt: at(21), HeardAt: at(25), FinishedAt: at(26), Outcome: weir.Completed,
	}, func(c *weir.Contact) {
		c.NotBefore = at(5)
		c.Owner, c.Survey = weir.Owner{Group: 3, ID: 100, Serial: 2}, "flu"
	})
	r.ended[c.Ref] = []weir.Attempt{{Number: 1, ClaimedAt: at(6), FinishedAt: at(8), Reason: "no line"}}
	want := []string{
		"accepted", "waits_until its window opens", "claimed (1)", "back_in_queue no line (1)",
		"claimed (2)", "handed_over (2)", "last_heard (2)", "ended completed (2)",
	}
	if d := cmp.Diff(want, r.life(t, c.Ref.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	v := into[api.TimelineView](t, r.do("GET", "/v1/contacts/"+c.Ref.String()+"/timeline", ""), 200)
	if v.Channel != "a" || v.For == nil || *v.For != (api.TimelineFor{Survey: "flu", Respondent: "r2s", Serial: 2}) {
		t.Errorf("%+v", v)
	}
	waits := r.contact(ch, weir.Progress{State: weir.Delayed, Attempt: 1, DueAt: at(90)})
	r.ended[waits.Ref] = []weir.Attempt{{Number: 1, ClaimedAt: at(6), FinishedAt: at(8), Reason: "refused"}}
	want = []string{"accepted", "claimed (1)", "back_in_queue refused (1)", "waits_until its next attempt (2)"}
	if d := cmp.Diff(want, r.life(t, waits.Ref.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if g := r.do("GET", "/v1/contacts/1-zz/timeline", ""); g.status != 404 {
		t.Errorf("%d", g.status)
	}
}

// A dead letter, its requeue and the token that requested it are in the
// timelines of both contacts.
func TestTimeline_ShowsARequeueInBothContacts(t *testing.T) {
	t.Parallel()
	var trail *auth.Trail
	r, _, list := deadRig(t, 1, func(o *web.Options) { trail = o.Trail })
	old := list[0].Ref.String()
	reason := "refused: " + phoneCanary
	want := []string{"accepted", "ended failed " + reason, "dead_letter failed refused: …"}
	if d := cmp.Diff(want, r.life(t, old)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if done := into[api.DeadDone](t, r.do("POST", "/v1/dead-letters:requeue", `{"contacts":["`+old+`"]}`), 200); done.Done != 1 {
		t.Fatalf("%+v", done)
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := into[api.ContactList](t, r.do("GET", "/v1/contacts?channel=a&key=requeue:"+old, ""), 200)
	if len(found.Contacts) != 1 {
		t.Fatalf("%+v", found)
	}
	fresh := found.Contacts[0].ID
	if d := cmp.Diff([]string{"made_of " + old + " configured-2", "accepted"}, r.life(t, fresh)); d != "" {
		t.Errorf("the new one (-want +got):\n%s", d)
	}
	got := strings.Join(r.life(t, old), "\n")
	for _, part := range []string{"requeued " + fresh + " configured-2", "request configured-2 requeue-dead-letters"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
}
