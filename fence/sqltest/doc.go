// Package sqltest has the tests of package sqlfence on SQLite and on PostgreSQL. The package
// is a module of its own, so that no user of the library depends on a database's driver,
// and is not released.
package sqltest
