package scaletest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/persistence"
	"weir/surveys/questions"
)

// TestAnswers_AreReadFromSums reads the answers of a survey of 20 questions, whole and by day, arm and language. Only the
// sums of its respondents are filled in: no respondent is read.
func TestAnswers_AreReadFromSums(t *testing.T) {
	respondents, days := 108_000, 3 // 6,000 a group, which every number of values divides
	if *full {
		respondents, days = 1_080_000, 30
	}
	path := build(t)
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			url := database(t, store)
			p := newProgram(t, path, url)
			p.start()
			p.json(http.MethodPut, "/v1/channels/sms", `{"type":"nuntium","capacity":1,"settings":{"base_url":"http://127.0.0.1:9","account":"demo","application":"weir","token":"token","channel":"sms"}}`, http.StatusCreated)
			p.json(http.MethodPut, "/v1/surveys/asks", twentyQuestions(t), http.StatusCreated)
			p.terminate()
			rows := fillAnswers(t, url, respondents, days)
			p.start()
			for _, query := range []string{"", "?by=day", "?by=arm", "?by=language", "?by=day&arm=1"} {
				var took []time.Duration
				var text []byte
				for range 7 {
					begun := time.Now()
					text = p.do(http.MethodGet, "/v1/surveys/asks/answers"+query, "", nil, http.StatusOK)
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				t.Logf("%s: %d respondents, %d sums: answers%s in %v (median), %v (most), %d kB", store, respondents, rows, query,
					took[len(took)/2].Round(100*time.Microsecond), took[len(took)-1].Round(100*time.Microsecond), len(text)/1000)
				if *full && took[0] > 300*time.Millisecond {
					t.Errorf("%s: answers%s take %v at best, the target is 300 ms", store, query, took[0])
				}
				checkAnswered(t, text, query, respondents)
			}
			p.terminate()
		})
	}
}

// checkAnswered compares the counts of every question, and of its groups together, with the number of respondents.
func checkAnswered(t *testing.T, text []byte, query string, respondents int) {
	t.Helper()
	type counts struct {
		Statuses map[string]int `json:"by_status"`
		Groups   []struct {
			Statuses map[string]int `json:"by_status"`
		} `json:"groups"`
	}
	var got struct {
		Respondents int      `json:"respondents"`
		Questions   []counts `json:"questions"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := respondents
	if strings.Contains(query, "arm=") {
		want /= 2
	}
	if got.Respondents != respondents || len(got.Questions) != 20 {
		t.Errorf("answers%s: %d respondents, %d questions", query, got.Respondents, len(got.Questions))
	}
	for i, q := range got.Questions {
		all, grouped := 0, 0
		for _, n := range q.Statuses {
			all += n
		}
		for _, g := range q.Groups {
			for _, n := range g.Statuses {
				grouped += n
			}
		}
		if all != want || strings.Contains(query, "by=") && grouped != want {
			t.Errorf("answers%s: question %d counts %d, its groups %d, want %d", query, i, all, grouped, want)
		}
	}
}

// answerKinds are the kinds of twenty questions, with how many different values each gets.
func answerKinds() []struct {
	kind   questions.Kind
	values int
} {
	type one = struct {
		kind   questions.Kind
		values int
	}
	return slices.Concat(slices.Repeat([]one{{questions.Choose, 5}}, 12), slices.Repeat([]one{{questions.ChooseMany, 6}}, 4),
		[]one{{questions.Number, 100}, {questions.Number, 100}, {questions.Date, 200}, {questions.FreeText, 0}})
}

// twentyQuestions returns a survey in three languages.
func twentyQuestions(t *testing.T) string {
	t.Helper()
	said := func(format string, n int) questions.Text {
		text := questions.Text{}
		for _, code := range []string{"en", "es", "fr"} {
			text[code] = fmt.Sprintf(format, n)
		}
		return text
	}
	asked := &questions.Definition{Languages: []questions.Language{{Code: "en"}, {Code: "es"}, {Code: "fr"}}}
	for i, k := range answerKinds() {
		q := questions.Question{Name: fmt.Sprint("q", i), Kind: k.kind, Text: said("Question %d?", i)}
		if k.kind == questions.Choose || k.kind == questions.ChooseMany {
			for v := range k.values {
				q.Choices = append(q.Choices, questions.Choice{Name: fmt.Sprint("v", v), Text: said("Choice %d", v)})
			}
		}
		asked.Questions = append(asked.Questions, q)
	}
	text, err := json.Marshal(map[string]any{
		"schedule":  map[string]any{"time_zone": "UTC", "weekdays": []string{"mon"}, "windows": []map[string]string{{"from": "09:00", "to": "17:00"}}},
		"modes":     map[string]any{"sms": map[string]any{"channel": "sms"}},
		"arms":      []map[string]any{{"modes": []string{"sms"}}},
		"questions": asked,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fillAnswers writes the sums of a survey whose respondents have answered evenly over days, 3 languages and 2 arms, and
// returns how many they are.
func fillAnswers(t *testing.T, url string, respondents, days int) int {
	t.Helper()
	ctx := context.Background()
	db, err := persistence.OpenDatabase(ctx, url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Pools().Write.ExecContext(ctx, text, args...); err != nil {
			t.Fatal(err)
		}
	}
	var survey int64
	if err := db.Pools().Read.QueryRowContext(ctx, "SELECT id FROM surveys WHERE name = 'asks'").Scan(&survey); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, furthest, n) VALUES (?, 3, 'completed', -1, 0, 'completed', ?)", survey, respondents)
	const row, columns = "(?, ?, ?, ?, ?, ?, ?, ?)", 8
	var args []any
	written := 0
	flush := func() {
		n := len(args) / columns
		if n > 0 {
			exec("INSERT INTO survey_answer_counts (survey_id, question, status, value, day, arm, language, n) VALUES "+row+strings.Repeat(", "+row, n-1), args...)
		}
		written, args = written+n, nil
	}
	for i, k := range answerKinds() {
		for g := range days * 3 * 2 {
			day, language, arm := 20_000+g/6, []string{"en", "es", "fr"}[g%3], g%2
			one := respondents / (days * 3 * 2 * len(questions.Statuses())) // of each status
			for _, status := range questions.Statuses() {
				args = append(args, survey, fmt.Sprint("q", i), string(status), "", day, arm, language, one)
			}
			for v := range k.values {
				value := fmt.Sprint("v", v)
				switch k.kind {
				case questions.Number:
					value = fmt.Sprint(v)
				case questions.Date:
					value = time.Unix(int64(v)*24*60*60, 0).UTC().Format(time.DateOnly)
				default:
				}
				args = append(args, survey, fmt.Sprint("q", i), string(questions.Answered), value, day, arm, language, max(1, one/k.values))
			}
			if len(args) > 2000*columns {
				flush()
			}
		}
	}
	flush()
	return written
}
