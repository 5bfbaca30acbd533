package journal

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Exactly the events of the API's catalog are public.
func TestKinds_OfEvents(t *testing.T) {
	t.Parallel()
	var public []string
	d := NewDecoder()
	for _, e := range Examples() {
		kind := e.Kind()
		data, err := Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := d.Decode(data)
		if err != nil || len(back) != 1 || back[0].Kind() != kind {
			t.Errorf("%s is decoded as %v, %v", kind, back, err)
		}
		if Public(e) {
			public = append(public, strings.TrimPrefix(kind, "Router"))
		}
	}
	slices.Sort(public)
	want := strings.Fields(`JobCancelled JobClassificationFailed JobClassified JobClosed JobCompleted JobDeleted
		JobExceptionTriggered JobQueued JobReceived JobSchedulingFailed JobUnassigned JobWaitingForActivation
		JobWorkerSelectorsExpired WorkerDeleted WorkerDeregistered WorkerOfferAccepted WorkerOfferDeclined
		WorkerOfferExpired WorkerOfferIssued WorkerOfferRevoked WorkerRegistered WorkerUpdated`)
	if diff := cmp.Diff(want, public); diff != "" {
		t.Error(diff)
	}
	if _, err := d.Decode([]byte("nothing {}\n")); err == nil {
		t.Error("an unknown event was decoded")
	}
	if _, err := d.Decode([]byte("RouterJobQueued {\"seq\":\"x\"}\n")); err == nil {
		t.Error("a broken event was decoded")
	}
}
