package people_test

import (
	"fmt"
	"net/http"
	"testing"

	"weir/internal/phonenumber"
	"weir/test/scenarios/world"
)

// notation is two ways in which one number is written.
type notation struct{ one, other string }

// notations are those of every change of a numbering plan, and of programs and keyboards.
func notations() []notation {
	list := []notation{
		{"+254722000101", "254722000101"}, {"+254722000102", "00254722000102"}, {"+254722000103", "254722000103.0"},
		{"+254722000104", "\u202a+254\u00a0722\u2011000104\u202c"}, {"+254722000105", "'+254722000105"},
		{"+254722000106", "\uff0b\u0662\u0665\u0664\u0667\u0662\u0662\u0660\u0660\u0660\u0661\u0660\u0666"}, {"+254722000107", "+254 (722) 000.107"},
	}
	seen := ""
	for _, r := range phonenumber.Renumberings() {
		if r.Region == seen { // one of each country here; the conformance of stores has all
			continue
		}
		seen = r.Region
		old, now := r.Example()
		list = append(list, notation{now, old}, notation{old, now})
	}
	return list
}

// Scenario 365: whichever notation of a number somebody refuses with, or is contacted with, it
// is one person: in consents, messages, claims, only_to, search, and what is known of a person.
func TestPerson_EveryNotationIsOnePerson(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 100)
		w.Channel("heard", 100)
		for i, n := range notations() {
			key := fmt.Sprint("k", i)
			if i%2 == 0 {
				w.Says(n.one, "refused")
			} else {
				w.ReceiveMessage("heard", n.one, "STOP")
			}
			id := w.Accept("texts", world.SMS(key, world.Fields{"to": n.other}))[key]
			if got := w.Done(id); got != "suppressed" {
				t.Errorf("%q has refused, and the contact to %q is %s", n.one, n.other, got)
			}
			found := w.Want(http.StatusOK, "POST", "/v1/contacts:search", world.Fields{"to": n.one, "channel": "texts"}).Body
			if list, _ := found["contacts"].([]any); len(list) == 0 {
				t.Errorf("the contact to %q is not found by %q", n.other, n.one)
			}
			person := w.Want(http.StatusOK, "POST", "/v1/people:find", world.Fields{"to": n.other}).Body
			if person["refused"] != true {
				t.Errorf("%q is not known to have refused as %q: %v", n.other, n.one, person)
			}
			w.Channel("only", 100, world.Fields{"settings": world.Fields{"only_to": n.one}})
			w.ReceiveMessage("heard", n.other, "START")
			id = w.Accept("only", world.SMS("only"+key, world.Fields{"to": n.other}))["only"+key]
			if c := w.Contact(id); c["state"] == "done" {
				t.Errorf("%q is not %q for only_to: %v", n.other, n.one, c["reason"])
			}
		}
	})
}

// Scenario 365: a respondent is the sender of a message in whichever notation a gateway reports
// the number, and is a respondent once.
func TestPerson_EveryNotationIsOneRespondent(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 100)
		w.LaunchSurvey("s", world.BySMS("", world.Fields{"region": "KE"}), 0, 1)
		for i, n := range notations() {
			if i > 0 && n.other == notations()[i-1].one { // the same number the other way round
				continue
			}
			id := w.AddRespondents("s", world.Fields{"phone": n.one})[0]
			again := w.Want(http.StatusOK, "POST", "/v1/surveys/s/respondents", world.Fields{"respondents": []world.Fields{{"phone": n.other}, {"phone": n.one}}})
			if again.Body["added"] != 0.0 {
				t.Errorf("%q and %q are two respondents: %s", n.one, n.other, again.Text)
			}
			w.Speaks(world.TextKey("s", id, 1))
			w.Finish(world.TextKey("s", id, 1))
			w.ExpectRespondent("s", id, "active, contacted")
			w.ReceiveMessage("texts", n.other, "hello")
			w.ExpectRespondent("s", id, "active, started")
		}
	})
}
