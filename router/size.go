package router

import (
	"encoding/json"

	"weir/router/resource"
)

// The memory that clients use is bounded by what they store, not by how many resources
// there are, because a resource may have 1 kB or a hundred. The sizes are estimates: a
// fixed part, texts, and the entries of lists. They follow from the events, so that
// every process counts the same.

// QuotaExceeded is the Code of the detail of a refusal for lack of room.
const QuotaExceeded = "quota_exceeded"

// fixedSize is the part of a resource's size that does not depend on its content.
const fixedSize = 512

// entity identifies a resource that is not a job. Jobs have their size themselves,
// because there are many.
type entity struct {
	kind resource.Kind
	id   string
}

func sizeOf(spec any) int {
	text, _ := json.Marshal(spec) //nolint:errchkjson // it was validated
	return fixedSize + 2*len(text)
}

// sizeOfWorker leaves out whether the worker is available: that also changes with events
// that have no specification.
func sizeOfWorker(spec resource.WorkerSpec) int {
	spec.AvailableForOffers = false
	return sizeOf(&spec)
}
