//go:build !linux

package bench

import "syscall"

// attributes are nothing special: only Linux ties the life of a process to
// another's.
func attributes() *syscall.SysProcAttr { return nil }
