// Package nuntium is the channel type for SMS through Nuntium.
//
// # Identity
//
// A message is identified by its contact, not by the attempt: its guid is the
// contact's id, a dot and the index of the message (from 0), its token is the
// contact's id. Nuntium drops a guid that it knows and answers 200 as if it
// had accepted it, so that dispatching a contact again can never send it twice,
// and a query by token finds whatever part of the contact has arrived. For the
// same reason acks name no attempt: they apply to the contact's current one.
//
// The guid is also sent as the custom attribute [guidAttribute]: Nuntium gives
// the copies of a broadcast message guids of its own but echoes custom attributes.
//
// # What an answer means
//
// 200 means that Nuntium has read the batch, not that it keeps it: a message with
// a known guid, or with a channel that cannot carry it, is dropped silently. Only
// a query reveals that. A batch is not atomic either: an error half-way leaves the
// messages before it stored. Query detects both.
//
// # Invariants
//
//   - A state that is not known to be final ends nothing.
//   - No text that leaves this package holds a phone number, a message, a
//     credential or the callback secret.
//   - Incoming messages are answered with an empty JSON list: any other text
//     would be sent to the person as an SMS.
package nuntium
