package route

// FillPage reads up to most rows that a sender may know, and reports whether there are more of
// them. It reads on behind the rows that it leaves out, so that the cursor of a page is that of
// one of its own rows: a cursor must not name what the sender's scopes do not reach.
func FillPage[R any](most int, after *R, read func(after *R, limit int) ([]R, error), reaches func(*R) (bool, error)) (rows []R, more bool, err error) {
	for {
		next, err := read(after, most+1)
		if err != nil {
			return nil, false, err
		}
		for i := range next {
			switch ok, err := reaches(&next[i]); {
			case err != nil:
				return nil, false, err
			case ok && len(rows) == most:
				return rows, true, nil
			case ok:
				rows = append(rows, next[i])
			}
		}
		if len(next) <= most {
			return rows, false, nil
		}
		after = &next[len(next)-1]
	}
}
