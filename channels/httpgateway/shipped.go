package httpgateway

import (
	"embed"
	"strings"
)

//go:embed templates/*.json
var shipped embed.FS

// Templates returns the names of the templates that Weir ships.
func Templates() []string {
	list, _ := shipped.ReadDir("templates") // it is part of the program
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	return out
}

// Template returns a template that Weir ships; nil: there is none of that name.
func Template(name string) []byte {
	raw, _ := shipped.ReadFile("templates/" + name + ".json")
	return raw
}
