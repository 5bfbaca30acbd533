// Package jobrouter is the router's REST API, in the form that clients of Azure
// Communication Services Job Router speak: api-versions 2023-11-01 and
// 2024-01-18-preview.
//
// # Invariants
//
//   - Nothing but a valid signature over method, target, host, date and body
//     opens the API, unless the caller says that it is open. Every flaw of a
//     signature is a 401, whatever else is wrong with the request.
//   - A request with any mistake changes nothing, and gets all of its mistakes
//     at once. A mistake of the client is never a 5xx: its library would repeat
//     the request.
//   - A 2xx is written only after the engine said that what it tells is durable.
//   - What goes over the wire has types of its own: shapes for what comes in,
//     views for what goes out. The engine's types can change without it.
//   - Credentials of rules come in and never go out. A client that sends a
//     policy back as it got it keeps them.
//   - The package knows the engine by its interface; it holds no state but its
//     settings.
package jobrouter
