package surveys

import "io"

// lineEnds converts lines that end in CR, LF or both to lines that end in LF.
type lineEnds struct {
	in io.Reader
	cr bool // the latest byte was a CR
}

// Read implements io.Reader.
func (l *lineEnds) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		var read int
		read, err = l.in.Read(p)
		for _, b := range p[:read] {
			after := l.cr
			if l.cr = b == '\r'; l.cr {
				b = '\n'
			} else if b == '\n' && after {
				continue
			}
			p[n] = b
			n++
		}
	}
	return n, err
}
