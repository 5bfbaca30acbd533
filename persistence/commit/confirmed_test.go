package commit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestConfirmations_TellSinceWhenCommitsAreMissing(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var c confirmations
	for i := range 40 { // 100 ms hold four batches
		c.add(int64(i+1), start.Add(time.Duration(i)*25*time.Millisecond))
	}
	for number, want := range map[int64]string{
		40: "", 50: "",
		39: "since 2026-03-01T12:00:00.9Z", // the 40th was confirmed at .975: the first of its step counts
		20: "since 2026-03-01T12:00:00.5Z",
		0:  "since 2026-03-01T12:00:00Z",
	} {
		err := c.missing(number, c.latest())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "commits are missing "+want+":") {
			t.Errorf("a database that has %d: %v, want %q", number, err, want)
		}
	}
	for i := range 2 * maxConfirmations {
		c.add(int64(i+41), start.Add(time.Duration(i)*time.Second))
	}
	if err := c.missing(1, c.latest()); !strings.Contains(fmt.Sprint(err), "since before ") {
		t.Errorf("what is no longer remembered: %v", err)
	}
	if n := len(c.instants); n > maxConfirmations {
		t.Errorf("it remembers %d instants", n)
	}
}
