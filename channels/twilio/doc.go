// Package twilio holds the channel types for Twilio: twilio for SMS and WhatsApp
// (Messages), twilio_voice for phone calls (Calls).
//
// They are two types and not one with a setting because a type carries one kind of
// content, which the API checks when a contact is enqueued, and because senders,
// settings and final states differ. Requests, signature and credentials are shared.
//
// # Identity
//
// Twilio takes no idempotency key and keeps no field of ours: a repeated request is
// a second message or call. Each therefore carries a status callback URL that names
// its attempt, and every callback about it comes to that URL. A lost answer is
// reconciled by the first callback, otherwise by a list of what Twilio has for the
// number (see evidence), which is evidence and not proof: what fits more than
// one contact is never decided.
//
// # Invariants
//
//   - A message or call is requested at most once for each attempt. After a request
//     whose result is not certain, no further message of the contact is requested.
//   - A callback is applied only if its signature covers the URL that Weir gave to
//     Twilio, each parameter and the body.
//   - Callback URLs consist of unreserved characters, which no proxy re-encodes, and
//     end in a fragment that makes Twilio repeat a callback that was answered 503.
package twilio
