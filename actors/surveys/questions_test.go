package surveys_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	surveybroker "weir/actors/surveys"
	"weir/internal/race"
	"weir/people"
	"weir/surveys"
	"weir/surveys/questions"
)

// askSurvey returns a survey of three questions, the second of which is not for everybody.
func askSurvey(retries string) surveys.Definition {
	d := smsSurvey(retries)
	d.Questionnaires = nil
	text := func(s string) questions.Text { return questions.Text{"en": s} }
	d.Questions = &questions.Definition{Languages: []questions.Language{{Code: "en"}}, Tries: 10, Questions: []questions.Question{
		{Name: "well", Kind: questions.Choose, Text: text("Are you well?"), Choices: []questions.Choice{{Name: "yes", Text: text("Yes")}, {Name: "no", Text: text("No")}}},
		{Name: "why", Kind: questions.FreeText, Text: text("Why not?"), Relevant: "${well} = 'no'"},
		{Name: "age", Kind: questions.Number, Text: text("How old are you?")},
	}}
	return d
}

// script returns the answer of a respondent to the text that it gets; empty: nothing that counts.
func script(person int, text string) string {
	switch {
	case strings.Contains(text, "Are you well?"):
		return []string{"yes", "No"}[person%2]
	case strings.Contains(text, "Why not?"):
		return fmt.Sprint("because of ", person)
	case strings.Contains(text, "How old are you?"):
		return fmt.Sprint(20 + person)
	default:
		return ""
	}
}

// TestQuestions_CrashesAskNothingTwice lets respondents answer by a script, late, several times and beside
// what is no answer, while the process is killed before and after commits. In the end each has the answers of the
// script, and each turn was said by one contact (the store fails otherwise).
func TestQuestions_CrashesAskNothingTwice(t *testing.T) {
	const persons = 12
	runs := uint64(6)
	if race.Enabled { // all of them run without it
		runs = 2
	}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var l *lab
			var system atomic.Pointer[surveybroker.System] // which messages of people reach
			var mu sync.Mutex
			source := rand.New(rand.NewPCG(seed, 45))
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return source.IntN(n)
			}
			said := map[string]int{}
			inLabFor(t, time.Minute, func(c weir.Contact) contactResult {
				return contactResult{duration: time.Minute, outcome: weir.Completed}
			}, func(in *lab) {
				l = in
				l.store.addChannel("texts", "text", 50)
				s := l.addSurvey("s", askSurvey("2h 2h 2h 2h"), persons)
				numbers := map[string]int{}
				for i := range persons {
					numbers[phone(s.ID, i)] = i
				}
				l.channels.onDispatch = func(c weir.Contact) { // its lock is held
					said[c.Key]++
					i, text := numbers[c.To], strings.Join(c.Messages, "\n")
					answer := script(i, text)
					if answer == "" {
						return
					}
					send := func(after time.Duration, text string) {
						atOnce := draw(2) == 0 // otherwise the process dies between
						time.AfterFunc(after, func() {
							l.channels.receiveMessage(c.Channel, c.To, text)
							if atOnce {
								_, _ = system.Load().Incoming(l.t.Context(), c.Channel, weir.Incoming{From: c.To, Body: text, GUID: "m"})
							}
						})
					}
					wait := time.Duration(draw(20_000)) * time.Millisecond
					switch n := draw(6); {
					case n == 0: // no answer: a reminder follows
					case n == 1 && !strings.Contains(text, "Why not?"): // where any text is an answer
						send(wait, "what?")
					default:
						send(wait, answer)
					}
					if draw(3) == 0 {
						send(0, "\u200b")
					}
				}
				crash := func() error {
					if draw(8) == 0 {
						return &weir.Error{Code: weir.CodeUnavailable, Message: "killed"}
					}
					return nil
				}
				l.store.failOperation = func(operation string) error { // before a commit
					if operation == "Work" {
						return crash()
					}
					return nil
				}
				l.store.replaceResult = crash // after it
				system.Store(l.system)
				l.command("s", surveys.Launch)
				for range 24 * 4 {
					l.advance(15 * time.Minute)
					if draw(3) == 0 {
						l.system.Close()
						system.Store(l.start())
					}
				}
				checkAnswers(t, l, s, persons)
			})
			for key, n := range said {
				if n != 1 {
					t.Errorf("%s was sent %d times", key, n)
				}
			}
		})
	}
}

