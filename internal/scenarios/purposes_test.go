package scenarios_test

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
)

func (w *world) purpose(name string, rules fields) {
	w.Helper()
	if a := w.call("PUT", "/v1/purposes/"+name, rules); a.Status/100 != 2 {
		w.Fatalf("purpose %s: %d %s", name, a.Status, a.Text)
	}
}

// receipt returns the receipt of a contact's latest attempt.
func (w *world) receipt(id string) map[string]any {
	w.Helper()
	attempts, _ := w.contact(id)["attempts"].([]any)
	if len(attempts) == 0 {
		w.Fatalf("%s has no attempt", id)
	}
	r, _ := attempts[len(attempts)-1].(map[string]any)["receipt"].(map[string]any)
	return r
}

// Scenario 296.
func TestPurposes_ContactsWaitForTheHoursOfThePerson(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1)
		now := time.Now().UTC()
		w.purpose("research", fields{"quiet_hours": fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}})
		ids := w.accept("texts",
			sms("at night", fields{"purpose": "research", "time_zone": "UTC"}),
			sms("by day", fields{"purpose": "research", "time_zone": "Asia/Karachi"}), // five hours later, without summer time
			sms("no rules", fields{"to": "+15550101"}))
		w.sent(1) // nothing behind it is held up
		w.report("by day", "all", "completed")
		w.sent(2)
		w.report("no rules", "all", "completed")
		w.because(ids["at night"], "person", "in UTC, and")
		if c := w.contact(ids["at night"]); c["rule"] != "quiet_hours" {
			t.Errorf("it waits by the rule %v", c["rule"])
		}
		if r := w.receipt(ids["by day"]); r["zones"] != "Asia/Karachi" || r["until"] == nil || !strings.Contains(fmt.Sprint(r["text"]), "purpose research") {
			t.Errorf("the receipt is %v", r)
		}
		if r := w.receipt(ids["no rules"]); r != nil {
			t.Errorf("a contact without rules has the receipt %v", r)
		}
	})
}

// Scenario 297.
func TestPurposes_CapsHoldOverChannelsAndCrashes(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.channel("others", 5)
		w.purpose("research", fields{"caps": []fields{{"max": 2, "within": "7d"}}})
		asked := fields{"purpose": "research"}
		w.accept("texts", sms("first", asked))
		w.sent(1)
		w.crash()
		w.start()
		ids := w.accept("others", sms("second", asked), sms("third", asked), sms("somebody else", asked, fields{"to": "+15550101"}))
		w.because(ids["third"], "person", "2 in 7d already")
		w.sent(3)
		w.report("second", "all", "completed")
		if r := w.receipt(ids["second"]); !strings.Contains(fmt.Sprint(r["text"]), "0 left") {
			t.Errorf("the receipt is %v", r)
		}
		w.want(http.StatusOK, "DELETE", "/v1/contacts/"+ids["third"], nil) // whoever waits can be canceled
		if got := w.done(ids["third"]); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
	})
}

// Scenario 298.
func TestPurposes_ACapLeavesTheNextContactInTime(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.purpose("research", fields{"caps": []fields{{"max": 1, "within": "2s"}}, "repeat_guard": "1h"})
		asked := fields{"purpose": "research"}
		ids := w.accept("texts", sms("first", asked), sms("second", asked))
		w.sent(2)
		again := w.accept("texts", sms("again", asked, fields{"messages": []string{"first"}}))
		if got := w.done(again["again"]); got != "suppressed" {
			t.Errorf("the same text ended as %s", got)
		}
		// The second one is judged when its claim is committed, before it is sent.
		if a, b := claimedAt(w.contact(ids["first"])), w.lab.sentAt("second"); b.Sub(a) < 2*time.Second {
			t.Errorf("claimed at %v, and the next sent at %v", a, b)
		}
	})
}

