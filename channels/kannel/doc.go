// Package kannel is the channel type for SMS through Kannel, the open-source
// gateway to SMPP and other links of operators.
//
// # Identity
//
// Kannel's answer holds no id and Kannel takes no key of ours: a repeated request
// is a second message. Each message therefore carries a delivery report URL that
// names its attempt and its index, and each report about it comes to that URL.
// Kannel reads every percent sign in that URL as an escape of its own.
//
// # What an answer means
//
// 202 means that bearerbox has stored the message. smsbox waits for bearerbox
// without a limit, so that a request without an answer may have been stored, or
// may be stored much later, when bearerbox is back. Kannel cannot be asked about
// a message. Only a report settles such an attempt.
//
// # Invariants
//
//   - A message is requested at most once for each attempt. After a request whose
//     result is not certain, no further message of the contact is requested.
//   - Credentials, numbers and texts are sent in headers and bodies, not in URLs,
//     which smsbox and proxies write to their logs.
//   - Delivery report URLs ask for the words of a receipt only as far as they
//     precede the text of the message.
package kannel