// checkAnswers compares the answers of a survey with the script, and its sums with the answers.
func checkAnswers(t *testing.T, l *lab, s surveys.Survey, persons int) {
	t.Helper()
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	sums, done := map[surveys.AnswerSum]int{}, 0
	for i, id := range l.store.members[s.ID] {
		r, got := l.store.people[id], l.store.answers[id]
		for name, a := range got {
			one := surveys.Recorded{Answer: a, Kind: questions.KindOf(s.Definition.Questions, name)}
			one.Count(sums, r.Arm)
		}
		if r.Disposition != surveys.Complete {
			continue // silent to the end
		}
		done++
		why, status := script(i, "Why not?"), questions.Answered
		if i%2 == 0 {
			why, status = "", questions.Skipped
		}
		if got["well"].Value != strings.ToLower(script(i, "Are you well?")) || got["why"].Value != why || got["why"].Status != status || got["age"].Value != script(i, "How old are you?") {
			t.Errorf("respondent %d: %+v", i, got)
		}
	}
	if done < persons/2 {
		t.Errorf("only %d of %d have completed", done, persons)
	}
	maps.DeleteFunc(l.store.answerSums[s.ID], func(_ surveys.AnswerSum, n int) bool { return n == 0 })
	if !maps.Equal(sums, l.store.answerSums[s.ID]) {
		t.Errorf("sums %v, want %v", l.store.answerSums[s.ID], sums)
	}
}

// TestQuestions_AnswerMayOvertakeTheReceipt lets the provider's receipt of each question be lost: an answer
// that was received after the claim counts, one that was received before changes nothing.
func TestQuestions_AnswerMayOvertakeTheReceipt(t *testing.T) {
	var sent []string
	inLab(t, func(weir.Contact) contactResult {
		return contactResult{duration: time.Hour, outcome: weir.Completed, acceptedLost: true}
	}, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 1)
		s := l.addSurvey("s", askSurvey("1d"), 1)
		number := phone(s.ID, 0)
		l.channels.onDispatch = func(c weir.Contact) { sent = append(sent, strings.Join(c.Messages, "\n")) }
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		l.channels.receiveMessage(ch.ID, number, "yes")
		l.channels.receiveMessage(ch.ID, number, "34") // before the question: the only slot is taken
		l.advance(time.Minute)
		r := l.respondents(s.ID)[0]
		if r.Talk.Question != "age" || r.Talk.Tries != 0 || r.Disposition != surveys.Started || len(l.store.answers[r.ID]) != 2 {
			t.Fatalf("after an answer and what came too early: %+v %v", r.Talk, l.store.answers[r.ID])
		}
		l.advance(time.Hour)
		l.channels.receiveMessage(ch.ID, number, "35")
		l.advance(time.Minute)
		if r = l.respondents(s.ID)[0]; r.Disposition != surveys.Complete || l.store.answers[r.ID]["age"].Value != "35" {
			t.Errorf("at the end: %s %v", r.Disposition, l.store.answers[r.ID])
		}
		if want := []string{"Are you well?\n1 Yes\n2 No", "How old are you?"}; !slices.Equal(sent[:2], want) {
			t.Errorf("sent: %q", sent)
		}
	})
}

// TestQuestions_FirstClaimCounts lets a process be killed between the provider's acceptance of a question and
// its record: the contact is claimed again, and what was received between the two claims is an answer.
func TestQuestions_FirstClaimCounts(t *testing.T) {
	inLab(t, func(weir.Contact) contactResult {
		return contactResult{duration: 24 * time.Hour, outcome: weir.Completed, acceptedLost: true}
	}, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("2d"), 1)
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		said := l.respondents(s.ID)[0].Said
		l.store.locked(func() {
			c := l.store.contacts[said]
			l.store.ended = map[weir.Ref][]weir.Attempt{said: {{Number: 1, ClaimedAt: c.ClaimedAt}}}
			c.Attempt, c.ClaimedAt = 2, c.ClaimedAt.Add(time.Hour)
		})
		l.channels.receiveMessage(ch.ID, phone(s.ID, 0), "yes")
		l.advance(time.Minute)
		if r := l.respondents(s.ID)[0]; r.Talk.Question != "age" || l.store.answers[r.ID]["well"].Value != "yes" {
			t.Errorf("%+v %v", r.Talk, l.store.answers[r.ID])
		}
	})
}

