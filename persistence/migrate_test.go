package persistence_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/internal/document"
	"weir/migrations"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/surveys"
	"weir/surveys/questions"
)

// TestMigrate_GoesUpDownAndUpAgain goes up, down and up again, and the store works.
func TestMigrate_GoesUpDownAndUpAgain(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.OpenOnly(t, url, persistence.Options{})
		ctx := t.Context()
		steps := len(stepNames(t, "sqlite"))
		wantPending(t, s, steps)
		if err := s.Ready(ctx); err == nil || !strings.Contains(err.Error(), "weir migrate up") {
			t.Errorf("an empty database is ready: %v", err)
		}
		for range 2 {
			if err := s.MigrateUp(ctx); err != nil {
				t.Fatal(err)
			}
			wantPending(t, s, 0)
			if err := s.MigrateDown(ctx, 2); err != nil {
				t.Fatal(err)
			}
			wantPending(t, s, 2)
			if err := s.MigrateDown(ctx, 1000); err != nil {
				t.Fatal(err)
			}
			wantPending(t, s, steps)
		}
		if err := s.MigrateUp(ctx); err != nil {
			t.Fatal(err)
		}
		list, err := s.Status(ctx)
		if err != nil || len(list) != steps {
			t.Fatalf("%d steps (%v)", len(list), err)
		}
		for _, step := range list {
			if !step.Applied || step.AppliedAt.IsZero() {
				t.Errorf("step %+v", step)
			}
		}
		if err := s.Join(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(ctx); err != nil {
			t.Error(err)
		}
		storetest.OpenChannel(t, s, "a")
	})
}

// TestMigrate_ContactsOutliveMigrations goes back to before contacts lay in the order of
// their ids, and forth again, with contacts of two channels in the table.
func TestMigrate_ContactsOutliveMigrations(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		ctx := t.Context()
		s := storetest.Open(t, url, persistence.Options{})
		var refs []weir.Ref
		keyed := weir.Spec{To: "sms://1", Key: "k", Priority: weir.High, Survey: "s", Messages: []string{"m"}, Labels: map[string]string{"a": "b"}}
		for _, name := range []string{"a", "b"} {
			channel, _ := storetest.OpenChannel(t, s, name)
			got, err := s.Accept(ctx, channel, []weir.Spec{
				keyed,
				{To: "sms://2", NotAfter: time.Now().Add(time.Hour), Owner: weir.Owner{Group: 1, ID: 2, Serial: 3}},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range got {
				refs = append(refs, a.Contact.Ref)
			}
		}
		reader := storetest.OpenOnly(t, url, persistence.Options{}) // members read tables of today's schema, too
		before := storetest.ReadAll(t, reader, refs)
		newer := 0
		for _, name := range stepNames(t, "sqlite") {
			if name >= "00043" {
				newer++
			}
		}
		for _, move := range []func() error{
			func() error { return s.MigrateDown(ctx, newer) },
			func() error { return s.MigrateUp(ctx) },
		} {
			if err := move(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, storetest.ReadAll(t, reader, refs)); d != "" {
				t.Errorf("contacts (-before +after):\n%s", d)
			}
		}
		again, err := s.Accept(ctx, refs[0].Channel, []weir.Spec{keyed})
		if err != nil || !again[0].Duplicate || again[0].Contact.ID != refs[0].ID {
			t.Errorf("a key that is taken: %+v (%v)", again, err)
		}
	})
}

