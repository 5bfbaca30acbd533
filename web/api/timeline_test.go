package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

func TestTimeline_TellsTheLifeOfAContact(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch, now := r.Channel("a", "texts"), time.Now()
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	c := r.Move(r.Contact(ch, weir.Progress{}, func(c *weir.Contact) {
		c.NotBefore = at(5)
		c.Owner, c.Survey = weir.Owner{Group: 3, ID: 100, Serial: 2}, "flu"
	}), weir.Progress{
		State: weir.Done, Attempt: 2, ClaimedAt: at(20), SentAt: at(21), HeardAt: at(25), FinishedAt: at(26), Outcome: weir.Completed,
	}, weir.Attempt{Number: 1, ClaimedAt: at(6), FinishedAt: at(8), Reason: "no line"})
	want := []string{
		"accepted", "waits_until its window opens", "claimed (1)", "back_in_queue no line (1)",
		"claimed (2)", "handed_over (2)", "last_heard (2)", "ended completed (2)",
	}
	if d := cmp.Diff(want, r.Life(t, c.Ref.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	v := webtest.Into[api.TimelineView](t, r.Do("GET", "/v1/contacts/"+c.Ref.String()+"/timeline", ""), 200)
	if v.Channel != "a" || v.For == nil || *v.For != (api.TimelineFor{Survey: "flu", Respondent: "r2s", Serial: 2}) {
		t.Errorf("%+v", v)
	}
	waits := r.Move(r.Contact(ch, weir.Progress{}), weir.Progress{State: weir.Delayed, Attempt: 1, DueAt: at(90)}, weir.Attempt{Number: 1, ClaimedAt: at(6), FinishedAt: at(8), Reason: "refused"})
	want = []string{"accepted", "claimed (1)", "back_in_queue refused (1)", "waits_until its next attempt (2)"}
	if d := cmp.Diff(want, r.Life(t, waits.Ref.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if g := r.Do("GET", "/v1/contacts/1-zz/timeline", ""); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
}

// A dead letter, its requeue and the token that requested it are in the
// timelines of both contacts.
func TestTimeline_ShowsARequeueInBothContacts(t *testing.T) {
	t.Parallel()
	var trail *auth.Trail
	r, _, list := webtest.DeadRig(t, 1, func(o *web.Options) { trail = o.Trail })
	old := list[0].Ref.String()
	reason := "refused: " + webtest.PhoneCanary
	want := []string{"accepted", "ended failed " + reason, "dead_letter failed refused: …"}
	if d := cmp.Diff(want, r.Life(t, old)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if done := webtest.Into[api.DeadDone](t, r.Do("POST", "/v1/dead-letters:requeue", `{"contacts":["`+old+`"]}`), 200); done.Done != 1 {
		t.Fatalf("%+v", done)
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := webtest.Into[api.ContactList](t, r.Do("GET", "/v1/contacts?channel=a&key=requeue:"+old, ""), 200)
	if len(found.Contacts) != 1 {
		t.Fatalf("%+v", found)
	}
	fresh := found.Contacts[0].ID
	if d := cmp.Diff([]string{"made_of " + old + " configured-2", "accepted"}, r.Life(t, fresh)); d != "" {
		t.Errorf("the new one (-want +got):\n%s", d)
	}
	got := strings.Join(r.Life(t, old), "\n")
	for _, part := range []string{"requeued " + fresh + " configured-2", "request configured-2 requeue-dead-letters"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
}
