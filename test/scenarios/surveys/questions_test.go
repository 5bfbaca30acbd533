package surveys_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// byQuestions returns a survey of three questions, whose turns can be told apart by their texts.
func byQuestions(retries string, more world.Fields) world.Fields {
	text := func(s string) world.Fields { return world.Fields{"en": s} }
	body := world.BySMS(retries, world.Fields{"questions": world.Fields{
		"languages": []world.Fields{{"code": "en", "name": "English"}},
		"messages":  world.Fields{"thanks": text("Thanks, {{respondent}}."), "over": text("It is over."), "rejected": text("We have enough.")},
		"questions": []world.Fields{
			{"name": "hello", "kind": "statement", "text": text("Hello {{respondent}}.")},
			{"name": "vaccinated", "kind": "choice", "text": text("Is your child vaccinated?"), "choices": []world.Fields{
				{"name": "yes", "text": text("Yes")}, {"name": "no", "text": text("No")}, {"name": "quit", "text": text("Quit asking")},
			}},
			{"name": "why", "kind": "text", "relevant": "${vaccinated} = 'no'", "text": text("Why not?")},
			{"name": "months", "kind": "number", "min": 0, "max": 240, "text": text("How many months?"), "unit": world.Fields{"en": []string{"months"}}},
		},
	}})
	delete(body, "questionnaires")
	for k, v := range more {
		body[k] = v
	}
	return body
}

// talk is a conversation as a scenario plays it.
type talk struct {
	*world.World
	survey, id, number string
	n                  int
}

// says sends a message of the respondent.
func (c *talk) says(text string) {
	c.Helper()
	c.n++
	c.ReceiveMessageAs("texts", fmt.Sprintf("%s-%d", c.number, c.n), c.number, text)
}

// hears waits for a text of Weir and returns its times.
func (c *talk) hears(text string) { c.Helper(); c.Speaks(text) }

// answers returns the answers as the API shows them.
func (c *talk) answers() string {
	c.Helper()
	var list []string
	shown, _ := c.Respondent(c.survey, c.id)["answers"].([]any)
	for _, a := range shown {
		a := a.(map[string]any)
		list = append(list, strings.TrimSpace(fmt.Sprint(a["question"], " ", a["status"], " ", or(a["value"]))))
	}
	return strings.Join(list, ", ")
}

func or(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// Scenario 430: Weir asks the questions of a survey one after the other, skips what is not relevant,
// asks again what was not understood, and keeps every answer.
func TestQuestions_AreAskedOneAfterTheOther(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.LaunchSurvey("s", byQuestions("1h", nil), 0, 2) // the second keeps the survey open
		c := &talk{World: w, survey: "s", id: ids[0], number: fmt.Sprint(w.Respondent("s", ids[0])["phone"])}
		first := "Hello " + ids[0] + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking"
		c.hears(first)
		c.says("what?")
		c.hears("Sorry, we did not understand your answer. Is your child vaccinated?\n1 Yes\n2 No\n3 Quit asking")
		c.says("Yes!")
		c.hears("How many months?")
		if got := c.answers(); got != "vaccinated answered yes, why skipped" {
			t.Errorf("in the middle: %s", got)
		}
		c.says("30 months")
		c.hears("Thanks, " + ids[0] + ".")
		w.ExpectRespondent("s", ids[0], "completed, completed")
		if got := c.answers(); got != "vaccinated answered yes, why skipped, months answered 30" {
			t.Errorf("at the end: %s", got)
		}
		c.says("hello?")
		c.hears("It is over.")
		c.says("hello!")
		w.Until("it was heard", func() bool { return w.Respondent("s", ids[0])["messages_received"] == 5.0 })
		for _, text := range []string{first, "How many months?", "Thanks, " + ids[0] + ".", "It is over."} {
			if n := w.Sends(text); n != 1 {
				t.Errorf("%q was sent %d times", text, n)
			}
		}
		if got := counts(w); got != "vaccinated answered 1 yes=1 no=0 quit=0, why skipped 1, months answered 1 30=1" {
			t.Errorf("the sums: %s", got)
		}
		w.ExpectNoFaults()
	})
}

// counts returns the sums of the answers of survey s.
func counts(w *world.World) string {
	w.Helper()
	var list []string
	questions, _ := w.Want(200, "GET", "/v1/surveys/s/answers", nil).Body["questions"].([]any)
	for _, q := range questions {
		q := q.(map[string]any)
		line := fmt.Sprint(q["question"])
		statuses := q["by_status"].(map[string]any)
		for _, status := range slices.Sorted(maps.Keys(statuses)) {
			if statuses[status] != 0.0 {
				line += fmt.Sprint(" ", status, " ", statuses[status])
			}
		}
		for _, v := range q["values"].([]any) {
			line += fmt.Sprint(" ", v.(map[string]any)["value"], "=", v.(map[string]any)["count"])
		}
		list = append(list, line)
	}
	return strings.Join(list, ", ")
}