// got returns the texts that were sent so far, which grow with the store locked.
func (l *lab) got(texts *[]string) (list []string) {
	l.store.locked(func() { list = slices.Clone(*texts) })
	return list
}

// TestQuestions_FirstContactWithAQuestionCounts lets the receipt of a question be lost, and what repeats the
// question wait behind it: what was received meanwhile is an answer, whichever contact said the question.
func TestQuestions_FirstContactWithAQuestionCounts(t *testing.T) {
	for name, repeat := range map[string]func(*lab, weir.ChannelID, string){
		"reminder": func(l *lab, _ weir.ChannelID, _ string) { l.advance(35 * time.Minute) },
		"help": func(l *lab, channel weir.ChannelID, number string) {
			l.advance(25 * time.Minute)
			l.channels.receiveMessage(channel, number, "help")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			duration := time.Hour
			inLab(t, func(weir.Contact) contactResult {
				defer func() { duration = 24 * time.Hour }()
				return contactResult{duration: duration, outcome: weir.Completed, acceptedLost: true}
			}, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 1)
				s := l.addSurvey("s", askSurvey("30m 1d 1d"), 1)
				number := phone(s.ID, 0)
				l.channels.onDispatch = func(c weir.Contact) { sent = append(sent, strings.Join(c.Messages, "\n")) }
				l.command("s", surveys.Launch)
				l.advance(time.Minute)
				l.channels.receiveMessage(ch.ID, number, "yes")
				l.advance(55 * time.Minute)
				if r, texts := l.respondents(s.ID)[0], l.got(&sent); len(texts) != 1 || r.Talk.Turn != 2 {
					t.Fatalf("before the question was sent: %q %+v", texts, r.Talk)
				}
				repeat(l, ch.ID, number)
				l.advance(time.Minute)
				if r, texts := l.respondents(s.ID)[0], l.got(&sent); len(texts) != 2 || r.Talk.Turn != 3 || r.Talk.Question != "age" {
					t.Fatalf("sent: %q, %+v", texts, r.Talk)
				}
				l.channels.receiveMessage(ch.ID, number, "35") // what repeats the question waits: the only slot is taken
				l.advance(time.Minute)
				if r := l.respondents(s.ID)[0]; r.Disposition != surveys.Complete || l.store.answers[r.ID]["age"].Value != "35" {
					t.Errorf("at the end: %s %+v %v", r.Disposition, r.Talk, l.store.answers[r.ID])
				}
			})
		})
	}
}

// TestQuestions_ClaimThatCannotBeReadYetCostsNoAnswer applies a message while the claim of its question is being
// committed, so that nobody can tell whether the message came before it.
func TestQuestions_ClaimThatCannotBeReadYetCostsNoAnswer(t *testing.T) {
	inLab(t, func(weir.Contact) contactResult {
		return contactResult{duration: 24 * time.Hour, outcome: weir.Completed, acceptedLost: true}
	}, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("2d"), 1)
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		said := l.respondents(s.ID)[0].Said
		var claimed time.Time
		l.store.locked(func() {
			c := l.store.contacts[said]
			claimed, c.State, c.ClaimedAt = c.ClaimedAt, weir.Sending, time.Time{}
		})
		l.channels.receiveMessage(ch.ID, phone(s.ID, 0), "yes")
		l.advance(10 * time.Second)
		if r := l.respondents(s.ID)[0]; r.Talk.Question != "well" {
			t.Errorf("before the claim is known: %+v", r.Talk)
		}
		l.store.locked(func() { l.store.contacts[said].ClaimedAt = claimed })
		l.advance(5 * time.Minute)
		if r := l.respondents(s.ID)[0]; r.Talk.Question != "age" {
			t.Errorf("when the claim is known: %+v", r.Talk)
		}
	})
}

