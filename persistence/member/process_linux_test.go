package member

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"weir/internal/polling"
)

func TestWhichProcessIsCertainlyDead(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := ProcessID(cmd.Process.Pid)
	owner := "host-name-abc-" + id
	if certainlyDead(owner) {
		t.Errorf("%s runs", owner)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !polling.Until(10*time.Second, time.Millisecond, func() bool { return certainlyDead(owner) }) { // killed, and not waited for
		t.Errorf("%s was killed", owner)
	}
	_ = cmd.Wait()
	if !certainlyDead(owner) {
		t.Errorf("%s is dead", owner)
	}
	machine, mine := id[:8], ProcessID(os.Getpid())
	for name, dead := range map[string]bool{
		"host-abc-" + mine: false,
		fmt.Sprintf("host-abc-%s.%d.1", machine, os.Getpid()):  true, // another process had the number
		fmt.Sprintf("host-abc-00000000.%d.1", cmd.Process.Pid): false,
		"host-abc": false, "": false, "host-abc-a.b.c": false, "a-" + machine + ".0.0": false,
	} {
		if certainlyDead(name) != dead {
			t.Errorf("%q: certainly dead: %v", name, !dead)
		}
	}
}
