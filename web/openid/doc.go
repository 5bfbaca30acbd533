// Package openid logs people in at an OpenID Connect provider: the authorization code flow with
// PKCE. It returns who they are and which groups they are in. What they may do is decided by
// package auth.
//
// The provider is found when it is needed, and again after a failure: Weir starts without it.
//
// What a log-in needs between its two requests is in a cookie of the browser that began it, and
// nowhere else, so that the process that ends it may be another one than began it.
package openid
