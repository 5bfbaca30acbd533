package core

// Remembered returns how many changes are remembered for reads that are under way.
func (c *Core) Remembered() int {
	return len(c.window.changes.changed[0]) + len(c.window.changes.changed[1])
}
