package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// files holds the scripts, styles and pictures, each under a name that contains a
// hash of its content, so that browsers may cache them forever.
type files struct {
	names map[string]string // name in the source → name with its hash
	texts map[string][]byte // by name with hash
	seed  maphash.Seed      // for the hashes of fragments
}

func readFiles(assets fs.FS) (*files, error) {
	list, err := fs.ReadDir(assets, "assets")
	if err != nil {
		return nil, err
	}
	f := &files{names: map[string]string{}, texts: map[string][]byte{}, seed: maphash.MakeSeed()}
	for _, entry := range list {
		text, err := fs.ReadFile(assets, "assets/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("dashboard: %w", err)
		}
		sum := sha256.Sum256(text)
		base, ext, _ := strings.Cut(entry.Name(), ".")
		hashed := base + "." + hex.EncodeToString(sum[:6]) + "." + ext
		f.names[entry.Name()], f.texts[hashed] = hashed, text
	}
	return f, nil
}

// hashed returns the name under which a file is served. A missing file becomes a
// broken link, which every test of a page that uses it reports.
func (f *files) hashed(name string) string {
	return cmp.Or(f.names[name], "missing-"+name)
}

// serve serves a file.
func (f *files) serve(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	name := r.PathValue("file")
	text, ok := f.texts[name]
	if !ok {
		http.Error(w, "file not found", http.StatusNotFound)
		return
	}
	// The types of package mime depend on the machine.
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(text) // the browser may have disconnected
}

// policy allows pages to load only files of the dashboard, and no inline code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// setSecurityHeaders sets the security headers of every response.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // lets forms lead back to their page
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
