package api

import (
	"strconv"

	"weir/web/route"
)

// pageOf returns the views of at most most rows, and the cursor of the last one if there
// are more.
func pageOf[R, V any](rows []R, most int, view func(*R) V, cursor func(*V) string) (views []V, next string) {
	views = make([]V, min(most, len(rows)))
	for i := range views {
		views[i] = view(&rows[i])
	}
	if len(rows) > most {
		next = cursor(&views[most-1])
	}
	return views, next
}

// cursorID returns the id in a cursor; 0: there is no cursor.
func cursorID(c *route.Call) int64 {
	text := c.Query.Text("cursor")
	id, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || id < 1) {
		c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
	}
	return id
}
