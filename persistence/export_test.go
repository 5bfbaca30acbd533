package persistence

// Given returns how many statements the database was given.
func (s *Store) Given() int64 { return s.db.Database.Pools().Statements.Count() }
