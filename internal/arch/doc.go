// Package arch holds the tests of the tree's structure: which package may import
// which, how long a file may be, what no file may contain, and that the documents
// name only things that exist. It has no code of its own.
package arch