// downBefore reverts the schema to before a step, and returns how many steps that were.
func downBefore(t *testing.T, s *persistence.Store, step string) int {
	t.Helper()
	newer := 0
	for _, name := range stepNames(t, "sqlite") {
		if name >= step {
			newer++
		}
	}
	if err := s.MigrateDown(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	return newer
}

// TestMigrate_WritersGoByTheirRows continues what a program has left that recorded the number of
// its latest batch in writers, and counted contacts in channel_counts.
func TestMigrate_WritersGoByTheirRows(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		ctx := t.Context()
		s := storetest.Open(t, url, persistence.Options{})
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(ctx, id, append(storetest.ContactSpecs(1, 4), weir.Spec{To: "sms://5", NotBefore: time.Now().Add(time.Hour)}))
		if err != nil {
			t.Fatal(err)
		}
		canceled := weir.Transition{Contact: got[1].Contact, Was: weir.Queued}
		if canceled.Contact.Progress, err = canceled.Contact.Finish(time.Now(), weir.Canceled, ""); err != nil {
			t.Fatal(err)
		}
		if r := <-storetest.Commit(s, lease, storetest.Advance(got[0].Contact), canceled); r.Err != nil || len(r.Stale) > 0 {
			t.Fatalf("%+v", r)
		}
		if downBefore(t, s, "00037") == 0 {
			t.Fatal("there is no such step")
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		db, err := persistence.OpenDatabase(ctx, url, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pools().Write.ExecContext(ctx, "UPDATE writers SET batch = 77"); err != nil {
			t.Fatal(err)
		}
		var queued, inFlight int
		err = db.Pools().Read.QueryRowContext(ctx, "SELECT queued, in_flight FROM channel_counts WHERE channel_id = ?", int64(id)).Scan(&queued, &inFlight)
		if err != nil || queued != 3 || inFlight != 1 {
			t.Errorf("the older program is left %d queued and %d in flight, want 3 and 1 (%v)", queued, inFlight, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		next := storetest.Open(t, url, persistence.Options{})
		if list, err := next.InFlight(ctx, id); err != nil || len(list) != 1 || list[0].ID != got[0].Contact.ID {
			t.Errorf("in flight: %+v (%v)", list, err)
		}
		if n, err := next.QueuedCount(ctx, id); err != nil || n != 3 {
			t.Errorf("%d queued, want 3 (%v)", n, err)
		}
		if oldest, err := next.OldestStep(ctx); err != nil || oldest < 37 {
			t.Errorf("a program that knows step %d could write (%v)", oldest, err)
		}
		if _, err := next.Accept(ctx, id, storetest.ContactSpecs(2, 1)); err != nil {
			t.Error(err)
		}
	})
}

// TestMigrate_CountsRespondentsByTheirFurthestStep goes back to before the sums of surveys knew steps, and forth again,
// with respondents of every disposition.
func TestMigrate_CountsRespondentsByTheirFurthestStep(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		ctx := t.Context()
		s := storetest.Open(t, url, persistence.Options{})
		v, _, err := s.PutSurvey(ctx, surveys.Survey{Name: "flu"}, document.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		want, at := map[surveys.Group]int{}, time.Now().Truncate(time.Microsecond)
		w := surveys.Work{Survey: v.ID}
		for i, d := range surveys.Dispositions() {
			for j := range 3 { // not started, started, reached
				added, err := s.Add(ctx, v.ID, 0, []surveys.Respondent{{Phone: fmt.Sprintf("+1555%04d", 3*i+j)}})
				if err != nil {
					t.Fatal(err)
				}
				was, err := s.Respondent(ctx, v.ID, added[0].ID)
				if err != nil {
					t.Fatal(err)
				}
				m := surveys.Move{Was: was, Is: was}
				m.Is.Rev, m.Is.Disposition = was.Rev+1, d
				if j > 0 {
					m.Is.Started = at
				}
				if j > 1 {
					m.Is.Reached = at
				}
				want[m.Is.Group()]++
				w.Moves = append(w.Moves, m)
			}
		}
		if out, err := s.Work(ctx, w); err != nil || len(out.Stale) > 0 {
			t.Fatal(out, err)
		}
		newer := 0
		for _, name := range stepNames(t, "sqlite") {
			if name >= "00032" {
				newer++
			}
		}
		if err := s.MigrateDown(ctx, newer); err != nil {
			t.Fatal(err)
		}
		if err := s.MigrateUp(ctx); err != nil {
			t.Fatal(err)
		}
		got, err := s.Counts(ctx, v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Respondents); d != "" {
			t.Errorf("sums (-want +got):\n%s", d)
		}
	})
}

// TestMigrate_CountsAnswersByDayAndLanguage goes back to before answers were counted by day and language, and forth again:
// those of before are counted without, and an answer that replaces one of them takes it away from there.
func TestMigrate_CountsAnswersByDayAndLanguage(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		ctx := t.Context()
		s := storetest.Open(t, url, persistence.Options{})
		v, _, err := s.PutSurvey(ctx, surveys.Survey{Name: "flu"}, document.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		added, err := s.Add(ctx, v.ID, 0, []surveys.Respondent{{Phone: "+15550001"}, {Phone: "+15550002"}})
		if err != nil {
			t.Fatal(err)
		}
		var want map[surveys.AnswerSum]int
		record := func(value string, day int, language string) {
			t.Helper()
			w := surveys.Work{Survey: v.ID}
			for i, a := range added {
				was, err := s.Respondent(ctx, v.ID, a.ID)
				if err != nil {
					t.Fatal(err)
				}
				stored, err := s.Answers(ctx, v.ID, []surveys.RespondentID{a.ID})
				if err != nil {
					t.Fatal(err)
				}
				m := surveys.Move{Was: was, Is: was}
				m.Is.Rev, m.Is.Arm = was.Rev+1, i
				m.Answers = []surveys.Recorded{{
					Answer: questions.Answer{Question: "q", Status: questions.Answered, Value: value, Day: day, Language: language}, Kind: questions.ChooseMany, Was: stored[a.ID]["q"], At: time.Now(),
				}}
				w.Moves = append(w.Moves, m)
			}
			if out, err := s.Work(ctx, w); err != nil || len(out.Stale) > 0 {
				t.Fatal(out, err)
			}
		}
		check := func(what string, by surveys.SumsBy) {
			t.Helper()
			got, err := s.AnswerSums(ctx, surveys.SumFilter{Survey: v.ID, Arm: surveys.AllArms, By: by})
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, by %q (-want +got):\n%s%v", what, by, d, err)
			}
		}
		record("a b", 20_000, "es")
		downBefore(t, s, "00038")
		if err := s.MigrateUp(ctx); err != nil {
			t.Fatal(err)
		}
		of := func(value string, day int, language string) surveys.AnswerSum {
			return surveys.AnswerSum{Question: "q", Status: questions.Answered, Value: value, Day: day, Language: language}
		}
		want = map[surveys.AnswerSum]int{of("", 0, ""): 2, of("a", 0, ""): 2, of("b", 0, ""): 2}
		check("of before", surveys.ByDay)
		check("of before", surveys.ByLanguage)
		record("b", 20_001, "en")
		want = map[surveys.AnswerSum]int{of("", 20_001, ""): 2, of("b", 20_001, ""): 2}
		check("of now", surveys.ByDay)
		want = map[surveys.AnswerSum]int{of("", 0, "en"): 2, of("b", 0, "en"): 2}
		check("of now", surveys.ByLanguage)
		if oldest, err := s.OldestStep(ctx); err != nil || oldest < 38 {
			t.Errorf("a program that knows step %d could write (%v)", oldest, err)
		}
	})
}

