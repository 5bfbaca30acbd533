package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks per second of the figures in /proc; the same on every Linux.
const ticks = 100

// Own returns the resources that this process has used, without its peak memory.
func Own() Usage {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return Usage{}
	}
	return Usage{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), Written: int64(u.Oublock) * 512} //nolint:unconvert // it is shorter on some machines
}

// OwnPeak returns the peak memory of this process. The value of getrusage may be
// that of the process which started this one.
func OwnPeak() int64 { return peakOf(os.Getpid()) }

// Of returns the resources that another process has used.
func Of(pid int) (Usage, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return Usage{}, fmt.Errorf("/proc/%d/stat has no times", pid)
	}
	return Usage{CPU: time.Duration(user+system) * time.Second / ticks, Peak: peakOf(pid), Written: number(pid, "io", "write_bytes:", "")}, nil
}

func peakOf(pid int) int64 { return number(pid, "status", "VmHWM:", " kB") << 10 }

// PSS returns the proportional set size of a process in bytes.
func PSS(pid int) int64 { return number(pid, "smaps_rollup", "Pss:", " kB") << 10 }

// number reads a line of one of the kernel's files about a process; 0 if there is none.
func number(pid int, file, name, unit string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), unit), 10, 64)
			return n
		}
	}
	return 0
}

// busy returns the CPU time that all processes of the machine have used.
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
			break // guest time is already counted as user time
		}
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks
}

// FreeBytes returns how many more bytes a folder can store; false if unknown.
func FreeBytes(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // it is shorter on some machines
}
