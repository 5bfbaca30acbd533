package router_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/router"
	"weir/router/journal"
)

// What an earlier release stored is read: its journal replays to the state of its
// snapshot, byte for byte. The files are never written anew.
func TestStored_EarlierBytesAreRead(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		data, err := os.ReadFile("testdata/stored." + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	snapshot := read("snapshot")
	replayed := router.New(router.DefaultSettings())
	events, err := journal.NewDecoder().Decode(read("journal"))
	if err == nil {
		err = replayed.Replay(events...)
	}
	if err != nil {
		t.Fatal(err)
	}
	restored, err := router.Restore(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*router.State{"replayed": replayed, "restored": restored} {
		got, err := s.Snapshot()
		if diff := cmp.Diff(string(snapshot), string(got)); diff != "" || err != nil {
			t.Errorf("%s (-stored +got): %v\n%s", name, err, diff)
		}
	}
	again, err := journal.Append(nil, events...)
	if diff := cmp.Diff(string(read("journal")), string(again)); diff != "" || err != nil {
		t.Errorf("journal (-stored +got): %v\n%s", err, diff)
	}
}
