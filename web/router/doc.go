// Package router serves the router's REST API in the protocol of Azure
// Communication Services Job Router: api-versions 2023-11-01 and
// 2024-01-18-preview.
//
// # Invariants
//
//   - A request is admitted only with a valid signature over method, target, host,
//     date and body, or with a bearer token that Options.Bearer accepts, unless
//     Options.Open opens a server that has no keys. Every signature error is a 401,
//     whatever else is wrong with the request.
//   - A request with any mistake changes nothing, and its response lists all
//     mistakes at once. A client mistake is never a 5xx: the client library would
//     retry the request.
//   - A 2xx is written only after the engine has confirmed that its content is
//     durable.
//   - Requests are checked as the types of package resource say in their tags: what is a
//     member there may be stated. Queues and policies are shown as the tags say, too. Other
//     responses have types of their own, views; the engine's own view is returned where its
//     JSON form is the same.
//   - Credentials of rules are accepted but never returned. A client that sends a
//     policy back as it received it keeps them.
//   - The package uses the engine through its interface and holds no state except
//     its settings.
package router
