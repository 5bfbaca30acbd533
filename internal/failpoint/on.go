//go:build failpoints

// Package failpoint ends the process at a named boundary; see off.go.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable names the boundary and, after a colon, at which call of Hit for it the
// process ends (1 by default): "claim.committed:3".
const Variable = "WEIR_FAILPOINT"

// passes counts the calls of Hit for the boundary. It is package state because a
// process dies only once; normal builds do not have it.
var passes atomic.Int64

// Hit marks a boundary, and ends the process at the configured call.
func Hit(point string) {
	name, count, _ := strings.Cut(os.Getenv(Variable), ":")
	if name != point {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if passes.Add(1) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
