// Package deploytest looks at what is under deploy and docs/runbooks: that the
// files are well-formed, that they name only variables and figures that Weir
// has, that every alert has its page. make test-deploy runs what needs
// Prometheus as well (the files with the build tag prometheus): the rules are
// tested, a running Weir is scraped, every query of the dashboard is asked.
package deploytest

// root is the folder of the module, seen from this package.
const root = "../.."
