package main

import "syscall"

// room reports whether a folder has a gigabyte free, several times what a run of all tests needs.
func room(folder string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(folder, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= 1<<30
}
