// Package channels keeps channels, and the leases of channels and roles: a process has a
// lease as long as it renews it, and its epoch grows whenever it is taken.
package channels
