package surveys

// Tally returns the totals that the rules need.
func (s Sums) Tally(buckets int) Tally {
	t := Tally{Buckets: make([]int, buckets)}
	for g, n := range s.Respondents {
		switch g.Status {
		case Pending:
			t.Pending += n
		case Active:
			t.Active += n
		case Completed, Failed, Rejected, Canceled: // counted by their dispositions
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

// FullBuckets returns the buckets that have reached their quotas.
func (q Quotas) FullBuckets(counts []int) []int {
	var out []int
	for i := range q {
		if q.Full(counts, i) {
			out = append(out, i)
		}
	}
	return out
}