// TestQuestions_ClaimThatCannotBeReadYetStopsNobodyElse lets three people answer, the second while the claim of the
// question is being committed: the others are asked the next question, by a round and by a pass, and are reminded when they are due.
func TestQuestions_ClaimThatCannotBeReadYetStopsNobodyElse(t *testing.T) {
	for name, atOnce := range map[string]bool{"round": false, "pass": true} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(c weir.Contact) contactResult {
				if c.To == phone(2, 1) {
					return contactResult{duration: 24 * time.Hour, outcome: weir.Completed, acceptedLost: true}
				}
				return contactResult{duration: time.Second, outcome: weir.Completed}
			}, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 10)
				s := l.addSurvey("s", askSurvey("5m 1d"), 4)
				l.command("s", surveys.Launch)
				l.advance(time.Minute)
				if s.ID != 2 {
					t.Fatalf("the survey is %d", s.ID)
				}
				said := l.respondents(s.ID)[1].Said
				var claimed time.Time
				l.store.locked(func() {
					c := l.store.contacts[said]
					claimed, c.State, c.ClaimedAt = c.ClaimedAt, weir.Sending, time.Time{}
				})
				if atOnce {
					l.system.Close() // no more rounds
				}
				var all sync.WaitGroup
				for i := range 3 {
					number := phone(s.ID, i)
					l.channels.receiveMessage(ch.ID, number, "yes")
					if atOnce {
						all.Go(func() {
							if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); (err != nil) != (i == 1) {
								t.Errorf("%d: %v", i, err)
							}
						})
					}
				}
				all.Wait()
				check := func(when string, want ...string) {
					t.Helper()
					l.advance(10 * time.Second)
					for i, r := range l.respondents(s.ID) {
						if got := fmt.Sprint(r.Talk.Question, " ", r.Talk.Turn); got != want[i] {
							t.Errorf("%s: respondent %d is asked %s, want %s", when, i, got, want[i])
						}
					}
				}
				check("before the claim is known", "age 2", "well 1", "age 2", "well 1")
				if atOnce {
					l.start()
				}
				l.advance(6 * time.Minute)
				check("when they are due", "age 3", "well 1", "age 3", "well 2")
				l.store.locked(func() { l.store.contacts[said].ClaimedAt = claimed })
				check("when the claim is known", "age 3", "age 2", "age 3", "well 2")
			})
		})
	}
}

// TestQuestions_QuestionThatWasNeverSentIsSaidByTheReminder ends the contact with a question before it is sent. What
// was received after the reminder is an answer to it.
func TestQuestions_QuestionThatWasNeverSentIsSaidByTheReminder(t *testing.T) {
	inLab(t, func(weir.Contact) contactResult {
		return contactResult{duration: time.Minute, outcome: weir.Completed, acceptedLost: true}
	}, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 1)
		s := l.addSurvey("s", askSurvey("30m 1d"), 1)
		number := phone(s.ID, 0)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		l.store.locked(func() { l.channels.dispatchNothing = true })
		l.channels.receiveMessage(ch.ID, number, "yes")
		l.advance(time.Minute)
		never := l.respondents(s.ID)[0].Said
		if _, err := l.channels.Cancel(t.Context(), never); err != nil {
			t.Fatal(err)
		}
		l.store.locked(func() { l.channels.dispatchNothing = false })
		l.advance(35 * time.Minute)
		if r := l.respondents(s.ID)[0]; r.Said == never || r.Said == (weir.Ref{}) || r.Talk.Turn != 3 {
			t.Fatalf("said by %v, %+v", r.Said, r.Talk)
		}
		l.channels.receiveMessage(ch.ID, number, "35")
		l.advance(time.Minute)
		if r := l.respondents(s.ID)[0]; r.Disposition != surveys.Complete {
			t.Errorf("%s %+v", r.Disposition, r.Talk)
		}
	})
}