// Scenario 431: a person who answers nothing gets the beginning again; one who has stopped in the middle
// is reminded of the question that is open, whose answer counts. Silence after the last retry breaks off,
// and says which questions were not reached.
func TestQuestions_WhoStopsIsRemindedOfTheOpenQuestion(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 20)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Minute, "completed" })
		ids := w.LaunchSurvey("s", byQuestions("1h 1h", nil), 0, 2)
		one := &talk{World: w, survey: "s", id: ids[0], number: fmt.Sprint(w.Respondent("s", ids[0])["phone"])}
		two := &talk{World: w, survey: "s", id: ids[1], number: fmt.Sprint(w.Respondent("s", ids[1])["phone"])}
		first := func(c *talk) string {
			return "Hello " + c.id + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking"
		}
		one.hears(first(one))
		two.hears(first(two))
		one.says("2")
		one.hears("Why not?")
		w.Pass(70 * time.Minute)
		if n := w.Sends(first(two)); n != 2 {
			t.Errorf("who has said nothing gets the beginning %d times", n)
		}
		reminder := "We are still waiting for your answer.\nWhy not?"
		w.Until("the reminder is sent", func() bool { return w.Sends(reminder) == 1 })
		one.says("No time")
		one.hears("How many months?")
		w.Pass(5 * time.Hour)
		w.ExpectRespondent("s", ids[0], "failed, breakoff")
		w.ExpectRespondent("s", ids[1], "failed, unresponsive")
		if got := one.answers(); got != "vaccinated answered no, why answered No time, months not_reached" {
			t.Errorf("who stopped: %s", got)
		}
		if got := counts(w); got != "vaccinated answered 1 not_reached 1 yes=0 no=1 quit=0, why answered 1 not_reached 1, months not_reached 2" {
			t.Errorf("the sums: %s", got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 432: a stop word refuses in the middle of a conversation. A word that refuses elsewhere is an
// answer while it is a choice of the question that is asked, and only then.
func TestQuestions_StopWordsRefuseUnlessTheyAreAnswers(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.LaunchSurvey("s", byQuestions("1h", nil), 0, 3)
		for i, c := range []struct{ says, then, state, answers string }{
			{"quit", "How many months?", "active, started", "vaccinated answered quit, why skipped"},
			{"STOP", "", "failed, refused", "vaccinated not_reached, why not_reached, months not_reached"},
			{"1", "How many months?", "active, started", "vaccinated answered yes, why skipped"},
		} {
			x := &talk{World: w, survey: "s", id: ids[i], number: fmt.Sprint(w.Respondent("s", ids[i])["phone"])}
			x.hears("Hello " + ids[i] + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking")
			x.says(c.says)
			w.Until("the message counts", func() bool { return w.RespondentState("s", ids[i]) == c.state })
			if got := x.answers(); got != c.answers {
				t.Errorf("%s: %s, want %s", c.says, got, c.answers)
			}
		}
		w.Until("the next questions are sent", func() bool { return w.Sends("How many months?") == 2 })
		x := &talk{World: w, survey: "s", id: ids[2], number: fmt.Sprint(w.Respondent("s", ids[2])["phone"]), n: 10}
		x.says("quit")
		w.Until("quit refuses behind the question", func() bool { return w.RespondentState("s", ids[2]) == "failed, breakoff" })
		w.ExpectNoFaults()
	})
}

// Scenario 433: quotas on answers. The bucket is known with the answer; if it is full, the next question
// is not sent, but the survey's message.
func TestQuestions_QuotasCountAnswers(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		where := func(v string) world.Fields {
			return world.Fields{"where": world.Fields{"vaccinated": world.Fields{"in": []string{v}}}, "quota": 1}
		}
		ids := w.LaunchSurvey("s", byQuestions("1h", world.Fields{"quotas": []world.Fields{where("yes"), where("no")}}), 0, 2)
		var talks []*talk
		for _, id := range ids {
			c := &talk{World: w, survey: "s", id: id, number: fmt.Sprint(w.Respondent("s", id)["phone"])}
			c.hears("Hello " + id + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking")
			talks = append(talks, c)
		}
		talks[0].says("yes")
		talks[0].hears("How many months?")
		talks[0].says("7")
		talks[0].hears("Thanks, " + ids[0] + ".")
		talks[1].says("yes")
		talks[1].hears("We have enough.")
		w.ExpectRespondent("s", ids[1], "rejected, rejected")
		if n := w.Sends("How many months?"); n != 1 {
			t.Errorf("the next question was sent %d times", n)
		}
		if p := w.Respondent("s", ids[0]); p["bucket"] != 0.0 || p["counted"] != true {
			t.Errorf("who completed: bucket %v, counted %v", p["bucket"], p["counted"])
		}
		if got := talks[1].answers(); got != "vaccinated answered yes, why skipped, months not_reached" {
			t.Errorf("who is not needed: %s", got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 446: whatever respondents say, the sums of the answers are the answers of the respondents, and
// those of the file of results.
func TestQuestions_SumsAreThoseOfTheFile(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		ids := w.LaunchSurvey("s", byQuestions("1h", nil), 0, 12)
		draw := rand.New(rand.NewPCG(7, 45))
		pool := []string{"yes", "no", "no", "2", "quit", "what?", "7", "7", "30 months", "240", "because", "STOP", "ok"}
		for _, id := range ids[1:] { // the first says nothing
			c := &talk{World: w, survey: "s", id: id, number: fmt.Sprint(w.Respondent("s", id)["phone"])}
			c.hears("Hello " + id + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking")
			for n := range 1 + draw.IntN(5) {
				c.says(pool[draw.IntN(len(pool))])
				w.Until("it was heard", func() bool { return w.Respondent("s", id)["messages_received"] == float64(n+1) })
			}
		}
		statuses := map[string]int{}
		for _, id := range ids {
			answers, _ := w.Respondent("s", id)["answers"].([]any)
			for _, a := range answers {
				statuses[fmt.Sprint(a.(map[string]any)["question"], " ", a.(map[string]any)["status"])]++
			}
		}
		rows, err := csv.NewReader(strings.NewReader(w.Want(200, "GET", "/v1/surveys/s/results.csv", nil).Text)).ReadAll()
		if err != nil || len(rows) != len(ids)+1 {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		sums := w.Want(200, "GET", "/v1/surveys/s/answers", nil).Body
		if sums["respondents"] != float64(len(ids)) {
			t.Errorf("respondents: %v", sums["respondents"])
		}
		list, _ := sums["questions"].([]any)
		seen := 0
		for _, q := range list {
			q := q.(map[string]any)
			column := slices.Index(rows[0], fmt.Sprint(q["question"]))
			cells := map[string]int{}
			for _, row := range rows[1:] {
				if row[column] != "" {
					cells[row[column]]++
					cells[""]++
				}
			}
			for status, n := range q["by_status"].(map[string]any) {
				if want := statuses[fmt.Sprint(q["question"], " ", status)]; n != float64(want) || status == "answered" && want != cells[""] {
					t.Errorf("%s, %s: %v counted, %d respondents, %d in the file", q["question"], status, n, want, cells[""])
				}
				seen++
			}
			for _, v := range q["values"].([]any) {
				if v := v.(map[string]any); v["count"] != float64(cells[fmt.Sprint(v["value"])]) {
					t.Errorf("%s: %v counted, in the file %d", q["question"], v, cells[fmt.Sprint(v["value"])])
				}
			}
		}
		if seen != 18 || statuses["vaccinated answered"] < 3 {
			t.Errorf("%d statuses seen: %v", seen, statuses)
		}
		w.ExpectNoFaults()
	})
}

// talkOf returns the conversation with a respondent of survey s.
func talkOf(w *world.World, id string) *talk {
	w.Helper()
	return &talk{World: w, survey: "s", id: id, number: fmt.Sprint(w.Respondent("s", id)["phone"])}
}

// begins is how the conversation of [byQuestions] begins.
func (c *talk) begins() string {
	return "Hello " + c.id + ".\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking"
}

// Scenario 439: a typing mistake in a text is corrected while the survey runs: whoever is asked next gets
// the new text. Whatever else about the questions is changed is refused.
func TestQuestions_TextsAreCorrectedAfterTheLaunch(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		body := byQuestions("1h", nil)
		ids := w.LaunchSurvey("s", body, 0, 2)
		c := talkOf(w, ids[0])
		c.hears(c.begins())
		list := body["questions"].(world.Fields)["questions"].([]world.Fields)
		change := func(status int, n int, member string, value any) world.Answer {
			t.Helper()
			was := list[n][member]
			list[n][member] = value
			a := w.Want(status, "PATCH", "/v1/surveys/s", world.Fields{"questions": world.Fields{"questions": list}})
			if status != 200 {
				list[n][member] = was
			}
			return a
		}
		for _, x := range []struct {
			n      int
			member string
			value  any
		}{{3, "max", 24}, {3, "text", world.Fields{"en": "How many months, {{first_name}}?"}}, {2, "relevant", "${vaccinated} = 'yes'"}} {
			if a := change(409, x.n, x.member, x.value); !strings.Contains(a.Text, fmt.Sprint("/questions/questions/", x.n, "/", x.member)) {
				t.Errorf("%s: %s", x.member, a.Text)
			}
		}
		change(422, 3, "text", world.Fields{"en": strings.Repeat("x", 1601)})
		change(200, 3, "text", world.Fields{"en": "How many months old?"})
		c.says("1")
		c.hears("How many months old?")
		c.says("7")
		c.hears("Thanks, " + ids[0] + ".")
		w.ExpectNoFaults()
	})
}

// Scenario 440: who asks for help in a conversation gets the help of the questionnaire and the question
// again, which is no try, and goes on.
func TestQuestions_HelpExplainsAndAsksAgain(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		body := byQuestions("1h", nil)
		body["questions"].(world.Fields)["messages"].(world.Fields)["help"] = world.Fields{"en": "We are the clinic."}
		body["questions"].(world.Fields)["tries"] = 2
		ids := w.LaunchSurvey("s", body, 0, 2)
		c := talkOf(w, ids[0])
		c.hears(c.begins())
		c.says("what?")
		c.hears("Sorry, we did not understand your answer. Is your child vaccinated?\n1 Yes\n2 No\n3 Quit asking")
		for n := range 2 {
			c.says("HELP")
			w.Until("help is sent", func() bool {
				return w.Sends("We are the clinic.\nIs your child vaccinated?\n1 Yes\n2 No\n3 Quit asking") == n+1
			})
		}
		w.ExpectRespondent("s", ids[0], "active, started")
		c.says("1")
		c.hears("How many months?")
		if got := c.answers(); got != "vaccinated answered yes, why skipped" {
			t.Error(got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 441: in the quiet hours of its purpose the next question still answers who writes; a reminder
// waits for their end.
func TestQuestions_QuietHoursHoldBackRemindersOnly(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(19, 50), func(w *world.World) {
		w.Channel("texts", 20)
		w.Want(201, "PUT", "/v1/purposes/research", world.Fields{"quiet_hours": world.Fields{"from": "20:00", "to": "21:30"}, "time_zone": "UTC"})
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Minute, "completed" })
		w.CreateSurvey("s", byQuestions("30m 30m 30m 30m 30m", world.Fields{"purpose": "research"}), 0, 0)
		utc := world.Fields{"time_zone": "UTC"}
		ids := w.AddRespondents("s", world.Fields{"phone": "+15550001", "attributes": utc}, world.Fields{"phone": "+15550002", "attributes": utc})
		w.SurveyCommand("s", "launch")
		c := talkOf(w, ids[0])
		c.hears(c.begins())
		w.Pass(15 * time.Minute)
		c.says("1")
		c.hears("How many months?")
		w.Pass(70 * time.Minute) // 21:15
		reminder := "We are still waiting for your answer.\nHow many months?"
		if n := w.Sends(reminder); n != 0 {
			t.Errorf("%d reminders in the quiet hours", n)
		}
		w.Pass(25 * time.Minute)
		w.Until("the reminder is sent", func() bool { return w.Sends(reminder) == 1 })
		c.says("7")
		c.hears("Thanks, " + ids[0] + ".")
		w.ExpectNoFaults()
	})
}

// Scenario 442: a cap on contacts holds back whoever was contacted often enough, not the questions that
// follow an answer.
func TestQuestions_CapsDoNotInterruptAConversation(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		w.Want(201, "PUT", "/v1/purposes/research", world.Fields{"caps": []world.Fields{{"max": 1, "within": "7d"}}})
		ids := w.LaunchSurvey("s", byQuestions("1h", world.Fields{"purpose": "research"}), 0, 2)
		c := talkOf(w, ids[0])
		c.hears(c.begins())
		c.says("2")
		c.hears("Why not?")
		c.says("No time")
		c.hears("How many months?")
		c.says("7")
		c.hears("Thanks, " + ids[0] + ".")
		w.ExpectRespondent("s", ids[0], "completed, completed")
		w.ExpectNoFaults()
	})
}

// TestQuestions_AreBounded stores questionnaires at both sides of the bounds.
func TestQuestions_AreBounded(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 20)
		for _, c := range []struct{ questions, characters, status int }{
			{500, 20, 201}, {501, 20, 422}, {150, 1200, 201}, {150, 1400, 422},
		} {
			body := byQuestions("1h", nil)
			var list []world.Fields
			for i := range c.questions {
				list = append(list, world.Fields{"name": fmt.Sprint("q", i), "kind": "text", "text": world.Fields{"en": strings.Repeat("x", c.characters)}})
			}
			body["questions"].(world.Fields)["questions"] = list
			a := w.Want(c.status, "PUT", fmt.Sprint("/v1/surveys/s", c.questions, "-", c.characters), body)
			if c.status == 422 && !strings.Contains(a.Text, `"pointer":"/questions`) {
				t.Errorf("%d questions of %d characters: %.300s", c.questions, c.characters, a.Text)
			}
		}
	})
}
