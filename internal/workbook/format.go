package workbook

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// kind says whether a number stands for a quantity, a date or a time.
type kind int

const (
	number kind = iota
	date        // with or without a time
	clock       // a time of the day, or hours
)

// format says how the number of a cell is shown.
type format struct {
	kind   kind
	digits int // of a whole number that is shown with zeros in front; 0: it is not
}

// date1904 reports whether days are counted from 1904 on, as old programs for the Mac did.
type date1904 bool

// readStyles reads what the styles of cells say about numbers.
func (b *book) readStyles() error {
	if b.styles == "" || b.parts[b.styles] == nil {
		return nil
	}
	codes, ofCells := map[int]format{}, false
	return b.each(b.styles, func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if id, err := strconv.Atoi(attribute(e, "numFmtId")); err == nil && len(codes) < maxStyles {
				codes[id] = formatOf(attribute(e, "formatCode"))
			}
		case "cellStyleXfs", "cellStyles", "dxfs":
			ofCells = false
		case "cellXfs":
			ofCells = true
		case "xf":
			if !ofCells || len(b.formats) == maxStyles {
				return nil
			}
			id, _ := strconv.Atoi(attribute(e, "numFmtId"))
			f, own := codes[id]
			if !own {
				f = builtIn(id)
			}
			b.formats = append(b.formats, f)
		}
		return nil
	})
}

// builtIn returns the format of a number that needs no code, in any language.
func builtIn(id int) format {
	switch {
	case id >= 18 && id <= 21, id >= 45 && id <= 47, id >= 32 && id <= 35, id == 55, id == 56:
		return format{kind: clock}
	case id >= 14 && id <= 22, id >= 27 && id <= 36, id >= 50 && id <= 58:
		return format{kind: date}
	}
	return format{}
}

// formatOf returns the format of a code such as dd/mm/yyyy.
func formatOf(code string) format {
	code, _, _ = strings.Cut(code, ";")
	if code != "" && strings.Trim(code, "0") == "" {
		return format{digits: len(code)}
	}
	signs := codeSigns(strings.ToLower(code))
	switch {
	case strings.Contains(signs, "general"):
		return format{}
	case strings.ContainsAny(signs, "yd"):
		return format{kind: date}
	case strings.ContainsAny(signs, "hs"):
		return format{kind: clock}
	case strings.Contains(signs, "m"):
		return format{kind: date}
	}
	return format{}
}

// codeSigns returns a code without its texts, colors and conditions; [h] is the sign h.
func codeSigns(code string) string {
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '\\', '_', '*':
			i++
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return b.String()
			}
			i += end + 1
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return b.String()
			}
			if inside := code[i+1 : i+end]; inside != "" && strings.Trim(inside, "hms") == "" {
				b.WriteString(inside)
			}
			i += end
		default:
			b.WriteByte(code[i])
		}
	}
	return b.String()
}

// exact is the first number that has more digits than Excel keeps.
const exact = 1e15

// cell returns the cell of a number.
func (f format) cell(value string, since date1904) Cell {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return Cell{Text: value, Wrong: WrongNumber}
	}
	switch f.kind {
	case date:
		return dateCell(n, value, since)
	case clock:
		seconds := int64(math.Round(n * 86400))
		if n < 0 || n >= lastDay {
			return Cell{Text: value, Wrong: WrongNumber}
		}
		return Cell{Text: fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)}
	case number:
	}
	switch whole := n == math.Trunc(n); {
	case math.Abs(n) >= exact:
		return Cell{Text: strconv.FormatFloat(n, 'E', 14, 64), Wrong: WrongRounded}
	case whole && f.digits > 0 && n >= 0:
		return Cell{Text: fmt.Sprintf("%0*d", min(f.digits, 15), int64(n))}
	case whole:
		return Cell{Text: strconv.FormatInt(int64(n), 10)}
	}
	n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64) // as Excel shows it: 0.1+0.2 is 0.3
	if math.Abs(n) < 1e-9 {
		return Cell{Text: strconv.FormatFloat(n, 'E', -1, 64)}
	}
	return Cell{Text: strconv.FormatFloat(n, 'f', -1, 64)}
}

// lastDay is the day behind the last one that Excel knows, 9999-12-31.
const lastDay = 2958466

// dateCell returns the cell of days since the beginning of 1900.
func dateCell(n float64, value string, since date1904) Cell {
	day := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case bool(since):
		day = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case n < 60: // Excel takes 1900 for a leap year
		day = day.AddDate(0, 0, 1)
	}
	if n < 0 || n >= lastDay || bool(since) && n >= lastDay-1462 {
		return Cell{Text: value, Wrong: WrongNumber}
	}
	days := math.Floor(n)
	seconds := int(math.Round((n - days) * 86400))
	at := day.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
	if seconds == 0 {
		return Cell{Text: at.Format(time.DateOnly)}
	}
	return Cell{Text: at.Format("2006-01-02T15:04:05")}
}