// sentAt returns when the first attempt of a contact reached the provider.
func (l *lab) sentAt(key string) (at time.Time) {
	l.behave(func(l *lab) {
		if i := slices.IndexFunc(l.sends, func(a labAttempt) bool { return a.key == key }); i >= 0 {
			at = l.sends[i].at
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
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.purpose("marketing", fields{"consent": "recorded"})
		w.purpose("emergency", fields{"exempt_from": []string{"consent"}, "exempt_reason": "floods"})
		ids := w.accept("texts", sms("unasked", fields{"purpose": "marketing"}))
		if got := w.done(ids["unasked"]); got != "suppressed" {
			t.Errorf("without a consent it ended as %s", got)
		}
		w.want(http.StatusOK, "POST", "/v1/consents", fields{"consents": []fields{{"to": "+15550100", "status": "given", "purpose": "marketing"}}})
		w.accept("texts", sms("agreed", fields{"purpose": "marketing"}))
		w.sent(1)
		w.receiveMessage("texts", "15550100", "STOP")
		// A client's consent for a purpose takes nothing back that the person said.
		w.want(http.StatusOK, "POST", "/v1/consents", fields{"consents": []fields{{"to": "+15550100", "status": "given", "purpose": "marketing"}}})
		ids = w.accept("texts", sms("after stop", fields{"purpose": "marketing"}))
		if got := w.done(ids["after stop"]); got != "suppressed" {
			t.Errorf("after STOP it ended as %s", got)
		}
		w.accept("texts", sms("flood", fields{"purpose": "emergency"}))
		w.sent(2)
	})
}

// Scenario 300.
func TestPurposes_ChannelsForTestsContactNobodyElse(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1)
		ids := w.accept("texts", sms("occupies"), sms("waits", fields{"to": "+15550101"}), sms("tester", fields{"to": "+15550102"}))
		w.sent(1)
		w.want(http.StatusOK, "PATCH", "/v1/channels/texts", fields{"settings": fields{"only_to": "+1 555 0102, +15550103"}})
		w.report("occupies", "all", "completed")
		if got := w.done(ids["waits"]); got != "suppressed" || w.contact(ids["waits"])["rule"] != "only_to" {
			t.Errorf("whoever is not listed: %s, %v", got, w.contact(ids["waits"]))
		}
		w.sent(2)
		w.report("tester", "all", "completed")
	})
}

// Scenario 301.
func TestPurposes_SurveysKeepThePersonsHours(t *testing.T) {
	onSurveysFrom(t, monday(0, 0), func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		w.purpose("research", fields{"quiet_hours": fields{"from": "20:00", "to": "09:00"}, "time_zone": "UTC"})
		body := byIVR("", fields{"purpose": "research"})
		zones := []string{"Africa/Nairobi", "America/Sao_Paulo", "Asia/Kolkata", "Europe/London", "Pacific/Auckland"}
		var people []fields
		for i := range 25 {
			people = append(people, fields{"phone": number(i), "attributes": fields{"time_zone": zones[i%len(zones)]}})
		}
		if a := w.call("PUT", "/v1/surveys/s", body); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Text)
		}
		ids := w.addRespondents("s", people...)
		w.surveyCommand("s", "launch")
		seen := map[string]int{}
		for hour := range 24 {
			for i, id := range ids {
				if w.sends(callKey("s", id, 1)) == 0 || seen[id] > 0 {
					continue
				}
				seen[id] = hour + 1
				zone, err := time.LoadLocation(zones[i%len(zones)])
				if err != nil {
					t.Fatal(err)
				}
				at := claimedAt(w.contactFor("s", id)).In(zone)
				if at.Hour() < 9 || at.Hour() >= 20 {
					t.Errorf("a respondent in %v was called at %v", zone, at)
				}
				w.reportDisposition("s", id, fields{"disposition": "completed"})
				w.finish(callKey("s", id, 1))
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
	onSurveysFrom(t, monday(0, 0), func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		w.purpose("research", fields{"quiet_hours": fields{"from": "20:00", "to": "09:00"}, "time_zone": "UTC"})
		w.want(http.StatusCreated, "PUT", "/v1/surveys/s", byIVR("", fields{"purpose": "research", "batch_size": respondents / 10}))
		zoneOf := map[string]string{}
		people := make([]fields, respondents)
		for i := range people {
			zoneOf[number(i)] = zones[i%len(zones)]
			people[i] = fields{"phone": number(i), "attributes": fields{"time_zone": zones[i%len(zones)]}}
		}
		w.addRespondents("s", people...)
		latest, calls := map[string]time.Time{}, map[string]int{}
		w.lab.behave(func(l *lab) { // each respondent ends with the first call
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				l.behave(func(*lab) {
					latest[zoneOf[a.to]] = a.at
					calls[a.to]++
				})
				return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
			}
		})
		w.surveyCommand("s", "launch")
		for w.surveyState("s") != "done exhausted" && time.Now().Before(monday(13, 0)) {
			time.Sleep(5 * time.Minute)
		}
		if state := w.surveyState("s"); state != "done exhausted" {
			t.Errorf("the survey is %s", state)
		}
		if len(calls) != respondents {
			t.Errorf("%d of %d respondents were called", len(calls), respondents)
		}
		for zone, first := range opens {
			from := monday(0, 0)
			if first != midnight {
				clock, err := time.Parse("15:04", first)
				if err != nil {
					t.Fatal(err)
				}
				from = monday(clock.Hour(), clock.Minute())
			}
			if late := latest[zone].Sub(from); late < 0 || late > 30*time.Minute {
				t.Errorf("the last respondent in %s was called at %v, %v after the day began there", zone, latest[zone].UTC(), late)
			}
		}
		for _, a := range w.lab.sends {
			zone, err := time.LoadLocation(zoneOf[a.to])
			if err != nil {
				t.Fatal(err)
			}
			if at := a.at.In(zone); at.Hour() < 9 || at.Hour() >= 20 {
				t.Fatalf("a respondent in %v was called at %v", zone, at)
			}
		}
	})
}