// TestQuestions_NobodyIsRemindedOfWhatWaits keeps a question in the queue for longer than the delay of
// reminders. The delay counts from when it is sent.
func TestQuestions_NobodyIsRemindedOfWhatWaits(t *testing.T) {
	var sent []string
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 1)
		s := l.addSurvey("s", askSurvey("30m"), 1)
		l.channels.onDispatch = func(c weir.Contact) { sent = append(sent, strings.Join(c.Messages, "\n")) }
		l.command("s", surveys.Launch)
		l.advance(10 * time.Minute)
		l.store.locked(func() { l.channels.dispatchNothing = true })
		l.channels.receiveMessage(ch.ID, phone(s.ID, 0), "yes")
		check := func(when string, texts, contacts int) {
			t.Helper()
			made := 0
			l.store.locked(func() { made = len(l.store.contacts) })
			if r, got := l.respondents(s.ID)[0], l.got(&sent); len(got) != texts || made != contacts || r.Status != surveys.Active {
				t.Fatalf("%s: sent %q, %d contacts, %s %+v", when, got, made, r.Status, r.Talk)
			}
		}
		l.advance(3*time.Hour + 10*time.Minute)
		check("while the question waits", 1, 2)
		l.store.locked(func() { l.channels.dispatchNothing = false })
		l.channels.dispatchAll()
		l.advance(29 * time.Minute)
		check("after it was sent", 2, 2)
		l.advance(2 * time.Minute)
		check("after the delay", 3, 3)
		if !strings.Contains(sent[2], "still waiting") {
			t.Errorf("sent: %q", sent)
		}
	})
}

// TestQuestions_AnswersThatArriveTogetherAreAppliedTogether lets everybody answer at one instant, one of them with a
// stop word, while no rounds run: each answer is applied when its message is acknowledged, by a few writes.
func TestQuestions_AnswersThatArriveTogetherAreAppliedTogether(t *testing.T) {
	const persons = 40
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", persons)
		s := l.addSurvey("s", askSurvey("10m"), persons)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		l.system.Close() // no more rounds
		works := 0
		l.store.locked(func() {
			l.store.operationTime = func(string) time.Duration { return 2 * time.Millisecond }
			l.store.onReturn = func(string) { works++ }
		})
		began := time.Now()
		var all sync.WaitGroup
		for i := range persons {
			number, text := phone(s.ID, i), "yes"
			if i == 7 {
				text = "STOP"
			}
			l.channels.receiveMessage(ch.ID, number, text)
			all.Go(func() {
				if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: text, GUID: "m"}); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("they were applied after %v", took)
		}
		l.store.locked(func() { l.store.onReturn, l.store.operationTime = nil, nil })
		for i, r := range l.respondents(s.ID) {
			if i == 7 && r.Disposition != surveys.Refused || i != 7 && r.Talk.Question != "age" {
				t.Errorf("respondent %d is asked %q, %s", i, r.Talk.Question, r.Disposition)
			}
		}
		if works > 4 {
			t.Errorf("%d answers took %d writes", persons, works)
		}
	})
}

// TestQuestions_WhoWaitsForAPassMayGo lets the request end that is the first to wait for a pass: while the pass before is
// running, and while that one is. It returns at once, and the pass applies the messages of both requests.
func TestQuestions_WhoWaitsForAPassMayGo(t *testing.T) {
	for name, patience := range map[string]time.Duration{"before": time.Second, "during": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 5)
				s := l.addSurvey("s", askSurvey("1h"), 3)
				l.command("s", surveys.Launch)
				l.advance(30 * time.Second)
				l.system.Close() // no more rounds
				l.store.locked(func() {
					l.store.operationTime = func(operation string) time.Duration {
						if operation == "Work" {
							return 9 * time.Second // a pass takes so long
						}
						return 0
					}
				})
				deliver := func(person int, patience time.Duration) <-chan time.Duration {
					number, ended, began := phone(s.ID, person), make(chan time.Duration, 1), time.Now()
					l.channels.receiveMessage(ch.ID, number, "yes")
					go func() {
						ctx, cancel := context.WithTimeout(l.t.Context(), patience)
						defer cancel()
						_, err := l.system.Incoming(ctx, ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"})
						if took := time.Since(began); (err != nil) != (took == patience) {
							t.Errorf("%d: %v after %v", person, err, took)
						}
						ended <- time.Since(began)
					}()
					synctest.Wait()
					return ended
				}
				deliver(0, time.Minute)
				second := deliver(1, patience)
				third := deliver(2, time.Minute)
				if took := <-second; took != patience {
					t.Errorf("the first who waited returned after %v, want %v", took, patience)
				}
				if took := <-third; took > 20*time.Second {
					t.Errorf("the other one waited for %v", took)
				}
				l.advance(time.Minute)
				for i, r := range l.respondents(s.ID) {
					if r.Talk.Question != "age" {
						t.Errorf("respondent %d is asked %q", i, r.Talk.Question)
					}
				}
			})
		})
	}
}

