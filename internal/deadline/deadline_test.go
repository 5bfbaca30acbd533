package deadline_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/internal/deadline"
)

type key struct{}

// Whatever is done to it, and whenever a caller begins to wait, it ends like a
// context of the standard library.
func TestAsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		limit := time.Duration(rapid.IntRange(0, 5).Draw(r, "limit")) * time.Second
		of := time.Duration(rapid.IntRange(1, 8).Draw(r, "the parent's")) * time.Second
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"wait", "ask", "sleep", "parent", "end"}), 1, 12).Draw(r, "steps")
		problem := ""
		synctest.Test(t, func(*testing.T) { problem = compare(limit, of, steps) })
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

// compare applies steps to a context of either kind, and returns how they differ.
func compare(limit, of time.Duration, steps []string) string {
	parent, stop := context.WithTimeout(context.WithValue(context.Background(), key{}, 1), of)
	defer stop()
	want, end := context.WithTimeout(parent, limit)
	defer end()
	got := deadline.In(parent, limit)
	defer got.End()
	for _, step := range append([]string{"begin"}, steps...) {
		switch step {
		case "wait":
			if over(want) != over(got) {
				return "a waiting goroutine sees another state"
			}
		case "sleep":
			time.Sleep(time.Second)
		case "parent":
			stop()
		case "end":
			end()
			got.End()
		}
		synctest.Wait()
		if a, b := want.Err(), got.Err(); a != b { //nolint:errorlint // the very same
			return fmt.Sprintf("after %s: %v, want %v", step, b, a)
		}
	}
	at, ok := got.Deadline()
	if wantAt, _ := want.Deadline(); !ok || !at.Equal(wantAt) || got.Value(key{}) != 1 || over(want) != over(got) {
		return fmt.Sprintf("until %v, %v, with %v; want %v", at, ok, got.Value(key{}), wantAt)
	}
	return ""
}

func over(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// Waiters are woken at the instant, by the parent, and by End.
func TestWakes(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(*deadline.Context, context.CancelFunc){
		"the instant": func(*deadline.Context, context.CancelFunc) {},
		"the parent":  func(_ *deadline.Context, stop context.CancelFunc) { stop() },
		"the end":     func(c *deadline.Context, _ context.CancelFunc) { c.End() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				parent, stop := context.WithCancel(t.Context())
				defer stop()
				c := deadline.In(parent, time.Minute)
				go func() { time.Sleep(time.Second); wake(c, stop) }()
				begun := time.Now()
				<-c.Done()
				want := time.Second
				if name == "the instant" {
					want = time.Minute
				}
				if took := time.Since(begun); took != want {
					t.Errorf("it took %v, want %v", took, want)
				}
			})
		})
	}
}

// Without waiters there is nothing to free.
func TestCostsNothing(t *testing.T) {
	parent, stop := context.WithCancel(t.Context())
	defer stop()
	if n := testing.AllocsPerRun(100, func() {
		c := deadline.In(parent, time.Minute)
		if c.Err() != nil {
			t.Error(c.Err())
		}
		c.End()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