// contactFor returns the contact of a respondent.
func (w *world) contactFor(survey, respondent string) map[string]any {
	w.Helper()
	for _, c := range w.want(http.StatusOK, "GET", "/v1/contacts?limit=1000&survey="+survey, nil).Body["contacts"].([]any) {
		if c := c.(map[string]any); c["labels"].(map[string]any)["respondent"] == respondent {
			return c
		}
	}
	w.Fatalf("respondent %s has no contact", respondent)
	return nil
}

// Scenario 302.
func TestPurposes_ALaunchThatLeavesNoHourIsRefused(t *testing.T) {
	onSurveysFrom(t, monday(6, 0), func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		w.purpose("research", fields{"quiet_hours": fields{"from": "18:00", "to": "12:00"}})
		body := byIVR("", fields{"purpose": "research"})
		body["schedule"].(fields)["windows"] = []fields{{"from": "09:00", "to": "11:00"}}
		w.createSurvey("s", body, 0, 1)
		w.addRespondents("s", fields{"phone": number(1), "attributes": fields{"time_zone": "Africa/Nairobi"}})
		a := w.want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
		if !strings.Contains(a.Text, `"/purpose"`) || !strings.Contains(a.Text, "hardly meet") {
			t.Errorf("the launch: %s", a.Text)
		}
		w.want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/other", byIVR("", fields{"purpose": "unheard-of"}))
		w.want(http.StatusConflict, "DELETE", "/v1/purposes/research", nil)
	})
}

// Scenario 303.
func TestLimits_ChannelsOfAnAccountShareItsConcurrency(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.channel("others", 5)
		w.want(http.StatusCreated, "PUT", "/v1/limits/account", fields{"channels": []string{"texts", "others"}, "in_flight": 2})
		ids := w.accept("texts", sms("1"), sms("2"), sms("3"))
		w.sent(2)
		others := w.accept("others", sms("4"))
		w.because(others["4"], "limit", "2 of 2 contacts in flight")
		w.crash()
		w.start()
		w.because(ids["3"], "limit", "limit account")
		w.sent(2)
		w.report("1", "all", "completed")
		w.sent(3)
		w.report("2", "all", "completed")
		w.sent(4)
		if l := w.want(http.StatusOK, "GET", "/v1/limits/account", nil).Body; l["in_flight_now"] != 2.0 {
			t.Errorf("the limit is %v", l)
		}
	})
}

