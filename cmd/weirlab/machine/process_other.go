//go:build !linux

package machine

import "syscall"

// attributes returns nil: only Linux can tie the life of a process to another's.
func attributes() *syscall.SysProcAttr { return nil }
