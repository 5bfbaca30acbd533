package people_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

func purpose(w *world.World, name string, rules world.Fields) {
	w.Helper()
	if a := w.Call("PUT", "/v1/purposes/"+name, rules); a.Status/100 != 2 {
		w.Fatalf("purpose %s: %d %s", name, a.Status, a.Text)
	}
}

// receipt returns the receipt of a contact's latest attempt.
func receipt(w *world.World, id string) map[string]any {
	w.Helper()
	attempts, _ := w.Contact(id)["attempts"].([]any)
	if len(attempts) == 0 {
		w.Fatalf("%s has no attempt", id)
	}
	r, _ := attempts[len(attempts)-1].(map[string]any)["receipt"].(map[string]any)
	return r
}

// Scenario 296.
func TestPurposes_ContactsWaitForTheHoursOfThePerson(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1)
		now := time.Now().UTC()
		purpose(w, "research", world.Fields{"quiet_hours": world.Fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}})
		ids := w.Accept("texts",
			world.SMS("at night", world.Fields{"purpose": "research", "time_zone": "UTC"}),
			world.SMS("by day", world.Fields{"purpose": "research", "time_zone": "Asia/Karachi"}), // five hours later, without summer time
			world.SMS("no rules", world.Fields{"to": "+15550101"}))
		w.Sent(1) // nothing behind it is held up
		w.Report("by day", "all", "completed")
		w.Sent(2)
		w.Report("no rules", "all", "completed")
		w.Because(ids["at night"], "person", "in UTC, and")
		if c := w.Contact(ids["at night"]); c["rule"] != "quiet_hours" {
			t.Errorf("it waits by the rule %v", c["rule"])
		}
		if r := receipt(w, ids["by day"]); r["zones"] != "Asia/Karachi" || r["until"] == nil || !strings.Contains(fmt.Sprint(r["text"]), "purpose research") {
			t.Errorf("the receipt is %v", r)
		}
		if r := receipt(w, ids["no rules"]); r != nil {
			t.Errorf("a contact without rules has the receipt %v", r)
		}
	})
}

// Scenario 297.
func TestPurposes_CapsHoldOverChannelsAndCrashes(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Channel("others", 5)
		purpose(w, "research", world.Fields{"caps": []world.Fields{{"max": 2, "within": "7d"}}})
		asked := world.Fields{"purpose": "research"}
		w.Accept("texts", world.SMS("first", asked))
		w.Sent(1)
		w.Crash()
		w.Begin()
		ids := w.Accept("others", world.SMS("second", asked), world.SMS("third", asked), world.SMS("somebody else", asked, world.Fields{"to": "+15550101"}))
		w.Because(ids["third"], "person", "2 in 7d already")
		w.Sent(3)
		w.Report("second", "all", "completed")
		if r := receipt(w, ids["second"]); !strings.Contains(fmt.Sprint(r["text"]), "0 left") || !strings.Contains(fmt.Sprint(r["clauses"]), "sentence:cap {cap}: {left} left") {
			t.Errorf("the receipt is %v", r)
		}
		w.Want(http.StatusOK, "DELETE", "/v1/contacts/"+ids["third"], nil) // whoever waits can be canceled
		if got := w.Done(ids["third"]); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
	})
}

// Scenario 298.
func TestPurposes_ACapLeavesTheNextContactInTime(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		purpose(w, "research", world.Fields{"caps": []world.Fields{{"max": 1, "within": "2s"}}, "repeat_guard": "1h"})
		asked := world.Fields{"purpose": "research"}
		ids := w.Accept("texts", world.SMS("first", asked), world.SMS("second", asked))
		w.Sent(2)
		again := w.Accept("texts", world.SMS("again", asked, world.Fields{"messages": []string{"first"}}))
		if got := w.Done(again["again"]); got != "suppressed" {
			t.Errorf("the same text ended as %s", got)
		}
		// The second one is judged when its claim is committed, before it is sent.
		if a, b := claimedAt(w.Contact(ids["first"])), sentAt(w.Lab, "second"); b.Sub(a) < 2*time.Second {
			t.Errorf("claimed at %v, and the next sent at %v", a, b)
		}
	})
}

// sentAt returns when the first attempt of a contact reached the provider.
func sentAt(l *world.Lab, key string) (at time.Time) {
	l.Behave(func(l *world.Lab) {
		if i := slices.IndexFunc(l.Sends, func(a world.LabAttempt) bool { return a.Key == key }); i >= 0 {
			at = l.Sends[i].At
		}
	})
	return at
}

func claimedAt(c map[string]any) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, c["attempts"].([]any)[0].(map[string]any)["claimed_at"].(string))
	return at
}