// TestQuestions_RoundsApplyWhatNobodyWaitsFor lets the only request end that waits for a pass, before it begins: nobody will
// begin that pass, and a round applies the message.
func TestQuestions_RoundsApplyWhatNobodyWaitsFor(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("1h"), 2)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		l.store.locked(func() {
			l.store.operationTime = func(operation string) time.Duration {
				if operation == "Work" {
					return 9 * time.Second // a pass takes so long
				}
				return 0
			}
		})
		var all sync.WaitGroup
		for i, patience := range []time.Duration{time.Minute, time.Second} {
			number := phone(s.ID, i)
			l.channels.receiveMessage(ch.ID, number, "yes")
			all.Go(func() {
				ctx, cancel := context.WithTimeout(l.t.Context(), patience)
				defer cancel()
				if _, err := l.system.Incoming(ctx, ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); (err != nil) != (i == 1) {
					t.Errorf("%d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		l.store.locked(func() { l.store.operationTime = nil })
		l.advance(10 * time.Second)
		for i, r := range l.respondents(s.ID) {
			if r.Talk.Question != "age" {
				t.Errorf("respondent %d is asked %q", i, r.Talk.Question)
			}
		}
	})
}

// TestQuestions_RoundsLeaveThoseAloneWhoseMessagesWait lets the last attempt at a person fail after the person has
// answered. The answer waits for a pass while a round reads both: the answer counts first, so that the interview goes on.
func TestQuestions_RoundsLeaveThoseAloneWhoseMessagesWait(t *testing.T) {
	inLab(t, func(c weir.Contact) contactResult {
		if strings.HasSuffix(c.To, "1") {
			return contactResult{duration: time.Minute, outcome: weir.Failed}
		}
		return contactResult{duration: time.Hour, outcome: weir.Completed}
	}, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey(""), 2)
		l.command("s", surveys.Launch)
		l.advance(55 * time.Second)
		l.store.locked(func() {
			l.store.operationTime = func(operation string) time.Duration {
				if operation == "Work" {
					return 9 * time.Second
				}
				return 0
			}
		})
		var all sync.WaitGroup
		for i := range 2 {
			number := phone(s.ID, i)
			l.channels.receiveMessage(ch.ID, number, "yes")
			all.Go(func() {
				if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); err != nil {
					t.Error(err)
				}
			})
			l.advance(time.Second) // a round has begun, and waits for its turn
		}
		all.Wait()
		l.store.locked(func() { l.store.operationTime = nil })
		l.advance(time.Minute)
		for i, r := range l.respondents(s.ID) {
			if r.Talk.Question != "age" || r.Status != surveys.Active {
				t.Errorf("respondent %d is asked %q, %s", i, r.Talk.Question, r.Status)
			}
		}
	})
}

// TestQuestions_ARoundFollowsEachPass has somebody write whom nobody asks: while the message waits for its pass, rounds leave
// alone what is about everybody whose number ends alike, so that a round has to follow.
func TestQuestions_ARoundFollowsEachPass(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		l.addSurvey("s", askSurvey("1h"), 1)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		rounds := 0
		l.store.locked(func() {
			l.store.operationTime = func(operation string) time.Duration {
				if operation == "OutboxEntries" {
					rounds++
				}
				return 0
			}
		})
		count := func(d time.Duration) (n int) {
			l.advance(d)
			l.store.locked(func() { n, rounds = rounds, 0 })
			return n
		}
		for count(time.Millisecond) == 0 { // a round by itself has just been
		}
		if n := count(time.Second); n != 0 {
			t.Fatalf("%d rounds without a cause", n)
		}
		if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: "+16662000001", Body: "yes", GUID: "m"}); err != nil {
			t.Error(err)
		}
		if n := count(time.Second); n == 0 {
			t.Error("no round follows")
		}
		l.store.locked(func() { l.store.operationTime = nil })
	})
}

