// Package arch holds the tests of the tree's shape: who may import whom, how
// long a file may be, what no file may contain, and that the papers name what
// exists. It has no code of its own.
package arch