// Scenario 299.
func TestPurposes_ARecordedConsentIsNeededWhereOneIs(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		purpose(w, "marketing", world.Fields{"consent": "recorded"})
		purpose(w, "emergency", world.Fields{"exempt_from": []string{"consent"}, "exempt_reason": "floods"})
		ids := w.Accept("texts", world.SMS("unasked", world.Fields{"purpose": "marketing"}))
		if got := w.Done(ids["unasked"]); got != "suppressed" {
			t.Errorf("without a consent it ended as %s", got)
		}
		w.Want(http.StatusOK, "POST", "/v1/consents", world.Fields{"consents": []world.Fields{{"to": "+15550100", "status": "given", "purpose": "marketing"}}})
		w.Accept("texts", world.SMS("agreed", world.Fields{"purpose": "marketing"}))
		w.Sent(1)
		w.ReceiveMessage("texts", "15550100", "STOP")
		// A client's consent for a purpose takes nothing back that the person said.
		w.Want(http.StatusOK, "POST", "/v1/consents", world.Fields{"consents": []world.Fields{{"to": "+15550100", "status": "given", "purpose": "marketing"}}})
		ids = w.Accept("texts", world.SMS("after stop", world.Fields{"purpose": "marketing"}))
		if got := w.Done(ids["after stop"]); got != "suppressed" {
			t.Errorf("after STOP it ended as %s", got)
		}
		w.Accept("texts", world.SMS("flood", world.Fields{"purpose": "emergency"}))
		w.Sent(2)
	})
}

// Scenario 300.
func TestPurposes_ChannelsForTestsContactNobodyElse(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1)
		ids := w.Accept("texts", world.SMS("occupies"), world.SMS("waits", world.Fields{"to": "+15550101"}), world.SMS("tester", world.Fields{"to": "+15550102"}))
		w.Sent(1)
		w.Want(http.StatusOK, "PATCH", "/v1/channels/texts", world.Fields{"settings": world.Fields{"only_to": "+1 555 0102, +15550103"}})
		w.Report("occupies", "all", "completed")
		if got := w.Done(ids["waits"]); got != "suppressed" || w.Contact(ids["waits"])["rule"] != "only_to" {
			t.Errorf("whoever is not listed: %s, %v", got, w.Contact(ids["waits"]))
		}
		w.Sent(2)
		w.Report("tester", "all", "completed")
	})
}

// Scenario 301.
func TestPurposes_SurveysKeepThePersonsHours(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(0, 0), func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		purpose(w, "research", world.Fields{"quiet_hours": world.Fields{"from": "20:00", "to": "09:00"}, "time_zone": "UTC"})
		body := world.ByIVR("", world.Fields{"purpose": "research"})
		zones := []string{"Africa/Nairobi", "America/Sao_Paulo", "Asia/Kolkata", "Europe/London", "Pacific/Auckland"}
		var people []world.Fields
		for i := range 25 {
			people = append(people, world.Fields{"phone": world.Number(i), "attributes": world.Fields{"time_zone": zones[i%len(zones)]}})
		}
		if a := w.Call("PUT", "/v1/surveys/s", body); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Text)
		}
		ids := w.AddRespondents("s", people...)
		w.SurveyCommand("s", "launch")
		seen := map[string]int{}
		for hour := range 24 {
			for i, id := range ids {
				if w.Sends(world.CallKey("s", id, 1)) == 0 || seen[id] > 0 {
					continue
				}
				seen[id] = hour + 1
				zone, err := time.LoadLocation(zones[i%len(zones)])
				if err != nil {
					t.Fatal(err)
				}
				at := claimedAt(contactFor(w, "s", id)).In(zone)
				if at.Hour() < 9 || at.Hour() >= 20 {
					t.Errorf("a respondent in %v was called at %v", zone, at)
				}
				w.ReportDisposition("s", id, world.Fields{"disposition": "completed"})
				w.Finish(world.CallKey("s", id, 1))
			}
			time.Sleep(time.Hour)
		}
		if len(seen) != len(ids) {
			t.Errorf("in a day %d of %d were called", len(seen), len(ids))
		}
	})
}

