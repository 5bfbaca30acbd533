// Package kanneltest judges the channel type kannel and its simulator by a real
// Kannel: bearerbox, smsbox and fakesmsc of Debian's packages. make test-kannel
// installs and runs it (the build tag kannel). Each case runs against both, and they
// must agree answer by answer; then a Weir sends through the real one while parts of
// it fail.
package kanneltest
