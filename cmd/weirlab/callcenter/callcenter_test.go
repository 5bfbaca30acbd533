package callcenter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/cmd/weirlab/callcenter"
)

// With too few agents contacts abandon, and every contact is accounted for.
func TestSimulation_AccountsForEveryContact(t *testing.T) {
	t.Parallel()
	got, err := callcenter.Simulation{}.Run()
	if err != nil {
		t.Fatal(err)
	}
	want := callcenter.Results{Agents: 40, Contacts: 100, Assigned: 100, Available: 40, Lasted: got.Lasted, Events: got.Events}
	if diff := cmp.Diff(want, got); diff != "" || got.Lasted < 49*time.Second {
		t.Error(got.Lasted, diff)
	}
	again, _ := callcenter.Simulation{}.Run()
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("it is not deterministic: %s", diff)
	}
	if got, err = (callcenter.Simulation{Agents: 4}).Run(); err != nil || got.Assigned+got.Abandoned != 100 || got.Abandoned == 0 || got.Available != 4 || got.Queued != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := callcenter.Simulation{
			Agents: rapid.IntRange(1, 60).Draw(t, "agents"), Contacts: rapid.IntRange(1, 200).Draw(t, "contacts"), Seed: rapid.Uint64().Draw(t, "seed"),
			Every: rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second}).Draw(t, "every"),
		}
		if got, err := o.Run(); err != nil || got.Assigned+got.Abandoned != o.Contacts || got.Queued != 0 || got.Available != o.Agents {
			t.Errorf("%+v: %+v, %v", o, got, err)
		}
	})
}
