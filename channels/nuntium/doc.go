// Package nuntium is the channel type for SMS through Nuntium.
//
// # Identity
//
// A message is named by its contact, not by the attempt: its guid is the
// contact's id, a dot and the index of the message (from 0), its token is the
// contact's id. Nuntium drops a guid that it knows and answers 200 as if it
// had taken it, so that handing a contact over again can never send it twice,
// and a query by token finds whatever of the contact has arrived. Acks name no
// attempt for the same reason: they are about the contact's current one.
//
// The guid travels a second time as the custom attribute [guidAttribute]:
// Nuntium gives the copies of a broadcast message guids of its own but echoes
// custom attributes.
//
// # What an answer means
//
// 200 says that Nuntium has read the batch, not that it keeps it: a message
// with a known guid, or with a channel that cannot take it, is dropped without
// a word. Only a query tells. A batch is not atomic either: an error half-way
// leaves the messages before it stored. Both are found by Ask.
//
// # Invariants
//
//   - A state that is not known to be final ends nothing.
//   - No text that leaves this package holds a phone number, a message, a
//     credential or the callback secret.
//   - Incoming messages are answered with an empty JSON list: any other text
//     would be sent to the person as an SMS.
package nuntium
