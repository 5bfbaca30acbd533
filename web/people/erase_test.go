package people_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/web"
	peopleapi "weir/web/people"
	"weir/web/webtest"
)

// erasing is a store that cannot write one part of an erasure.
type erasing struct {
	*webtest.Store
	part string
	err  error
}

func (f *erasing) fails(part string) error {
	if f.part == part {
		return f.err
	}
	return nil
}

func (f *erasing) RemoveRespondent(ctx context.Context, survey int64, id surveys.RespondentID) error {
	if err := f.fails("respondents"); err != nil {
		return err
	}
	return f.Store.RemoveRespondent(ctx, survey, id)
}

func (f *erasing) DeleteContacts(ctx context.Context, list []weir.Ref) (int, error) {
	if err := f.fails("contacts"); err != nil {
		return 0, err
	}
	return f.Store.DeleteContacts(ctx, list)
}

func (f *erasing) EraseIncoming(ctx context.Context, list []weir.Received) (int, error) {
	if err := f.fails("messages"); err != nil {
		return 0, err
	}
	return f.Store.EraseIncoming(ctx, list)
}

func (f *erasing) Erase(ctx context.Context, address string) (int, error) {
	if err := f.fails("consents"); err != nil {
		return 0, err
	}
	return f.Store.Erase(ctx, address)
}

// TestErase_IsResumedWhateverInterruptedIt is scenario 401: whichever part of the erasure cannot be written, the
// parts before it stay done, and the repetition does the rest.
func TestErase_IsResumedWhateverInterruptedIt(t *testing.T) {
	t.Parallel()
	const body = `{"to":"` + webtest.PhoneCanary + `"}`
	for _, name := range []string{"none", "respondents", "contacts", "messages", "consents"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &erasing{}
			r := webtest.New(t, func(o *web.Options) {
				f.Store = o.Store.(*webtest.Store)
				o.Store, o.Importer, o.People = f, f, f
			})
			webtest.Someone(r)
			webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", `{"consents":[{"to":"`+webtest.PhoneCanary+`","status":"refused","words":"never again"}]}`), 200)
			f.part, f.err = name, weir.Errorf(weir.CodeUnavailable, "the database does not answer")
			first := r.Do("POST", "/v1/people:erase", body)
			f.part = ""
			var sum api.ErasureView
			if name == "none" {
				sum = webtest.Into[api.ErasureView](t, first, 200)
			} else if first.Status != 503 {
				t.Fatalf("with a fault: %d %s", first.Status, first.Body)
			}
			last := webtest.Into[api.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200)
			if !last.Complete || sum.Contacts+last.Contacts > 3 || len(last.Remains) != 4 || last.Remains[0].What != string(peopleapi.RemainsState) {
				t.Errorf("first %+v, then %+v", sum, last)
			}
			if name == "none" && (sum.Consents != 1 || sum.Respondents != 1 || sum.Contacts != 3 || sum.Messages != 2 || last.Consents+last.Respondents+last.Contacts+last.Messages != 0) {
				t.Errorf("first %+v, then %+v", sum, last)
			}
			for _, kept := range []string{"/v1/contacts", "/v1/channels/a/incoming", "/v1/surveys/s/respondents", "/v1/consents"} {
				g := r.Do("GET", kept, "")
				if g.Status != 200 || strings.Contains(g.Body, webtest.PhoneCanary[1:]) || strings.Contains(g.Body, "never again") {
					t.Errorf("%s still has the person: %d %s", kept, g.Status, g.Body)
				}
			}
			if g := r.Do("GET", "/v1/contacts", ""); !strings.Contains(g.Body, "+15550001") {
				t.Errorf("somebody else is erased: %s", g.Body)
			}
			if p := webtest.Into[api.PersonView](t, r.Do("POST", "/v1/people:find", body), 200); !p.Refused || len(p.Contacts)+len(p.Messages)+len(p.Respondents) != 0 {
				t.Errorf("found %+v", p)
			}
		})
	}
}

// TestErase_SaysWhatHasToEndFirst: what is in flight stays until it has ended, and the receipt says so.
func TestErase_SaysWhatHasToEndFirst(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	p := webtest.Someone(r)
	contact := r.Move(p.Contacts[2], weir.Progress{State: weir.Active, Attempt: 1})
	respondent := r.Change(p.Respondent, func(x *surveys.Respondent) { x.Progress.Contact = surveys.Dispatched })
	const body = `{"to":"` + webtest.PhoneCanary + `"}`
	v := webtest.Into[api.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200)
	if v.Complete || v.Contacts != 2 || v.Respondents != 0 || v.Remains[0].What != string(peopleapi.RemainsContacts) || v.Remains[0].Count != 1 || v.Remains[1].What != string(peopleapi.RemainsRespondents) {
		t.Errorf("in flight: %+v", v)
	}
	contact, _, err := r.Store.Contact(t.Context(), contact.Ref)
	if err == nil {
		respondent, err = r.Store.Respondent(t.Context(), respondent.Survey, respondent.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Move(contact, weir.Progress{State: weir.Done, Attempt: 1, Outcome: weir.Completed, FinishedAt: webtest.Start()})
	r.Change(respondent, func(x *surveys.Respondent) { x.Progress.Contact = surveys.Idle })
	if v = webtest.Into[api.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200); !v.Complete || v.Contacts != 1 || v.Respondents != 1 {
		t.Errorf("afterwards: %+v", v)
	}
	for to, want := range map[string]int{"0722000101": 422, "5.25512E+11": 422, " ": 422} {
		if g := r.Do("POST", "/v1/people:erase", `{"to":"`+to+`"}`); g.Status != want {
			t.Errorf("%q: %d %s", to, g.Status, g.Body)
		}
	}
}

// TestPerson_ShowsWhyARespondentEnded is scenario 402.
func TestPerson_ShowsWhyARespondentEnded(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	is, why, now := webtest.Someone(r).Respondent, surveys.ErrMissingValue.Error()+": {{name}}", time.Now() // as the store has it
	r.Change(is, func(x *surveys.Respondent) {
		x.Status, x.Disposition, x.Finished = surveys.Failed, surveys.Unreached, now
	}, surveys.LogEntry{At: now, Event: "skipped", Reason: why}, surveys.LogEntry{At: now, Event: "finished"})
	if p := webtest.Into[api.PersonView](t, r.Do("POST", "/v1/people:find", `{"respondent":"`+is.ID.String()+`"}`), 200); p.Respondents[0].Reason != why {
		t.Errorf("the reason is %q", p.Respondents[0].Reason)
	}
}
