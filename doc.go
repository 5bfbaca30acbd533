// Package weir is the language of the broker: contacts, channels, attempts,
// the state machine that a contact runs through, the ledger that holds a
// channel to its capacity, and the small interfaces through which the rest of
// the program reaches the store. It imports only the standard library and
// does no I/O.
//
// # The path of one contact
//
//	accept   a client hands it over; it is durable before the answer   queued
//	claim    the channel's broker takes slots and writes the intent     sending
//	send     the provider is called with the attempt's id               sending
//	accepted the provider has it                                        active
//	report   a callback or a query says how it ended                    done
//
// # Invariants
//
//   - The row is the truth. Memory is a cache that any crash may take.
//   - After it was accepted, only the holder of the channel's lease changes a
//     contact. Every such write carries the lease's epoch and the revision of
//     the contact that it replaces.
//   - A contact is claimed durably before its provider is called.
//   - Slots of sending, active and unknown contacts never exceed the channel's
//     capacity.
//   - Nothing is queued again unless it is certain that the provider does not
//     have it, or the channel is set to at least once.
package weir