// TestQuestions_AnswerIsFoundBehindAPageOfOtherEntries lets somebody answer while the outbox holds more than a page that no
// round has processed: the answer is applied when it is acknowledged.
func TestQuestions_AnswerIsFoundBehindAPageOfOtherEntries(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("1h"), 1)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		l.system.Close() // no more rounds
		for i := range 600 {
			l.channels.receiveMessage(ch.ID, fmt.Sprint("+1666", 2000000+i), "who is this?")
		}
		number := phone(s.ID, 0)
		l.channels.receiveMessage(ch.ID, number, "yes")
		if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); err != nil {
			t.Error(err)
		}
		if r := l.respondents(s.ID)[0]; r.Talk.Question != "age" {
			t.Errorf("the respondent is asked %q", r.Talk.Question)
		}
	})
}

// TestQuestions_SurveyIsAppliedAsItIs corrects the text of a question, and then stops the survey, between two answers and
// without a round in between: each answer is applied to the survey as it is then.
func TestQuestions_SurveyIsAppliedAsItIs(t *testing.T) {
	var sent []string
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("1h"), 2)
		l.channels.onDispatch = func(c weir.Contact) { sent = append(sent, strings.Join(c.Messages, "\n")) }
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		l.system.Close() // no more rounds
		answer := func(person int) surveys.Respondent {
			number := phone(s.ID, person)
			l.channels.receiveMessage(ch.ID, number, "yes")
			if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); err != nil {
				t.Error(err)
			}
			l.advance(time.Second)
			return l.respondents(s.ID)[person]
		}
		change := func(change func(*surveys.Survey)) {
			is, err := l.store.Survey(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			asked := *is.Definition.Questions
			asked.Questions, is.Definition.Questions = slices.Clone(asked.Questions), &asked
			change(&is)
			if _, err := l.store.UpdateSurvey(t.Context(), is); err != nil {
				t.Fatal(err)
			}
		}
		change(func(is *surveys.Survey) {
			is.Definition.Questions.Questions[2].Text = questions.Text{"en": "What is your age?"}
		})
		if r := answer(0); r.Talk.Question != "age" {
			t.Errorf("the first one is asked %q", r.Talk.Question)
		}
		if texts := l.got(&sent); len(texts) != 3 || texts[2] != "What is your age?" {
			t.Errorf("sent: %q", texts)
		}
		change(func(is *surveys.Survey) { is.State = surveys.Stopping })
		if r := answer(1); r.Talk.Question != "well" || len(l.got(&sent)) != 3 {
			t.Errorf("of a survey that stops the second one is asked %q, sent %q", r.Talk.Question, l.got(&sent))
		}
	})
}

// TestQuestions_AnswersAreAppliedAtOnce answers questions without a round. The messages of a person count in
// the order in which they were received; one that is delivered again means what it meant before.
func TestQuestions_AnswersAreAppliedAtOnce(t *testing.T) {
	var sent []string
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		d := askSurvey("10m")
		d.Questions.Questions[0].Choices[0].Words = map[string][]string{"en": {"quit"}}
		s := l.addSurvey("s", d, 1)
		l.channels.onDispatch = func(c weir.Contact) { sent = append(sent, strings.Join(c.Messages, "\n")) }
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		number := phone(s.ID, 0)
		l.system.Close() // no more rounds
		deliver := func(text string, says people.Said) {
			t.Helper()
			if got, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: text, GUID: "m"}); err != nil || got.Says != says {
				t.Errorf("%s: %q %v, want %q", text, got.Says, err, says)
			}
			l.advance(time.Second)
		}
		state := func(want string) {
			t.Helper()
			r := l.respondents(s.ID)[0]
			if got := fmt.Sprint(r.Disposition, " ", r.Talk.Question, " ", r.Talk.Tries, " ", len(sent)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		l.channels.receiveMessage(ch.ID, number, "hm")
		l.channels.receiveMessage(ch.ID, number, "quit")
		deliver("quit", "") // and what was received before it
		state("started age 0 3")
		deliver("quit", "") // its answer was lost
		state("started age 0 3")
		l.channels.receiveMessage(ch.ID, number, "older than you")
		deliver("older than you", "")
		state("started age 1 4")
		l.channels.receiveMessage(ch.ID, number, "quit")
		for range 2 {
			deliver("quit", people.SaidStop)
		}
		state("breakoff  0 4")
		if n := len(l.store.outbox); n > 0 && slices.ContainsFunc(l.store.outbox, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
			t.Errorf("messages are left in the outbox: %+v", l.store.outbox)
		}
	})
}

