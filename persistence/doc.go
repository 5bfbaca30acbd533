// Package persistence keeps contacts, channels, surveys, people, the router and tokens in an
// SQL database. It is the only package, with its subfolders and the migrations, that knows SQL.
//
// A [Store] is put together from one store for each kind of data: queue has contacts,
// channels channels, survey surveys and respondents, eventlog events,
// router the journal of the router, admin tokens and the audit log. What many
// contacts pass through is written by the group-commit writer of package commit.
//
// No statement of a broker reads more rows than its limit or the channel's
// capacity, whatever else is stored.
//
// The difference between databases is in package dialect and the folders that
// implement it. A new one is such a folder, its migrations and a line in the
// table of this package.
package persistence
