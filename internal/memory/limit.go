// Package memory has Go's garbage collector run as often as the memory requires that the process may use.
//
// A small heap that is allowed to double is collected many times a second under load. Three things prevent that:
//
//   - Headroom: the process allocates memory that it never touches. The collector counts it, the system maps no
//     page for it.
//   - The limit of the container (control groups, version 1 and 2) is Go's soft limit, unless GOMEMLIMIT is set:
//     close to it the collector runs more often.
//   - With a limit of either kind, the heap may grow to five times what is alive (GOGC=400) as long as that is below
//     half of the limit. It may always double, as by default. Without a limit nothing is known about what the process
//     may use, and GOGC stays 100. If GOGC is set, it stays as it is.
package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limit returns the memory in bytes that the container of this process may use: the lowest limit of its control
// group and of those above. It returns 0 if none is below the memory of the machine. root is the root of the file
// system.
func Limit(root fs.FS) int64 {
	machine := installed(root)
	lowest := machine
	for _, g := range groups(root) {
		for dir := g.dir; ; dir = path.Dir(dir) {
			for _, name := range g.files {
				if n, ok := readNumber(root, path.Join(dir, name)); ok && n > 0 {
					lowest = min(lowest, n)
				}
			}
			if dir == g.top || dir == "." {
				break
			}
		}
	}
	if lowest == machine {
		return 0
	}
	return lowest
}

// group is a control group whose limits hold for this process.
type group struct {
	dir, top string   // its folder, and that of the uppermost group that is visible
	files    []string // of limits
}

// groups returns the control groups of this process that may limit its memory.
func groups(root fs.FS) (list []group) {
	own := map[bool]string{} // path within the hierarchy, by whether that is version 2
	for _, line := range lines(root, "proc/self/cgroup") {
		parts := strings.SplitN(line, ":", 3) // number:controllers:path
		if len(parts) == 3 && (parts[1] == "" || slices.Contains(strings.Split(parts[1], ","), "memory")) {
			own[parts[1] == ""] = parts[2]
		}
	}
	for _, line := range lines(root, "proc/self/mountinfo") {
		before, after, _ := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after) // number parent device root folder …; type source options
		if len(mount) < 5 || len(kind) < 3 {
			continue
		}
		second := kind[0] == "cgroup2"
		if !second && (kind[0] != "cgroup" || !slices.Contains(strings.Split(kind[2], ","), "memory")) {
			continue
		}
		own, ok := own[second]
		if !ok {
			continue
		}
		g := group{top: clean(mount[4]), files: []string{"memory.limit_in_bytes"}}
		if second {
			g.files = []string{"memory.max", "memory.high"}
		}
		g.dir = g.top // a container may see its own group alone, under another path
		if below, ok := strings.CutPrefix(own, strings.TrimSuffix(mount[3], "/")); ok && (below == "" || below[0] == '/') && !strings.Contains(below, "..") {
			g.dir = path.Join(g.top, below)
		}
		list = append(list, g)
	}
	return list
}

// installed returns the memory of the machine in bytes; noLimit: it is unknown.
func installed(root fs.FS) int64 {
	for _, line := range lines(root, "proc/meminfo") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			if n, err := strconv.ParseInt(fields[1], 10, 53); err == nil {
				return n << 10
			}
		}
	}
	return noLimit
}

func lines(root fs.FS, name string) (list []string) {
	raw, _ := fs.ReadFile(root, name) // on other systems there is none
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		list = append(list, s.Text())
	}
	return list
}

// readNumber reads a file with one number; "max" is none.
func readNumber(root fs.FS, name string) (int64, bool) {
	raw, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n, err == nil
}

func clean(name string) string { return path.Join(".", strings.TrimPrefix(path.Clean(name), "/")) }
