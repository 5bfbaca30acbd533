//go:build !failpoints

// Package failpoint lets the crash tests end the program at a durable
// boundary. In a normal build Hit does nothing and costs nothing; built with
// the tag failpoints, the environment variable WEIR_FAILPOINT says where the
// process ends itself with SIGKILL.
package failpoint

// Hit marks a boundary.
func Hit(string) {}
