// Package deploytest checks the files under deploy and docs/runbooks: they are
// well-formed, they name only variables and metrics that Weir has, and every alert
// has a page. make test-deploy also runs the tests that need Prometheus (the files
// with the build tag prometheus): they test the rules, scrape a running Weir and run
// every query of the dashboard.
package deploytest

// root is the folder of the module, relative to this package.
const root = "../.."
