package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTenures_ListWhoOwnedTheDatabaseWhen(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) time.Time { return epoch().Add(time.Duration(seconds * float64(time.Second))) }
	c := &cluster{ended: map[int64]ending{}}
	c.began(1, 1, at(1))
	c.ended[1] = ending{at(10), "killed"}
	c.began(3, 2, at(15.5))
	c.began(1, 1, at(16)) // it does not know yet that it is the owner no longer
	c.began(2, 5, at(20))
	c.ended[5] = ending{at(30), "the end"}
	want := []string{
		"  process  until    epoch    from      to  without an owner before",
		"  1        killed       1   1.0 s  10.0 s",
		"  3        lost it      2  15.5 s  20.0 s                   5.50 s",
		"  2        the end      5  20.0 s  30.0 s                   0.00 s",
	}
	if diff := cmp.Diff(want, c.owners(epoch())); diff != "" {
		t.Error(diff)
	}
}
