//go:build !linux

package demo

import "syscall"

// attributes returns the defaults: only Linux can tie a child to the demo.
func attributes() *syscall.SysProcAttr { return nil }
