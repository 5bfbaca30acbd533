//go:build !failpoints

// Package failpoint lets the crash tests end the program at a durable
// boundary. In a normal build, Hit does nothing and costs nothing. Built with
// the tag failpoints, the process ends itself with SIGKILL at the boundary that
// the environment variable WEIR_FAILPOINT names.
package failpoint

// Hit marks a boundary.
func Hit(string) {}