// Scenario 347: the number of respondents is that of make test-scale if WEIR_TEST_SCALE says full.
func TestPurposes_LargeSurveyEndsAsEarlyAsThePersonsHoursAllow(t *testing.T) {
	respondents := 500
	if os.Getenv("WEIR_TEST_SCALE") == "full" {
		respondents = 100_000
	}
	const midnight = "at midnight, UTC"
	opens := map[string]string{ // the first instant of each zone's day, from midnight on
		"Africa/Nairobi": "06:00", "America/Sao_Paulo": "12:00", "Asia/Kolkata": "03:30", "Europe/London": "09:00", "Pacific/Auckland": midnight,
	}
	zones := slices.Sorted(maps.Keys(opens))
	world.OnSurveysFrom(t, world.Monday(0, 0), func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		purpose(w, "research", world.Fields{"quiet_hours": world.Fields{"from": "20:00", "to": "09:00"}, "time_zone": "UTC"})
		w.Want(http.StatusCreated, "PUT", "/v1/surveys/s", world.ByIVR("", world.Fields{"purpose": "research", "batch_size": respondents / 10}))
		zoneOf := map[string]string{}
		people := make([]world.Fields, respondents)
		for i := range people {
			zoneOf[world.Number(i)] = zones[i%len(zones)]
			people[i] = world.Fields{"phone": world.Number(i), "attributes": world.Fields{"time_zone": zones[i%len(zones)]}}
		}
		w.AddRespondents("s", people...)
		latest, calls := map[string]time.Time{}, map[string]int{}
		w.Lab.Behave(func(l *world.Lab) { // each respondent ends with the first call
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				l.Behave(func(*world.Lab) {
					latest[zoneOf[a.To]] = a.At
					calls[a.To]++
				})
				return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
			}
		})
		w.SurveyCommand("s", "launch")
		for w.SurveyState("s") != "done exhausted" && time.Now().Before(world.Monday(13, 0)) {
			time.Sleep(5 * time.Minute)
		}
		if state := w.SurveyState("s"); state != "done exhausted" {
			t.Errorf("the survey is %s", state)
		}
		if len(calls) != respondents {
			t.Errorf("%d of %d respondents were called", len(calls), respondents)
		}
		for zone, first := range opens {
			from := world.Monday(0, 0)
			if first != midnight {
				clock, err := time.Parse("15:04", first)
				if err != nil {
					t.Fatal(err)
				}
				from = world.Monday(clock.Hour(), clock.Minute())
			}
			if late := latest[zone].Sub(from); late < 0 || late > 30*time.Minute {
				t.Errorf("the last respondent in %s was called at %v, %v after the day began there", zone, latest[zone].UTC(), late)
			}
		}
		for _, a := range w.Lab.Sends {
			zone, err := time.LoadLocation(zoneOf[a.To])
			if err != nil {
				t.Fatal(err)
			}
			if at := a.At.In(zone); at.Hour() < 9 || at.Hour() >= 20 {
				t.Fatalf("a respondent in %v was called at %v", zone, at)
			}
		}
	})
}

// contactFor returns the contact of a respondent.
func contactFor(w *world.World, survey, respondent string) map[string]any {
	w.Helper()
	for _, c := range w.Want(http.StatusOK, "GET", "/v1/contacts?limit=1000&survey="+survey, nil).Body["contacts"].([]any) {
		if c := c.(map[string]any); c["labels"].(map[string]any)["respondent"] == respondent {
			return c
		}
	}
	w.Fatalf("respondent %s has no contact", respondent)
	return nil
}

// Scenario 302.
func TestPurposes_ALaunchThatLeavesNoHourIsRefused(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(6, 0), func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		purpose(w, "research", world.Fields{"quiet_hours": world.Fields{"from": "18:00", "to": "12:00"}})
		body := world.ByIVR("", world.Fields{"purpose": "research"})
		body["schedule"].(world.Fields)["windows"] = []world.Fields{{"from": "09:00", "to": "11:00"}}
		w.CreateSurvey("s", body, 0, 1)
		w.AddRespondents("s", world.Fields{"phone": world.Number(1), "attributes": world.Fields{"time_zone": "Africa/Nairobi"}})
		a := w.Want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
		if !strings.Contains(a.Text, `"/purpose"`) || !strings.Contains(a.Text, "hardly meet") {
			t.Errorf("the launch: %s", a.Text)
		}
		w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/other", world.ByIVR("", world.Fields{"purpose": "unheard-of"}))
		w.Want(http.StatusConflict, "DELETE", "/v1/purposes/research", nil)
	})
}

// Scenario 303.
func TestLimits_ChannelsOfAnAccountShareItsConcurrency(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Channel("others", 5)
		w.Want(http.StatusCreated, "PUT", "/v1/limits/account", world.Fields{"channels": []string{"texts", "others"}, "in_flight": 2})
		ids := w.Accept("texts", world.SMS("1"), world.SMS("2"), world.SMS("3"))
		w.Sent(2)
		others := w.Accept("others", world.SMS("4"))
		w.Because(others["4"], "limit", "2 of 2 contacts in flight")
		w.Crash()
		w.Begin()
		w.Because(ids["3"], "limit", "limit account")
		w.Sent(2)
		w.Report("1", "all", "completed")
		w.Sent(3)
		w.Report("2", "all", "completed")
		w.Sent(4)
		if l := w.Want(http.StatusOK, "GET", "/v1/limits/account", nil).Body; l["in_flight_now"] != 2.0 {
			t.Errorf("the limit is %v", l)
		}
	})
}

