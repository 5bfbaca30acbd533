// Package channels keeps channels.
package channels