// TestQuestions_MessagesAreAppliedOnceBesideARound applies a message at once while a round, which has read
// the outbox, has yet to read the respondent.
func TestQuestions_MessagesAreAppliedOnceBesideARound(t *testing.T) {
	sent := 0
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", askSurvey("10m"), 1)
		l.channels.onDispatch = func(weir.Contact) { sent++ }
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		rounds := 0
		l.store.locked(func() {
			l.store.operationTime = func(operation string) time.Duration {
				if rounds++; operation == "ByPhones" && rounds > 0 {
					rounds = -1000
					return time.Second
				}
				return 0
			}
		})
		number := phone(s.ID, 0)
		l.channels.receiveMessage(ch.ID, number, "hm")
		l.advance(500 * time.Millisecond)
		if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "hm", GUID: "m"}); err != nil {
			t.Error(err)
		}
		l.advance(5 * time.Second)
		if r := l.respondents(s.ID)[0]; rounds > 0 || sent != 2 || r.Talk.Tries != 1 || r.Totals.Received != 1 {
			t.Errorf("%d texts were sent; %+v", sent, r.Progress)
		}
	})
}

// TestQuestions_ReportsSayWhenAQuestionWasClaimed lets somebody answer two questions while no rounds run. The report of the
// second question waits behind the answer to it, and says when the question was claimed: nobody reads its contact.
func TestQuestions_ReportsSayWhenAQuestionWasClaimed(t *testing.T) {
	for name, late := range map[string]bool{"a report before the answer": false, "a report behind it": true} {
		t.Run(name, func(t *testing.T) {
			inLab(t, noAnswer, func(l *lab) {
				ch := l.store.addChannel("texts", "text", 5)
				s := l.addSurvey("s", askSurvey("1h"), 1)
				l.command("s", surveys.Launch)
				l.advance(30 * time.Second)
				l.system.Close() // no more rounds
				reads := 0
				l.store.locked(func() {
					l.store.operationTime = func(operation string) time.Duration {
						if operation == "ContactsByRef" {
							reads++
						}
						return 0
					}
				})
				number := phone(s.ID, 0)
				for _, text := range []string{"yes", "34"} {
					l.channels.receiveMessage(ch.ID, number, text)
					if late {
						l.store.locked(func() { slices.Reverse(l.store.outbox) })
					}
					if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: text, GUID: "m"}); err != nil {
						t.Error(err)
					}
					l.advance(time.Second)
				}
				l.store.locked(func() { l.store.operationTime = nil })
				if r := l.respondents(s.ID)[0]; r.Disposition != surveys.Complete || reads != 0 {
					t.Errorf("the respondent is %s; contacts were read %d times", r.Disposition, reads)
				}
			})
		})
	}
}

// TestQuestions_RoundsWaitWhileOnlyQuestionsAreReported lets people answer one after the other. Passes apply what they write;
// rounds read what the provider reports of the next questions, for which nobody waits.
func TestQuestions_RoundsWaitWhileOnlyQuestionsAreReported(t *testing.T) {
	const persons = 40
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 2*persons)
		s := l.addSurvey("s", askSurvey("1h"), persons)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Second)
		rounds := 0
		l.store.locked(func() {
			l.store.operationTime = func(operation string) time.Duration {
				if operation == "Surveys" {
					rounds++
				}
				return 0
			}
		})
		for i := range persons {
			number := phone(s.ID, i)
			l.channels.receiveMessage(ch.ID, number, "yes")
			if _, err := l.system.Incoming(l.t.Context(), ch.ID, weir.Incoming{From: number, Body: "yes", GUID: "m"}); err != nil {
				t.Error(err)
			}
			l.advance(47 * time.Millisecond)
		}
		l.store.locked(func() { l.store.operationTime = nil })
		if rounds < 4 || rounds > 10 {
			t.Errorf("%d rounds in 2 s, want about 7", rounds)
		}
		l.advance(time.Second)
		if n := len(l.store.outbox); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}
