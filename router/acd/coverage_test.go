package acd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// feature is a row of the table: a capability or a weakness of one of the two
// systems, and the test that shows Weir's behavior. A row whose test needs more
// than the engine names a test elsewhere.
type feature struct {
	id        string
	what      string
	test      func(*testing.T)
	elsewhere string // folder: names of the tests
}

// features returns the table. ACD and R rows come from the contact ACD, FIFO
// and D rows from the article on filtered queues.
func features() []feature {
	return []feature{
		{"ACD-1", "a contact gets who has all its skills", allSkills, ""},
		{"ACD-2", "first come, first served over all contacts", firstComeFirstServed, ""},
		{"ACD-3", "longest available agent first", longestAvailable, ""},
		{"ACD-4", "agents and skills change at any time", agentsChange, ""},
		{"ACD-5", "the same state again changes nothing", sameStateAgain, ""},
		{"ACD-6", "open, closed for assignment, closed for contacts", openAndClosed, ""},
		{"ACD-7", "abandoning is a state, and frees at once", abandons, ""},
		{"ACD-8", "finished contacts can be read for hours", finishedIsKept, ""},
		{"ACD-9", "several dispatchers at once", manyDispatchers, ""},
		{"ACD-10", "waiting instead of polling", wokenAtOnce, ""},
		{"ACD-11", "any process may die", nil, "actors/router: TestRecovery_AnyCrashIsRecoveredFrom, TestJournal_RefusesWritesOfAnEarlierState"},
		{"ACD-12", "a health check that tells the truth", nil, "web: TestHTTP_ReadinessNamesEveryReason"},
		{"ACD-13", "the simulator's sums", nil, "cmd/weirlab/callcenter: TestSimulation_AccountsForEveryContact"},
		{"ACD-14", "configured by the environment", nil, "config: TestConfig_AnEmptyEnvironmentGivesTheDefaults"},
		{"ACD-15", "killed at any point", crashAnywhere, ""},

		{"FIFO-1", "in all its queues, or in none", allQueuesOrNone, ""},
		{"FIFO-2", "filter and first in, first out", articleInOrder, ""},
		{"FIFO-3", "last in, first out", articleNewestFirst, ""},
		{"FIFO-4", "leaves all its queues at once", articleInOrder, ""},
		{"FIFO-5", "a version for each queue", versionsOfQueues, ""},
		{"FIFO-6", "the depth of each queue is true", depthIsTrue, ""},
		{"FIFO-7", "available, queued, attending, released", stateOfAgents, ""},
		{"FIFO-8", "made-up agents", seededAgents, ""},
		{"FIFO-9", "the store is made and taken down by command", nil, "persistence: TestMigrate_GoesUpDownAndUpAgain"},
		{"FIFO-10", "asking by combination", filterForms, ""},
		{"FIFO-11", "more than a hundred combinations", manyCombinations, ""},
		{"FIFO-12", "a caller without a free agent waits", callersWait, ""},

		{"R1", "a crash while assigning loses the contact", crashWhileAssigning, ""},
		{"R2", "losing a race kills the loser", articleRaceForOne, ""},
		{"R3", "abandoned contacts take agents", abandons, ""},
		{"R4", "one bad contact stops everybody", poison, ""},
		{"R5", "what waits is dropped by age", waitingOutlivesFinished, ""},
		{"R6", "who waits becomes younger", positionIsKept, ""},
		{"R7", "who cannot be served stands in the way", unservedCallersBlockNone, ""},
		{"R8", "availability is counted for each skill", longestAvailable, ""},
		{"R9", "an agent without skills is not available", withoutSkills, ""},
		{"R10", "a contact is made in two writes", oneWrite, ""},
		{"R11", "an assignment is several writes", oneWrite, ""},
		{"R12", "closed is no state", openAndClosed, ""},
		{"R13", "opening and closing overlook each other", everybodyAtOnce, ""},
		{"R14", "an agent is deleted in a call", notDeletedInACall, ""},
		{"R15", "refusals become internal errors", refusalsHaveCodes, ""},
		{"R16", "skills are there twice", skillsAreASet, ""},
		{"R17", "what has ended counts as waiting", depthCountsWaiting, ""},
		{"R18", "who was paused acts on what was", staleWritesAreRefused, ""},
		{"R19", "nothing is durable", answeredIsDurable, ""},
		{"R20", "no caller is authenticated", nil, "web/router: TestSignature_EveryErrorIsRefused"},
		{"R21", "order by the clocks of several machines", clocksDoNotMatter, ""},
		{"R22", "agents receive no notification", agentsAreTold, ""},

		{"D1", "a lost race is a crash", articleRaceForOne, ""},
		{"D2", "others who come meanwhile are a conflict", articleQueuedMeanwhile, ""},
		{"D3", "queued twice, assigned twice", articleRaceToQueue, ""},
		{"D4", "one of two at the same instant is lost", sameInstant, ""},
		{"D5", "namesakes overwrite each other", namesakes, ""},
		{"D6", "attributes are code", anyAttribute, ""},
		{"D7", "depths are wrong and negative", depthIsTrue, ""},
		{"D8", "order by local time", clocksDoNotMatter, ""},
		{"D9", "one combination for each question", richQuestions, ""},
		{"D10", "everything changes one row", otherQueuesDoNotChange, ""},
		{"D11", "lists without bounds", listsAreBounded, ""},
		{"D12", "deleting what is not there succeeds", refusalsHaveCodes, ""},
		{"D13", "no agent is freed, or all are", stateOfAgents, ""},
		{"D14", "a caller without a free agent is forgotten", callersWait, ""},
		{"demonstration", "the article's figures, from nothing", articleDemonstration, ""},
	}
}

