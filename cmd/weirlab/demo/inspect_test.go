package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/client"
)

// sound returns a dossier without faults: one person answered a call, one answered by
// message, one wrote STOP, one was never reached, and two were not needed.
func sound() dossier {
	row := func(id, phone, status, disposition string) client.RespondentView {
		return client.RespondentView{ID: id, Phone: phone, Status: status, Disposition: disposition, Attributes: map[string]string{"region": "north"}}
	}
	return dossier{
		Survey: "s", State: "done", Cause: "reached",
		People: []person{{phone: "+15551"}, {phone: "+15552"}, {phone: "+15553"}, {phone: "+15554"}, {phone: "+15555"}, {phone: "+15556"}},
		Rows: []client.RespondentView{
			row("r1", "+15551", "completed", "completed"), row("r2", "+15552", "completed", "completed"), row("r3", "+15553", "failed", "refused"),
			row("r4", "+15554", "failed", "unresponsive"), row("r5", "+15555", "rejected", "rejected"), row("r6", "+15556", "canceled", "registered"),
		},
		Stats: client.StatsView{
			Respondents:  6,
			Statuses:     map[string]int{"completed": 2, "failed": 2, "rejected": 1, "canceled": 1, "active": 0},
			Dispositions: map[string]int{"completed": 2, "refused": 1, "unresponsive": 1, "rejected": 1, "registered": 1},
		},
		Quotas:  map[string]int{"north": 2},
		Calls:   map[string]int{"15551": 1, "15552": 3, "15553": 3, "15554": 2},
		Texts:   map[string]int{"15552": 2, "15553": 1, "15554": 2},
		Unclear: map[string]int{"15554": 1}, Stopped: map[string]bool{"15553": true}, Answered: map[string]bool{"15552": true},
		Completed: map[string]bool{"r1": true, "r2": true}, Late: map[string]bool{}, Sent: map[string]int{"r2": 1},
	}
}

func TestInspect_FindsEveryFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*dossier)
		want   []string
	}{
		{"nothing wrong", func(*dossier) {}, nil},
		{"running", func(d *dossier) { d.State = "running" }, []string{"s: not done"}},
		{"a respondent dropped", func(d *dossier) {
			d.Rows = d.Rows[:5]
			d.Stats.Respondents, d.Stats.Statuses["canceled"], d.Stats.Dispositions["registered"] = 5, 0, 0
		}, []string{"s: the table adds up to 5, and 6 are in the file", "s: 1 lost"}},
		{"a respondent exchanged", func(d *dossier) { d.Rows[5].Phone = "+15559" }, []string{"s: 1 lost", "s: 1 in the survey that are not in the file"}},
		{"a respondent twice", func(d *dossier) { d.Rows[5].Phone = "+1 555 5" }, []string{"s: 1 lost", "s: 1 there twice"}},
		{"still being contacted", func(d *dossier) {
			d.Rows[3].Status = "active"
			d.Stats.Statuses["active"], d.Stats.Statuses["failed"] = 1, 1
		}, []string{"s: 1 not final"}},
		{"never started", func(d *dossier) {
			d.Rows[5].Status = "pending"
			d.Stats.Statuses["pending"], d.Stats.Statuses["canceled"] = 1, 0
		}, []string{"s: 1 not final"}},
		{"its own sums differ", func(d *dossier) { d.Stats.Statuses["failed"] = 3 }, []string{"s: its figures are wrong by 1"}},
		{"its own total differs", func(d *dossier) { d.Stats.Respondents = 8 }, []string{"s: its figures are wrong by 2"}},
		{"called too often", func(d *dossier) { d.Calls["15551"] = 4 }, []string{"s: 1 contacted more often than allowed"}},
		{"written to too often", func(d *dossier) { d.Texts["15552"] = 4 }, []string{"s: 1 contacted more often than allowed"}},
		{"given up too early", func(d *dossier) { d.Texts["15554"] = 1 }, []string{"s: 1 given up too early"}},
		{"a STOP that was not heard", func(d *dossier) {
			d.Rows[2].Disposition = "unresponsive"
			d.Stats.Dispositions["refused"], d.Stats.Dispositions["unresponsive"] = 0, 2
		}, []string{"s: 1 wrote and were not heard"}},
		{"an answer that was not heard", func(d *dossier) { d.Answered["15554"] = true }, []string{"s: 1 wrote and were not heard"}},
		{"an answer that came too late", func(d *dossier) { d.Answered["15554"], d.Late["r4"] = true, true }, nil},
		{"completed without the application", func(d *dossier) { delete(d.Completed, "r1") }, []string{"s: 1 completed in Weir or in the application, but not in both"}},
		{"reported and forgotten", func(d *dossier) { d.Completed["r4"] = true }, []string{"s: 1 completed in Weir or in the application, but not in both"}},
		{"a quota that is not full", func(d *dossier) { d.Quotas["north"] = 3 }, []string{"s: 1 quotas that are not full"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := sound()
			tt.change(&d)
			v := inspect(d)
			if diff := cmp.Diff(tt.want, v.faults()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInspect_TheTableOfEndsAddsUp(t *testing.T) {
	t.Parallel()
	other := sound()
	other.Survey = "another"
	got := endTable([]verdict{inspect(sound()), inspect(other)})
	want := []string{
		"  status       disposition   s  another",
		"  completed    completed     2        2",
		"  failed       refused       1        1",
		"  failed       unresponsive  1        1",
		"  rejected     rejected      1        1",
		"  canceled     registered    1        1",
		"  sum                        6        6",
		"  in the file                6        6",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