// TestMigrate_AheadCountsStepsOfANewerProgram looks at a schema from which the program
// went back.
func TestMigrate_AheadCountsStepsOfANewerProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.db")
	s := storetest.OpenOnly(t, "sqlite://"+file, persistence.Options{})
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for want := range 3 {
		if n, err := s.Ahead(t.Context()); n != want || err != nil {
			t.Errorf("%d steps ahead, want %d (%v)", n, want, err)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)", 1000+want); err != nil {
			t.Fatal(err)
		}
	}
}

func wantPending(t *testing.T, s *persistence.Store, want int) {
	t.Helper()
	if n, err := s.Pending(t.Context()); n != want || err != nil {
		t.Errorf("%d steps pending, want %d (%v)", n, want, err)
	}
}

// TestMigrate_SixProcessesMayStartAtOnce lets six processes start on one database: one after the other owns it.
func TestMigrate_SixProcessesMayStartAtOnce(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		var wg sync.WaitGroup
		for range 6 {
			s := storetest.OpenOnly(t, url, persistence.Options{})
			wg.Go(func() {
				err := s.Own(context.Background())
				if err == nil {
					err = s.MigrateUp(context.Background())
				}
				if err != nil {
					t.Error(err)
				}
				wantPending(t, s, 0)
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := storetest.OpenOnly(t, url, persistence.Options{})
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "a"})
		if err != nil || c.ID != 1 {
			t.Errorf("the first channel has id %d (%v)", c.ID, err)
		}
	})
}

// TestMigrate_DialectsHaveTheSameSteps holds both folders to the same numbers and
// names.
func TestMigrate_DialectsHaveTheSameSteps(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(stepNames(t, "sqlite"), stepNames(t, "mysql")); d != "" {
		t.Errorf("steps (-sqlite +mysql):\n%s", d)
	}
}

func stepNames(t *testing.T, folder string) []string {
	t.Helper()
	fsys, err := migrations.For(folder)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d steps in %s (%v)", len(names), folder, err)
	}
	return names
}

func TestOpen_RefusesABadURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, want string }{
		"no scheme":       {"mysql:/u:secret@h/weir", "it has no scheme; want one of mysql://, sqlite://"},
		"unknown scheme":  {"postgres://x", `scheme "postgres" is not known; want one of mysql://, sqlite://`},
		"no path":         {"sqlite://", "the path is missing"},
		"no folder":       {"sqlite://" + filepath.Join(t.TempDir(), "none", "weir.db"), "does not exist; make it"},
		"no database":     {"mysql://u:secret@127.0.0.1:3306", "the name of the database is missing"},
		"no host":         {"mysql://u:secret@/weir", "the host is missing"},
		"bad escape":      {"mysql://u:secret%zz@h/weir", "%25"},
		"parameter":       {"mysql://u:secret@h/weir?parseTime=true", `parameter "parseTime" is not one of ours`},
		"tls":             {"mysql://u:secret@h/weir?tls=maybe", "allowed: true, false, skip-verify, preferred"},
		"no server there": {"mysql://u:secret@127.0.0.1:1/weir", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := persistence.Open(t.Context(), c.url, persistence.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}