// TestACD_Features runs each test once, under the names of all its rows.
func TestACD_Features(t *testing.T) {
	t.Parallel()
	rows := map[uintptr][]string{}
	for _, f := range features() {
		if f.test != nil {
			p := reflect.ValueOf(f.test).Pointer()
			rows[p] = append(rows[p], f.id)
		}
	}
	for _, f := range features() {
		if f.test == nil {
			continue
		}
		ids := rows[reflect.ValueOf(f.test).Pointer()]
		if ids[0] == f.id {
			t.Run(strings.Join(ids, ","), func(t *testing.T) {
				t.Parallel()
				f.test(t)
			})
		}
	}
}

// The table is complete, the tests it names exist, and the documentation
// mentions each row.
func TestACD_TheTableIsComplete(t *testing.T) {
	t.Parallel()
	want := map[string]int{"ACD": 15, "FIFO": 12, "R": 22, "D": 14}
	rows := map[string]bool{}
	for _, f := range features() {
		if rows[f.id] || f.what == "" || (f.test == nil) == (f.elsewhere == "") {
			t.Errorf("row %s is there twice or not whole", f.id)
		}
		rows[f.id] = true
		if f.elsewhere != "" && !exists(t, f.elsewhere) {
			t.Errorf("%s: there is no %s", f.id, f.elsewhere)
		}
	}
	for prefix, n := range want {
		join := ""
		if len(prefix) > 1 {
			join = "-"
		}
		for i := range n {
			if id := fmt.Sprint(prefix, join, i+1); !rows[id] {
				t.Errorf("there is no row %s", id)
			}
		}
	}
	text, err := os.ReadFile("../../docs/acd-and-fifo.md")
	if err != nil {
		t.Fatal(err)
	}
	for id := range rows {
		if !strings.Contains(string(text), "| "+id+" |") && id != "demonstration" {
			t.Errorf("docs/acd-and-fifo.md does not speak of %s", id)
		}
	}
}

// exists looks up tests by folder and names.
func exists(t *testing.T, where string) bool {
	t.Helper()
	folder, names, _ := strings.Cut(where, ": ")
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for name := range strings.SplitSeq(names, ", ") {
		if !strings.Contains(all.String(), "func "+name+"(") {
			return false
		}
	}
	return true
}
