package peers

import (
	"testing"
	"time"
)

// A standby without a key of people that the owner has would end as soon as it owned the database.
// More keys, or those that the owner does not have, are no hindrance.
func TestProcess_LacksAKeyThatTheOwnerHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner, standby string
		said, lacks    bool
	}{
		"the same": {"a", "a", true, false}, "another one": {"a", "b", true, true}, "none": {"a", "", true, true}, "more": {"a", "b,a", true, false},
		"one of two": {"a,b", "a", true, true}, "one, where the owner has none": {"", "a", true, false}, "both none": {"", "", true, false}, "an older program": {"a", "", false, false},
	} {
		owner, standby := Process{Digests: map[string]string{KeysDigest: c.owner}}, Process{Digests: map[string]string{}}
		if c.said {
			standby.Digests[KeysDigest] = c.standby
		}
		s := &Server{o: Options{Self: owner}, epoch: 1, standbys: map[int64]*Standby{1: {}}}
		s.standbys[1].checked = time.Now().Add(time.Hour) // no connection is tried
		standby.Start = 1
		s.note(standby)
		if got := s.standbys[1]; (got.Hindered != "") != c.lacks || got.last() != c.lacks {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