// Scenario 304.
func TestLimits_NewPeopleADayAreCountedOverChannelsAndCrashes(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.channel("others", 5)
		w.want(http.StatusCreated, "PUT", "/v1/limits/portfolio", fields{"channels": []string{"texts", "others"}, "new_people_per_day": 2})
		w.accept("texts", sms("1"), sms("2", fields{"to": "+15550101"}), sms("1 again"))
		w.sent(3)
		w.crash()
		w.start()
		ids := w.accept("others", sms("3", fields{"to": "+15550102"}), sms("2 again", fields{"to": "+15550101"}))
		w.because(ids["3"], "person", "2 people in 24 hours")
		w.sent(4)
		if l := w.want(http.StatusOK, "GET", "/v1/limits/portfolio", nil).Body; l["new_people"] != 2.0 {
			t.Errorf("the limit is %v", l)
		}
		w.want(http.StatusNoContent, "DELETE", "/v1/limits/portfolio", nil)
	})
}

// Scenario 306.
func TestLimits_MoneyIsNotExceededOverChannelsAndCrashes(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.channel("others", 5)
		refused := w.want(http.StatusUnprocessableEntity, "PUT", "/v1/limits/purse", fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.05"})
		if !strings.Contains(refused.Text, `"pointer":"/channels/1","code":"no_price"`) {
			t.Errorf("a limit without prices: %s", refused.Text)
		}
		w.want(http.StatusCreated, "PUT", "/v1/prices/texts", fields{"currency": "USD", "per_segment": "0.02"})
		w.want(http.StatusCreated, "PUT", "/v1/prices/others", fields{"currency": "USD", "per_segment": "0.01", "prefixes": []fields{{"prefix": "+1555", "per_segment": "0.02"}}})
		w.want(http.StatusCreated, "PUT", "/v1/limits/purse", fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.05"})
		w.want(http.StatusConflict, "DELETE", "/v1/prices/texts", nil)
		ids := w.accept("texts", sms("1"), sms("2"))
		w.sent(2)
		w.report("1", "all", "completed")
		ids["3"] = w.accept("others", sms("3"))["3"]
		w.because(ids["3"], "limit", "0.04 of 0.05 USD spent today (UTC), and a contact for 0.02 more would exceed it")
		w.crash()
		w.start()
		w.because(ids["3"], "limit", "limit purse")
		w.sent(2)
		w.want(http.StatusOK, "PUT", "/v1/limits/purse", fields{"channels": []string{"texts", "others"}, "currency": "USD", "money_per_day": "0.06"})
		w.sent(3)
		if l := w.want(http.StatusOK, "GET", "/v1/limits/purse", nil).Body; l["money_today"] != "0.06" || l["money_spent"] != "0.06" {
			t.Errorf("the limit is %v", l)
		}
		if all := w.want(http.StatusOK, "GET", "/v1/spending", nil).Text; !strings.Contains(all, `"channel":"texts","currency":"USD","amount":"0.04"`) || !strings.Contains(all, `"channel":"others","currency":"USD","amount":"0.02"`) {
			t.Errorf("what was spent: %s", all)
		}
		w.until("the first has its cost", func() bool {
			attempts, _ := w.contact(ids["1"])["attempts"].([]any)
			return len(attempts) == 1 && strings.Contains(fmt.Sprint(attempts[0]), "cost 0.02 USD")
		})
	})
}

// Scenario 307.
func TestLimits_ContactsBeyondABudgetWaitAlone(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		w.want(http.StatusCreated, "PUT", "/v1/prices/texts", fields{"currency": "KES", "per_attempt": "0.8"})
		w.want(http.StatusCreated, "PUT", "/v1/limits/budget", fields{"surveys": []string{"health"}, "currency": "KES", "money": "1"})
		ids := w.accept("texts", sms("1", fields{"survey": "health"}), sms("2", fields{"survey": "health"}), sms("3", fields{"survey": "other"}))
		w.sent(2)
		w.because(ids["2"], "person", "0.80 of 1.00 KES spent, and a contact for 0.80 more would exceed it")
		if c := w.contact(ids["2"]); c["rule"] != "limit_money" {
			t.Errorf("the contact is %v", c)
		}
		w.want(http.StatusOK, "PUT", "/v1/limits/budget", fields{"surveys": []string{"health"}, "currency": "KES", "money": "2.4"})
		w.accept("texts", sms("4", fields{"survey": "health"}))
		w.sent(3)
		if w.virtual { // who waits looks again
			time.Sleep(16 * time.Minute)
			w.sent(4)
		}
	})
}
