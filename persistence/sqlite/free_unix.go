//go:build linux || darwin

package sqlite

import "syscall"

// freeSpace returns how many bytes this process may still write to the disk of a folder.
func freeSpace(folder string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true // the type of Bsize depends on the system
}
