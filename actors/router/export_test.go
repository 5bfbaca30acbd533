package router

// SnapshotDue is snapshotDue under the default options.
func SnapshotDue(events, size int) bool {
	o := withDefaults(Options{})
	return o.snapshotDue(events, size)
}
