package sqlite

import "weir/persistence/dialect"

// SetFree makes the disk of a database have so many bytes left.
func SetFree(d dialect.Database, bytes uint64) {
	d.(*Database).file.free = func(string) (uint64, bool) { return bytes, true }
}
