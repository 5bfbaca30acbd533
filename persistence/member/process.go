package member

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ProcessID identifies a process of this machine: by the machine's boot and the
// namespace of process numbers, the number, and when the process started. It is
// empty where the system does not provide that.
func ProcessID(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	started := startOf(pid)
	if err != nil || started == "" {
		return ""
	}
	sum := sha256.Sum256(append(boot, space...))
	return fmt.Sprintf("%x.%d.%s", sum[:4], pid, started)
}

// startOf returns when a process started, in ticks since the boot, or "ended" for
// one that was not yet waited for. It is empty if that cannot be read.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name of the program, in parentheses, may contain anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, start = 0, 19
	switch {
	case len(fields) <= start:
		return ""
	case fields[state] == "Z" || fields[state] == "X":
		return "ended"
	}
	return fields[start]
}

// certainlyDead reports whether the process that an owner's name ends with ran on
// this machine and runs no more. Of other machines, and other containers, it
// cannot be known.
func certainlyDead(owner string) bool {
	id := strings.Split(owner[strings.LastIndexByte(owner, '-')+1:], ".")
	machine, _, known := strings.Cut(ProcessID(os.Getpid()), ".")
	if len(id) != 3 || !known || id[0] != machine {
		return false
	}
	pid, err := strconv.Atoi(id[1])
	if err != nil || pid <= 0 {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	now := startOf(pid)
	return now != "" && now != id[2]
}
