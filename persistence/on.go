package persistence

import "weir/persistence/dialect"

// On is a store on a database that [OpenDatabase] opened. Closing the store
// closes the database.
func On(db dialect.Database, o Options) *Store {
	scheme, _ := db.Migrations()
	return newStore(db, scheme, withDefaults(o))
}
