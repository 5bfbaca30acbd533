//go:build !linux

package demo

import "syscall"

// attributes are those of any child: only Linux can tie it to the demo.
func attributes() *syscall.SysProcAttr { return nil }
