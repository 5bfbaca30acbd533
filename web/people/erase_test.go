package people_test

import (
	"strings"
	"testing"

	"weir"
	"weir/surveys"
	peopleapi "weir/web/people"
	"weir/web/webtest"
)

// TestErase_IsResumedWhateverInterruptedIt is scenario 401: whichever part of the erasure cannot be written, the
// parts before it stay done, and the repetition does the rest.
func TestErase_IsResumedWhateverInterruptedIt(t *testing.T) {
	t.Parallel()
	const body = `{"to":"` + webtest.PhoneCanary + `"}`
	down := weir.Errorf(weir.CodeUnavailable, "the database does not answer")
	for name, fault := range map[string]func(r *webtest.Rig, err error){
		"none":                     func(*webtest.Rig, error) {},
		"respondents":              func(r *webtest.Rig, err error) { r.People.Down = err },
		"contacts and messages":    func(r *webtest.Rig, err error) { r.Memory.Down = err },
		"what counts and its past": func(r *webtest.Rig, err error) { r.Consents.Err = err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			webtest.Someone(r)
			r.People.StoredRespondents[1].Progress = surveys.NewProgress()
			webtest.Into[peopleapi.StateList](t, r.Do("POST", "/v1/consents", `{"consents":[{"to":"`+webtest.PhoneCanary+`","status":"refused","words":"never again"}]}`), 200)
			fault(r, down)
			first := r.Do("POST", "/v1/people:erase", body)
			fault(r, nil)
			var sum peopleapi.ErasureView
			if name == "none" {
				sum = webtest.Into[peopleapi.ErasureView](t, first, 200)
			} else if first.Status != 503 {
				t.Fatalf("with a fault: %d %s", first.Status, first.Body)
			}
			last := webtest.Into[peopleapi.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200)
			if !last.Complete || sum.Contacts+last.Contacts > 3 || len(last.Remains) != 4 || last.Remains[0].What != peopleapi.RemainsState {
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
			if p := webtest.Into[peopleapi.PersonView](t, r.Do("POST", "/v1/people:find", body), 200); !p.Refused || len(p.Contacts)+len(p.Messages)+len(p.Respondents) != 0 {
				t.Errorf("found %+v", p)
			}
		})
	}
}

// TestErase_SaysWhatHasToEndFirst: what is in flight stays until it has ended, and the receipt says so.
func TestErase_SaysWhatHasToEndFirst(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	webtest.Someone(r)
	r.StoredContacts[2].State = weir.Active
	r.People.StoredRespondents[0].Progress.Contact = surveys.Dispatched
	const body = `{"to":"` + webtest.PhoneCanary + `"}`
	v := webtest.Into[peopleapi.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200)
	if v.Complete || v.Contacts != 2 || v.Respondents != 0 || v.Remains[0].What != peopleapi.RemainsContacts || v.Remains[0].Count != 1 || v.Remains[1].What != peopleapi.RemainsRespondents {
		t.Errorf("in flight: %+v", v)
	}
	for i := range r.StoredContacts {
		if r.StoredContacts[i].State == weir.Active {
			r.StoredContacts[i].State = weir.Done
		}
	}
	r.People.StoredRespondents[0].Progress.Contact = surveys.Idle
	if v = webtest.Into[peopleapi.ErasureView](t, r.Do("POST", "/v1/people:erase", body), 200); !v.Complete || v.Contacts != 1 || v.Respondents != 1 {
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
	webtest.Someone(r)
	is := &r.People.StoredRespondents[0]
	is.Status, is.Disposition, is.Finished = surveys.Failed, surveys.Unreached, webtest.Start()
	why := surveys.ErrMissingValue.Error() + ": {{name}}"
	r.People.StoredLog = []surveys.LogEntry{{ID: 1, At: is.Finished, Respondent: is.ID, Event: "skipped", Reason: why}, {ID: 2, At: is.Finished, Respondent: is.ID, Event: "finished"}}
	if p := webtest.Into[peopleapi.PersonView](t, r.Do("POST", "/v1/people:find", `{"respondent":"r7"}`), 200); p.Respondents[0].Reason != why {
		t.Errorf("the reason is %q", p.Respondents[0].Reason)
	}
}
