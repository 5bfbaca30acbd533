//go:build disk && linux

package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/test/daemontest"
)

// disk is a small file system in memory, with a database.
type disk struct {
	*testing.T
	folder, database string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t, t.TempDir(), ""}
	if err := syscall.Mount("weir", d.folder, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("this test mounts a file system, as root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(d.folder, syscall.MNT_DETACH) })
	content, err := os.ReadFile(makeBackup(t))
	d.database = filepath.Join(d.folder, "weir.db")
	if err == nil {
		err = os.WriteFile(d.database, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// leave resizes the file system so that so many kilobytes are left.
func (d *disk) leave(kilobytes uint64) {
	d.Helper()
	var is syscall.Statfs_t
	err := syscall.Statfs(d.folder, &is)
	if err == nil {
		used := (is.Blocks - is.Bfree) * uint64(is.Bsize) >> 10
		err = syscall.Mount("weir", d.folder, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dk", used+kilobytes))
	}
	if err != nil {
		d.Error(err)
	}
}

// A start on a full disk says what it needs, and goes on once there is a little room: then it
// answers what is read, refuses what is written once the disk is full again, and takes changes as
// soon as there is more.
func TestDisk_StartOnAFullOne(t *testing.T) {
	d, log := newDisk(t), &daemontest.Log{}
	d.leave(100)
	go func() {
		if polling.Until(time.Minute, 10*time.Millisecond, func() bool { return strings.Contains(log.String(), "disk of the database full") }) {
			d.leave(300)
		}
	}()
	url, _ := runOn(t, d.database, log)
	if !strings.Contains(log.String(), "needed=262144") || get(t, url+"/v1/channels/of-the-backup") != http.StatusOK {
		t.Fatal(log)
	}
	taken, last := 0, 0
	for ; taken < 1000 && last < 500; taken++ {
		last = put(t, url, fmt.Sprint("c", taken))
	}
	if last != http.StatusServiceUnavailable || get(t, url+"/readyz") != http.StatusServiceUnavailable {
		t.Errorf("the change %d on a full disk: %d", taken, last)
	}
	if status := get(t, url+"/v1/channels/of-the-backup"); status != http.StatusOK {
		t.Errorf("a read on a full disk: %d", status)
	}
	d.leave(64 << 10)
	if !polling.Until(time.Minute, 10*time.Millisecond, func() bool { return put(t, url, "later") < 300 && get(t, url+"/readyz") == http.StatusOK }) {
		t.Errorf("it does not go on:\n%s", log)
	}
}
