package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks per second of the figures in /proc; Linux shows the same everywhere.
const ticks = 100

// ownCost is what this process has used; its peak is not among it.
func ownCost() cost {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return cost{}
	}
	return cost{cpu: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

// ownPeak is the peak of this process's memory. What getrusage says of it may be
// that of the process which started this one.
func ownPeak() int64 { return peakOf(os.Getpid()) }

// costOf is what another process has used.
func costOf(pid int) (cost, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return cost{}, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return cost{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return cost{}, fmt.Errorf("/proc/%d/stat has no times", pid)
	}
	return cost{cpu: time.Duration(user+system) * time.Second / ticks, peak: peakOf(pid)}, nil
}

func peakOf(pid int) int64 { return memory(pid, "status", "VmHWM:") }

// pssOf is the proportional set size of a process in bytes.
func pssOf(pid int) int64 { return memory(pid, "smaps_rollup", "Pss:") }

// memory reads a line of one of the files that the kernel has on a process.
func memory(pid int, file, name string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// busy is what all processes of the machine have used.
func busy() time.Duration {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line)
	sum := int64(0)
	for i, f := range fields {
		if i == 0 || i == 4 || i == 5 { // its name, idle, waiting
			continue
		}
		if i > 8 {
			break // guests are counted as users, too
		}
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks
}

// freeBytes is how much more a folder takes of files; false if nobody knows.
func freeBytes(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // it is shorter on some machines
}
