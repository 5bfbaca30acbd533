package surveys

// Tally is what the rules need to know of the sums.
func (s Sums) Tally(buckets int) Tally {
	t := Tally{Buckets: make([]int, buckets)}
	for g, n := range s.Respondents {
		switch g.Status {
		case Pending:
			t.Pending += n
		case Active:
			t.Active += n
		case Completed, Failed, Rejected, Canceled: // known by their dispositions
		}
		if g.Status == Completed || g.Counted {
			t.Ended += n
		}
		if g.Disposition.Final() || g.Counted {
			t.Final += n
		}
		if g.Disposition == Complete || g.Counted {
			t.Completed += n
		}
		if !g.Counted {
			continue
		}
		t.Counted += n
		if g.Status == Active {
			t.Secured += n
		}
		if g.Bucket >= 0 && g.Bucket < buckets {
			t.Buckets[g.Bucket] += n
		}
	}
	return t
}

// FullBuckets are the buckets that have all that are wanted.
func (q Quotas) FullBuckets(counts []int) []int {
	var out []int
	for i := range q {
		if q.Full(counts, i) {
			out = append(out, i)
		}
	}
	return out
}
