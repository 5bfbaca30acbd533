// Package httpgateway is the channel type "http": any HTTP gateway, described by a
// template in the channel's settings instead of by code. The template states the
// request of a message, what answers mean, how the gateway is asked about a message,
// how its callbacks are verified and read, and what its states mean.
//
// Invariants:
//   - A template is parsed once, into parts. What placeholders stand for is never
//     parsed again, and each place has its own escaping: path segment, query, header,
//     form and JSON.
//   - A placeholder is never in scheme, host or port, and cannot change the number of
//     path segments.
//   - An answer that fits no rule is interpreted by HTTP alone: 2xx is unclear, never a
//     success and never a failure.
//   - Each message is its own request, unless the template sends all messages of a
//     contact in one.
package httpgateway
