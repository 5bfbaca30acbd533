// Package weir defines the domain of the broker: contacts, channels, attempts,
// the state machine of a contact, the ledger that enforces a channel's
// capacity, and the small interfaces through which the rest of the program
// reaches the store. It imports only the standard library and does no I/O.
//
// # The path of one contact
//
//	accept   a client submits it; stored durably before the answer      queued
//	claim    the channel's broker takes slots and commits the attempt   sending
//	dispatch the provider is called with the attempt's id               sending
//	accepted the provider has accepted it                               active
//	report   a callback or a query returns the outcome                  done
//
// # Invariants
//
//   - The database is the truth. Memory, also of what is in flight, is rebuilt from it after a crash.
//   - Only the process that owns the database changes a contact. Every such
//     write carries the epoch of the ownership, the incarnation of the
//     channel's broker and the revision of the contact that it replaces.
//   - A contact is claimed durably before its provider is called.
//   - Slots of sending, active and unknown contacts never exceed the channel's
//     capacity.
//   - Nothing is queued again unless it is certain that the provider does not
//     have it, or the channel is configured for at-least-once delivery.
package weir
