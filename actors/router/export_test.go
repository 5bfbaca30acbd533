package router

// SnapshotDue is what a router without settings of its own decides.
func SnapshotDue(events, size int) bool {
	o := withDefaults(Options{})
	return o.snapshotDue(events, size)
}