// Scenario 304.
func TestLimits_NewPeopleADayAreCountedOverChannelsAndCrashes(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Channel("others", 5)
		w.Want(http.StatusCreated, "PUT", "/v1/limits/portfolio", world.Fields{"channels": []string{"texts", "others"}, "new_people_per_day": 2})
		w.Accept("texts", world.SMS("1"), world.SMS("2", world.Fields{"to": "+15550101"}), world.SMS("1 again"))
		w.Sent(3)
		w.Crash()
		w.Begin()
		ids := w.Accept("others", world.SMS("3", world.Fields{"to": "+15550102"}), world.SMS("2 again", world.Fields{"to": "+15550101"}))
		w.Because(ids["3"], "person", "2 people in 24 hours")
		w.Sent(4)
		if l := w.Want(http.StatusOK, "GET", "/v1/limits/portfolio", nil).Body; l["new_people"] != 2.0 {
			t.Errorf("the limit is %v", l)
		}
		w.Want(http.StatusNoContent, "DELETE", "/v1/limits/portfolio", nil)
	})
}

// Scenario 306.
func TestLimits_MoneyIsNotExceededOverChannelsAndCrashes(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Channel("others", 5)
		refused := w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/limits/purse", world.Fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.05"})
		if !strings.Contains(refused.Text, `"pointer":"/channels/1","code":"no_price"`) {
			t.Errorf("a limit without prices: %s", refused.Text)
		}
		w.Want(http.StatusCreated, "PUT", "/v1/prices/texts", world.Fields{"currency": "USD", "per_segment": "0.02"})
		w.Want(http.StatusCreated, "PUT", "/v1/prices/others", world.Fields{"currency": "USD", "per_segment": "0.01", "prefixes": []world.Fields{{"prefix": "+1555", "per_segment": "0.02"}}})
		w.Want(http.StatusCreated, "PUT", "/v1/limits/purse", world.Fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.05"})
		w.Want(http.StatusConflict, "DELETE", "/v1/prices/texts", nil)
		ids := w.Accept("texts", world.SMS("1"), world.SMS("2"))
		w.Sent(2)
		w.Report("1", "all", "completed")
		ids["3"] = w.Accept("others", world.SMS("3"))["3"]
		w.Because(ids["3"], "limit", "0.04 of 0.05 USD spent today (UTC), and a contact for 0.02 more would exceed it")
		w.Crash()
		w.Begin()
		w.Because(ids["3"], "limit", "limit purse")
		w.Sent(2)
		w.Want(http.StatusOK, "PUT", "/v1/limits/purse", world.Fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.06"})
		w.Sent(3)
		if l := w.Want(http.StatusOK, "GET", "/v1/limits/purse", nil).Body; l["money_today"] != "0.06" || l["money_spent"] != "0.06" {
			t.Errorf("the limit is %v", l)
		}
		if all := w.Want(http.StatusOK, "GET", "/v1/spending", nil).Text; !strings.Contains(all, `"channel":"texts","currency":"USD","amount":"0.04"`) || !strings.Contains(all, `"channel":"others","currency":"USD","amount":"0.02"`) {
			t.Errorf("what was spent: %s", all)
		}
		w.Until("the first has its cost", func() bool {
			attempts, _ := w.Contact(ids["1"])["attempts"].([]any)
			return len(attempts) == 1 && strings.Contains(fmt.Sprint(attempts[0]), "cost 0.02 USD")
		})
	})
}

// Scenario 307.
func TestLimits_ContactsBeyondABudgetWaitAlone(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Want(http.StatusCreated, "PUT", "/v1/prices/texts", world.Fields{"currency": "KES", "per_attempt": "0.8"})
		w.Want(http.StatusCreated, "PUT", "/v1/limits/budget", world.Fields{"surveys": []string{"health"}, "currency": "KES", "money": "1"})
		ids := w.Accept("texts", world.SMS("1", world.Fields{"survey": "health"}), world.SMS("2", world.Fields{"survey": "health"}), world.SMS("3", world.Fields{"survey": "other"}))
		w.Sent(2)
		w.Because(ids["2"], "person", "0.80 of 1.00 KES spent, and a contact for 0.80 more would exceed it")
		if c := w.Contact(ids["2"]); c["rule"] != "limit_money" {
			t.Errorf("the contact is %v", c)
		}
		w.Want(http.StatusOK, "PUT", "/v1/limits/budget", world.Fields{"surveys": []string{"health"}, "currency": "KES", "money": "2.4"})
		w.Accept("texts", world.SMS("4", world.Fields{"survey": "health"}))
		w.Sent(3)
		if w.Virtual { // who waits looks again
			time.Sleep(16 * time.Minute)
			w.Sent(4)
		}
	})
}
