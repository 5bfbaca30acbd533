package arch_test

import (
	"regexp"
	"strings"
	"testing"
)

// The image cannot be built everywhere the tests run, so the test reads its
// important properties from the Dockerfile.
func TestContainer_IsSmallUnprivilegedAndChecksItself(t *testing.T) {
	t.Parallel()
	recipe := read(t, "Dockerfile")
	_, last, ok := strings.Cut(recipe[strings.LastIndex(recipe, "\nFROM "):], "\nFROM ${BASE_IMAGE}")
	if !ok || !strings.Contains(recipe, "\nARG BASE_IMAGE=gcr.io/distroless/static") {
		t.Fatal("the last stage is not the static image")
	}
	if strings.Contains(last, "weirlab") {
		t.Error("the image of production contains weirlab")
	}
	for what, pattern := range map[string]string{
		"an account that is not root":         `(?m)^USER 65532:65532$`,
		"a check by the program itself":       `(?m)^HEALTHCHECK .* CMD \["/weir", "healthcheck"\]$`,
		"an entry point without a shell":      `(?m)^ENTRYPOINT \["/weir"\]$`,
		"a place for the data":                `(?m)^VOLUME /data$`,
		"the port":                            `(?m)^EXPOSE 8080$`,
		"the signal that makes Weir drain":    `(?m)^STOPSIGNAL SIGTERM$`,
		"an address that others can reach":    `LISTEN_ADDR=0\.0\.0\.0:8080`,
		"nothing that runs in the last stage": `^[^\n]*\n(?:(?:#|ARG|LABEL|      org\.|COPY|ENV|USER|WORKDIR|VOLUME|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD)[^\n]*\n|\n)*$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(last) {
			t.Errorf("the Dockerfile lacks %s (%s)", what, pattern)
		}
	}
	if !strings.Contains(recipe, "CGO_ENABLED=0 go build -trimpath") {
		t.Error("the program in the image would not be static or reproducible")
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if version == nil || !strings.Contains(recipe, "\nARG GO_IMAGE=golang:"+version[1]+"\n") {
		t.Errorf("the image is not built with the Go version of go.mod (%v)", version)
	}
}

// The image is built with the same flags as make build.
func TestContainer_IsBuiltAsMakeBuilds(t *testing.T) {
	t.Parallel()
	flags := regexp.MustCompile(`-s -w -X main\.version=`)
	if !flags.MatchString(read(t, "Makefile")) || !flags.MatchString(read(t, "Dockerfile")) {
		t.Error("Makefile and Dockerfile link with different flags")
	}
	if got, want := read(t, ".ci/run"), "#!/bin/sh\nset -eu\nmake test\nmake lint\n"; got != want {
		t.Errorf(".ci/run is %q, not exactly make test and make lint", got)
	}
}
