//go:build !linux

package sqlite_test

import "testing"

func asNobody(_ *testing.T, run func()) { run() }
